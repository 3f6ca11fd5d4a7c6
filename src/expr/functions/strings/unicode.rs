//! Strings as code points and characters; encodings and scripts.
//!
//! Semantics: `tf.strings.unicode_decode`, `unicode_split`, `unicode_encode`,
//! `unicode_transcode`, `unicode_script`.

use super::shared::{each, rows, text};
use crate::error::{Error, Result};
use crate::expr::call::{Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::functions::apply::unary;
use crate::expr::kernels::cast::i64s;
use crate::expr::kernels::level::record_of;
use crate::expr::kernels::script::script;
use crate::expr::kernels::text::TextBuilder;
use crate::expr::kernels::unicode::Encoding;
use crate::expr::operand::OperandKind;
use crate::schema::{DType, Dim, Type};
use crate::tensor::Tensor;
use arrow_array::{ArrayRef, Int32Array, Int64Array};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["strings.unicode_decode"],
        "input|x, input_encoding, errors=\"replace\", replacement_char=65533, replace_control_characters=False",
        "The code points of each string.",
        [("strings.unicode_decode([\"aé\", \"\"], \"UTF-8\")", "[[97, 233], []]")],
        |c| decode(c, false)
    ),
    function!(
        ["strings.unicode_decode_with_offsets"],
        "input|x, input_encoding, errors=\"replace\", replacement_char=65533, replace_control_characters=False",
        "The code points of each string, and their byte offsets.",
        [("strings.unicode_decode_with_offsets(\"aéb\", \"UTF-8\")[1]", "[0, 1, 3]")],
        |c| decode(c, true)
    ),
    function!(
        ["strings.unicode_split"],
        "input|x, input_encoding, errors=\"replace\", replacement_char=65533",
        "The characters of each string.",
        [("strings.unicode_split(\"aé\", \"UTF-8\")", "[\"a\", \"é\"]")],
        |c| split(c, false)
    ),
    function!(
        ["strings.unicode_split_with_offsets"],
        "input|x, input_encoding, errors=\"replace\", replacement_char=65533",
        "The characters of each string, and their byte offsets.",
        [("strings.unicode_split_with_offsets(\"aéb\", \"UTF-8\")[1]", "[0, 1, 3]")],
        |c| split(c, true)
    ),
    function!(
        ["strings.unicode_encode"],
        "input|x, output_encoding, errors=\"replace\", replacement_char=65533",
        "Encode rows of code points as strings.",
        [("strings.unicode_encode([[97, 233], []], \"UTF-8\")", "[\"aé\", \"\"]")],
        encode
    ),
    function!(
        ["strings.unicode_transcode"],
        "input|x, input_encoding, output_encoding, errors=\"replace\", replacement_char=65533, replace_control_characters=False",
        "Convert strings to another encoding, or repair ill-formed strings. Encodings: UTF-8, UTF-16 and UTF-32, optionally with -BE or -LE; US-ASCII; and, to read, ISO-8859-1 to ISO-8859-15, windows-1250 to windows-1258, windows-874, KOI8-R, KOI8-U, macintosh.",
        [("strings.unicode_transcode(b\"a\\xff\", \"UTF-8\", \"UTF-8\", errors=\"ignore\")", "\"a\"")],
        transcode
    ),
    function!(
        ["strings.unicode_script"],
        "input|x",
        "The ICU script number of each code point, or -1 for an invalid code point.",
        [("strings.unicode_script([97, 31, 38, -1])", "[25, 0, 0, -1]")],
        |c| {
            let x = c.integers(0)?;
            unary(c, x, DType::Int32, |a| Ok(Arc::new(Int32Array::from_iter_values(i64s(a)?.iter().map(|code| script(*code))))))
        }
    ),
];

/// How ill-formed text is handled.
#[derive(Clone, Copy)]
struct Policy {
    errors: Errors,
    replacement: u32,
    control: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Errors {
    Strict,
    Replace,
    Ignore,
}

impl Policy {
    /// Parses the arguments from `i`: errors, replacement_char and possibly replace_control_characters.
    fn new(call: &Call, i: usize, control: Option<usize>) -> ExprResult<Policy> {
        let errors = match call.string(i)?.as_deref() {
            None | Some("replace") => Errors::Replace,
            Some("strict") => Errors::Strict,
            Some("ignore") => Errors::Ignore,
            Some(other) => {
                return Err(ExprError::at(
                    call.operand(i)?.span.clone(),
                    format!("{}: errors must be \"replace\", \"ignore\" or \"strict\", not {other:?}", call.name),
                ));
            }
        };
        let replacement = call.optional_int(i + 1)?.unwrap_or(0xfffd);
        let replacement = u32::try_from(replacement)
            .ok()
            .filter(|r| *r <= u32::from(char::MAX))
            .ok_or_else(|| call.error(format!("{}: replacement_char {replacement} is not a code point from 0 to 0x10FFFF", call.name)))?;
        let control = control.map_or(Ok(false), |i| call.flag(i, false))?;
        Ok(Policy { errors, replacement, control })
    }

    /// The code point to keep; `None` drops it.
    fn of(&self, c: Option<char>) -> Option<u32> {
        match c {
            Some(c) if !(self.control && c <= '\u{1f}') => Some(c.into()),
            _ => (self.errors != Errors::Ignore).then_some(self.replacement),
        }
    }

    /// Calls `keep` with each code point kept from a string, and its start.
    fn read(&self, encoding: Encoding, bytes: &[u8], mut keep: impl FnMut(u32, usize)) -> Result<()> {
        let mut wrong = None;
        encoding.decode(bytes, |c, at| {
            if c.is_none() && self.errors == Errors::Strict {
                wrong = wrong.or(Some(at));
            }
            if let Some(code) = self.of(c) {
                keep(code, at);
            }
        });
        match wrong {
            None => Ok(()),
            Some(at) => Err(Error::data(format!("the string is ill-formed at byte {at}")).help(GO_ON)),
        }
    }
}

const GO_ON: &str = "to continue: errors=\"replace\" or errors=\"ignore\"";

/// The character of a code point, or U+FFFD for a surrogate.
fn character(code: u32) -> char {
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn encoding(call: &Call, i: usize, named: fn(&str) -> Option<Encoding>, known: &str) -> ExprResult<Encoding> {
    let name = call.string(i)?.unwrap_or_default();
    named(&name).ok_or_else(|| match call.operand(i) {
        Ok(item) => ExprError::at(item.span.clone(), format!("{}: {name:?} is not one of the encodings {known}", call.name)),
        Err(missing) => missing,
    })
}

fn input_encoding(call: &Call, i: usize) -> ExprResult<Encoding> {
    encoding(
        call,
        i,
        Encoding::named,
        "UTF-8, UTF-16, UTF-32 (perhaps -BE or -LE), US-ASCII, ISO-8859-1 to -15, windows-1250 to -1258, windows-874, KOI8-R, KOI8-U and macintosh",
    )
}

fn output_encoding(call: &Call, i: usize) -> ExprResult<Encoding> {
    encoding(call, i, Encoding::output, "UTF-8, UTF-16-BE and UTF-32-BE")
}

fn dtype_in(encoding: Encoding) -> DType {
    if encoding == Encoding::Utf8 { DType::String } else { DType::Bytes }
}

fn decode(call: &mut Call, offsets: bool) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    let encoding = input_encoding(call, 1)?;
    let policy = Policy::new(call, 2, Some(4))?;
    let dtypes = if offsets { vec![DType::Int32, DType::Int64] } else { vec![DType::Int32] };
    rows(call, x, Dim::RAGGED, &dtypes, move |texts, lengths| {
        let (mut codes, mut starts) = (Vec::new(), Vec::new());
        for (i, text) in texts.iter().enumerate() {
            let before = codes.len();
            let read = policy.read(encoding, text, |code, at| {
                codes.push(code as i32);
                if offsets {
                    starts.push(at as i64);
                }
            });
            read.map_err(|e| (i, e))?;
            lengths.push(codes.len() - before);
        }
        let mut out: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(codes))];
        if offsets {
            out.push(Arc::new(Int64Array::from(starts)));
        }
        Ok(out)
    })
}

fn split(call: &mut Call, offsets: bool) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    let encoding = output_encoding(call, 1)?;
    let policy = Policy::new(call, 2, None)?;
    let dtype = dtype_in(encoding);
    let dtypes = if offsets { vec![dtype.clone(), DType::Int64] } else { vec![dtype.clone()] };
    rows(call, x, Dim::RAGGED, &dtypes, move |texts, lengths| {
        let (mut characters, mut starts) = (TextBuilder::with_capacity(0, 0), Vec::new());
        for (i, text) in texts.iter().enumerate() {
            let mut count = 0;
            let read = policy.read(encoding, text, |code, at| {
                encoding.encode(character(code), &mut characters.bytes);
                characters.end();
                count += 1;
                if offsets {
                    starts.push(at as i64);
                }
            });
            read.map_err(|e| (i, e))?;
            lengths.push(count);
        }
        let mut out = vec![characters.finish(&dtype).map_err(|e| (0, e))?];
        if offsets {
            out.push(Arc::new(Int64Array::from(starts)));
        }
        Ok(out)
    })
}

fn transcode(call: &mut Call) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    let (from, to) = (input_encoding(call, 1)?, output_encoding(call, 2)?);
    let policy = Policy::new(call, 3, Some(5))?;
    each(call, x, dtype_in(to), move |text, out| {
        if policy.control && policy.errors == Errors::Strict {
            // Here, control characters count as ill-formed.
            let mut found = false;
            from.decode(text, |c, _| found |= c.is_some_and(|c| c <= '\u{1f}'));
            if found {
                return Err(Error::data("the string contains control characters"));
            }
        }
        policy.read(from, text, |code, _| to.encode(character(code), out))
    })
}

fn encode(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.integers(0)?;
    let to = output_encoding(call, 1)?;
    let policy = Policy::new(call, 2, None)?;
    let Some((_, outer)) = x.ty.dims.split_last() else {
        return Err(ExprError::at(x.span.clone(), format!("{} expects rows of code points, found a scalar", call.name)));
    };
    let (axis, dtype) = (outer.len(), dtype_in(to));
    call.one(Type::tensor(dtype.clone(), outer.to_vec()), move |args| {
        let tensor = x.of(args)?;
        tensor.map_below(axis, &mut |t| {
            let list = t.as_list()?;
            let codes = i64s(list.values().as_leaf()?)?;
            let mut out = TextBuilder::with_capacity(list.partition().nrows(), codes.len());
            for row in 0..list.partition().nrows() {
                for code in &codes[list.partition().range(row)] {
                    let c = u32::try_from(*code).ok().and_then(char::from_u32);
                    if c.is_none() && policy.errors == Errors::Strict {
                        return Err(Error::data(format!("{code} is not a code point that can be encoded"))
                            .at_row(record_of(&tensor, axis, row))
                            .help(GO_ON));
                    }
                    if let Some(code) = policy.of(c) {
                        to.encode(character(code), &mut out.bytes);
                    }
                }
                out.end();
            }
            Ok(Tensor::Leaf(out.finish(&dtype)?))
        })
    })
}

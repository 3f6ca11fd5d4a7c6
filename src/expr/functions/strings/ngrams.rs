//! n-grams: joins adjacent strings of each row.
//!
//! Semantics: `tf.strings.ngrams`.

use super::shared::text;
use crate::expr::call::{Call, Function, static_text};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::level::{from_lengths, merged, record_of};
use crate::expr::kernels::text::{TextBuilder, Texts};
use crate::expr::operand::OperandKind;
use crate::schema::{Dim, Size};
use crate::tensor::limits::{check_count, check_nbytes};
use crate::tensor::{RowPartition, Tensor};

pub static FUNCTIONS: &[Function] = &[function!(
    ["strings.ngrams"],
    "data|x, ngram_width, separator=\" \", pad_values=None, padding_width=None, preserve_short_sequences=False",
    "The n-grams of each row.",
    [
        ("strings.ngrams([[\"to\", \"be\", \"or\"], [\"not\"]], 2)", "[[\"to be\", \"be or\"], []]"),
        ("strings.ngrams([\"a\", \"b\"], 2, pad_values=\"#\")", "[\"# a\", \"a b\", \"b #\"]")
    ],
    ngrams
)];

struct Ngrams {
    widths: Vec<usize>,
    separator: Vec<u8>,
    left: Vec<u8>,
    right: Vec<u8>,
    /// Maximum padding on each side; `None` means the width minus one.
    padding: Option<usize>,
    keep_short: bool,
}

fn ngrams(call: &mut Call) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    let Some((last, outer)) = x.ty.dims.split_last() else {
        return Err(ExprError::at(x.span.clone(), format!("{} expects rows of strings, found a scalar", call.name)));
    };
    let dtype = x.dtype()?.clone();
    let options = options(call)?;
    let size = match last.size {
        Size::Known(0) => Size::Known(0),
        Size::Known(n) if outer.iter().all(|d| d.size != Size::Ragged) => {
            options.count(usize::try_from(n).unwrap_or(usize::MAX)).map_or(Size::Uniform, |n| Size::Known(n as u64))
        }
        Size::Uniform => Size::Uniform,
        _ => Size::Ragged,
    };
    let mut ty = x.ty.clone();
    let axis = outer.len();
    ty.dims[axis] = Dim::of(size);
    call.one(ty, move |args| {
        let tensor = x.of(args)?;
        // A record without strings has no n-grams, not even of padding.
        let owners = merged(&tensor, 0, axis)?;
        let whole = merged(&tensor, 0, axis + 1)?;
        let mut bare = Vec::with_capacity(owners.nvals());
        (0..owners.nrows()).for_each(|r| bare.resize(owners.start(r + 1), whole.row_length(r) == 0));
        tensor.map_below(axis, &mut |t| {
            let list = t.as_list()?;
            let texts = Texts::of(list.values().as_leaf()?)?;
            let rows = list.partition();
            let mut out = TextBuilder::with_capacity(0, 0);
            let mut lengths = Vec::with_capacity(rows.nrows());
            let mut all = 0;
            for (row, bare) in bare.iter().enumerate().take(rows.nrows()) {
                if *bare {
                    lengths.push(0);
                    continue;
                }
                let range = rows.range(row);
                let count = options.count(range.len()).and_then(|n| n.checked_add(all));
                all = check_count(count, record_of(&tensor, axis, row))?;
                let text = range.clone().try_fold(0usize, |all, i| all.checked_add(texts.get(i).len()));
                let nbytes = text.and_then(|text| options.nbytes(range.len(), text)?.checked_add(out.bytes.len()));
                check_nbytes(nbytes, record_of(&tensor, axis, row))?;
                lengths.push(options.row(range.len(), |i| texts.get(range.start + i), &mut out));
            }
            let partition = match size {
                Size::Known(n) => RowPartition::uniform(n as usize, lengths.len())?,
                _ => from_lengths(lengths)?,
            };
            Tensor::list(partition, Tensor::Leaf(out.finish(&dtype)?), None)
        })
    })
}

fn options(call: &Call) -> ExprResult<Ngrams> {
    let widths = call.ints(1)?.unwrap_or_default();
    let widths = widths
        .into_iter()
        .map(|n| {
            usize::try_from(n)
                .ok()
                .filter(|n| *n > 0)
                .ok_or_else(|| call.error(format!("{}: ngram_width is {n}; it must be at least 1", call.name)))
        })
        .collect::<ExprResult<Vec<_>>>()?;
    let pads = match call.given(3) {
        None => None,
        Some(item) => {
            let items = item.elements().unwrap_or_else(|| vec![item.clone(), item.clone()]);
            let pads: Option<Vec<Vec<u8>>> = items.iter().map(static_text).collect();
            let [left, right] = pads
                .unwrap_or_default()
                .try_into()
                .map_err(|_| ExprError::at(item.span.clone(), format!("{}: pad_values must be a string or a tuple of two", call.name)))?;
            Some((left, right))
        }
    };
    let padding = match (call.optional_int(4)?, pads.is_some()) {
        (None, true) => None,
        (None, false) => Some(0),
        (Some(_), false) => return Err(call.error(format!("{}: padding_width needs pad_values", call.name))),
        (Some(n), true) => {
            let width = usize::try_from(n).ok().filter(|n| *n > 0);
            Some(width.ok_or_else(|| call.error(format!("{}: padding_width is {n}; it must be at least 1", call.name)))?)
        }
    };
    let (left, right) = pads.unwrap_or_default();
    let separator = call.bytes(2)?.unwrap_or_else(|| b" ".to_vec());
    Ok(Ngrams { widths, separator, left, right, padding, keep_short: call.flag(5, false)? })
}

impl Ngrams {
    /// The padding on each side for a width.
    fn padding(&self, width: usize) -> usize {
        self.padding.unwrap_or(width - 1).min(width - 1)
    }

    /// The number of n-grams of a width in a row of that length.
    fn of_width(&self, width: usize, length: usize) -> Option<usize> {
        Some(length.checked_add(2 * self.padding(width))?.saturating_add(1).saturating_sub(width))
    }

    /// The number of n-grams in a row of that length; `None` on overflow.
    fn count(&self, length: usize) -> Option<usize> {
        let all = self.widths.iter().try_fold(0usize, |all, width| all.checked_add(self.of_width(*width, length)?))?;
        Some(if all == 0 && self.is_kept(length) { 1 } else { all })
    }

    /// The most bytes of the n-grams of a row of that length whose strings have `text` bytes; `None` on overflow.
    fn nbytes(&self, length: usize, text: usize) -> Option<usize> {
        let around = self.separator.len() + self.left.len().max(self.right.len());
        let of_width = |width: usize| text.checked_add(self.of_width(width, length)?.checked_mul(around)?)?.checked_mul(width);
        let all = self.widths.iter().try_fold(0usize, |all, width| all.checked_add(of_width(*width)?))?;
        match self.is_kept(length) {
            true => all.checked_add(text)?.checked_add(self.kept_width(length)?.checked_mul(around)?),
            false => Some(all),
        }
    }

    /// The width of the n-gram that a row becomes which is too short for any other, with its padding; `None` on overflow.
    fn kept_width(&self, length: usize) -> Option<usize> {
        length.checked_add(self.padding.unwrap_or(0).checked_mul(2)?)
    }

    fn is_kept(&self, length: usize) -> bool {
        self.keep_short && length > 0 && (!self.widths.is_empty() || self.padding.is_some())
    }

    /// Appends the n-grams of a row, width by width, and returns their number.
    fn row<'a>(&'a self, length: usize, get: impl Fn(usize) -> &'a [u8], out: &mut TextBuilder) -> usize {
        let mut all = 0;
        for width in &self.widths {
            let count = self.of_width(*width, length).unwrap_or(0);
            self.ngrams(count, *width, self.padding(*width), &get, out);
            all += count;
        }
        if all == 0 && self.is_kept(length) {
            let width = self.kept_width(length).unwrap_or(length);
            self.ngrams(1, width, self.padding.unwrap_or(0), &get, out);
            return 1;
        }
        all
    }

    fn ngrams<'a>(&'a self, count: usize, width: usize, padding: usize, get: &impl Fn(usize) -> &'a [u8], out: &mut TextBuilder) {
        for i in 0..count {
            let left = padding.saturating_sub(i);
            let right = padding.saturating_sub(count - 1 - i);
            let first = i.saturating_sub(padding);
            let middle = width.saturating_sub(left + right);
            let pieces = std::iter::repeat_n(self.left.as_slice(), left)
                .chain((first..first + middle).map(get))
                .chain(std::iter::repeat_n(self.right.as_slice(), right));
            for (k, piece) in pieces.enumerate() {
                if k > 0 {
                    out.bytes.extend_from_slice(&self.separator);
                }
                out.bytes.extend_from_slice(piece);
            }
            out.end();
        }
    }
}

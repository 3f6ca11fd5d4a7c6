//! Joining and splitting strings.
//!
//! Semantics: `tf.strings.join`, `reduce_join`, `split`.

use super::shared::{is_text, rows, text};
use crate::error::Result;
use crate::expr::call::{Arg, Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::functions::axes::transposed;
use crate::expr::functions::join::one_rank;
use crate::expr::functions::reduce::{Plan, plan};
use crate::expr::kernels::broadcast::align;
use crate::expr::kernels::level::check_same;
use crate::expr::kernels::segment::Reduce;
use crate::expr::kernels::text::{TextBuilder, Texts};
use crate::expr::operand::OperandKind;
use crate::expr::types::{self, last_ragged};
use crate::schema::{Dim, Type};
use crate::tensor::Tensor;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["strings.join", "string_join"],
        "inputs, separator=\"\"",
        "Join the strings of several tensors element-wise.",
        [("strings.join([[\"a\", \"b\"], \"x\"], separator=\"-\")", "[\"a-x\", \"b-x\"]")],
        join
    ),
    function!(
        ["strings.reduce_join", "reduce_join"],
        "inputs|input|x, axis|reduction_indices=None, keepdims|keep_dims=False, separator=\"\"",
        "Join strings along axes.",
        [("strings.reduce_join([[\"a\", \"b\"], [\"c\"]], axis=1, separator=\"+\")", "[\"a+b\", \"c\"]")],
        reduce_join
    ),
    function!(
        ["strings.split"],
        "input|x|source, sep=None, maxsplit=-1",
        "Split strings at a separator, or at runs of ASCII whitespace.",
        [("strings.split([\" to be \", \"\"])", "[[\"to\", \"be\"], []]"), ("strings.split(\"a,,b\", sep=\",\")", "[\"a\", \"\", \"b\"]")],
        split
    ),
    formula!(
        ["strings.unsorted_segment_join"],
        "inputs|x, segment_ids, num_segments, separator=\"\"",
        "Join the strings of each segment.",
        [("strings.unsorted_segment_join([\"a\", \"b\", \"c\"], [1, 0, 1], 2, separator=\"-\")", "[\"b\", \"a-c\"]")],
        |_| Ok("strings.reduce_join(ragged.stack_dynamic_partitions(inputs, segment_ids, num_segments), axis=1, separator=separator)"
            .to_owned())
    ),
];

fn join(call: &mut Call) -> ExprResult<OperandKind> {
    let items = call.list(0).map_err(|error| joined_within(call).map_or(error.clone(), |instead| error.instead(instead)))?;
    if items.is_empty() {
        return Err(call.error(format!("{} needs at least one tensor", call.name)));
    }
    let args = call.promoted_items(&items)?;
    for arg in &args {
        call.check_dtype(arg, "strings", is_text)?;
    }
    let separator = call.bytes(1)?.unwrap_or_default();
    let shaped: Vec<Arg> = args.iter().filter(|a| a.rank() > 0).cloned().collect();
    one_rank(call, &shaped)?;
    let all: Vec<&[Dim]> = args.iter().map(|a| a.ty.dims.as_slice()).collect();
    let dims = types::broadcast(&all)?;
    let dtype = args[0].dtype()?.clone();
    call.one(Type::tensor(dtype.clone(), dims), move |a| {
        let tensors = args.iter().map(|arg| arg.of(a)).collect::<Result<Vec<_>>>()?;
        if let Some((first, rest)) = shaped.split_first() {
            let first = first.of(a)?;
            rest.iter().try_for_each(|other| check_same(&first, &*other.of(a)?, shaped[0].rank(), "the strings to join"))?;
        }
        let operands: Vec<(&Tensor, &[Dim])> = tensors.iter().zip(&args).map(|(t, a)| (t.as_ref(), a.ty.dims.as_slice())).collect();
        let aligned = align(&operands)?;
        let flat = tensors.iter().enumerate().map(|(i, t)| aligned.flat(i, t, args[i].rank())).collect::<Result<Vec<_>>>()?;
        let texts = flat.iter().map(|t| Texts::of(t.as_leaf()?)).collect::<Result<Vec<_>>>()?;
        let mut out = TextBuilder::with_capacity(texts[0].len(), 0);
        for i in 0..texts[0].len() {
            for (k, text) in texts.iter().enumerate() {
                if k > 0 {
                    out.bytes.extend_from_slice(&separator);
                }
                out.bytes.extend_from_slice(text.get(i));
            }
            out.end();
        }
        aligned.wrap(Tensor::Leaf(out.finish(&dtype)?))
    })
}

/// How to join the strings of a list with one another, for a call with a single tensor of strings.
fn joined_within(call: &Call) -> Option<String> {
    call.given(0)?.node().filter(|node| node.ty.dtype().is_some_and(is_text))?;
    let of = |i: usize| call.given(i).and_then(|item| call.text().get(item.span.clone()));
    let separator = of(1).map_or_else(String::new, |separator| format!(", separator={separator}"));
    Some(format!("to join the strings of each list: strings.reduce_join({}, axis=-1{separator})", of(0)?))
}

/// A ragged tensor is joined axis by axis, innermost first, with separators only after nonempty strings. A dense tensor
/// is joined over all axes at once, and the last axis given is the outermost.
fn reduce_join(call: &mut Call) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    let separator = call.bytes(3)?.unwrap_or_default();
    let dtype = x.dtype()?.clone();
    let axes = call.ints(1)?.map(|axes| axes.into_iter().map(|a| call.axis(1, a, x.rank())).collect::<ExprResult<Vec<_>>>()).transpose()?;
    let several = axes.filter(|axes| axes.len() > 1 && last_ragged(&x.ty.dims).is_none());
    let Some(axes) = several else {
        let plan = plan(call, &x)?;
        let ty = Type::tensor(dtype, plan.dims(&x.ty.dims)?);
        return call
            .one(ty, move |args| plan.run(&*x.of(args)?, &x.ty.dims, &|step| Reduce::Join { separator: &separator, lazy: !step.dense }));
    };
    let mut perm: Vec<usize> = (0..x.rank()).filter(|a| !axes.contains(a)).collect();
    let kept = perm.len();
    perm.extend(axes.iter().rev());
    if perm.len() != x.rank() {
        return Err(ExprError::at(call.operand(1)?.span.clone(), "an axis appears twice"));
    }
    let keepdims = call.flag(2, false)?;
    let moved: Vec<Dim> = perm.iter().map(|a| x.ty.dims[*a].clone()).collect();
    let mut dims = moved[..kept].to_vec();
    if keepdims {
        dims = x.ty.dims.iter().enumerate().map(|(i, d)| if axes.contains(&i) { Dim::known(1) } else { d.clone() }).collect();
    }
    call.one(Type::tensor(dtype, dims), move |args| {
        let tensor = transposed(&*x.of(args)?, &perm, &moved)?;
        let joined = tensor
            .map_below(kept, &mut |t| Plan::all(false).run(t, &moved[kept..], &|_| Reduce::Join { separator: &separator, lazy: false }))?;
        if !keepdims {
            return Ok(joined);
        }
        let mut axes = axes.clone();
        axes.sort_unstable();
        axes.iter().try_fold(joined, |tensor, axis| crate::expr::kernels::level::expand(&tensor, *axis))
    })
}

fn split(call: &mut Call) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    let separator = call.bytes(1)?.unwrap_or_default();
    let most = call.optional_int(2)?.unwrap_or(-1);
    let most = usize::try_from(most).ok();
    let dtype = x.dtype()?.clone();
    let to = dtype.clone();
    let finder = memchr::memmem::Finder::new(&separator).into_owned();
    rows(call, x, Dim::RAGGED, &[dtype], move |texts, lengths| {
        let mut out = TextBuilder::with_capacity(texts.len(), 0);
        for text in texts.iter() {
            lengths.push(match most {
                Some(0) => {
                    out.push(text);
                    1
                }
                _ if separator.is_empty() => words(text, most, &mut out),
                _ => parts(text, &finder, separator.len(), most, &mut out),
            });
        }
        Ok(vec![out.finish(&to).map_err(|e| (0, e))?])
    })
}

/// Words separated by whitespace; after `most` splits, the remainder is kept as is.
fn words(text: &[u8], most: Option<usize>, out: &mut TextBuilder) -> usize {
    let is_space = |b: &u8| matches!(b, b' ' | b'\t'..=b'\r');
    let without_spaces = |text: &[u8]| text.iter().position(|b| !is_space(b)).unwrap_or(text.len());
    let mut rest = &text[without_spaces(text)..];
    let mut count = 0;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.iter().position(is_space).unwrap_or(rest.len()));
        out.push(word);
        count += 1;
        rest = &after[without_spaces(after)..];
        if Some(count) == most {
            out.push(rest);
            return count + 1;
        }
    }
    count
}

/// The parts between separators; after `most` splits, the remainder is kept as is.
fn parts(text: &[u8], separator: &memchr::memmem::Finder, length: usize, most: Option<usize>, out: &mut TextBuilder) -> usize {
    let (mut rest, mut count) = (text, 0);
    while Some(count) != most
        && let Some(at) = separator.find(rest)
    {
        out.push(&rest[..at]);
        rest = &rest[at + length..];
        count += 1;
    }
    out.push(rest);
    count + 1
}

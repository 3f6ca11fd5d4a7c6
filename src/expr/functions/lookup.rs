//! Vocabularies: maps strings and integers to indices in a list, and back.
//!
//! Semantics: `tf.lookup.StaticVocabularyTable`, `tf.keras.layers.CategoryEncoding`.

use super::apply::{unary, with_dtype};
use crate::error::{Error, Result};
use crate::expr::call::{Call, Function, Integer};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::NodeKind;
use crate::expr::kernels::cast::{cast, i64s};
use crate::expr::kernels::hash::fingerprint64;
use crate::expr::kernels::level::{merged, partition_of};
use crate::expr::kernels::text::{TextBuilder, Texts};
use crate::expr::operand::OperandKind;
use crate::schema::{DType, Dim, Type};
use crate::tensor::Tensor;
use crate::tensor::ints::int128;
use crate::tensor::limits::check_count;
use arrow_array::{ArrayRef, Int64Array};
use std::collections::HashMap;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["lookup"],
        "x, vocabulary, num_oov_buckets=0, default_value=None",
        "The index of each string or integer in a vocabulary. A value that is not in the vocabulary gets one of num_oov_buckets additional indices, chosen by Fingerprint64, or default_value (-1). If x holds integers and the vocabulary strings, the reverse: the string at each index.",
        [
            ("lookup([\"b\", \"x\"], [\"a\", \"b\"])", "[1, -1]"),
            ("lookup([\"b\", \"x\"], [\"a\", \"b\"], num_oov_buckets=1)", "[1, 2]"),
            ("lookup([1, 7], [\"a\", \"b\"], default_value=\"[UNK]\")", "[\"b\", \"[UNK]\"]")
        ],
        lookup
    ),
    function!(
        ["multi_hot"],
        "indices|x, depth, dtype=None",
        "A vector for each row, with ones at the row's indices.",
        [("multi_hot([[0, 2], [1]], 3, dtype=int32)", "[[1, 0, 1], [0, 1, 0]]")],
        multi_hot
    ),
];

fn is_text(dtype: &DType) -> bool {
    matches!(dtype, DType::String | DType::Bytes)
}

/// The entries of a vocabulary of strings or integers.
fn entries(call: &mut Call) -> ExprResult<(DType, ArrayRef)> {
    let place = call.operand(1)?.span.clone();
    let node = crate::expr::call::fold(crate::expr::call::strict_node(call.operand(1)?)?)?;
    let (NodeKind::Constant(tensor), Some(dtype)) = (&node.kind, node.ty.dtype()) else {
        return Err(ExprError::at(place, "the vocabulary must be known before the first record is processed")
            .help("write a list, or define an array: --with vocabulary=FILE"));
    };
    if node.ty.rank() != 1 || !(is_text(dtype) || dtype.is_integer()) {
        return Err(ExprError::at(place, format!("a vocabulary must be a vector of strings or integers, not {}", node.ty)));
    }
    let (_, below) = tensor.levels(1)?;
    Ok((dtype.clone(), below.as_leaf()?.clone()))
}

fn lookup(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    let (dtype, array) = entries(call)?;
    let own = x.dtype()?.clone();
    let buckets = call.optional_int(2)?.unwrap_or(0);
    let buckets = u64::try_from(buckets).map_err(|_| call.error(format!("num_oov_buckets is {buckets}; it must not be negative")))?;
    if own.is_integer() && is_text(&dtype) {
        let default = call.bytes(3)?.unwrap_or_default();
        let to = dtype.clone();
        return unary(call, x, dtype, move |ids| {
            let ids = cast(ids, &DType::Int64)?;
            let texts = Texts::of(&array)?;
            let mut out = TextBuilder::with_capacity(ids.len(), 0);
            for id in i64s(&ids)? {
                let known = usize::try_from(*id).ok().filter(|id| *id < texts.len());
                out.push(known.map_or(&default, |id| texts.get(id)));
            }
            out.finish(&to)
        });
    }
    let default = call.optional_int(3)?.unwrap_or(-1);
    let size = array.len() as i64;
    if buckets > (i64::MAX - size) as u64 {
        return Err(call.error(format!("num_oov_buckets is {buckets}; the last bucket would exceed the largest int64")));
    }
    let missing = move |text: &[u8]| if buckets == 0 { default } else { size + (fingerprint64(text) % buckets) as i64 };
    if is_text(&own) && is_text(&dtype) {
        let mut places: HashMap<Vec<u8>, i64> = HashMap::with_capacity(array.len());
        for (place, text) in (0..).zip(Texts::of(&array)?.iter()) {
            if places.insert(text.to_vec(), place).is_some() {
                return Err(twice(call, &String::from_utf8_lossy(text)));
            }
        }
        return unary(call, x, DType::Int64, move |a| {
            let ids = Texts::of(a)?.iter().map(|t| places.get(t).copied().unwrap_or_else(|| missing(t)));
            Ok(Arc::new(Int64Array::from_iter_values(ids)))
        });
    }
    if own.is_integer() && dtype.is_integer() {
        let mut places: HashMap<i128, i64> = HashMap::with_capacity(array.len());
        for (place, key) in (0..).zip(int128(&array)?) {
            if places.insert(key, place).is_some() {
                return Err(twice(call, &key.to_string()));
            }
        }
        return unary(call, x, DType::Int64, move |a| {
            let ids = int128(&cast(a, &own)?)?
                .into_iter()
                .map(|key| places.get(&key).copied().unwrap_or_else(|| missing(key.to_string().as_bytes())));
            Ok(Arc::new(Int64Array::from_iter_values(ids)))
        });
    }
    Err(call.error(format!("lookup: the keys are {own}, but the vocabulary is {dtype}")))
}

fn twice(call: &Call, entry: &str) -> ExprError {
    call.error(format!("the vocabulary contains {entry:?} twice"))
}

fn multi_hot(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.integers(0)?;
    if x.rank() == 0 {
        return Err(call.error("multi_hot expects rows of indices, found a scalar").help("for single indices, use one_hot"));
    }
    let depth = call.integer(1)?;
    if let Some(n) = depth.known().filter(|n| *n < 0) {
        return Err(call.error(format!("the depth {n} is negative")));
    }
    let dtype = call.dtype(2)?.unwrap_or(DType::Float32);
    if !(dtype.is_number() || dtype == DType::Bool) {
        return Err(call.error(format!("multi_hot returns numbers or bools, not {dtype}")));
    }
    let outer = x.rank() - 1;
    let mut dims: Vec<Dim> = x.ty.dims[..outer].to_vec();
    let last = Integer::dim(&depth);
    dims.push(last.clone());
    let ty = with_dtype(&Type::tensor(DType::Int8, dims), dtype.clone());
    call.one(ty, move |args| {
        let (tensor, depths) = (x.of(args)?, depth.of(args)?);
        let owners = merged(&tensor, 0, outer)?;
        let (_, below) = tensor.levels(outer)?;
        let list = below.as_list()?;
        let ids = i64s(list.values().as_leaf()?)?;
        let (mut out, mut lengths) = (Vec::new(), Vec::with_capacity(owners.nvals()));
        for record in 0..owners.nrows() {
            let depth = depths.size(record, "the depth")?;
            for row in owners.range(record) {
                let start = out.len();
                check_count(start.checked_add(depth), record)?;
                out.resize(start + depth, 0i8);
                for id in &ids[list.partition().range(row)] {
                    let place = usize::try_from(*id).ok().filter(|id| *id < depth);
                    let place = place.ok_or_else(|| Error::data(format!("index {id} is out of range [0, {depth})")).at_row(record))?;
                    out[start + place] = 1;
                }
                lengths.push(depth);
            }
        }
        let flat = cast(&(Arc::new(arrow_array::Int8Array::from(out)) as ArrayRef), &dtype)?;
        let rows = Tensor::list(partition_of(&last, lengths)?, Tensor::Leaf(flat), None)?;
        let whole: Result<Tensor> = tensor.map_below(outer, &mut |_| Ok(rows.clone()));
        whole
    })
}

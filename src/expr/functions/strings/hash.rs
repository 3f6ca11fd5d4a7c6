//! Hash buckets of strings.
//!
//! Semantics: `tf.strings.to_hash_bucket_fast`, `tf.strings.to_hash_bucket_strong`, `tf.strings.to_hash_bucket`.

use super::shared::{flat, text};
use crate::expr::call::{Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::hash::{fingerprint64, legacy, sip};
use crate::expr::operand::OperandKind;
use crate::schema::DType;
use arrow_array::Int64Array;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["strings.to_hash_bucket_fast", "string_to_hash_bucket_fast"],
        "input|x, num_buckets",
        "Hash each string into a bucket with FarmHash Fingerprint64.",
        [("strings.to_hash_bucket_fast([\"Hello\", \"TensorFlow\", \"2.x\"], 3)", "[0, 2, 2]")],
        |c| buckets(c, fingerprint64)
    ),
    function!(
        ["strings.to_hash_bucket", "string_to_hash_bucket"],
        "input|x, num_buckets",
        "Hash each string into a bucket with TensorFlow's legacy hash.",
        [],
        |c| buckets(c, legacy)
    ),
    function!(
        ["strings.to_hash_bucket_strong", "string_to_hash_bucket_strong"],
        "input|x, num_buckets, key",
        "Hash each string into a bucket with a strong hash, keyed by two integers.",
        [("strings.to_hash_bucket_strong([\"Hello\", \"TF\"], 3, [1, 2])", "[2, 0]")],
        |c| {
            let key = c.ints(2)?.unwrap_or_default();
            let [first, second] = key.as_slice() else {
                return Err(ExprError::at(c.operand(2)?.span.clone(), format!("{}: the key must be two integers", c.name)));
            };
            let key = (*first as u64, *second as u64);
            buckets(c, move |bytes| sip(key, bytes))
        }
    ),
];

fn buckets(call: &mut Call, hash: impl Fn(&[u8]) -> u64 + Send + Sync + 'static) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    let n = call.int(1)?;
    let n = u64::try_from(n)
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| call.error(format!("{}: num_buckets is {n}; it must be at least 1", call.name)))?;
    flat(call, x, DType::Int64, move |texts| Ok(Arc::new(Int64Array::from_iter_values(texts.iter().map(|t| (hash(t) % n) as i64)))))
}

//! The keys of maps as tensors. `values` and `m["key"]` are in [`super::decompose`] and
//! [`crate::expr::call::map_lookup`].

use crate::expr::call::{Call, Function, map_part};
use crate::expr::error::ExprResult;
use crate::expr::operand::OperandKind;

pub static FUNCTIONS: &[Function] = &[function!(
    ["keys"],
    "m",
    "The keys of maps. values(m) returns their values; m[\"a\"] returns the value of a key, or null if the map does not have it.",
    [("keys(StructuredTensor.from_pyval([{\"key\": \"a\", \"value\": 1}, {\"key\": \"b\", \"value\": 2}]))", "[\"a\", \"b\"]")],
    keys
)];

fn keys(call: &mut Call) -> ExprResult<OperandKind> {
    match map_part(call.operand(0)?, 0, true) {
        Some(node) => Ok(OperandKind::Tensor(node)),
        None => Err(call
            .error("keys expects maps, or structures of key and value")
            .help("to read objects as maps: --schema 'm: map<string, int64>'")),
    }
}

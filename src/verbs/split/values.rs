//! `split --by KEY` without shares: a file for each value, and its name.

use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::expr::{ScalarExpr, bind_scalar};
use crate::options::Options;
use crate::printable::shell_word;
use crate::schema::{DType, Schema};
use crate::tensor::Tensor;
use crate::verbs::shared::shares::key_text;
use crate::verbs::verb::Map;
use arrow_array::cast::AsArray;
use arrow_array::{Array, LargeStringArray};
use arrow_schema::DataType;
use std::fmt::Write;
use std::sync::Arc;

/// Most file systems allow 255 bytes in a name; the remainder is reserved for the text before and after the value.
const MAX_NBYTES: usize = 200;

/// Adds the key, as it appears in the file name, as the last column.
pub struct Named {
    text: ScalarExpr,
    /// The expression that replaces nulls with a value.
    filled: String,
}

impl Named {
    /// # Errors
    /// `by` is not a scalar expression of strings, integers or bools.
    pub fn new(by: &str, schema: &Schema, options: &Options) -> Result<Named> {
        let text = bind_scalar(&key_text(by, schema, options)?, schema, options)?;
        Ok(Named { text, filled: filled(by, schema, options)? })
    }
}

/// The key with a value instead of nulls, quoted for a shell.
///
/// # Errors
/// `by` is not a scalar expression.
pub fn filled(by: &str, schema: &Schema, options: &Options) -> Result<String> {
    let value = match bind_scalar(by, schema, options)?.ty().dtype() {
        Some(DType::String | DType::Bytes) => "\"none\"",
        Some(DType::Bool) => "False",
        Some(dtype) if dtype.is_integer() && dtype.integer_range().0 == 0 => "0",
        _ => "-1",
    };
    Ok(shell_word(&format!("fill_null({by}, {value})")))
}

impl Map for Named {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let keys = self.text.eval(&chunk)?;
        let keys = keys.as_leaf()?;
        let mut names = Vec::with_capacity(chunk.nrows);
        for row in 0..chunk.nrows {
            if keys.is_null(row) {
                let error = Error::data("the key of --by is null, which cannot be used as a file name").at_row(row);
                return Err(error.help(format!("replace nulls with a value: --by {}", self.filled)));
            }
            let key = match keys.data_type() {
                DataType::LargeBinary => keys.as_binary::<i64>().value(row),
                DataType::LargeUtf8 => keys.as_string::<i64>().value(row).as_bytes(),
                other => return Err(Error::internal(format!("the text of a key is {other}"))),
            };
            let name = name_of(key);
            if name.len() > MAX_NBYTES {
                let error = Error::data(format!("the key of --by would take {} bytes of the file name", name.len())).at_row(row);
                return Err(
                    error.help(format!("the limit is {MAX_NBYTES}: shorten the key, or divide by its hash with --into NAME=SHARE,.."))
                );
            }
            names.push(name);
        }
        let mut columns = chunk.columns.clone();
        columns.push(Tensor::Leaf(Arc::new(LargeStringArray::from(names))));
        chunk.with_columns(columns)
    }
}

/// A key in a file name. Different keys give different names, all of them safe in shells and paths.
fn name_of(key: &[u8]) -> String {
    let mut name = String::with_capacity(key.len());
    for chunk in key.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_alphanumeric() || matches!(c, '_' | '-' | '+') || (c == '.' && !name.is_empty()) {
                name.push(c);
            } else {
                escape(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut name);
            }
        }
        escape(chunk.invalid(), &mut name);
    }
    if name.is_empty() { "%".to_owned() } else { name }
}

fn escape(bytes: &[u8], name: &mut String) {
    for byte in bytes {
        let _ = write!(name, "%{byte:02X}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn names_are_safe() {
        let table: [(&[u8], &str); 10] = [
            (b"ann", "ann"),
            (b"", "%"),
            (b"..", "%2E."),
            (b"a/b", "a%2Fb"),
            (b"a b\0", "a%20b%00"),
            (b"100%", "100%25"),
            ("größe".as_bytes(), "größe"),
            (b"\xff", "%FF"),
            (b"{}", "%7B%7D"),
            (b"x@2#", "x%402%23"),
        ];
        for (key, name) in table {
            assert_eq!(name_of(key), name);
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]
        #[test]
        fn different_keys_have_different_names(keys in proptest::collection::vec(proptest::collection::vec(
            proptest::sample::select(b"a./%2EF\xc3\xb6\xff\0 ".to_vec()), 0..5), 0..40)) {
            let mut seen: HashMap<String, &Vec<u8>> = HashMap::new();
            for key in &keys {
                let name = name_of(key);
                proptest::prop_assert!(!name.contains(['/', '\0']) && !name.starts_with('.'));
                proptest::prop_assert_eq!(*seen.entry(name).or_insert(key), key);
            }
        }
    }
}

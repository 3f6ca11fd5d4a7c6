//! Prepares the options for a run by reading the arrays of `--with`.

use crate::error::{Error, Kind, Result};
use crate::formats;
use crate::options::{Options, named};
use crate::schema::Type;
use crate::tensor::Tensor;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The options, with everything that is known before the inputs are opened.
///
/// # Errors
/// An array cannot be read.
pub fn setup(mut options: Options) -> Result<Arc<Options>> {
    options.arrays = Arc::new(constant_arrays(&options)?);
    Ok(Arc::new(options))
}

/// Reads the arrays of `--with NAME=FILE`.
fn constant_arrays(options: &Options) -> Result<BTreeMap<String, (Type, Tensor)>> {
    let read = |text: &String| {
        let (name, file) = named(text, "--with", "FILE")?;
        let array = formats::constant(file).map_err(|e| if e.kind() == Kind::Data { e.with_kind(Kind::Usage) } else { e });
        Ok((name.to_owned(), array.map_err(|e: Error| e.help("this file is the argument of --with"))?))
    };
    let mut arrays = BTreeMap::new();
    for text in &options.with {
        let (name, array) = read(text)?;
        if arrays.insert(name.clone(), array).is_some() {
            return Err(Error::usage(format!("--with {name} appears twice")));
        }
    }
    Ok(arrays)
}

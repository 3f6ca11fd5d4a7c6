//! A single NumPy array: `numpy.save`. Source: [`crate::formats::arrays::npy_header`].
//!
//! The array has no name, so the field is called `value`.

use crate::error::{Error, Result};
use crate::formats::arrays::container::Container;
use crate::formats::arrays::contents::{Contents, Location};
use crate::formats::arrays::embedded::EmbeddedSchema;
use crate::formats::arrays::finished::Finished;
use crate::formats::arrays::npy_header::{Header, MAGIC, shown_shape};
use crate::formats::arrays::spool::Spool;
use crate::formats::arrays::stored::StoredSchema;
use crate::io::Input;
use crate::path::quoted;
use crate::printable::{counted, shell_quoted, shell_word};
use crate::schema::arrays::{ArrayForm, Contents as ValueKind, Stacking};
use crate::schema::{Dim, Schema, Size, Type};
use std::io::Write;

/// `npy`.
#[derive(Clone, Copy)]
pub struct Npy;

/// The name of the field.
const FIELD: &str = "value";

impl Container for Npy {
    const NAME: &'static str = "npy";
    const SUMMARY: &'static str = "a NumPy array: each row is a record with the field `value`, or with the fields of a structured array";
    const CHECKSUMS: bool = false;

    fn sniff(head: &[u8]) -> bool {
        head.starts_with(MAGIC)
    }

    fn open(input: &Input) -> Result<Contents> {
        let mut stream = input.open()?;
        let (header, skip) = Header::read(&mut stream)?;
        let nbytes = header.nbytes()?;
        let mut location = Location::Stream { skip };
        if let (Some(file), true, None) = (input.nbytes(), input.is_regular(), input.codec()) {
            let own = file.saturating_sub(skip);
            if own < nbytes {
                let shape = shown_shape(&header.shape);
                return Err(Error::data(format!(
                    "the array {shape} takes {nbytes} bytes, but its header is followed by only {}: the file is truncated",
                    counted(own, "byte")
                )));
            }
            location = Location::At { start: skip };
            if own > nbytes {
                return Err(Error::data(format!("{} bytes follow the values of the array", own - nbytes))
                    .help("an npy file contains only one array; to save several, use numpy.savez"));
            }
        }
        let mut contents = Contents::default();
        contents.add(FIELD.to_owned(), "", header, nbytes, location)?;
        if contents.arrays.len() > 1 && !input.is_regular() {
            let error = Error::data("a structured array cannot be read from a pipe: its fields are read one after the other");
            return Err(error.help("write it to a file, and read that"));
        }
        Ok(contents)
    }

    fn check_fields(&self, schema: &Schema) -> Result<()> {
        // Reported before anything about fields that were included by mistake.
        if schema.fields.len() > 1 {
            let names: Vec<String> = schema.fields.iter().take(8).map(|f| quoted(&f.name)).collect();
            let more = if schema.fields.len() > names.len() { ", .." } else { "" };
            return Err(Error::usage(format!(
                "an npy file contains one array, but the records have the fields {}{more}",
                names.join(", ")
            ))
            .help(format!(
                "choose one: select {}; or write all of them into an npz",
                names.first().map_or_else(String::new, |name| shell_word(name))
            )));
        }
        Ok(())
    }

    fn check(&self, layout: &StoredSchema) -> Result<()> {
        let several = match layout.leaves.as_slice() {
            [leaf] if leaf.stored.form == ArrayForm::Dense => return Ok(()),
            [leaf] => leaf,
            leaves => {
                let names: Vec<String> = leaves.iter().take(8).map(|leaf| leaf.path.to_string()).collect();
                let error =
                    Error::usage(format!("a structure is stored as several arrays ({}), but an npy file contains one", names.join(", ")));
                return Err(error.help("write an npz"));
            }
        };
        let path = &several.path;
        let error = match (&several.stored.form, several.stored.contents) {
            (_, ValueKind::Text | ValueKind::Bytes) => Error::usage(
                "strings are stored as two arrays (their bytes, and the offset at which each ends), but an npy file contains one",
            )
            .help("write an npz"),
            (ArrayForm::Sparse { .. }, _) => Error::usage("a sparse tensor is stored as several arrays, but an npy file contains one")
                .help(format!(
                    "make it dense: to-dense --shape {} (with the actual sizes); or write an npz",
                    shell_quoted(&format!("{path}=[512]"))
                )),
            _ => {
                let first = usize::from(layout.stacking == Stacking::Records);
                let own: Vec<Dim> = several.stored.axes.iter().skip(first).map(known).collect();
                let shape = Type::tensor(several.dtype.clone(), own).to_string();
                let shape = shape.find('[').map_or("", |at| &shape[at..]).to_owned();
                Error::usage("its rows can differ in length, which requires several arrays, but an npy file contains one").help(format!(
                    "pad it to one size: to-dense --shape {} (with the actual sizes); or write an npz",
                    shell_quoted(&format!("{path}={shape}"))
                ))
            }
        };
        Err(error.in_field(path))
    }

    fn write(&self, arrays: &[Finished], _: &EmbeddedSchema, spool: &mut Spool, out: &mut dyn Write) -> Result<()> {
        for (number, array) in arrays.iter().enumerate() {
            let header = Header { element: array.element.clone(), fortran: false, shape: array.shape.clone() };
            out.write_all(&header.bytes()).map_err(Error::output)?;
            spool.copy(number, out)?;
        }
        Ok(())
    }
}

/// An example of a size.
fn known(dim: &Dim) -> Dim {
    Dim::known(if let Size::Known(n) = dim.size { n } else { 512 })
}

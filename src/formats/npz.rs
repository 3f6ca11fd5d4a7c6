//! NumPy arrays in a zip archive: `numpy.savez`, `numpy.savez_compressed`.
//!
//! Members are written uncompressed, as by `numpy.savez`, with sizes beyond 32 bits if needed; deflated members can be
//! read too. The schema is kept in the comment of the archive (shown by `unzip -z`), so that output reads back
//! unchanged.

use crate::error::{Error, Result};
use crate::formats::arrays::archive::{self, SUFFIX};
use crate::formats::arrays::container::Container;
use crate::formats::arrays::contents::Contents;
use crate::formats::arrays::embedded::EmbeddedSchema;
use crate::formats::arrays::finished::Finished;
use crate::formats::arrays::npy_header::Header;
use crate::formats::arrays::spool::Spool;
use crate::formats::arrays::stored::StoredSchema;
use crate::formats::arrays::zip;
use crate::io::Input;
use std::io::Write;

/// `npz`.
#[derive(Clone, Copy)]
pub struct Npz;

impl Container for Npz {
    const NAME: &'static str = "npz";
    const SUMMARY: &'static str = "NumPy arrays, all records stacked";
    const CHECKSUMS: bool = true;

    fn sniff(head: &[u8]) -> bool {
        archive::is_zip(head)
    }

    fn open(input: &Input) -> Result<Contents> {
        archive::contents(input)
    }

    fn check(&self, layout: &StoredSchema) -> Result<()> {
        match layout.leaves.iter().find(|leaf| leaf.name.contains('\0')) {
            Some(leaf) => {
                let error = Error::usage("a name in an npz cannot contain a NUL byte").in_field(&leaf.path);
                Err(error.help("choose another name for the field: rename old=new"))
            }
            None => Ok(()),
        }
    }

    fn write(&self, arrays: &[Finished], embedded: &EmbeddedSchema, spool: &mut Spool, out: &mut dyn Write) -> Result<()> {
        let mut archive = zip::Archive::new(out);
        for (number, array) in arrays.iter().enumerate() {
            let header = Header { element: array.element.clone(), fortran: false, shape: array.shape.clone() }.bytes();
            let mut crc = crc32fast::Hasher::new();
            crc.update(&header);
            crc.combine(&array.crc);
            let nbytes = header.len() as u64 + array.nbytes;
            archive.member(&format!("{}{SUFFIX}", array.name), nbytes, crc.finalize(), |out| {
                out.write_all(&header).map_err(Error::output)?;
                spool.copy(number, out)
            })?;
        }
        archive.finish(&embedded.text())
    }
}

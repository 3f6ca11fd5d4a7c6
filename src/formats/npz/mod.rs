//! Arrays of NumPy in a zip archive: `numpy.savez`, `numpy.savez_compressed`.
//!
//! Written stored, as `numpy.savez` does, with sizes beyond 32 bits where they are needed; members that are
//! deflated are read, too. The schema is kept in the comment of the archive (`unzip -z` shows it), so that what was
//! written reads back as what it was.

mod directory;
mod zip;

use crate::error::{Error, Result};
use crate::formats::arrays::container::Container;
use crate::formats::arrays::contents::{Contents, Location, Member, StoredArray};
use crate::formats::arrays::embedded::EmbeddedSchema;
use crate::formats::arrays::finished::Finished;
use crate::formats::arrays::npy_header::Header;
use crate::formats::arrays::spool::Spool;
use crate::formats::arrays::stored::StoredSchema;
use crate::formats::arrays::stream::member_bytes;
use crate::formats::columnar::source::Source;
use crate::io::Input;
use crate::path::quoted;
use std::io::Write;

/// `npz`.
#[derive(Clone, Copy)]
pub struct Npz;

/// What follows the name of an array in the name of its member.
const SUFFIX: &str = ".npy";

fn array(source: &Source, name: String, member: Member) -> Result<StoredArray> {
    let (header, skip) = Header::read(&mut member_bytes(source.clone(), &member))?;
    let nbytes = header.nbytes()?;
    let own = member.nbytes.saturating_sub(skip);
    if own != nbytes {
        let shape = crate::formats::arrays::npy_header::shape_text(&header.shape);
        return Err(Error::data(format!("the array {shape} has {nbytes} bytes, but {own} follow its header")));
    }
    let location = Location::Member { member, skip };
    Ok(StoredArray {
        name,
        element: header.element,
        shape: header.shape,
        fortran: header.fortran,
        location,
        nbytes,
        dense_shape: Vec::new(),
    })
}

fn no_arrays(members: &[String]) -> Error {
    if members.iter().any(|name| name.ends_with("data.pkl")) {
        return Error::data("this is a checkpoint of PyTorch: a pickle, which is a program and never run")
            .help("save its tensors in Python: safetensors.torch.save_file(torch.load(FILE), \"x.safetensors\")");
    }
    let names: Vec<&str> = members.iter().take(5).map(String::as_str).collect();
    Error::data(format!("this zip archive holds no arrays of NumPy, but {}", names.join(", "))).help("unpack it: unzip FILE")
}

impl Container for Npz {
    const NAME: &'static str = "npz";
    const SUMMARY: &'static str = "arrays of NumPy, all records stacked";
    const CHECKSUMS: bool = true;

    fn sniff(head: &[u8]) -> bool {
        head.starts_with(&zip::LOCAL.to_le_bytes()) || head.starts_with(&zip::END.to_le_bytes())
    }

    fn open(input: &Input) -> Result<Contents> {
        let source = Source::new(input.file()?).map_err(|e| Error::io(input.name(), "reading", &e))?;
        let (members, comment) = directory::read(&source)?;
        let mut contents = Contents { embedded: std::str::from_utf8(&comment).ok().and_then(EmbeddedSchema::parse), ..Contents::default() };
        for member in members {
            let Some(name) = member.name.strip_suffix(SUFFIX) else {
                if !member.name.ends_with('/') {
                    contents.others.push(member.name);
                }
                continue;
            };
            let name = name.to_owned();
            contents.arrays.push(array(&source, name.clone(), member).map_err(|e| e.in_field(quoted(&name)))?);
        }
        if contents.arrays.is_empty() && !contents.others.is_empty() {
            return Err(no_arrays(&contents.others));
        }
        Ok(contents)
    }

    fn check(&self, layout: &StoredSchema) -> Result<()> {
        match layout.leaves.iter().find(|leaf| leaf.name.contains('\0')) {
            Some(leaf) => {
                let error = Error::usage("a name in an npz holds no zero byte").in_field(&leaf.path);
                Err(error.help("give the field another name: rename old=new"))
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
                out.write_all(&header).map_err(|e| Error::io("the output", "writing", &e))?;
                spool.copy(number, out)
            })?;
        }
        archive.finish(&embedded.text())
    }
}

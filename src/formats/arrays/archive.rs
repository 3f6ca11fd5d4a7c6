//! The arrays in a zip archive, as written by `numpy.savez` and compatible programs.

use super::contents::{Contents, Location, ZipMember};
use super::directory;
use super::embedded::EmbeddedSchema;
use super::npy_header::Header;
use super::stream::member_bytes;
use super::zip::{END, LOCAL};
use crate::error::{Error, Reason, Result};
use crate::formats::columnar::source::Source;
use crate::io::{Input, in_command, is_of_office, office_document};
use crate::path::quoted;
use crate::printable::counted;

/// The suffix that a member name adds to the name of its array.
pub const SUFFIX: &str = ".npy";

/// Whether these are the first bytes of a zip archive.
pub fn is_zip(head: &[u8]) -> bool {
    head.starts_with(&LOCAL.to_le_bytes()) || head.starts_with(&END.to_le_bytes())
}

/// The contents of an archive.
///
/// # Errors
/// The archive cannot be read, is damaged, or holds no arrays.
pub fn contents(input: &Input) -> Result<Contents> {
    let source = Source::new(input.file()?).map_err(|e| Error::io(input.name(), "cannot read", &e))?;
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
        match array(&source, name.clone(), member, &mut contents) {
            Ok(()) => {}
            Err(error) if error.reason() == Some(&Reason::ForeignDType) => {
                contents.unusable.push((name.clone(), error.in_field(quoted(&name))))
            }
            Err(error) => return Err(error.in_field(quoted(&name))),
        }
    }
    if contents.arrays.is_empty() && contents.unusable.is_empty() && !contents.others.is_empty() {
        return Err(no_arrays(&contents.others, input.name()));
    }
    Ok(contents)
}

fn array(source: &Source, name: String, member: ZipMember, contents: &mut Contents) -> Result<()> {
    let (header, skip) = Header::read(&mut member_bytes(source.clone(), &member))?;
    let nbytes = header.nbytes()?;
    let own = member.nbytes.saturating_sub(skip);
    if own != nbytes {
        let shape = crate::formats::arrays::npy_header::shown_shape(&header.shape);
        return Err(Error::data(format!("the array {shape} takes {nbytes} bytes, but its header is followed by {}", counted(own, "byte"))));
    }
    let location = Location::Member { member, skip };
    let prefix = format!("{name}.");
    contents.add(name, &prefix, header, nbytes, location)
}

fn no_arrays(members: &[String], input: &str) -> Error {
    if members.iter().any(|name| name.ends_with("data.pkl")) {
        return Error::data("this is a PyTorch checkpoint, a pickle that may contain code, so tatter does not load it")
            .help("save its tensors in Python: safetensors.torch.save_file(torch.load(FILE), \"x.safetensors\")");
    }
    if members.iter().any(|name| is_of_office(name)) {
        return office_document();
    }
    let names: Vec<&str> = members.iter().take(5).map(String::as_str).collect();
    Error::data(format!("this zip archive contains {} and no NumPy arrays", names.join(", ")))
        .help(format!("unpack it: unzip {}", in_command(input)))
}

//! `--files-from LIST`: names of inputs, separated by newlines or NUL bytes.

use super::missing;
use super::names::{STANDARD_INPUT, is_standard_input};
use crate::error::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The names in a list, which are files or directories; globs and `@N` are not expanded.
pub struct List<'a> {
    /// The name of the list; `-` is standard input.
    pub name: &'a OsStr,
    /// Whether names are terminated by NUL bytes.
    pub null: bool,
}

impl List<'_> {
    /// Whether the list is standard input.
    pub fn is_standard_input(&self) -> bool {
        is_standard_input(self.name)
    }

    /// The names, without blank lines.
    ///
    /// # Errors
    /// The list cannot be read, names no files, or uses the other separator.
    pub fn names(&self) -> Result<Vec<OsString>> {
        let shown = if self.is_standard_input() { STANDARD_INPUT.to_owned() } else { self.name.display().to_string() };
        let bytes = self.read(&shown)?;
        if !self.null && bytes.contains(&0) {
            return Err(Error::usage("the names end with NUL bytes").in_input(shown).help("add -0 to --files-from"));
        }
        let end = if self.null { 0 } else { b'\n' };
        let is_blank = |name: &[u8]| if self.null { name.is_empty() } else { name.trim_ascii().is_empty() };
        let names = bytes.split(|byte| *byte == end).filter(|name| !is_blank(name));
        let names: Vec<OsString> = names.map(|name| OsString::from_vec(name.to_owned())).collect();
        if names.is_empty() {
            return Err(Error::usage("the list is empty: it names no file").in_input(shown));
        }
        Ok(names)
    }

    fn read(&self, shown: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if self.is_standard_input() {
            std::io::stdin().lock().read_to_end(&mut bytes).map_err(|e| Error::io(shown, "cannot read", &e))?;
            return Ok(bytes);
        }
        std::fs::read(self.name).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => missing::missing(Path::new(self.name)).help("this file is the LIST of --files-from"),
            _ => Error::io(shown, "cannot read", &e),
        })
    }

    /// The error for a missing file named in the list.
    pub fn missing(&self, path: &Path) -> Error {
        let error = missing::missing(path);
        let name = path.as_os_str().as_bytes();
        if self.null && name.contains(&b'\n') {
            return error.help("with -0, every name must end with a NUL byte; if there is one name per line, omit -0");
        }
        if let Some(front) = name.strip_suffix(b"\r").filter(|front| PathBuf::from(OsStr::from_bytes(front)).exists()) {
            let front = OsStr::from_bytes(front).display();
            return error
                .help(format!("its line ends with a carriage return, but {front} exists: remove the carriage returns with tr -d '\\r'"));
        }
        if name.iter().any(|byte| b"*?[@".contains(byte)) {
            return error.help("a list contains names of files and directories: globs and @N are not expanded");
        }
        error
    }
}

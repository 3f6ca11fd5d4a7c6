//! An input: a file, a pipe or bytes in memory, decompressed while reading.

use super::codec::{self, Codec};
use super::dataset::NamedInput;
use super::expand;
use super::folder::{Folder, IsDataset};
use super::limits::advised;
use super::missing::missing;
use super::names::{STANDARD_INPUT, in_command};
use super::pipe::Pipe;
use super::recognise::{self, Suspect};
use super::scratch::scratch_directory;
use super::sharded::Sharded;
use super::stream::{About, Regular, fill};
use crate::error::{Error, Kind, OLD_JQ, Result};
use crate::hint::{Hint, READ_LINES};
use crate::options::Options;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Cursor, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes read to recognize formats: the total for all inputs, and the maximum and minimum for each.
const HEADS_BYTES: usize = 16 << 20;
const HEAD_BYTES: usize = 64 << 10;
const SMALL_HEAD_BYTES: usize = 4 << 10;

/// One input: a file or standard input, decompressed while reading.
pub struct Input {
    about: About,
    source: InputSource,
    codec: Option<Codec>,
    head: Vec<u8>,
    extension: Option<String>,
    nbytes: Option<u64>,
    /// Number of additional bytes that a pipe may remember, because a reader ends after a whole record.
    slack: u64,
    /// The temporary copy, once it exists.
    spool: Mutex<Option<File>>,
    /// The directory for the copy.
    scratch_directory: PathBuf,
    /// The directory it was found in, if that was named.
    folder: Option<Arc<Folder>>,
}

enum InputSource {
    File(PathBuf),
    Pipe(Pipe),
    Memory(Arc<[u8]>),
    /// Opens a directory that is a single dataset.
    Directory(PathBuf),
}

impl Input {
    /// An input from bytes in memory, compressed or not, as for a file.
    pub fn memory(name: &str, bytes: impl Into<Arc<[u8]>>) -> Input {
        let bytes: Arc<[u8]> = bytes.into();
        let mut input = Input::new(name, &Options::default(), InputSource::Memory(bytes.clone()));
        input.codec = Codec::detect(&bytes);
        input.nbytes = Some(bytes.len() as u64);
        if let Ok(mut stream) = input.open() {
            // The error occurs again when the bytes are read.
            let _ = fill(&mut stream, &mut input.head, HEAD_BYTES, |_| false);
        }
        input
    }

    /// Opens a file that does not hold records of the run.
    ///
    /// # Errors
    /// The file is missing, is a directory, or cannot be read.
    pub fn regular(path: &Path) -> Result<Input> {
        Input::from_path(path, &Options::default(), SMALL_HEAD_BYTES)
    }

    /// No input, for `--from none`.
    pub fn none() -> Input {
        Input::memory("nothing", Vec::new())
    }

    /// The error if neither the first bytes nor the name identify a format; `formats` lists the choices.
    pub fn unrecognised(&self, formats: &str) -> Error {
        let from = if self.path().is_some() { "the first bytes or the name" } else { "the first bytes" };
        let error = Error::usage(format!("the format cannot be detected from {from}")).in_input(self.about.name.clone());
        let first: Vec<String> = self.head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let error = match self.text() {
            Some(text) if text.trim().is_empty() => error.help("the first bytes are whitespace").help(READ_LINES),
            Some(text) => {
                let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                let error = error.help(format!("the first line is text: {}", line.chars().take(40).collect::<String>()));
                let error = error.help(READ_LINES);
                // A list of numbers is also an expression.
                let is_tensor =
                    line.starts_with('[') && line.len() <= 60 && line.chars().all(|c| c.is_ascii_digit() || "[],.- ".contains(c));
                let error = if is_tensor {
                    error.help(format!("to make a record of this tensor: tatter map 'x = {line}' then show --from none"))
                } else {
                    error
                };
                match serde_json::from_str::<serde::de::IgnoredAny>(line) {
                    Ok(_) => {
                        let read = in_command(self.name());
                        error
                            .help(format!(
                                "to make records of JSON values that are not objects: jq -c '{{value: .}}' {read} | tatter ... -"
                            ))
                            .help(OLD_JQ)
                    }
                    Err(_) => error,
                }
            }
            None => error.help(format!("the first bytes are {}", first.join(" "))),
        };
        error.help(Hint::to_read_with(format!("specify the format with --from: {formats}"), "--from FORMAT"))
    }

    /// The first bytes, if they are text.
    pub fn text(&self) -> Option<&str> {
        let text = match std::str::from_utf8(&self.head) {
            Ok(text) => text,
            // A character is truncated at the end of the head.
            Err(e) if e.error_len().is_none() => std::str::from_utf8(&self.head[..e.valid_up_to()]).ok()?,
            Err(_) => return None,
        };
        let is_binary = text.is_empty() || text.contains(|c: char| c.is_control() && !c.is_whitespace());
        (!is_binary).then_some(text)
    }

    fn new(name: &str, options: &Options, source: InputSource) -> Input {
        let about = About { name: name.into(), consumed: Arc::new(AtomicU64::new(0)), nthreads: options.threads };
        Input {
            about,
            source,
            codec: None,
            head: Vec::new(),
            extension: codec::extensions(name).1,
            nbytes: None,
            slack: options.max_record_bytes,
            spool: Mutex::new(None),
            scratch_directory: scratch_directory(options),
            folder: None,
        }
    }

    fn from_path(path: &Path, options: &Options, head_bytes: usize) -> Result<Input> {
        let name = path.display().to_string();
        let (file, metadata) = open_file(path, &name)?;
        if metadata.is_dir() {
            return Err(Error::new(Kind::Io, "this is a directory")
                .in_input(name.as_str())
                .help(format!("specify its files with a quoted glob: '{}/*'", name.trim_end_matches('/'))));
        }
        if !metadata.is_file() {
            return Input::from_pipe(&name, file, options, head_bytes);
        }
        let mut input = Input::new(&name, options, InputSource::File(path.to_owned()));
        input.nbytes = Some(metadata.len());
        let mut file = file;
        let mut raw = Vec::new();
        fill(&mut file, &mut raw, head_bytes, |_| false).map_err(|e| Error::io(&name, "cannot read", &e))?;
        input.codec = Codec::of_file(&raw, &name);
        if input.codec.is_none() {
            input.head = raw;
        } else {
            let mut stream = input.about.stream(Cursor::new(raw).chain(file), input.codec)?;
            match fill(&mut stream, &mut input.head, head_bytes, |_| false) {
                // Damage further on is reported when it is read.
                Err(e) if input.head.is_empty() => return Err(Error::io(&name, "cannot read", &e)),
                _ => {}
            }
            input.about.consumed.store(0, Ordering::Relaxed);
        }
        Ok(input)
    }

    /// A pipe is examined as soon as some bytes arrive, so that slow pipes start immediately.
    fn from_pipe(name: &str, pipe: impl Read + Send + 'static, options: &Options, head_bytes: usize) -> Result<Input> {
        let mut pipe = pipe;
        let mut raw = Vec::new();
        // Twelve bytes identify all compressions except zlib, which has to be decompressed. None starts like JSON, or with a line
        // of plain text, which is enough if the format is given.
        let is_line = |raw: &[u8]| raw.ends_with(b"\n") && raw.iter().all(|byte| matches!(byte, b'\t' | b'\r' | b'\n' | b' '..=b'~'));
        let is_known = |raw: &[u8]| raw.len() >= 12 || (options.from.is_some() && is_line(raw));
        let enough = |raw: &[u8]| (is_known(raw) && !Codec::may_be_zlib(raw)) || matches!(raw[0], b'{' | b'[');
        fill(&mut pipe, &mut raw, head_bytes, enough).map_err(|e| Error::io(name, "cannot read", &e))?;
        let mut input = Input::new(name, options, InputSource::Memory(Arc::from([])));
        input.codec = Codec::detect(&raw);
        let mut stream = input.about.stream(Cursor::new(raw).chain(pipe), input.codec)?;
        let enough = |head: &[u8]| options.from.is_some() || recognise::holds_json_line(head);
        fill(&mut stream, &mut input.head, head_bytes, enough).map_err(|e| Error::io(name, "cannot read", &e))?;
        input.source = InputSource::Pipe(Pipe::new(input.about.name.clone(), input.head.clone(), stream));
        Ok(input)
    }

    /// A directory that is a single dataset. Its format opens the files: [`Input::open_member`].
    pub fn dataset(path: PathBuf, options: &Options) -> Input {
        let mut input = Input::new(&path.display().to_string(), options, InputSource::Directory(path));
        input.extension = None;
        input
    }

    /// The directory, if it is a dataset.
    pub fn directory(&self) -> Option<&Path> {
        match &self.source {
            InputSource::Directory(path) => Some(path),
            _ => None,
        }
    }

    /// The decompressed bytes of a file of a dataset. Bytes read count towards the dataset.
    ///
    /// # Errors
    /// The file is missing or cannot be read.
    pub fn open_member(&self, path: &Path) -> Result<Box<dyn Read + Send>> {
        let name: Arc<str> = path.display().to_string().into();
        let (mut file, metadata) = open_file(path, &name)?;
        if !metadata.is_file() {
            return Err(Error::new(Kind::Io, "this is not a regular file").in_input(name));
        }
        let mut raw = Vec::new();
        fill(&mut file, &mut raw, 64, |_| false).map_err(|e| Error::io(&name, "cannot read", &e))?;
        let codec = Codec::detect(&raw);
        let rest = Regular::new(file, metadata.len().saturating_sub(raw.len() as u64), name.clone());
        let about = About { name, ..self.about.clone() };
        about.stream(Cursor::new(raw).chain(rest), codec)
    }

    /// The directory it was found in, if that was named instead of the file.
    pub fn folder(&self) -> Option<&Folder> {
        self.folder.as_deref()
    }

    /// The error for a file that is not data, with advice on skipping it if it was not named individually.
    #[must_use]
    pub fn among_others(&self, error: Error) -> Error {
        match &self.folder {
            Some(folder) => {
                error.help(format!("to read only some files of a directory, specify them with a quoted glob: '{}'", folder.glob))
            }
            None => error,
        }
    }

    /// The name as given by the user; `standard input` for a pipe.
    pub fn name(&self) -> &Arc<str> {
        &self.about.name
    }

    /// The first bytes, decompressed: up to 64 KiB (4 KiB if there are very many inputs); for a pipe, as many as have
    /// arrived. They can still be read.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The extension of the name without compression extensions, in lower case.
    pub fn extension(&self) -> Option<&str> {
        self.extension.as_deref()
    }

    /// Whether it is empty after decompression.
    pub fn is_empty(&self) -> bool {
        self.head().is_empty() && self.directory().is_none()
    }

    /// Whether its name is that of a shard, such as `a-00000-of-00008.tfrecord`.
    pub fn is_shard(&self) -> bool {
        self.path().and_then(|path| path.file_name()?.to_str()).is_some_and(|name| Sharded::of(name).is_some())
    }

    /// Whether it can be opened repeatedly, because it is a regular file.
    pub fn is_regular(&self) -> bool {
        !matches!(self.source, InputSource::Pipe(_)) || self.lock_spool().is_some()
    }

    /// Its path, if it is a file.
    pub fn path(&self) -> Option<&Path> {
        match &self.source {
            InputSource::File(path) | InputSource::Directory(path) => Some(path),
            _ => None,
        }
    }

    /// The compression of the whole input.
    pub fn codec(&self) -> Option<Codec> {
        self.codec
    }

    /// Size on disk, if known, for progress.
    pub fn nbytes(&self) -> Option<u64> {
        self.nbytes
    }

    /// Bytes read so far, as stored on disk, by the most recently opened stream.
    pub fn consumed(&self) -> &Arc<AtomicU64> {
        &self.about.consumed
    }

    /// The decompressed bytes from the start. A pipe is read only once, but the bytes read so far are returned again if
    /// they did not exceed the limit of [`Input::remember`].
    ///
    /// Errors of the stream wrap [`Error`], which [`Error::io`] unwraps, with the name of the input.
    ///
    /// # Errors
    /// The file no longer exists or cannot be read, or a pipe was read before and not remembered.
    pub fn open(&self) -> Result<Box<dyn Read + Send>> {
        if let Some(spool) = self.lock_spool().as_ref() {
            self.about.consumed.store(0, Ordering::Relaxed);
            return self.about.stream(reopen(spool)?, None);
        }
        match &self.source {
            InputSource::Pipe(pipe) => pipe.open(),
            InputSource::File(path) => {
                let (file, metadata) = open_file(path, self.name())?;
                self.about.consumed.store(0, Ordering::Relaxed);
                self.about.stream(Regular::new(file, metadata.len(), self.name().clone()), self.codec)
            }
            InputSource::Directory(path) => Err(Error::new(Kind::Io, "this is a directory").in_input(path.display().to_string())),
            InputSource::Memory(bytes) => {
                self.about.consumed.store(0, Ordering::Relaxed);
                self.about.stream(Cursor::new(bytes.clone()), self.codec)
            }
        }
    }

    /// The file and its length, if it is uncompressed and can be read at any position. Excludes files that claim to be
    /// empty, such as those in `/proc`.
    ///
    /// # Errors
    /// The file no longer exists or cannot be read.
    pub fn by_position(&self) -> Result<Option<(File, u64)>> {
        let (InputSource::File(path), None) = (&self.source, self.codec) else { return Ok(None) };
        let (file, metadata) = open_file(path, self.name())?;
        self.about.consumed.store(0, Ordering::Relaxed);
        Ok((metadata.is_file() && metadata.len() > 0).then_some((file, metadata.len())))
    }

    /// Makes streams of a pipe remember what they read, up to `nbytes` and one record, for the next [`Input::open`].
    /// After `remember(0)`, the next stream is the last: it returns the remembered bytes, frees them, and continues.
    pub fn remember(&self, nbytes: u64) {
        if let InputSource::Pipe(pipe) = &self.source {
            pipe.remember(if nbytes == 0 { 0 } else { nbytes.saturating_add(self.slack) });
        }
    }

    /// The decompressed bytes in a file with random access: the file itself, or an unnamed temporary copy. Each call
    /// returns a file with a separate position.
    ///
    /// # Errors
    /// Reading or writing the copy fails.
    pub fn file(&self) -> Result<File> {
        if let (InputSource::File(path), None) = (&self.source, self.codec) {
            return open_file(path, self.name()).map(|(file, _)| file);
        }
        if let Some(spool) = self.lock_spool().as_ref() {
            return reopen(spool);
        }
        let spool_error = |e: &std::io::Error| spool_error(&self.scratch_directory, e);
        let mut spool = tempfile::tempfile_in(&self.scratch_directory).map_err(|e| spool_error(&e))?;
        let mut stream = self.open()?;
        let mut block = vec![0; 1 << 20];
        loop {
            let nbytes = match stream.read(&mut block) {
                Ok(0) => break,
                Ok(nbytes) => nbytes,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(Error::io(self.name(), "cannot read", &e)),
            };
            spool.write_all(&block[..nbytes]).map_err(|e| spool_error(&e))?;
        }
        let file = reopen(&spool)?;
        *self.lock_spool() = Some(spool);
        Ok(file)
    }

    fn lock_spool(&self) -> std::sync::MutexGuard<'_, Option<File>> {
        self.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The inputs named by FILE arguments and `--files-from`. Directories, globs and `name@N` are expanded; no argument or
/// `-` means standard input.
///
/// # Errors
/// A missing file, or an input recognized as not being data (a directory, an LFS pointer, HTML, a URL).
pub fn inputs(files: &[OsString], options: &Options, is_dataset: IsDataset) -> Result<Vec<Arc<Input>>> {
    let from = options.from.as_deref();
    let found = expand::expand(files, options, is_dataset)?;
    let head_bytes = (HEADS_BYTES / found.len().max(1)).clamp(SMALL_HEAD_BYTES, HEAD_BYTES);
    let mut inputs = Vec::with_capacity(found.len());
    for NamedInput { path, folder, is_dataset, .. } in found {
        let mut input = match path {
            Some(path) if is_dataset => {
                inputs.push(Arc::new(Input::dataset(path, options)));
                continue;
            }
            None => standard_input(options, head_bytes)?,
            Some(path) => Input::from_path(&path, options, head_bytes)?,
        };
        input.folder = folder;
        let is_whole = input.head.len() < head_bytes && input.is_regular();
        let has_delimiter = options.csv.delimiter.is_some();
        let suspect = Suspect {
            name: input.name(),
            codec: input.codec,
            head: &input.head,
            is_whole,
            extension: input.extension(),
            from,
            has_delimiter,
        };
        recognise::check(&suspect).map_err(|e| input.among_others(e))?;
        inputs.push(Arc::new(input));
    }
    Ok(inputs)
}

fn standard_input(options: &Options, head_bytes: usize) -> Result<Input> {
    let mut file = duplicate_stdin()?;
    let nbytes = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|m| m.len());
    if file.metadata().is_ok_and(|m| m.is_dir()) {
        return Err(Error::new(Kind::Io, "this is a directory").in_input(STANDARD_INPUT));
    }
    let name = options.input_name.as_deref().unwrap_or(STANDARD_INPUT);
    let mut input = match (nbytes, file.stream_position()) {
        // Excludes what is appended while reading, which may be the output itself: `< x.jsonl >> x.jsonl`.
        (Some(nbytes @ 1..), Ok(at)) => {
            let left = nbytes.saturating_sub(at);
            Input::from_pipe(name, Regular::new(file, left, name.into()).take(left), options, head_bytes)?
        }
        _ => Input::from_pipe(name, file, options, head_bytes)?,
    };
    input.nbytes = nbytes;
    // A name used only in messages does not identify a format.
    input.extension = None;
    Ok(input)
}

/// Standard input without the buffer of [`std::io::Stdin`].
fn duplicate_stdin() -> Result<File> {
    use std::os::fd::AsFd;
    let descriptor = std::io::stdin().as_fd().try_clone_to_owned().map_err(|e| Error::io(STANDARD_INPUT, "cannot open", &e))?;
    Ok(descriptor.into())
}

fn open_file(path: &Path, name: &str) -> Result<(File, std::fs::Metadata)> {
    let opened = File::open(path).and_then(|file| file.metadata().map(|metadata| (file, metadata)));
    opened.map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => missing(path),
        _ => advised(Error::io(name, "cannot open", &e), &e),
    })
}

/// The same file with a separate position.
fn reopen(file: &File) -> Result<File> {
    use std::os::fd::AsRawFd;
    File::open(format!("/dev/fd/{}", file.as_raw_fd())).map_err(|e| Error::io("a temporary copy", "cannot open it again", &e))
}

fn spool_error(directory: &Path, source: &std::io::Error) -> Error {
    let error = Error::io(&directory.display().to_string(), "cannot keep a temporary copy", source);
    error.help(match source.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            "choose a directory with more space: --temp-dir DIR, or write the input to a file first, decompressed"
        }
        _ => "choose a directory for temporary files: --temp-dir DIR",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 1).unwrap()
    }

    fn tfrecord(payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u64).to_le_bytes();
        let checksum = |bytes| codec::masked_crc32c(bytes).to_le_bytes();
        [length.as_slice(), &checksum(&length), payload, &checksum(payload)].concat()
    }

    fn text(nlines: usize) -> Vec<u8> {
        (0..nlines).flat_map(|i| format!("{{\"i\": {i}, \"x\": {}}}\n", i.wrapping_mul(0x9e37_79b9) % 1009).into_bytes()).collect()
    }

    /// The contents of an input or its error: as a file, as a pipe, decompressed ahead, and from copies read at random
    /// positions. All must agree.
    fn read(raw: &[u8], options: &Options) -> Result<Vec<u8>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, raw).unwrap();
        let name = path.display().to_string();
        let all = |input: Result<Input>| -> Result<Vec<u8>> {
            let (input, mut bytes) = (input?, Vec::new());
            input.open()?.read_to_end(&mut bytes).map_err(|e| Error::io(input.name(), "cannot read", &e))?;
            assert!(bytes.starts_with(input.head()));
            Ok(bytes)
        };
        let copied = |input: Result<Input>| -> Result<Vec<u8>> {
            let mut bytes = Vec::new();
            input?.file()?.read_to_end(&mut bytes).unwrap();
            Ok(bytes)
        };
        let pipe = || Input::from_pipe(&name, Cursor::new(raw.to_vec()), options, HEAD_BYTES);
        let ahead = Options { threads: 4, ..options.clone() };
        let found: Vec<Result<Vec<u8>, String>> = [
            all(Input::from_path(&path, options, HEAD_BYTES)),
            all(pipe()),
            all(Input::from_path(&path, &ahead, HEAD_BYTES)),
            all(Input::from_pipe(&name, Cursor::new(raw.to_vec()), &ahead, HEAD_BYTES)),
            copied(Input::from_path(&path, options, HEAD_BYTES)),
            copied(pipe()),
        ]
        .into_iter()
        .map(|result| result.map_err(|e| e.to_string().lines().next().unwrap_or_default().replace(&name, "x")))
        .collect();
        for other in &found[1..] {
            assert_eq!(*other, found[0]);
        }
        found.into_iter().next().unwrap()
    }

    #[test]
    fn compressed_inputs_read_as_plain_ones() {
        let (short, long) = (text(3), text(100_000));
        let record = tfrecord(b"abc");
        let cases: Vec<(&str, Vec<u8>, &[u8])> = vec![
            ("plain", long.clone(), &long),
            ("nothing", vec![], b""),
            ("gzip", gzip(&long), &long),
            ("gzip of nothing", gzip(b""), b""),
            ("gzip of two members", [gzip(&long[..1000]), gzip(&long[1000..])].concat(), &long),
            ("gzip of an empty member and another", [gzip(b""), gzip(&short)].concat(), &short),
            ("gzip with padding", [gzip(&short), vec![0; 1000]].concat(), &short),
            ("zstd", zstd(&long), &long),
            ("zstd of two frames", [zstd(&long[..1000]), zstd(&long[1000..])].concat(), &long),
            ("zstd after a skippable frame", [b"\x50\x2a\x4d\x18\x04\0\0\0abcd".to_vec(), zstd(&short)].concat(), &short),
            ("zlib of a TFRecord", zlib(&record), &record),
        ];
        let (zlib_text, options) = (zlib(b"a = 1; b = 2; c = 3"), Options::default());
        assert!(read(&zlib_text, &options).unwrap() == zlib_text, "zlib of something else stays as it is");
        for (name, raw, expected) in cases {
            assert!(read(&raw, &options).unwrap() == *expected, "{name}");
        }
    }

    #[test]
    fn damage_is_told_with_how_far_it_got() {
        let long = text(100_000);
        let cut = |bytes: Vec<u8>| bytes[..bytes.len() / 2].to_vec();
        let end_off = |bytes: Vec<u8>| bytes[..bytes.len() - 1].to_vec();
        let message = |raw: &[u8]| read(raw, &Options::default()).unwrap_err();
        for raw in [cut(gzip(&long)), end_off(gzip(&long))] {
            let message = message(&raw);
            assert!(message.starts_with("x: the gzip data is truncated after ") && message.ends_with(" decompressed bytes"), "{message}");
        }
        assert!(message(&end_off(zstd(&long))).starts_with("x: the zstd data is truncated after "));
        assert!(message(&end_off(zlib(&tfrecord(&long)))).starts_with("x: the zlib data is truncated after "));
        let mut flipped = gzip(&long);
        let at = flipped.len() - 6;
        flipped[at] ^= 1;
        assert!(message(&flipped).starts_with(&format!("x: the gzip data is damaged after {} decompressed bytes", long.len())));
        let trailing = [gzip(b"short"), b"hello".to_vec()].concat();
        let offset = trailing.len() - 5;
        assert_eq!(
            message(&trailing),
            format!("x: the gzip data is damaged after 5 decompressed bytes: the data after its first {offset} bytes is not gzip")
        );
    }

    #[test]
    fn a_slow_pipe_is_looked_at_as_soon_as_it_speaks() {
        struct Slow(Vec<&'static [u8]>);
        impl Read for Slow {
            fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
                assert!(!self.0.is_empty(), "asked for more than it takes");
                let line = self.0.remove(0);
                into[..line.len()].copy_from_slice(line);
                Ok(line.len())
            }
        }
        let input = Input::from_pipe("p", Slow(vec![b"{\"a\": 12345}\n"]), &Options::default(), HEAD_BYTES).unwrap();
        assert_eq!(input.head(), b"{\"a\": 12345}\n");
    }

    #[test]
    fn copies_have_positions_of_their_own() {
        let input = Input::from_pipe("p", Cursor::new(gzip(b"0123456789")), &Options::default(), HEAD_BYTES).unwrap();
        let (mut a, mut b) = (input.file().unwrap(), input.file().unwrap());
        let mut two = [0; 2];
        a.read_exact(&mut two).unwrap();
        b.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"01");
        assert!(input.is_regular(), "by now it can be opened again");
        let mut all = Vec::new();
        input.open().unwrap().read_to_end(&mut all).unwrap();
        assert_eq!(all, b"0123456789");
    }

    #[test]
    fn bytes_are_counted_as_they_are_on_disk() {
        let raw = gzip(&text(100_000));
        let input = Input::memory("x", raw.clone());
        let mut all = Vec::new();
        input.open().unwrap().read_to_end(&mut all).unwrap();
        assert_eq!(input.consumed().load(Ordering::Relaxed), raw.len() as u64);
        assert_eq!(input.nbytes(), Some(raw.len() as u64));
    }
}

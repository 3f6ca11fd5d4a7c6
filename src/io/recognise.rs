//! Recognizes inputs that are not data by their first bytes; each message has advice.

use super::codec::{Codec, extensions, split_extension};
use super::names::in_command;
use crate::error::{Error, Result, mismatch};
use crate::hint::{Hint, READ_LINES};
use crate::printable::{BYTE_ORDER_MARK, shell_word};
use memchr::memmem;

/// Unsupported compressions, archives and formats, by bytes at an offset: their name, and a command that extracts the contents.
const FOREIGN: [(usize, &[u8], &str, &str); 8] = [
    (0, b"BZh", "a bzip2-compressed file", "decompress it first: bzip2 -dc FILE | tatter ...{from} -"),
    (0, b"\xfd7zXZ\0", "an xz-compressed file", "decompress it first: xz -dc FILE | tatter ...{from} -"),
    (0, b"\x04\x22\x4d\x18", "an lz4-compressed file", "decompress it first: lz4 -dc FILE | tatter ...{from} -"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", "extract a member first: 7z e -so FILE MEMBER | tatter ... -"),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file", "write its records as JSON Lines with Python's h5py"),
    (0, b"Obj\x01", "an Avro file", "convert it first: python3 -m fastavro FILE | tatter ... -"),
    (0, b"SQLite format 3\0", "an SQLite database", "query it first: sqlite3 -json FILE 'SELECT ...' | tatter ... --from json -"),
    (0, b"MATLAB 5.0 MAT-file", "a MATLAB file", "save its variables as an npz with Python's scipy.io.loadmat and numpy.savez"),
];

/// The properties of an input before its format is known.
pub struct Suspect<'a> {
    pub name: &'a str,
    /// The compression.
    pub codec: Option<Codec>,
    /// The first decompressed bytes.
    pub head: &'a [u8],
    /// Whether `head` is the whole input.
    pub is_whole: bool,
    pub extension: Option<&'a str>,
    /// The value of `--from`.
    pub from: Option<&'a str>,
    /// Whether `--delimiter` is given.
    pub has_delimiter: bool,
}

/// Rejects inputs that cannot be intended.
///
/// # Errors
/// A data error: an LFS pointer, an HTML page, an unsupported compression, or CSV that is not read as such.
pub fn check(suspect: &Suspect) -> Result<()> {
    let head = trimmed(suspect.head);
    let found = lfs_pointer(suspect).or_else(|| {
        if reads_any_text(suspect) {
            None
        } else {
            html(head)
                .or_else(|| compressed(suspect))
                .or_else(|| foreign(suspect))
                .or_else(|| office(suspect))
                .or_else(|| wide_text(suspect))
                .or_else(|| csv(suspect))
        }
    });
    match found {
        Some(error) => Err(error.in_input(suspect.name)),
        None => Ok(()),
    }
}

/// Any text is valid for the format `text`, and `none` reads nothing.
fn reads_any_text(suspect: &Suspect) -> bool {
    match suspect.from {
        Some(from) => matches!(from, "text" | "none"),
        None => matches!(suspect.extension, Some("txt" | "text")),
    }
}

/// Strips a leading byte order mark and whitespace.
fn trimmed(head: &[u8]) -> &[u8] {
    head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start()
}

/// <https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>
fn lfs_pointer(suspect: &Suspect) -> Option<Error> {
    if !suspect.head.starts_with(b"version https://git-lfs.github.com/spec/") {
        return None;
    }
    let text = String::from_utf8_lossy(suspect.head);
    let size = text.lines().find_map(|line| line.strip_prefix("size ")?.trim().parse::<u64>().ok());
    let size = size.map(|n| format!(" of {n} bytes")).unwrap_or_default();
    Some(
        Error::data(format!("this is a Git LFS pointer to a file{size}, not the file itself"))
            .help(format!("fetch the file with: git lfs pull --include {}", in_command(suspect.name))),
    )
}

fn html(head: &[u8]) -> Option<Error> {
    let begin = head.get(..head.len().min(64)).unwrap_or_default().to_ascii_lowercase();
    let is = |tag: &[u8]| begin.strip_prefix(tag).is_some_and(|rest| rest.first().is_none_or(|b| !b.is_ascii_alphanumeric()));
    let what = if [b"<!doctype html".as_slice(), b"<html", b"<head", b"<body"].into_iter().any(is) {
        "an HTML page"
    } else if is(b"<?xml") {
        "an XML document"
    } else {
        return None;
    };
    Some(
        Error::data(format!("this is {what}, not data"))
            .help("a failed download often leaves a page like this; check its contents and download the data again (curl -fL fails on an HTTP error instead of saving the error page)")
            .help(READ_LINES),
    )
}

/// Data that is still compressed after decompression.
fn compressed(suspect: &Suspect) -> Option<Error> {
    [b"\x1f\x8b".as_slice(), b"\x28\xb5\x2f\xfd"].into_iter().find(|magic| suspect.head.starts_with(magic))?;
    // The outer compression goes first; the inner one is recognized.
    let command = match suspect.codec {
        Some(Codec::Zstd) => "zstd -dc",
        Some(Codec::Zlib) => "pigz -dz <",
        _ => "gzip -dc",
    };
    let way_out = format!("decompress it first: {command} {} | tatter ...{} -", in_command(suspect.name), from_option(suspect));
    Some(Error::data("the data is compressed twice").help(way_out))
}

fn foreign(suspect: &Suspect) -> Option<Error> {
    // As the length of a TFRecord, the first bytes are possible too.
    if suspect.head.starts_with(b"\x80") && matches!(suspect.extension, Some("pkl" | "pickle")) {
        let error = Error::data("this is a pickle, which may contain code, so tatter does not load it");
        return Some(error.help("write its records in Python as JSON Lines, or its arrays with numpy.savez"));
    }
    // The magic bytes alone could be text.
    if suspect.head.starts_with(b"ORC") && suspect.head.contains(&0) {
        let error = Error::data("this is an ORC file, which is not supported");
        return Some(error.help("convert it to Parquet with Python's pyarrow.orc and pyarrow.parquet"));
    }
    let (_, _, what, way_out) =
        FOREIGN.iter().find(|(offset, magic, ..)| suspect.head.get(*offset..).is_some_and(|rest| rest.starts_with(magic)))?;
    Some(
        Error::data(format!("this is {what}, which is not supported"))
            .help(way_out.replace("{from}", &from_option(suspect)).replace("FILE", &in_command(suspect.name))),
    )
}

/// The beginnings of the names of files in the zip archives that office programs write.
const OFFICE: [&str; 6] = ["[Content_Types].xml", "docProps/", "_rels/.rels", "xl/", "word/", "ppt/"];

/// Whether a zip archive with a file of this name is a document of an office program.
pub fn is_of_office(member: &str) -> bool {
    OFFICE.iter().any(|name| member.starts_with(name))
}

/// The error for a document of an office program.
pub fn office_document() -> Error {
    Error::data("this is an Office document, which is not supported").help("save the sheet as CSV")
}

/// A zip archive whose first file, which is named at byte 30, is one of an office program. OpenDocument begins with its type.
fn office(suspect: &Suspect) -> Option<Error> {
    let name = suspect.head.strip_prefix(b"PK\x03\x04").and_then(|rest| rest.get(26..))?;
    let is_office = OFFICE.iter().any(|office| name.starts_with(office.as_bytes()));
    (is_office || name.starts_with(b"mimetypeapplication/vnd.oasis.opendocument")).then(office_document)
}

/// UTF-32 or UTF-16: eight bytes of ASCII characters, in either byte order, after a byte order mark: the mark alone could be the start
/// of a binary format. For input that is read as text, the mark may be missing.
fn wide_text(suspect: &Suspect) -> Option<Error> {
    let all = [(4, "LE"), (4, "BE"), (2, "LE"), (2, "BE")];
    all.into_iter().find_map(|(width, order)| {
        let (mut mark, mut low) = ([0xff, 0xfe, 0, 0][..width].to_vec(), 0);
        if order == "BE" {
            mark.reverse();
            low = width - 1;
        }
        let (order, text) = match suspect.head.strip_prefix(mark.as_slice()) {
            Some(text) => ("", text),
            None if is_read_as_text(suspect) => (order, suspect.head),
            None => return None,
        };
        let is_ascii = |(place, byte): (usize, &u8)| match place % width == low {
            true => byte.is_ascii_graphic() || byte.is_ascii_whitespace(),
            false => *byte == 0,
        };
        let encoding = format!("UTF-{}", 8 * width);
        let way_out = format!("iconv -f {encoding}{order} -t UTF-8 {} | tatter ...{} -", in_command(suspect.name), from_option(suspect));
        let error = || Error::data(format!("this is {encoding}, and text must be UTF-8")).help(way_out);
        text.get(..8)?.iter().enumerate().all(is_ascii).then(error)
    })
}

/// ` --from FORMAT` for a pipe from the input, if its bytes do not identify the format.
fn from_option(suspect: &Suspect) -> String {
    let inner = match suspect.extension {
        Some("xz" | "bz2" | "lz4" | "gz" | "zst") => extensions(split_extension(suspect.name).0).1,
        extension => extension.map(str::to_owned),
    };
    pipe_option(suspect.from.or_else(|| format_of(&inner?)))
}

/// The same for data of that format.
fn pipe_option(format: Option<&str>) -> String {
    format.filter(|format| *format == "text" || DELIMITED.contains(format)).map(|format| format!(" --from {format}")).unwrap_or_default()
}

/// Formats of which a part is of no use.
const WHOLE: [&str; 5] = ["parquet", "arrow-file", "npz", "npy", "safetensors"];

/// The error of a decompressor after `nbytes` of decompressed data.
pub fn decoding_error(codec: Codec, name: &str, nbytes: u64, source: &std::io::Error) -> Error {
    if let Some(own) = Error::carried_by(source) {
        return own;
    }
    let format = extensions(name).1.and_then(|extension| format_of(&extension));
    // No common program decompresses zlib.
    let is_lost = nbytes == 0 || codec == Codec::Zlib || format.is_some_and(|format| WHOLE.contains(&format));
    let with_rest = |error: Error, what: &str| {
        if is_lost {
            return error;
        }
        let from = pipe_option(format);
        error.help(format!("to read {what}: {codec} -dc {} | tatter ...{from} --on-error skip -", in_command(name)))
    };
    let error = match source.kind() {
        std::io::ErrorKind::UnexpectedEof => {
            let error = Error::data(format!("the {codec} data is truncated after {nbytes} decompressed bytes"));
            with_rest(error.help("the file is truncated; download it again or re-create it"), "the part that is intact")
        }
        _ if source.to_string().contains("too much memory") => {
            Error::data("the zstd data needs a window larger than 128 MiB to decompress")
                .help("decompress it first: zstd -dc --long=31 FILE | tatter ... -")
        }
        _ => {
            let error = Error::data(format!("the {codec} data is damaged after {nbytes} decompressed bytes: {source}"));
            with_rest(
                error.help("nothing after the damage can be read; download the file again or re-create it"),
                "the data before the damage",
            )
        }
    };
    error.in_input(name)
}

/// Whether the input is read as JSON or as a format of [`DELIMITED`].
fn is_read_as_text(suspect: &Suspect) -> bool {
    let format = suspect.from.or_else(|| format_of(suspect.extension?));
    format.is_some_and(|format| DELIMITED.contains(&format) || matches!(format, "jsonl" | "json"))
}

/// Text formats that contain delimiters.
const DELIMITED: [&str; 4] = ["csv", "tsv", "libsvm", "matrix-market"];
/// The extensions of the others among them.
const INDEXED: [&str; 5] = ["libsvm", "svmlight", "svm", "mtx", "mm"];

/// Text whose first lines have the same number of commas, tabs or semicolons and do not look like JSON. For CSV input,
/// only if the delimiter is a different one.
fn csv(suspect: &Suspect) -> Option<Error> {
    let head = trimmed(suspect.head);
    if head.first().is_none_or(|b| matches!(b, b'{' | b'[')) || memchr::memchr(0, head).is_some() || !is_utf8_so_far(head) {
        return None;
    }
    let is_indexed = suspect.extension.is_some_and(|extension| INDEXED.contains(&extension));
    let expected = match (suspect.from, suspect.extension) {
        (Some("csv"), _) | (None, Some("csv")) => Some(b','),
        (Some("tsv"), _) | (None, Some("tsv" | "tab")) => Some(b'\t'),
        (from, _) if from.is_some_and(|from| DELIMITED.contains(&from)) || is_indexed => return None,
        _ => None,
    };
    if expected.is_some() && suspect.has_delimiter {
        return None;
    }
    let mut lines = head.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let header = lines.next()?;
    // The last line of the head can be truncated.
    let (second, third) = (lines.next(), lines.next());
    let second = second.filter(|_| suspect.is_whole || third.is_some());
    let is_told = expected.is_some() && suspect.from.is_some();
    let is_it = |delimiter: u8| {
        let n = delimiters(header, delimiter);
        // A single line does not outweigh what the user says.
        n > 0 && second.map_or(!is_told && is_header(header, delimiter), |line| delimiters(line, delimiter) == n)
    };
    let ways = [
        (b',', "comma", "CSV", "--from csv"),
        (b'\t', "tab", "TSV", "--from tsv"),
        (b';', "semicolon", "CSV", "--from csv --delimiter ';'"),
    ];
    let (_, what, format, way) = ways
        .into_iter()
        .find(|(delimiter, ..)| is_it(*delimiter))
        .filter(|(delimiter, ..)| expected != Some(*delimiter) && expected.is_none_or(|expected| delimiters(header, expected) == 0))?;
    let error = Error::data(format!("this looks like {what}-separated values"));
    Some(error.help(Hint::to_read_with(format!("to read it as {format}: {way}"), way)).help(READ_LINES))
}

/// Counts the delimiters outside of quotes.
fn delimiters(line: &[u8], delimiter: u8) -> usize {
    let mut quoted = false;
    line.iter()
        .filter(|b| {
            quoted ^= **b == b'"';
            !quoted && **b == delimiter
        })
        .count()
}

/// Whether a single line can be a header: short names between the delimiters.
fn is_header(line: &[u8], delimiter: u8) -> bool {
    line.split(|b| *b == delimiter)
        .map(<[u8]>::trim_ascii)
        .all(|name| (1..=64).contains(&name.len()) && name.iter().all(|b| b.is_ascii_alphanumeric() || b"_-.\" /".contains(b)))
}

fn is_utf8_so_far(head: &[u8]) -> bool {
    match std::str::from_utf8(head) {
        Ok(_) => true,
        // A character is truncated at the end of the head.
        Err(e) => e.error_len().is_none(),
    }
}

/// For a URL, a command that outputs its contents.
pub fn url(name: &str, from: Option<&str>) -> Option<Error> {
    let (scheme, rest) = name.split_once("://")?;
    if scheme.is_empty() || !scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) {
        return None;
    }
    let scheme = scheme.to_ascii_lowercase();
    let word = shell_word(name);
    let fetch = match scheme.as_str() {
        "gs" => format!("gsutil cat {word}"),
        "s3" | "s3a" => format!("aws s3 cp {} -", shell_word(&format!("s3://{rest}"))),
        "http" | "https" | "ftp" => format!("curl -fsSL {word}"),
        "hdfs" => format!("hdfs dfs -cat {word}"),
        "az" | "abfs" | "abfss" => format!("az storage blob download --file /dev/stdout --blob-url {word}"),
        "hf" => {
            let error =
                Error::new(crate::error::Kind::Io, format!("{name}: {scheme}:// URLs are not supported; only files and pipes can be read"));
            return Some(error.help("download the dataset first: hf download NAME --repo-type dataset"));
        }
        "file" => return Some(Error::usage(mismatch("the path of a file", "a URL").prefixed(name)).help(format!("write {rest}"))),
        _ => {
            return Some(
                Error::usage(format!("{name}: {scheme}:// URLs are not supported; only files and pipes can be read"))
                    .help("to read it through a pipe: FETCH | tatter ... --from FORMAT -"),
            );
        }
    };
    let extension = super::codec::extensions(name.split(['?', '#']).next().unwrap_or(name)).1;
    let from = from.or_else(|| format_of(extension.as_deref()?)).unwrap_or("FORMAT");
    Some(
        Error::new(crate::error::Kind::Io, format!("{name}: {scheme}:// URLs are not supported; only files and pipes can be read"))
            .help(format!("to read it through a pipe: {fetch} | tatter ... --from {from} -")),
    )
}

/// The format of a file that is read through a pipe, by its extension. A test of `run` compares it with the formats themselves, which
/// this level does not know.
pub fn format_of(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "tfrecord" | "tfrecords" => "tfrecord",
        "array_record" | "arrayrecord" => "array-record",
        "parquet" | "pq" => "parquet",
        "arrow" | "feather" | "ipc" => "arrow-file",
        "arrows" => "arrow",
        "npz" => "npz",
        "npy" => "npy",
        "safetensors" => "safetensors",
        "tar" => "webdataset",
        "jsonl" | "ndjson" => "jsonl",
        "json" => "json",
        "csv" => "csv",
        "tsv" | "tab" => "tsv",
        "libsvm" | "svmlight" | "svm" => "libsvm",
        "mtx" | "mm" => "matrix-market",
        "txt" | "text" => "text",
        _ => return None,
    })
}

/// Whether it contains a line end, so that the text can be recognized before more arrives.
pub fn holds_json_line(head: &[u8]) -> bool {
    let head = trimmed(head);
    head.first() == Some(&b'{') && memmem::find(head, b"}\n").or_else(|| memmem::find(head, b"}\r\n")).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(head: &[u8], extension: Option<&str>, from: Option<&str>) -> String {
        match check(&Suspect { name: "x", codec: None, head, is_whole: true, extension, from, has_delimiter: false }) {
            Ok(()) => "good".to_owned(),
            Err(e) => e.message().to_owned(),
        }
    }

    #[test]
    fn wrong_inputs_are_recognised() {
        let lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
        let cases: &[(&[u8], Option<&str>, Option<&str>, &str)] = &[
            (lfs, Some("tfrecord"), None, "this is a Git LFS pointer to a file of 12345 bytes, not the file itself"),
            (lfs, None, Some("text"), "this is a Git LFS pointer to a file of 12345 bytes, not the file itself"),
            (b"\n<!DOCTYPE html><html>", None, None, "this is an HTML page, not data"),
            (b"<HTML>", None, Some("jsonl"), "this is an HTML page, not data"),
            (b"<HTML>", None, Some("text"), "good"),
            (b"<?xml version='1.0'?>", None, None, "this is an XML document, not data"),
            (b"BZh91AY", None, None, "this is a bzip2-compressed file, which is not supported"),
            (b"id,name\n1,a\n", None, None, "this looks like comma-separated values"),
            (b"id,name\n1,a\n", Some("csv"), Some("jsonl"), "this looks like comma-separated values"),
            (b"\"id\";\"the; name\"\n1;a\n", None, None, "this looks like semicolon-separated values"),
            (b"id\tname\n1\ta\n", Some("tsv"), None, "good"),
            (b"id\tname\n1\ta\n", Some("csv"), None, "this looks like tab-separated values"),
            (b"id,name\n1,a\n", Some("csv"), None, "good"),
            (b"id,name;x\n1,a;y\n", None, Some("csv"), "good"),
            (b"id;name\n1;a\n", None, Some("csv"), "this looks like semicolon-separated values"),
            (b"1,2 1:3\n1,2 1:3\n", Some("svm"), None, "good"),
            (b"id,name\n", None, None, "this looks like comma-separated values"),
            (b"id\n1\n", Some("csv"), None, "good"),
            (b"id,name\n1,a\n", Some("txt"), None, "good"),
            (b"id,name\n1,a\n", None, Some("text"), "good"),
            (b"Well, this is prose\nof two lines", None, None, "good"),
            (b"{\"a\": [1,2]}\n{\"a\": [1,2]}\n", None, None, "good"),
            (b"[1,2]\n[1,2]\n", None, None, "good"),
            (b"\0,\0\n\0,\0\n", None, None, "good"),
            (b"\xff\xfea\0\n\0x\0\n\0", None, None, "this is UTF-16, and text must be UTF-8"),
            (b"\xfe\xff\0a\0\n\0x\0\n", Some("csv"), None, "this is UTF-16, and text must be UTF-8"),
            (b"\xfe\xffa\0\n\0x\0\n\0", Some("csv"), None, "good"),
            (b"\xff\xfe\0\0{\0\0\0\"\0\0\0", None, None, "this is UTF-32, and text must be UTF-8"),
            (b"\0\0\xfe\xff\0\0\0a\0\0\0\n", Some("csv"), None, "this is UTF-32, and text must be UTF-8"),
            (b"a\0\0\0\n\0\0\0", Some("csv"), None, "this is UTF-32, and text must be UTF-8"),
            (b"a\0\n\0x\0\n\0", Some("csv"), None, "this is UTF-16, and text must be UTF-8"),
            (b"\0a\0\n\0x\0\n", None, Some("tsv"), "this is UTF-16, and text must be UTF-8"),
            (b"a\0\n\0x\0\n\0", Some("bin"), None, "good"),
            (b"a\0b\0cdef", Some("csv"), None, "good"),
            (b"Obj\x01\x04\x14avro", None, None, "this is an Avro file, which is not supported"),
            (b"ORC\x11\0\0\n\x06", None, None, "this is an ORC file, which is not supported"),
            (b"ORC,URUK\n1,2\n", Some("csv"), None, "good"),
            (
                b"PK\x03\x04\x14\0\x06\0\x08\0\0\0!\0=>\xf1\xaf\x80\x01\0\0X\x06\0\0\x13\0\x08\x02[Content_Types].xml",
                None,
                None,
                "this is an Office document, which is not supported",
            ),
            (
                b"PK\x03\x04\x14\0\0\0\x08\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0docProps/app.xml",
                None,
                None,
                "this is an Office document, which is not supported",
            ),
            (b"\x80\x04\x95\x0d\0\0\0\0", Some("pkl"), None, "this is a pickle, which may contain code, so tatter does not load it"),
            (b"\x80\x04\x95\x0d\0\0\0\0", Some("tfrecord"), None, "good"),
            (b"", None, None, "good"),
        ];
        for (head, extension, from, expected) in cases {
            assert_eq!(verdict(head, *extension, *from), *expected, "{}", String::from_utf8_lossy(head));
        }
    }

    #[test]
    fn urls_show_the_pipe() {
        for (name, expected) in [
            ("gs://b/x.tfrecord.gz", Some("to read it through a pipe: gsutil cat gs://b/x.tfrecord.gz | tatter ... --from tfrecord -")),
            ("s3://b/x.jsonl", Some("to read it through a pipe: aws s3 cp s3://b/x.jsonl - | tatter ... --from jsonl -")),
            (
                "https://h/x.parquet?a=b.c",
                Some("to read it through a pipe: curl -fsSL 'https://h/x.parquet?a=b.c' | tatter ... --from parquet -"),
            ),
            ("https://h/x.csv.gz", Some("to read it through a pipe: curl -fsSL https://h/x.csv.gz | tatter ... --from csv -")),
            ("https://h/x", Some("to read it through a pipe: curl -fsSL https://h/x | tatter ... --from FORMAT -")),
            ("file:///tmp/x", Some("write /tmp/x")),
            ("x.jsonl", None),
            ("a b://x", None),
        ] {
            assert_eq!(
                url(name, None).and_then(|e| e.to_string().lines().nth(1).map(|l| l.trim().to_owned())).as_deref(),
                expected,
                "{name}"
            );
        }
    }
}

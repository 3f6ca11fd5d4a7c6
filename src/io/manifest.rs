//! The start of the manifest that `--manifest` writes, by which a search of the directory tells it from the files that it lists.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The text before the files, for a manifest of that many records and bytes.
pub fn manifest_head(nrecords: u64, nbytes: u64) -> String {
    format!("{{\n  \"records\": {nrecords},\n  \"bytes\": {nbytes},\n  \"files\": [\n")
}

/// Whether a file is a manifest. One that cannot be read is not.
pub fn is_manifest(path: &Path) -> bool {
    let mut head = Vec::new();
    let longest = manifest_head(u64::MAX, u64::MAX).len() as u64;
    File::open(path).is_ok_and(|file| file.take(longest).read_to_end(&mut head).is_ok()) && is_head(&head)
}

fn is_head(text: &[u8]) -> bool {
    let number = |text: &[u8]| -> Option<u64> { std::str::from_utf8(text.split(|byte| *byte == b',').next()?).ok()?.parse().ok() };
    let after = |name: &str| memchr::memmem::find(text, name.as_bytes()).map(|at| &text[at + name.len()..]);
    let counts = after("\"records\": ").and_then(number).zip(after("\"bytes\": ").and_then(number));
    counts.is_some_and(|(nrecords, nbytes)| text.starts_with(manifest_head(nrecords, nbytes).as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_known_by_its_start() {
        for (text, expected) in [
            (manifest_head(0, 0), true),
            (manifest_head(u64::MAX, u64::MAX), true),
            (format!("{}    {{}}\n  ]\n}}\n", manifest_head(12, 345)), true),
            (manifest_head(1, 2).replace("bytes", "size"), false),
            (manifest_head(1, 2).replace('1', "x"), false),
            ("{\"records\": 1, \"bytes\": 2, \"files\": [".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(is_head(text.as_bytes()), expected, "{text}");
        }
    }
}

//! Comment lines before the header, as in tables of variants (VCF), in GFF and in files that a program has annotated.

use super::dialect::Dialect;
use crate::error::Error;
use crate::io::{Codec, Input, in_command};
use memchr::memchr;

/// The columns of GFF, which has no header. Source: the GFF3 specification.
const GFF_COLUMNS: &str = "seqid,source,type,start,end,score,strand,phase,attributes";

/// The comment lines at the start of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comments {
    /// What they begin with, and nothing else does.
    pattern: &'static str,
    is_gff: bool,
}

/// Whether these bytes reach beyond the line after those that begin with `#`.
pub fn are_all_seen(bytes: &[u8]) -> bool {
    let is_other = |line: &[u8]| !matches!(line, [b'#', ..] | [b'\n'] | [b'\r', b'\n']) && line.ends_with(b"\n");
    bytes.split_inclusive(|byte| *byte == b'\n').any(is_other)
}

/// The lines that end in these bytes, and the rest.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).filter(|line| !line.is_empty())
}

/// The comments, if the file begins with them. A line with one `#` and several fields is the header, as in `#CHROM`.
pub fn before_header(bytes: &[u8], dialect: &Dialect) -> Option<Comments> {
    let is_divided = |line: &[u8]| memchr(dialect.delimiter, line).is_some();
    let is_double = |line: &&[u8]| line.starts_with(b"##");
    let leading: Vec<&[u8]> = lines(bytes).take_while(|line| line.starts_with(b"#")).collect();
    let header = leading.iter().position(|line| !is_double(line) && is_divided(line));
    let comments = &leading[..header.unwrap_or(leading.len())];
    let first = comments.first()?;
    let is_of_several = |line: &[u8]| is_divided(line) && dialect.quote.is_none_or(|quote| memchr(quote, line).is_none());
    let precedes_table = header.is_some() || lines(bytes).nth(leading.len()).is_some_and(is_of_several);
    // A line with one `#` and one field is the header of a single column; two with `##` are no header and record.
    let are_comments = match is_double(first) {
        true => comments.len() > 1 || header.is_some() || (precedes_table && !is_divided(first)),
        false => precedes_table,
    };
    let pattern = match header.map(|at| leading[at]) {
        _ if !are_comments => return None,
        // The header may be behind these bytes.
        None if lines(bytes).nth(leading.len()).is_none() && comments.iter().all(is_double) => "^##",
        None => "^#",
        Some(_) if dialect.columns.is_some() => "^#",
        Some(_) if comments.iter().all(is_double) => "^##",
        Some(header) if !header.starts_with(b"# ") && comments.iter().all(|line| is_double(line) || line.starts_with(b"# ")) => "^#[# ]",
        Some(_) => return None,
    };
    let is_gff = ["##gff-version", "##gtf"].iter().any(|start| first.starts_with(start.as_bytes()));
    Some(Comments { pattern, is_gff })
}

impl Comments {
    /// The error, with the command that removes the comments.
    pub fn error(self, input: &Input, dialect: &Dialect) -> Error {
        let file = in_command(input.name());
        let grep = match input.codec() {
            Some(Codec::Gzip) => "zgrep",
            Some(Codec::Zstd) => "zstdgrep",
            _ => "grep",
        };
        let columns = if self.is_gff && dialect.columns.is_none() { format!(" --columns {GFF_COLUMNS}") } else { String::new() };
        let command = format!("{grep} -v '{}' {file} | tatter ... {}{columns} -", self.pattern, dialect.reading_option());
        let error = Error::data("the file begins with comment lines").in_input(input.name().clone()).locate(|at| at.line = Some(1));
        error.help(format!("to remove them: {command}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::CsvOptions;

    #[test]
    fn comments_are_told_from_a_header() {
        let vcf = "##fileformat=VCFv4.2\n##INFO=<ID=DP,Number=1>\n#CHROM\tPOS\n1\t5\n";
        for (text, expected) in [
            (vcf, Some("^##")),
            ("##x\r\n#C\tP\r\n1\t2\r\n", Some("^##")),
            ("##gff-version 3\nchr1\tx\n###\n", Some("^#")),
            ("# made by x\na\tb\n", Some("^#")),
            ("##only", None),
            ("##a\n##b\n", Some("^##")),
            ("##a\n1\n", None),
            ("#CHROM\tPOS\n1\t5\n", None),
            ("#id\n1\n2\n", None),
            ("##a\tb\n1\t2\n", None),
            ("# made by x\n# on a day\n#a\tb\n1\t2\n", Some("^#[# ]")),
            ("# x\n# a\tb\n", None),
            ("#id\n\"1\t2\"\n", None),
            ("#\ta\n", None),
            ("a\tb\n#\t1\n", None),
            ("", None),
        ] {
            let dialect = Dialect::of(&CsvOptions::default(), b'\t');
            assert_eq!(before_header(text.as_bytes(), &dialect).map(|found| found.pattern), expected, "{text}");
        }
    }
}

//! Names of commands that convert to a format: `to-parquet`, `csv2parquet`, `jsonl-to-tfrecord`, `to parquet`, `parquet`.

use crate::formats::{FORMATS, Format};

/// A format, by the name or the extension that a command has.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    format: &'static dyn Format,
    name: &'a str,
}

impl Target<'_> {
    /// The format that the name of a command asks for.
    pub fn of(command: &str) -> Option<Target<'_>> {
        let of = |prefix: &str| ["to", ""].contains(&prefix) || format_of(prefix).is_some();
        let cut = |separator: &str| command.split_once(separator).filter(|(prefix, _)| of(prefix)).map(|(_, name)| name);
        let prefixed = ["-to-", "_to_", "2"].into_iter().find_map(cut).or_else(|| ["to-", "to_", "to "].into_iter().find_map(cut));
        let name = prefixed.unwrap_or(command);
        let format = format_of(name)?;
        (format.name() != "text" && format.pair().is_none() && !format.extensions().is_empty()).then_some(Target { format, name })
    }

    /// The options for the output: `-o STEM.parquet`, or `--to csv` for a format that a terminal shows.
    pub fn options(self, stem: &str) -> String {
        if self.format.is_text() {
            return format!("--to {}", self.format.name());
        }
        let own = self.format.extensions();
        format!("-o {stem}.{}", own.iter().find(|extension| **extension == self.name).unwrap_or(&own[0]))
    }
}

fn format_of(name: &str) -> Option<&'static dyn Format> {
    let by_extension = FORMATS.iter().find(|format| format.extensions().contains(&name));
    by_extension.or_else(|| FORMATS.iter().find(|format| format.name() == name)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_named_after_formats() {
        for (command, options) in [
            ("parquet", Some("-o x.parquet")),
            ("to-pq", Some("-o x.pq")),
            ("to arrow", Some("-o x.arrow")),
            ("csv2tfrecord", Some("-o x.tfrecord")),
            ("jsonl-to-parquet", Some("-o x.parquet")),
            ("parquet2csv", Some("--to csv")),
            ("to_jsonl", Some("--to jsonl")),
            ("x2parquet", None),
            ("to-dense", None),
            ("text", None),
            ("to-", None),
        ] {
            assert_eq!(Target::of(command).map(|target| target.options("x")).as_deref(), options, "{command}");
        }
    }
}

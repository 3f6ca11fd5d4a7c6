//! A preview of files on a terminal: the types of the fields and the first records, truncated to the screen.

use super::encode::new_writer;
use super::inference::infer;
use super::inputs::Inputs;
use super::setup::setup;
use super::start::Invocation;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::formats;
use crate::io::Distribution;
use crate::options::Options;
use crate::printable::printable;
use crate::schema::{Schema, notation};
use crate::screen;
use indicatif::HumanBytes;
use std::io::{Read, Seek};
use std::sync::Arc;

/// Number of bytes read from each input for its types.
const SAMPLE_BYTES: u64 = 1 << 20;
/// Number of lines for the heading, the line between schema and records, and the prompt.
const OTHER_LINES: usize = 4;

/// The preview text, for a given number of columns and rows.
///
/// # Errors
/// The files cannot be read.
pub fn preview(invocation: Invocation, (columns, rows): (usize, usize), in_color: bool) -> Result<String> {
    let Invocation { files, options, .. } = invocation;
    let options = setup(options)?;
    let mut inputs = Inputs::open(&files, options.clone())?;
    let demand = Demand::everything();
    let inferred = infer(&mut inputs, &demand, Some(SAMPLE_BYTES), options.threads)?;
    let paint = Paint { in_color };
    let mut text = head(&inputs, inferred.is_settled, columns);
    let schema: Vec<String> = notation::fitted(&inferred.schema, columns).lines().map(str::to_owned).collect();
    let most = rows.saturating_sub(OTHER_LINES).max(4);
    let nlines = if schema.len() + 3 > most { most * 2 / 3 } else { schema.len() };
    for line in &schema[..nlines] {
        text.push_str(&paint.field(&screen::cut(&printable(line), columns)));
    }
    if schema.len() > nlines {
        text.push_str(&paint.dim(&format!("... {} more lines: tatter schema", schema.len() - nlines)));
    }
    text.push('\n');
    let records = first_records(inputs, Arc::new(inferred.schema.plain()), &options, most.saturating_sub(nlines).max(3))?;
    for line in records.lines() {
        text.push_str(&paint.record(&screen::cut(&printable(line), columns)));
    }
    Ok(text)
}

/// `docs.jsonl: jsonl, 1.2 KiB`
fn head(inputs: &Inputs, is_settled: bool, columns: usize) -> String {
    let named: Vec<String> = inputs
        .iter()
        .take(3)
        .map(|opened| {
            let size = opened.input.nbytes().map_or_else(String::new, |nbytes| format!(", {}", HumanBytes(nbytes)));
            format!("{} ({}{size})", opened.input.name(), opened.format.name())
        })
        .collect();
    let more = inputs.iter().count() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let sampled = if is_settled { "" } else { "; types inferred from the start of the input" };
    format!("{}\n", screen::cut(&printable(&format!("{}{more}{sampled}", named.join(" "))), columns))
}

/// Up to the given number of records, as JSON Lines.
fn first_records(inputs: Inputs, schema: Arc<Schema>, options: &Options, most: usize) -> Result<String> {
    let Some(jsonl) = formats::find("jsonl") else { return Err(Error::internal("there is no format jsonl")) };
    let failed = |e: std::io::Error| Error::io("a temporary file", "cannot write", &e);
    let mut file = tempfile::tempfile().map_err(failed)?;
    let mut writer = new_writer(jsonl, &schema, options, Distribution::Single)?;
    writer.begin(Box::new(file.try_clone().map_err(failed)?))?;
    let mut left = most;
    for decoded in inputs.into_decoded(schema, Demand::everything()) {
        let decoded = decoded?;
        if let (0, Some(fault)) = (decoded.chunk.nrows, decoded.faults.first()) {
            return Err(fault.error.clone());
        }
        let n = left.min(decoded.chunk.nrows);
        writer.write(writer.encoder().encode(decoded.chunk.slice(0, n))?)?;
        left -= n;
        if left == 0 {
            break;
        }
    }
    writer.finish()?;
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).map_err(failed)?;
    Ok(text)
}

/// Colors, if enabled.
struct Paint {
    in_color: bool,
}

impl Paint {
    fn painted(&self, code: &str, text: &str) -> String {
        if self.in_color && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn dim(&self, text: &str) -> String {
        self.painted("2", text) + "\n"
    }

    /// A line of a schema, with bold names.
    fn field(&self, line: &str) -> String {
        match line.split_once(':') {
            Some((name, ty)) => format!("{}:{ty}\n", self.painted("1", name)),
            None => format!("{line}\n"),
        }
    }

    /// A record as JSON, possibly truncated, with blue keys and green strings.
    fn record(&self, line: &str) -> String {
        let mut out = String::new();
        let mut rest = line;
        while let Some(start) = rest.find('"') {
            let (before, string) = rest.split_at(start);
            out.push_str(before);
            let end = end_of_string(string);
            let (string, after) = string.split_at(end);
            out.push_str(&self.painted(if after.starts_with(':') { "34" } else { "32" }, string));
            rest = after;
        }
        out + rest + "\n"
    }
}

/// The end of the JSON string that starts the text.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_colored() {
        let paint = Paint { in_color: true };
        assert_eq!(
            paint.record(r#"{"a":1,"b":"x\"y"#),
            "{\u{1b}[34m\"a\"\u{1b}[0m:1,\u{1b}[34m\"b\"\u{1b}[0m:\u{1b}[32m\"x\\\"y\u{1b}[0m\n"
        );
        assert_eq!(Paint { in_color: false }.record(r#"{"a":1}"#), "{\"a\":1}\n");
        assert_eq!(paint.field("id: int64"), "\u{1b}[1mid\u{1b}[0m: int64\n");
    }
}

//! The schema that tatter embeds in a file so that it reads back unchanged. It distinguishes text and bytes from
//! one-byte numbers, `?` from known sizes, and structures from fields with a dot in their names.
//!
//! The first line gives the meaning of the first axis, the others the schema. Files from other programs lack it; their
//! fields are inferred from names and shapes.

use crate::schema::arrays::Stacking;
use crate::schema::{Schema, notation};

/// The stacking and the schema of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddedSchema {
    pub stacking: Stacking,
    pub schema: Schema,
}

const LINES: [(Stacking, &str); 2] = [(Stacking::Records, "tatter: all records stacked"), (Stacking::One, "tatter: one record")];

impl EmbeddedSchema {
    /// The form written into a file.
    pub fn text(&self) -> String {
        let line = LINES.iter().find(|(stacking, _)| *stacking == self.stacking).map_or("", |(_, line)| line);
        format!("{line}\n{}", notation::lines(&self.schema))
    }

    /// `None` if another program wrote it.
    pub fn parse(text: &str) -> Option<EmbeddedSchema> {
        let (first, rest) = text.split_once('\n')?;
        let (stacking, _) = LINES.iter().find(|(_, line)| *line == first)?;
        Some(EmbeddedSchema { stacking: *stacking, schema: notation::parse(rest).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        for text in ["a: int64[?]; `b c`: {x: optional string}[3, (words)]; s: sparse<float32>[?, 9] with nulls", ""] {
            for stacking in [Stacking::Records, Stacking::One] {
                let about = EmbeddedSchema { stacking, schema: notation::parse(text).unwrap() };
                assert_eq!(EmbeddedSchema::parse(&about.text()), Some(about));
            }
        }
        assert_eq!(EmbeddedSchema::parse("made by hand\nid: int64"), None);
        assert_eq!(EmbeddedSchema::parse("tatter: one record\nid: int"), None);
    }
}

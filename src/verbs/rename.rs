//! `rename old=new,..`: renames fields.

use super::shared::fields::{field_at, split_assignment};
use super::verb::{Bound, Example, Operator, Unchanged, Verb};
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::{self, FieldPath};
use crate::printable::shell_word;
use crate::schema::facts::Facts;
use crate::schema::{Field, Schema};
use std::collections::HashSet;
use std::sync::Arc;

/// Renames fields.
#[derive(clap::Args, Clone, Debug)]
pub struct Rename {
    /// Old and new names, such as id=key,docs.tokens=ids
    #[arg(value_name = "OLD=NEW,..", value_parser = parse)]
    pairs: Pairs,
}

#[derive(Clone, Debug)]
struct Pairs(Vec<(FieldPath, String)>);

fn parse(text: &str) -> Result<Pairs, Error> {
    let pair = |part: &&str| {
        let (old, new) = split_assignment(part, "old=new")?;
        let (old, new) = (FieldPath::parse(old)?, FieldPath::parse(new)?);
        if new.names().len() > 1 && new.parent() != old.parent() {
            let error = Error::usage(format!("{old} cannot become {new}: a field is renamed, not moved"));
            return Err(error.help("`promote` moves fields out of structures; a name that contains a dot needs backquotes: `a.b`"));
        }
        Ok((old, new.last().to_owned()))
    };
    let parts = path::split(text, ',')?;
    // `rename old new`, `rename old,new`
    let all = parts.iter().map(pair).collect::<Result<_>>();
    all.map(Pairs).map_err(|e| match parts.as_slice() {
        [old] if is_name(old) => e.help(format!("write the new name after `=`: rename {old}=NEW")),
        [old, new] if is_name(old) && is_name(new) => e.help(format!("write the new name after `=`: rename {old}={new}")),
        _ => e,
    })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

impl Verb for Rename {
    const NAME: &'static str = "rename";
    const SUMMARY: &'static str = "Rename fields";
    const ABOUT: &'static str = "\
Fields keep their positions and values. All names change at once, so two fields can swap names. A field inside structures is named by its \
path; the new name may omit the path. Hugging Face and pandas metadata that describes a top-level field is updated to the new name.";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "rename two fields",
            args: "rename id=key,tokens=ids",
            input: "{\"id\": 1, \"tokens\": [5, 2]}\n",
            output: "{\"key\":1,\"ids\":[5,2]}\n",
        },
        Example {
            about: "a field of every document",
            args: "rename docs.tokens=ids",
            input: "{\"docs\": [{\"title\": \"a\", \"tokens\": [1, 2]}, {\"title\": \"b\", \"tokens\": []}]}\n",
            output: "{\"docs\":[{\"title\":\"a\",\"ids\":[1,2]},{\"title\":\"b\",\"ids\":[]}]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        let mut renamed = schema.as_ref().clone();
        let mut before = HashSet::new();
        for (old, new) in &self.pairs.0 {
            let (positions, _) = schema.find(old).map_err(|e| match schema.find(&FieldPath::name(new)) {
                Ok(_) => e.help(format!("the old name comes first: {}={old}", path::quoted(new))),
                Err(_) => e,
            })?;
            if old.names().len() > 1 && old.last() == new {
                let error = Error::usage(format!("{old} is already named {}", path::quoted(new)));
                return Err(error.help(format!("to move it out of its structure: promote {}", shell_word(&old.to_string()))));
            }
            if !before.insert(positions.clone()) {
                return Err(Error::usage(format!("{old} is renamed twice")));
            }
            if let Some(field) = field_at(&mut renamed.fields, &positions) {
                field.name.clone_from(new);
            }
        }
        // The structures whose fields are renamed.
        let mut checked = HashSet::new();
        for (old, _) in &self.pairs.0 {
            let (positions, _) = schema.find(old)?;
            let parents = positions[..positions.len().saturating_sub(1)].to_vec();
            if !checked.insert(parents) {
                continue;
            }
            let mut names = HashSet::new();
            let Some(twice) = siblings_at(&renamed.fields, &positions).iter().find(|field| !names.insert(&field.name)) else { continue };
            let error = Error::usage(format!("two fields would be named {}", path::quoted(&twice.name)));
            let is_old = siblings_at(&schema.fields, &positions).iter().any(|other| other.name == twice.name);
            return Err(match is_old {
                true => {
                    let other = old.parent().map_or_else(|| FieldPath::name(&*twice.name), |parent| parent.join(&twice.name));
                    error.help(format!("drop the other field first, or rename it too: {other}=NAME"))
                }
                false => error.help(format!("choose another name for one of them: {old}=NAME")),
            });
        }
        Ok(Bound { schema: Arc::new(renamed), operator: Operator::Map(Arc::new(Unchanged)) })
    }

    fn facts(&self, facts: Facts) -> Facts {
        let of_record = self.pairs.0.iter().filter_map(|(old, new)| match old.names() {
            [old] => Some((old.as_str(), new.as_str())),
            _ => None,
        });
        facts.renamed(&of_record.collect::<Vec<_>>())
    }

    fn demand(&self, after: Demand) -> Demand {
        // Include the new names, so that a name clash is found in a chain just as in a pipe.
        let names = self.pairs.0.iter().flat_map(|(old, new)| old.names().first().into_iter().chain([new]));
        after.and_fields(names.cloned())
    }
}

fn siblings_at<'a>(fields: &'a [Field], positions: &[usize]) -> &'a [Field] {
    match positions {
        [first, rest @ ..] if !rest.is_empty() => siblings_at(fields.get(*first).and_then(|f| f.ty.fields()).unwrap_or(&[]), rest),
        _ => fields,
    }
}

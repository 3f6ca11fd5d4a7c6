//! Observes the members of records: their extensions, and the types of JSON values.

use super::cut::Block;
use super::names::{KEY, Kinds, MemberKind, from_option, is_data_file, is_document, json_text};
use crate::error::{Error, Result};
use crate::formats::columnar::adapt::declared_over;
use crate::formats::format::{Observed, Request};
use crate::formats::json_members::{Members, is_value};
use crate::io::in_command;
use crate::options::OnError;
use crate::printable::{counted, shell_word};
use crate::schema::{DType, Field, MAX_FIELDS, Schema, Type};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

/// Observations of some records.
pub struct Seen {
    kinds: Arc<Kinds>,
    /// Each extension in order of first occurrence, with how it is read and the number of records that have it.
    extensions: Vec<(Arc<str>, MemberKind, u64)>,
    /// The positions of the extensions.
    positions: HashMap<Arc<str>, usize>,
    records: u64,
    members: u64,
    input: Arc<str>,
    /// The first member that is a data file of its own.
    data_file: Option<Arc<str>>,
    /// The number of records that cannot be read.
    unreadable: u64,
    json: Box<dyn Observed>,
}

impl Seen {
    fn add(&mut self, extension: &Arc<str>, kind: MemberKind, records: u64) {
        match self.positions.get(extension) {
            Some(at) => self.extensions[*at].2 += records,
            // One more shows that there are too many.
            None if self.extensions.len() <= MAX_FIELDS => {
                self.positions.insert(extension.clone(), self.extensions.len());
                self.extensions.push((extension.clone(), kind, records));
            }
            None => {}
        }
    }

    /// The error for an archive of data files, which are no records: each member has a key of its own, and the others are documents.
    fn data_files(&self) -> Option<Error> {
        let file = self.data_file.as_deref().filter(|_| self.members == self.records)?;
        let of = |is: fn(&str) -> bool| self.extensions.iter().filter(|(extension, ..)| is(extension)).map(|(.., n)| *n).sum::<u64>();
        let (ndata, ndocuments) = (of(is_data_file), of(is_document));
        if ndata + ndocuments < self.members || ndocuments > ndata.max(3) {
            return None;
        }
        let message = format!("this tar archive contains data files, such as {file}, not members that form records (WebDataset)");
        let read = from_option(&file.to_ascii_lowercase());
        let command = format!("tar xOf {} {} | tatter ... {read}-", in_command(&self.input), shell_word(file));
        let error = Error::usage(message).in_input(self.input.clone()).help(format!("to read that file: {command}"));
        Some(error.help("to read each member as a record: --from webdataset"))
    }
}

/// The request for the JSON fields.
pub fn json_request(kinds: &Kinds, request: &Request) -> Request {
    let is_json = |field: &&Field| field.source_name() != KEY && kinds.of_member(field.source_name()) == Some(MemberKind::Json);
    let declared = Schema::new(request.declared.fields.iter().filter(is_json).cloned().collect());
    Request { declared: Arc::new(declared), ..request.clone() }
}

/// Observes the records of a block. Invalid JSON is ignored here; reading reports the error.
///
/// # Errors
/// The same as for JSON Lines.
pub fn observe(block: &Block, input: &Arc<str>, kinds: Arc<Kinds>, request: &Request) -> Result<Seen> {
    let (mut json, mut unreadable) = (Members::default(), 0);
    for record in &block.records {
        json.begin();
        let mut is_readable = record.error.is_none();
        for member in record.members.iter().filter(|_| record.error.is_none()) {
            let Some((MemberKind::Json, range)) = &member.contents else { continue };
            let value = json_text(&member.extension, block.bytes.get(range.clone()).unwrap_or_default());
            if is_value(&value) {
                json.push(&member.extension, &value);
            } else {
                is_readable = false;
            }
        }
        unreadable += u64::from(!is_readable);
        json.end();
    }
    let json = json.observe(input, block.first_record, &json_request(&kinds, request))?;
    let mut seen = Seen {
        kinds,
        extensions: Vec::new(),
        positions: HashMap::new(),
        records: 0,
        members: 0,
        input: input.clone(),
        data_file: block.data_file.clone(),
        unreadable,
        json,
    };
    for record in block.records.iter().filter(|record| record.error.is_none()) {
        seen.records += 1;
        seen.members += record.members.len() as u64;
        for member in &record.members {
            if let Some((kind, _)) = &member.contents {
                seen.add(&member.extension, *kind, 1);
            }
        }
    }
    Ok(seen)
}

impl Observed for Seen {
    fn merge(&mut self, other: Box<dyn Observed>) {
        let Ok(other) = other.into_any().downcast::<Seen>() else { return };
        for (extension, kind, records) in &other.extensions {
            self.add(extension, *kind, *records);
        }
        self.records += other.records;
        self.members += other.members;
        self.data_file = self.data_file.take().or(other.data_file);
        self.unreadable += other.unreadable;
        self.json.merge(other.json);
    }

    fn schema(&self, request: &Request) -> Result<Schema> {
        // `--schema 'csv: string'` expects such members.
        let is_declared = request.declared.fields.iter().any(|field| is_data_file(field.source_name()));
        if let (None, false, Some(error)) = (&request.options.from, is_declared, self.data_files()) {
            return Err(error);
        }
        if self.unreadable > 0 && request.options.on_error == OnError::Fail {
            let text = format!("{} cannot be read: reading will fail; see --on-error", counted(self.unreadable, "record"));
            request.options.hints.add(text, request.options.strict)?;
        }
        if self.extensions.len() > MAX_FIELDS {
            return Err(Error::data("the members have more than 10,000 extensions, each of which would be a field")
                .help("this may be an archive of ordinary files, not a WebDataset: names up to the first dot are read as keys"));
        }
        let sub = json_request(&self.kinds, request);
        let is_json = |name: &str| sub.declared.index_of(name).is_some();
        let others = request.declared.fields.iter().filter(|field| !is_json(&field.name)).cloned().collect();
        let mut found = vec![Field::new(KEY, Type::tensor(DType::String, Vec::new()))];
        for (extension, kind, records) in &self.extensions {
            let dtype = match kind {
                MemberKind::Bytes => DType::Bytes,
                MemberKind::Text => DType::String,
                MemberKind::Json => continue,
            };
            found.push(Field::new(&**extension, Type::tensor(dtype, Vec::new()).with_optional(*records < self.records)));
        }
        let mut fields = declared_over(&Schema::new(others), Schema::new(found)).fields;
        fields.extend(self.json.schema(&sub)?.fields);
        let position = |field: &Field| match field.source_name() {
            KEY => 0,
            extension => self.positions.get(extension).map_or(usize::MAX, |at| at + 1),
        };
        fields.sort_by_key(position);
        Ok(Schema::new(fields))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

//! The reader of a dataset: its schema, and the shards of the selected splits.

use super::features::{self, Feature};
use super::info::{ARRAY_RECORD, Info};
use super::json::{self, FEATURES, INFO};
use super::labels::Labels;
use super::mapping::Mapper;
use super::shards::{Index, Indexed, ShardSlice, Shards};
use super::split::{Slice, slices};
use crate::chunk::Decoded;
use crate::error::{Error, Kind, Result};
use crate::formats::columnar::adapt::{Columns, declared_over};
use crate::formats::examples::mapping::Mapping;
use crate::formats::format::{Inference, Numbered, Reader, Request, Tasks};
use crate::formats::records::index;
use crate::formats::riegeli::ArrayFile;
use crate::io::Input;
use crate::options::Options;
use crate::printable::is_or_are;
use crate::schema::{Field, Schema};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

/// Maximum number of shards kept open for random access.
const MAX_INDEXED: usize = 256;

/// Reads a dataset.
pub struct TfdsReader {
    input: Arc<Input>,
    directory: PathBuf,
    info: Info,
    features: Vec<(String, Feature)>,
    labels: Labels,
    slices: Option<Vec<Slice>>,
    /// The shards whose footers or indexes have been read.
    indexed: Arc<Indexed>,
}

impl TfdsReader {
    /// Reads the description of the dataset.
    ///
    /// # Errors
    /// It is damaged, or `--split` selects no records.
    pub fn open(input: Arc<Input>, options: &Options) -> Result<TfdsReader> {
        let Some(directory) = input.directory().map(PathBuf::from) else {
            let error = Error::usage(format!("a TFDS dataset is a directory that contains {FEATURES} and {INFO}"));
            return Err(error.in_input(input.name().clone()));
        };
        let path = directory.join(FEATURES);
        let features = json::object(&path)?;
        let features = features::parse(&features).map_err(|e| e.in_input(path.display().to_string()))?;
        let info = Info::read(&directory.join(INFO))?;
        let named = |split| slices(Some(split), &info.splits).map_err(|e| e.in_input(input.name().clone()));
        let slices = options.split.as_deref().map(named).transpose()?;
        let labels = Labels::new(directory.clone(), options.class_names);
        Ok(TfdsReader { input, directory, info, features, labels, slices, indexed: Arc::default() })
    }

    fn mapper(&self, request: &Request) -> Mapper<'_> {
        Mapper { labels: &self.labels, max_nbytes: request.options.max_record_bytes, mapping: Mapping::default() }
    }

    /// The name of the format of the shards.
    fn format_of_shards(&self) -> &'static str {
        if self.info.file_format == ARRAY_RECORD { "array-record" } else { "tfrecord" }
    }

    /// The fields of the record, with types declared by `--schema` for unknown connectors. Such fields are omitted if
    /// they are not required.
    fn fields(&self, request: &Request) -> Result<Vec<(usize, Field)>> {
        let mut mapper = self.mapper(request);
        let mut fields = Vec::new();
        for (position, (name, feature)) in self.features.iter().enumerate() {
            match mapper.field(name, feature, declared(request, name)) {
                Ok(field) => fields.push((position, field)),
                Err(error) if request.wanted.includes(name) => {
                    let shards = self.directory.join(format!("*.{}*", self.info.file_format)).display().to_string();
                    let format = self.format_of_shards();
                    return Err(error
                        .in_input(self.directory.join(FEATURES).display().to_string())
                        .help(format!("or read the shards as they are: --from {format} {}", crate::printable::shell_word(&shards))));
                }

                Err(_) => {}
            }
        }
        Ok(fields)
    }

    /// The shards that hold the selected records.
    fn parts(&self) -> Result<VecDeque<ShardSlice>> {
        let splits = &self.info.splits;
        let only;
        let slices = match &self.slices {
            Some(slices) => slices,
            None => {
                only = slices(None, splits).map_err(|e| e.in_input(self.input.name().clone()))?;
                &only
            }
        };
        let format = self.format_of_shards();
        let mut parts = VecDeque::new();
        for slice in slices {
            let Some(split) = splits.get(slice.split) else { return Err(Error::internal("a split that is not there")) };
            let mut start = 0u64;
            for index in 0..split.nshards() {
                let length = split.lengths.as_ref().and_then(|lengths| lengths.get(index).copied());
                // Without lengths, only whole splits can be selected: each shard is read from its start.
                let end = length.map_or(u64::MAX, |n| start + n);
                let to = slice.to.unwrap_or(u64::MAX).min(end);
                if slice.from <= start && to >= end || slice.from < end && to > start {
                    let path = self.info.shard(split, index).map_err(|e| e.in_input(self.directory.join(INFO).display().to_string()))?;
                    let path = self.directory.join(path);
                    // A shard without records need not exist. Reading reports records that it has all the same.
                    if length == Some(0) && std::fs::metadata(&path).map_or(true, |file| file.len() == 0) {
                        continue;
                    }
                    let (skip, until) = (slice.from.saturating_sub(start), (to < end).then(|| to - start));
                    parts.push_back(ShardSlice { name: path.display().to_string().into(), path, skip, until, format, length });
                }
                start = if length.is_some() { end } else { 0 };
            }
        }
        let missing: Vec<&ShardSlice> = parts.iter().filter(|part| !part.path.exists()).collect();
        match missing.first() {
            None => Ok(parts),
            Some(first) => {
                let verb = is_or_are(missing.len());
                let message = format!("{} of {} shards {verb} missing: {}", missing.len(), parts.len(), first.path.display());
                Err(Error::new(Kind::Io, message).in_input(self.input.name().clone()))
            }
        }
    }
}

fn declared<'a>(request: &'a Request, name: &str) -> Option<&'a Field> {
    request.declared.fields.iter().find(|field| field.source_name() == name)
}

impl Reader for TfdsReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let found = Schema::new(self.fields(request)?.into_iter().map(|(_, field)| field).collect());
        if self.labels.are_read() && !self.labels.any() {
            let text = "--class-names: no field has the names of its classes";
            request.options.notices.add_about(self.input.name(), text, request.options.strict)?;
        }
        Ok(Inference::Known(declared_over(&request.declared, found)))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let (positions, fields): (Vec<usize>, Vec<Field>) = self.fields(request)?.into_iter().unzip();
        let columns = Columns::plan(&fields, schema, request).map_err(|e| e.in_input(self.input.name().clone()))?;
        let mut mapper = self.mapper(request);
        for root in columns.roots() {
            if let Some((name, feature)) = positions.get(*root).and_then(|position| self.features.get(*position)) {
                mapper.field(name, feature, declared(request, name))?;
            }
        }
        let parts = self.parts()?;
        if parts.iter().all(|part| part.length == Some(0)) {
            let what = request.options.split.as_deref().map_or("the dataset".to_owned(), |split| format!("--split {split}"));
            let text = format!("{what} has no records, according to {INFO}");
            request.options.notices.add_about(self.input.name(), text, request.options.strict)?;
        }
        let is_array_record = self.info.file_format == ARRAY_RECORD;
        let indexed = self.indexed.clone();
        Ok(Box::new(Shards::new(self.input.clone(), parts, is_array_record, indexed, mapper.mapping, columns, request)))
    }

    fn numbered(&mut self, request: &Request) -> Result<Option<Numbered>> {
        let parts = self.parts()?;
        if parts.len() > MAX_INDEXED {
            return Ok(None);
        }
        let is_array_record = self.info.file_format == ARRAY_RECORD;
        let mut indexed = Indexed::new();
        let mut all = Numbered { nrecords: 0, nread: 0, nbytes: 0, by: "".into() };
        let mut places = 0;
        for part in &parts {
            let input = Input::regular(&part.path)?;
            let (own, index) = if is_array_record {
                let file = ArrayFile::open(&input, &request.options)?;
                places += file.places.len() as u64;
                (Numbered { nrecords: file.nrecords, nread: 1, nbytes: file.nbytes(), by: file.name.clone() }, Index::Footer(file))
            } else {
                let Some(index) = index::Index::beside(&input, &request.options)? else { return Ok(None) };
                let table = Arc::new(index.table()?);
                places += table.nrecords();
                (table.numbered(), Index::Table(table))
            };
            // Reading will report the mismatch.
            if part.length.is_some_and(|length| length != own.nrecords) {
                return Ok(None);
            }
            all.nrecords = all.nrecords.saturating_add(part.nrecords(own.nrecords));
            all.nread = all.nread.saturating_add(own.nrecords);
            all.nbytes = all.nbytes.saturating_add(own.nbytes);
            indexed.insert(part.path.clone(), index);
        }
        self.indexed = Arc::new(indexed);
        let what = if is_array_record { "footer" } else { "index" };
        let by = format!("the {what} of each shard of {}", self.input.name()).into();
        Ok(Some(Numbered { nread: all.nread.div_ceil(places.max(1)).max(1), by, ..all }))
    }
}

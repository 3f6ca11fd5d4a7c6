//! The inputs of a run with their readers, as one stream of blocks.

use super::drawn::Drawn;
use super::engine::Origin;
use super::format;
use super::hive;
use super::opened::{Opened, open};
use super::several::{ChainOfInput, Several};
use super::work::{Load, Work};
use crate::chunk::Decoded;
use crate::demand::{Demand, Wanted};
use crate::error::{Error, Reason, Result, mismatch};
use crate::formats::{FORMATS, Format, Inference, Numbered, Request, Task, Tasks};
use crate::hint::Hint;
use crate::io::{self, Input};
use crate::options::{OnError, Options, Scalars, SourceColumn};
use crate::printable::shell_word;
use crate::schema::leaves::leaves;
use crate::schema::{Element, Field, Schema, Type, notation};
use crate::tensor::arrow::from_arrow_field;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// With this many fields, the number of values in a block is limited.
const WIDE: usize = 64;
/// Maximum number of values in a block, one for each record and field.
const BLOCK_CELLS: usize = 1 << 20;

/// The inputs of a run, in order.
pub struct Inputs {
    opened: Vec<Opened>,
    /// The types given by `--schema`.
    declared: Arc<Schema>,
    options: Arc<Options>,
    /// Inputs that are read side by side, used instead of `opened`.
    several: Option<Box<dyn Several>>,
    /// See [`Inputs::ignore_types`].
    dropped: Wanted,
    /// The only records of `opened` to read, in output order.
    drawn: Option<Drawn>,
    /// See [`Request::is_settled`].
    is_settled: bool,
    /// See [`Inputs::infer_from_all`].
    infers_from_all: bool,
}

impl Inputs {
    /// Inputs that are read side by side.
    pub fn of_several(several: Box<dyn Several>, options: Arc<Options>) -> Inputs {
        Inputs {
            opened: Vec::new(),
            declared: Arc::default(),
            options,
            several: Some(several),
            dropped: Wanted::none(),
            drawn: None,
            is_settled: false,
            infers_from_all: false,
        }
    }

    /// Divides the files into groups of these sizes, each a separate input.
    pub fn divided(self, sizes: &[usize]) -> Vec<Inputs> {
        let mut opened = self.opened.into_iter();
        let mut group = |n: &usize| Inputs {
            opened: opened.by_ref().take(*n).collect(),
            declared: self.declared.clone(),
            options: self.options.clone(),
            several: None,
            dropped: Wanted::none(),
            drawn: None,
            is_settled: false,
            infers_from_all: false,
        };
        sizes.iter().map(&mut group).collect()
    }

    /// The same files, of which one scalar is used. `--schema` and `--scalar` are about the other inputs.
    pub fn for_scalar(self) -> Inputs {
        let options = Options { scalar: Scalars::Auto, ..(*self.options).clone() };
        Inputs { declared: Arc::default(), options: Arc::new(options), ..self }
    }

    /// Opens the files, or standard input if there are none.
    ///
    /// # Errors
    /// A file cannot be opened, or its format is unknown.
    pub fn open(files: &[OsString], options: Arc<Options>) -> Result<Inputs> {
        let mut declared = declared_schema(&options)?;
        if options.on_error == OnError::Null {
            // Unreadable fields become null.
            declared.fields.iter_mut().for_each(|field| field.ty.optional = true);
        }
        let declared = Arc::new(declared);
        let inputs = if options.from.as_deref() == Some("none") {
            no_input(files, &options)?
        } else {
            let inputs = io::inputs(files, &options, &format::is_dataset(&options))?;
            refuse_empty(&inputs, &options)?;
            note_empty(&inputs, &options)?;
            inputs
        };
        let options = with_hive_fields(options, &inputs)?;
        let opened: Vec<Opened> = inputs.into_iter().map(|input| open(input, &options)).collect::<Result<_>>()?;
        one_format_each(&opened)?;
        if !options.splits_beside {
            check_split(opened.iter().any(|opened| opened.format.has_splits()), &options)?;
        }
        if options.infer_bytes == u64::MAX {
            // A temporary copy can be read again, like a file.
            opened.iter().filter(|opened| !opened.input.is_regular()).try_for_each(|opened| opened.input.file().map(|_| ()))?;
        }
        Ok(Inputs {
            opened,
            declared,
            options,
            several: None,
            dropped: Wanted::none(),
            drawn: None,
            is_settled: false,
            infers_from_all: false,
        })
    }

    /// How to read the field that a message does not find, if directories such as `year=2024` give its values.
    pub fn field_in_directories(&self, path: &str) -> Option<String> {
        let directories = self.opened.iter().filter_map(|opened| opened.input.path()?.parent());
        let mut names = directories.flat_map(Path::iter).filter_map(|directory| Some(directory.to_str()?.split_once('=')?.0));
        let name = names.find(|name| *name == path)?;
        Some(format!("{name} is in the names of directories; to read them as fields: --source hive"))
    }

    /// Whether an input has splits.
    pub fn have_splits(&self) -> bool {
        self.iter().any(|opened| opened.format.has_splits())
    }

    /// The inputs that are read side by side.
    pub fn several(&mut self) -> Option<&mut (dyn Several + 'static)> {
        self.several.as_deref_mut()
    }

    /// The options with which they are read.
    pub fn options(&self) -> &Arc<Options> {
        &self.options
    }

    /// A copy of the inputs, to be opened again.
    pub fn closed(&self) -> Inputs {
        Inputs {
            opened: self.opened.iter().map(Opened::closed).collect(),
            declared: self.declared.clone(),
            options: self.options.clone(),
            several: self.several.as_ref().map(|several| several.closed()),
            dropped: self.dropped.clone(),
            drawn: None,
            is_settled: false,
            infers_from_all: self.infers_from_all,
        }
    }

    /// Opens regular files again, from the start.
    ///
    /// # Errors
    /// See [`Inputs::open`].
    pub fn reopen(&mut self) -> Result<()> {
        if let Some(several) = &mut self.several {
            several.reopen()?;
        }
        self.opened.iter_mut().try_for_each(|opened| opened.reopen(&self.options))
    }

    /// The name of their format, if they all have the same.
    pub fn format_name(&self) -> Option<&'static str> {
        let name = self.iter().next()?.format.name();
        self.iter().all(|o| o.format.name() == name).then_some(name)
    }

    /// All inputs, with their formats.
    pub fn iter(&self) -> Box<dyn Iterator<Item = &Opened> + '_> {
        match &self.several {
            Some(several) => several.opened(),
            None => Box::new(self.opened.iter()),
        }
    }

    /// The inputs that are read in sequence.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Opened> {
        self.opened.iter_mut()
    }

    /// See [`Several::chains`].
    pub fn chains(&self) -> Vec<ChainOfInput> {
        self.several.as_ref().map_or_else(Vec::new, |several| several.chains())
    }

    /// Whether all inputs are empty files. Without records, fields are known only from `--schema`.
    pub fn are_empty(&self) -> bool {
        self.iter().all(|opened| opened.input.is_empty() && opened.format.name() != "none")
    }

    /// The types given by `--schema`.
    pub fn declared(&self) -> &Arc<Schema> {
        &self.declared
    }

    /// Whether all inputs are files that can be read again.
    pub fn are_regular(&self) -> bool {
        self.iter().all(|o| o.input.is_regular())
    }

    /// Size on disk, if known.
    pub fn nbytes(&self) -> Option<u64> {
        self.iter().map(|o| o.input.nbytes()).sum()
    }

    /// Keeps up to that many bytes read from pipes, for the next reader.
    pub fn remember(&self, nbytes: u64) {
        self.iter().for_each(|o| o.input.remember(nbytes));
    }

    /// How to find the records of each input by number; `None` if that is not possible for all.
    ///
    /// # Errors
    /// An index is damaged.
    pub fn numbered(&mut self) -> Result<Option<Vec<Numbered>>> {
        if self.several.is_some() {
            return Ok(None);
        }
        let request = self.request(Demand::everything(), None);
        self.opened.iter_mut().map(|opened| opened.reader()?.numbered(&request)).collect()
    }

    /// Does not infer the types of the fields that match these patterns: they are dropped first.
    pub fn ignore_types(&mut self, dropped: Wanted) {
        self.dropped = dropped;
    }

    /// Infers the types from all records, even if only some are read.
    pub fn infer_from_all(&mut self) {
        self.infers_from_all = true;
    }

    /// Whether [`Inputs::infer_from_all`] was called.
    pub fn infers_from_all(&self) -> bool {
        self.infers_from_all
    }

    /// The request to the readers for inference.
    pub fn request_types(&self, demand: Demand, sample_bytes: Option<u64>) -> Request {
        let request = self.request(demand, sample_bytes);
        if self.infers_from_all { Request { only: None, records: None, ..request } } else { request }
    }

    /// Records whether the types hold for all records.
    pub fn settle(&mut self, is_settled: bool) {
        self.is_settled = is_settled;
    }

    /// Restricts reading to these records, in order.
    pub fn draw(&mut self, drawn: Drawn) {
        self.drawn = Some(drawn);
    }

    /// The request to the readers.
    pub fn request(&self, demand: Demand, sample_bytes: Option<u64>) -> Request {
        // Dropped records do not count, so more records may have to be read than are needed.
        let needed = demand.records.filter(|_| self.options.on_error == OnError::Fail);
        Request {
            wanted: demand.fields,
            dropped: self.dropped.clone(),
            records: needed.into_iter().chain(self.options.only.as_ref().map(|only| only.last())).min(),
            only: self.options.only.clone(),
            sample_bytes,
            declared: self.declared.clone(),
            is_settled: self.is_settled,
            options: self.options.clone(),
        }
    }

    /// The blocks of all inputs, in sequence. Each input is read after the previous one has ended. Inputs that are read
    /// side by side use the result of their inference.
    ///
    /// # Errors
    /// See [`Several::origin`].
    pub fn origin<'a>(&mut self, schema: Arc<Schema>, demand: Demand) -> Result<Origin<'a, Work>> {
        if let Some(several) = &mut self.several {
            return several.origin();
        }
        let mut request = self.request(demand, None);
        let nleaves =
            leaves(&schema).iter().filter(|leaf| leaf.path.names().first().is_some_and(|root| request.wanted.includes(root))).count();
        if nleaves >= WIDE {
            // Blocks of short records, which lack most fields, would otherwise have any number of nulls.
            let rows = (BLOCK_CELLS / nleaves).max(1);
            let rows = request.options.chunk_rows.map_or(rows, |given| given.min(rows));
            request.options = Arc::new(Options { chunk_rows: Some(rows), ..request.options.as_ref().clone() });
        }
        let opened: Vec<Opened> = self.opened.iter_mut().map(Opened::take).collect();
        let mut requests = vec![request.clone(); opened.len()];
        match self.drawn.take() {
            Some(drawn) if !drawn.ascends() => return Ok(drawn.origin(opened, schema, request)),
            Some(drawn) => drawn.narrow(&mut requests),
            None if request.only.is_none() => still_needed(&opened, &mut requests),
            None => {}
        }
        let mut opened = opened.into_iter().zip(requests);
        let mut current: Option<Tasks<Decoded>> = None;
        let mut over = false;
        Ok(Origin::Source(Box::new(move || {
            while !over {
                if let Some(tasks) = &mut current
                    && let Some(task) = tasks.next()
                {
                    return Some(task.map_or_else(
                        |error| {
                            over = true;
                            Work::failed(error)
                        },
                        |task: Task<Decoded>| Work { load: Load::Block(task), ..Work::default() },
                    ));
                }
                let (mut opened, request) = opened.next()?;
                match opened.read(&schema, &request) {
                    Ok(tasks) => current = Some(tasks),
                    Err(error) => {
                        over = true;
                        return Some(Work::failed(error));
                    }
                }
            }
            None
        })))
    }

    /// The records of all inputs, one block at a time, on this thread.
    pub fn into_decoded(self, schema: Arc<Schema>, demand: Demand) -> impl Iterator<Item = Result<Decoded>> {
        let request = self.request(demand, None);
        self.opened.into_iter().flat_map(move |mut opened| -> Box<dyn Iterator<Item = Result<Decoded>>> {
            match opened.read(&schema, &request) {
                Ok(tasks) => Box::new(tasks.map(|task| task.and_then(|task| task()))),
                Err(error) => Box::new(std::iter::once(Err(error))),
            }
        })
    }
}

/// Rejects empty files without a format, which are usually a mistake. Where the name says the format, a program may have written
/// a file without records: a shard, or what a filter has left. The same goes for pipes.
///
/// # Errors
/// All inputs are empty, at least one is a file, and neither its name nor `--from` says the format, nor `--schema` the fields;
/// or the shell has emptied one, because it is the output too.
fn refuse_empty(inputs: &[Arc<Input>], options: &Options) -> Result<()> {
    if !inputs.iter().all(|input| input.is_empty()) || inputs.iter().any(|i| is_half(i)) {
        return Ok(());
    }
    let files = || inputs.iter().filter(|input| input.path().is_some() && input.is_regular());
    let Some(first) = files().next() else { return Ok(()) };
    if let (Some(path), Some(output)) = (first.path().and_then(|path| path.canonicalize().ok()), io::standard_output_file())
        && path == output
    {
        let error = Error::usage("standard output is the same file, which the shell has emptied").in_input(first.name().clone());
        return Err(error.help(io::IN_PLACE));
    }
    let is_named = |extension| FORMATS.iter().any(|format| format.may_be_empty() && format.extensions().contains(&extension));
    let is_known = options.from.is_some() || options.schema.is_some();
    let Some(first) = files().find(|input| !is_known && !input.extension().is_some_and(is_named)) else { return Ok(()) };
    let error = Error::data(if inputs.len() == 1 { "the file is empty" } else { "this and all other inputs are empty" });
    let help = Hint::to_read_as("if it is intentionally empty, specify its format: --from jsonl", "--from jsonl");
    Err(error.in_input(first.name().clone()).help(help).because(Reason::Empty))
}

/// Whether it is one of the two files of a dataset, and the other one is not empty: no record may have a value.
fn is_half(input: &Input) -> bool {
    let Some(path) = input.path() else { return false };
    let pairs = FORMATS.iter().filter_map(|format| format.pair());
    pairs.flatten().any(|other| std::fs::metadata(path.with_extension(other)).is_ok_and(|found| found.len() > 0))
}

/// Adds a notice for empty files. Shards may be empty, if there are more of them than records.
///
/// # Errors
/// There is an empty file, under `--strict`.
fn note_empty(inputs: &[Arc<Input>], options: &Options) -> Result<()> {
    if options.from.is_some() || options.schema.is_some() {
        return Ok(());
    }
    let empty = || inputs.iter().filter(|input| input.is_empty() && input.is_regular() && !input.is_shard() && !is_half(input));
    let Some(first) = empty().next() else { return Ok(()) };
    let more = match empty().count() - 1 {
        0 => " is empty and is treated as having no records".to_owned(),
        n => format!(" and {n} more are empty and are treated as having no records"),
    };
    options.notices.add(format!("{}{more}", first.name()), options.strict)
}

/// Checks that a directory holds files of only one format.
///
/// # Errors
/// A directory has files of two formats.
fn one_format_each(opened: &[Opened]) -> Result<()> {
    // An empty file has no format.
    let opened: Vec<&Opened> = opened.iter().filter(|opened| !opened.input.is_empty()).collect();
    for pair in opened.windows(2) {
        let [first, second] = pair else { continue };
        let (Some(folder), true) = (first.input.folder(), first.input.folder() == second.input.folder()) else { continue };
        if first.format.name() != second.format.name() {
            let kind = |opened: &Opened| format!("{} ({})", opened.format.name(), opened.input.name());
            let error = Error::usage(format!("the directory contains files in different formats: {} and {}", kind(first), kind(second)));
            return Err(error
                .in_input(folder.path.display().to_string())
                .help(format!("select files of one format with a quoted glob: '{}'", folder.glob)));
        }
    }
    Ok(())
}

/// Checks that `--split` is used with a dataset to read or write. `is_read`: an input has splits.
///
/// # Errors
/// It is not.
pub fn check_split(is_read: bool, options: &Options) -> Result<()> {
    let is_written = || options.to.as_deref().and_then(crate::formats::find).is_some_and(|format| format.has_splits());
    match (&options.split, is_read || is_written()) {
        (Some(split), true) if !is_read && split.contains('[') => {
            Err(Error::usage(format!("--split {split}: no input has splits, so there is none to slice"))
                .help("to choose records of other inputs, use head, skip, sample or split"))
        }
        (Some(split), false) => Err(Error::usage(format!("--split {split}: no input has splits"))
            .help("only a TensorFlow Datasets directory has splits; to choose records of other inputs, use head, skip, sample or split")),
        _ => Ok(()),
    }
}

/// The options, with the fields of `--source hive`.
///
/// # Errors
/// The notice that there are none, under `--strict`.
fn with_hive_fields(options: Arc<Options>, inputs: &[Arc<Input>]) -> Result<Arc<Options>> {
    if !options.source_columns.wants(SourceColumn::Hive) {
        return Ok(options);
    }
    let fields = hive::all_fields(inputs);
    if let (true, Some(first)) = (fields.is_empty(), inputs.first()) {
        let text = format!("{}: --source hive has no effect: no directory in the path has a name such as year=2024", first.name());
        options.notices.add(text, options.strict)?;
    }
    Ok(Arc::new(Options { hive_fields: Arc::new(fields), ..options.as_ref().clone() }))
}

/// `--from none` reads nothing: its single record does not come from a file.
fn no_input(files: &[OsString], options: &Options) -> Result<Vec<Arc<Input>>> {
    match files.first().or(options.files_from.as_ref()) {
        Some(file) => Err(Error::usage(format!("--from none reads no file, but {} is given", file.display()))),
        None => Ok(vec![Arc::new(Input::none())]),
    }
}

/// The types given by `--schema TEXT|@FILE`; a data file that declares its schema gives that schema.
fn declared_schema(options: &Arc<Options>) -> Result<Schema> {
    let Some(text) = options.schema.as_deref() else { return Ok(Schema::default()) };
    let Some(file) = text.as_bytes().strip_prefix(b"@").map(OsStr::from_bytes) else {
        let text = text.to_str().ok_or_else(|| Error::usage("the schema is not valid UTF-8").in_input("--schema"))?;
        check_comment(text)?;
        return notation::parse(text).map_err(|e| {
            let error = e.in_input("--schema");
            match without_json(text) {
                Some(plain) => error.help(format!("write --schema {}", shell_word(&plain))),
                None => error,
            }
        });
    };
    let name = &*file.display().to_string();
    let input = Arc::new(Input::regular(Path::new(file))?);
    if let Some(format) = FORMATS.iter().find(|f| !f.is_text() && f.sniff(input.head())) {
        return stated_schema(*format, input, options);
    }
    let is_json = notation::is_json(input.head());
    if !is_json && FORMATS.iter().any(|f| f.family() == "jsonl" && f.is_evident(&input)) {
        let error = Error::usage(mismatch("types in the notation of `tatter schema`", "JSON")).in_input(name);
        return Err(error.help(types_of(name)));
    }
    let mut text = String::new();
    input.open()?.read_to_string(&mut text).map_err(|e| Error::io(name, "cannot read the schema", &e))?;
    let parsed = if is_json { notation::parse_json(&text) } else { notation::parse(&text) };
    parsed.map_err(|e| e.in_input(name))
}

/// The declarations of a JSON object such as `{"id": "string"}`.
fn without_json(text: &str) -> Option<String> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let plain = inner.replace('"', "").replace(',', ";");
    notation::parse(&plain).is_ok().then(|| plain.trim().to_owned())
}

/// Refuses a declaration that is a comment because the name begins with `#`, as in the header of a table of variants.
fn check_comment(text: &str) -> Result<()> {
    let Some((before, comment)) = text.split_once('#').filter(|_| !text.contains('\n')) else { return Ok(()) };
    let is_whole = before.trim().is_empty() || before.trim_end().ends_with(';');
    let Some((name, rest)) = comment.split_once(':').filter(|_| is_whole) else { return Ok(()) };
    let declared = format!("{before}{}:{rest}", notation::name_text(&format!("#{}", name.trim_end())));
    if notation::parse(&declared).is_err() {
        return Ok(());
    }
    let error = Error::usage(format!("#{comment} is a comment, so it declares nothing")).in_input("--schema");
    Err(error.help(format!("put a name that begins with # in backquotes: {}", notation::schema_option(&declared))))
}

fn stated_schema(format: &dyn Format, input: Arc<Input>, options: &Arc<Options>) -> Result<Schema> {
    let name = input.name().clone();
    let request = Request::everything(Arc::default(), options.clone());
    let inferred = format.reader(input, options).map(|reader| reader?.infer(&request)).transpose()?;
    match inferred {
        Some(Inference::Known(mut schema)) => {
            // What the values of this file are must not restrict those of others.
            schema.fields.iter_mut().for_each(widen);
            Ok(schema)
        }
        _ => {
            let error = Error::usage(format!("{} does not store the types of its fields", format.name()));
            Err(error.help(types_of(&name)).in_input(name))
        }
    }
}

/// Allows nulls wherever the file that stores the field does.
fn widen(field: &mut Field) {
    fn allow(ty: &mut Type, stored: &Type) {
        ty.optional |= stored.optional;
        ty.with_nulls |= stored.with_nulls;
        if let (Element::Struct(inner), Element::Struct(stored)) = (&mut ty.element, &stored.element) {
            inner.iter_mut().zip(stored).for_each(|(own, stored)| allow(&mut own.ty, &stored.ty));
        }
    }
    if let Some(stored) = field.storage.arrow().and_then(|stored| from_arrow_field(stored).ok()) {
        allow(&mut field.ty, &stored.ty);
    }
}

/// The advice for a data file that does not store types.
fn types_of(name: &str) -> String {
    format!("to use the types of a data file: --schema \"$(tatter schema {})\"", shell_word(name))
}

/// Asks each input only for the records that are still needed after those of the inputs before it.
fn still_needed(opened: &[Opened], requests: &mut [Request]) {
    let mut before = 0;
    for (opened, request) in opened.iter().zip(requests) {
        // At least one, although none may be needed: a request for none would be of no use to a reader.
        request.records = request.records.map(|n| n.saturating_sub(before).max(1));
        before = before.saturating_add(opened.nrecords.unwrap_or(0));
    }
}

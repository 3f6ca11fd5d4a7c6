//! What the records of a block say about the types of features, and the schema of it all.

use super::framing::{Block, payload_holds};
use super::plan::{indices_name, is_complete, row_lengths_name, values_name};
use super::wire::{self, Kind};
use crate::error::{Error, Result};
use crate::formats::format::{Observed, Request};
use crate::path::{FieldPath, glob_matches, quoted};
use crate::schema::{DType, Dim, Element, Field, Schema, SplitBy, Type};
use std::any::Any;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The most fields of a record.
const MAX_FIELDS: usize = 10_000;

/// What has been seen of the features of some records.
#[derive(Default)]
pub struct Seen {
    records: u64,
    features: BTreeMap<Vec<u8>, Feature>,
    /// The feature lists of tf.SequenceExample.
    lists: BTreeMap<Vec<u8>, Feature>,
}

/// What has been seen of one feature.
struct Feature {
    /// Record and position in it where it stood first: the order of the schema.
    first: (u64, usize),
    /// The record looked at last.
    last: u64,
    /// Where each kind was first seen: bytes, float, int64.
    kinds: [Option<Place>; 3],
    /// Records in which it has a kind.
    present: u64,
    shortest: usize,
    longest: usize,
    utf8: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    record: u64,
    input: Arc<str>,
}

/// Which features the values are looked at of; of the others only the kind.
pub struct Look {
    pub wanted: crate::demand::Wanted,
    /// The features that `--schema` reads are known without looking.
    pub declared: HashSet<String>,
    pub verify: bool,
    /// The records are tf.SequenceExamples.
    pub sequences: bool,
    pub input: Arc<str>,
}

impl Seen {
    /// What the records of a block say. Records that cannot be read say nothing: reading will meet them again.
    pub fn in_block(block: &Block, look: &Look) -> Seen {
        let mut seen = Seen::default();
        for (row, payload) in block.payloads.iter().enumerate() {
            if look.verify && !payload_holds(&block.bytes, payload.clone()) {
                continue;
            }
            seen.records += 1;
            let record = block.first_record + row as u64;
            let mut found: Vec<(&[u8], std::ops::Range<usize>)> = Vec::new();
            let mut lists: Vec<(&[u8], std::ops::Range<usize>)> = Vec::new();
            let outcome = if look.sequences {
                wire::sequence_features(&block.bytes, payload.clone(), &mut |is_list, key, feature| {
                    if is_list {
                        lists.push((key, feature))
                    } else {
                        found.push((key, feature))
                    }
                    Ok(())
                })
            } else {
                wire::features(&block.bytes, payload.clone(), &mut |key, feature| {
                    found.push((key, feature));
                    Ok(())
                })
            };
            if outcome.is_err() {
                continue;
            }
            // Backwards: of a key that is there twice the last entry counts.
            for (position, (key, feature)) in found.iter().enumerate().rev() {
                if let Some(entry) = entry(&mut seen.features, key, (record, position)) {
                    entry.look_at(key, &block.bytes, feature.clone(), record, look);
                }
            }
            for (position, (key, list)) in lists.iter().enumerate().rev() {
                let Some(entry) = entry(&mut seen.lists, key, (record, found.len() + position)) else { continue };
                entry.present += 1;
                let before = entry.present;
                // What a step is broken by, reading will tell.
                let _ = wire::steps(&block.bytes, list.clone(), &mut |step| entry.look_at(key, &block.bytes, step, record, look));
                entry.present = before;
            }
        }
        seen
    }
}

/// The entry of a feature, unless the record has been there already.
fn entry<'a>(features: &'a mut BTreeMap<Vec<u8>, Feature>, key: &[u8], first: (u64, usize)) -> Option<&'a mut Feature> {
    if !features.contains_key(key) {
        // One more than the most says that there are too many.
        if features.len() > MAX_FIELDS {
            return None;
        }
        let new = Feature { first, last: 0, kinds: [None, None, None], present: 0, shortest: usize::MAX, longest: 0, utf8: true };
        features.insert(key.to_vec(), new);
    }
    let entry = features.get_mut(key).filter(|e| e.last != first.0)?;
    entry.last = first.0;
    Some(entry)
}

impl Feature {
    fn look_at(&mut self, key: &[u8], bytes: &[u8], feature: std::ops::Range<usize>, record: u64, look: &Look) {
        let Ok(Some((kind, list))) = wire::list(bytes, feature) else { return };
        let entry = self;
        entry.present += 1;
        let known = &mut entry.kinds[kind as usize];
        if known.is_none() {
            *known = Some(Place { record, input: look.input.clone() });
        }
        let name = std::str::from_utf8(key).unwrap_or_default();
        if !look.wanted.includes(name) || look.declared.contains(name) {
            return;
        }
        let count = match kind {
            Kind::Int64 => wire::count_int64s(list),
            Kind::Float => wire::count_floats(list),
            Kind::Bytes => {
                let mut n = 0;
                let mut utf8 = entry.utf8;
                let walked = wire::each_bytes(list, &mut |value| {
                    n += 1;
                    utf8 = utf8 && simdutf8::basic::from_utf8(value).is_ok();
                });
                entry.utf8 = utf8;
                walked.map(|()| n)
            }
        };
        let count = count.unwrap_or(0);
        entry.longest = entry.longest.max(count);
        entry.shortest = entry.shortest.min(count);
    }
}

impl Observed for Seen {
    fn merge(&mut self, other: Box<dyn Observed>) {
        let Ok(other) = other.into_any().downcast::<Seen>() else { return };
        self.records += other.records;
        merge(&mut self.features, other.features);
        merge(&mut self.lists, other.lists);
    }

    fn schema(&self, request: &Request) -> Result<Schema> {
        if self.features.len() > MAX_FIELDS {
            return Err(Error::data(format!("the records have more than {MAX_FIELDS} different features"))
                .help("read those that are needed with `select`, and name their types with --schema"));
        }
        let mut seen = Vec::with_capacity(self.features.len());
        for (key, feature) in &self.features {
            match std::str::from_utf8(key) {
                Ok(name) => seen.push((name, feature)),
                Err(_) if request.wanted == crate::demand::Wanted::All => {
                    return Err(Error::data(format!("the name of a feature is not UTF-8: {}", String::from_utf8_lossy(key)))
                        .locate(|at| at.records = Some((feature.first.0, feature.first.0))));
                }
                Err(_) => {}
            }
        }
        seen.sort_by_key(|(name, feature)| (feature.first, *name));
        let scalars = Scalars::new(request)?;
        scalars.check(&seen)?;
        let named: BTreeMap<&str, &Feature> = seen.iter().copied().collect();
        // What is declared stands where its first feature does, or last.
        let mut declared: Vec<(&Field, HashSet<String>)> = request
            .declared
            .fields
            .iter()
            .filter(|f| is_complete(&f.ty))
            .map(|f| (f, declared_features(std::slice::from_ref(f))))
            .collect();
        let beside: HashSet<String> = seen.iter().flat_map(|(name, _)| self.beside(name, &named)).collect();
        let (mut fields, mut clashes, mut known) = (Vec::new(), Vec::new(), HashSet::new());
        for (name, feature) in &seen {
            while let Some(at) = declared.iter().position(|(f, features)| f.name == *name || features.contains(*name)) {
                let (field, features) = declared.remove(at);
                fields.push(field.clone());
                known.extend(features.into_iter().chain([field.name.clone()]));
            }
            if known.contains(*name) {
                continue;
            }
            if let Some(field) = self.sparse(name, &named) {
                fields.push(field);
            } else if !beside.contains(*name) {
                match feature.dtype() {
                    Ok(dtype) => fields.push(self.field(name, feature, dtype, &scalars, &named)),
                    Err(clash) => clashes.push(format!("{}: {clash}", quoted(name))),
                }
            }
        }
        fields.extend(declared.into_iter().map(|(f, _)| f.clone()));
        scalars.hint(&fields, &named, request)?;
        // Features have no order of their own: where all of them are declared, the declared one holds.
        let place = |field: &Field| request.declared.fields.iter().position(|d| d.name == field.name);
        if fields.iter().all(|f| place(f).is_some()) {
            fields.sort_by_key(|f| place(f));
        }
        known.extend(declared_features(&request.declared.fields));
        known.extend(request.declared.fields.iter().map(|f| f.name.clone()));
        self.list_fields(&mut fields, &known, &mut clashes)?;
        if !clashes.is_empty() {
            let mut error = Error::data("features have lists of different kinds in different records");
            for clash in clashes {
                error = error.help(clash);
            }
            return Err(
                error.help("a feature that is not used is not looked at: leave it out with `drop`, or name the others with `select`")
            );
        }
        Ok(Schema::new(fields))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Takes in what was seen of the features of other records.
fn merge(all: &mut BTreeMap<Vec<u8>, Feature>, other: BTreeMap<Vec<u8>, Feature>) {
    for (key, theirs) in other {
        let Some(ours) = all.get_mut(&key) else {
            if all.len() <= MAX_FIELDS {
                all.insert(key, theirs);
            }
            continue;
        };
        ours.first = ours.first.min(theirs.first);
        for (a, b) in ours.kinds.iter_mut().zip(theirs.kinds) {
            *a = match (a.take(), b) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        ours.present += theirs.present;
        ours.longest = ours.longest.max(theirs.longest);
        ours.shortest = ours.shortest.min(theirs.shortest);
        ours.utf8 &= theirs.utf8;
    }
}

impl Seen {
    /// The fields that the feature lists make, behind those of the context.
    fn list_fields(&self, fields: &mut Vec<Field>, known: &HashSet<String>, clashes: &mut Vec<String>) -> Result<()> {
        let mut lists: Vec<(&str, &Feature)> = self.lists.iter().filter_map(|(key, f)| Some((std::str::from_utf8(key).ok()?, f))).collect();
        lists.sort_by_key(|(name, feature)| (feature.first, *name));
        for (name, feature) in lists {
            if known.contains(name) {
                continue;
            }
            if fields.iter().any(|f| f.name == name) {
                let error = Error::data("it is a feature of the context and a feature list, too").in_field(quoted(name));
                return Err(error.help("read one of them under another name: --schema 'other: int64[?] from name'"));
            }
            match feature.dtype() {
                Ok(dtype) => {
                    let ty = Type::tensor(dtype, vec![Dim::UNIFORM, Dim::RAGGED]).with_optional(feature.present < self.records);
                    fields.push(Field::new(name, ty));
                }
                Err(clash) => clashes.push(format!("{}: {clash}", quoted(name))),
            }
        }
        Ok(())
    }

    /// The features that hold the partitions of `name`, or the indices if it is the values of a sparse field.
    fn beside(&self, name: &str, named: &BTreeMap<&str, &Feature>) -> Vec<String> {
        let holds_ints = |feature: &String| named.get(feature.as_str()).is_some_and(|f| f.is_int64_only());
        if let Some(field) = name.strip_suffix("/values").filter(|_| self.sparse(name, named).is_some()) {
            return (0..).map(|i| indices_name(field, i)).take_while(holds_ints).collect();
        }
        (1..).map(|i| row_lengths_name(name, i)).take_while(holds_ints).collect()
    }

    /// The sparse field whose values the feature `x/values` holds.
    fn sparse(&self, name: &str, named: &BTreeMap<&str, &Feature>) -> Option<Field> {
        let field = name.strip_suffix("/values")?;
        let ndims = (0..).take_while(|i| named.get(indices_name(field, *i).as_str()).is_some_and(|f| f.is_int64_only())).count();
        if ndims == 0 || named.contains_key(field) || values_name(field) != name {
            return None;
        }
        let values = named.get(name)?;
        let mut ty = Type::sparse(values.dtype().ok()?, vec![Dim::UNIFORM; ndims]);
        let anywhere =
            (0..ndims).filter_map(|i| named.get(indices_name(field, i).as_str())).chain([values]).any(|f| f.present == self.records);
        ty.optional = !anywhere;
        Some(Field::new(field, ty))
    }

    fn field(&self, name: &str, feature: &Feature, dtype: DType, scalars: &Scalars, named: &BTreeMap<&str, &Feature>) -> Field {
        let mut optional = feature.present < self.records;
        if dtype == DType::Null {
            return Field::new(name, Type::tensor(dtype, Vec::new()).with_optional(true));
        }
        let partitions = self.beside(name, named);
        if !partitions.is_empty() {
            optional &= partitions.iter().all(|p| named.get(p.as_str()).is_none_or(|f| f.present < self.records));
            let dims = std::iter::once(Dim::UNIFORM).chain(partitions.iter().map(|_| Dim::RAGGED)).collect();
            return Field::new(name, Type::tensor(dtype, dims).with_optional(optional));
        }
        if scalars.includes(name, feature.longest) {
            return Field::new(name, Type::tensor(dtype, Vec::new()).with_optional(optional || feature.shortest == 0));
        }
        Field::new(name, Type::tensor(dtype, vec![Dim::UNIFORM]).with_optional(optional))
    }
}

impl Feature {
    fn is_int64_only(&self) -> bool {
        matches!(self.kinds, [None, None, _])
    }

    /// The dtype that holds all values, or the clash.
    fn dtype(&self) -> Result<DType, String> {
        let at = |place: &Place| format!("in record {} of {}", place.record, place.input);
        match &self.kinds {
            [None, None, None] => Ok(DType::Null),
            [Some(_), None, None] if self.utf8 => Ok(DType::String),
            [Some(_), None, None] => Ok(DType::Bytes),
            [None, Some(_), None] => Ok(DType::Float32),
            [None, None, Some(_)] => Ok(DType::Int64),
            [None, Some(_), Some(_)] => Ok(DType::Float64),
            [Some(bytes), float, int64] => {
                let mut places = vec![(bytes, Kind::Bytes)];
                places.extend(float.iter().map(|p| (p, Kind::Float)));
                places.extend(int64.iter().map(|p| (p, Kind::Int64)));
                places.sort();
                Err(places.iter().map(|(p, kind)| format!("{} {}", kind.name(), at(p))).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Kind) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kind {
    fn cmp(&self, other: &Kind) -> std::cmp::Ordering {
        (*self as usize).cmp(&(*other as usize))
    }
}

/// Which features `--scalar` makes scalars.
enum Scalars {
    None,
    /// All that never hold more than one value.
    Auto,
    Named(Vec<String>),
}

impl Scalars {
    fn new(request: &Request) -> Result<Scalars> {
        Ok(match request.options.scalar.as_deref() {
            None => Scalars::None,
            Some("auto") => Scalars::Auto,
            Some(names) => Scalars::Named(FieldPath::parse_list(names)?.iter().map(|p| p.names().join(".")).collect()),
        })
    }

    fn includes(&self, name: &str, longest: usize) -> bool {
        match self {
            Scalars::None => false,
            Scalars::Auto => longest <= 1,
            Scalars::Named(patterns) => patterns.iter().any(|p| glob_matches(p, name)),
        }
    }

    /// Tells which features could be scalars, if nothing has been said about it.
    fn hint(&self, fields: &[Field], named: &BTreeMap<&str, &Feature>, request: &Request) -> Result<()> {
        let vector = |f: &&Field| f.ty.dims == [Dim::UNIFORM] && !f.ty.is_sparse() && f.ty.fields().is_none();
        let single = |f: &&Field| named.get(f.name.as_str()).is_some_and(|seen| seen.longest == 1);
        let undeclared = |f: &&Field| request.declared.index_of(&f.name).is_none();
        let names: Vec<String> = fields.iter().filter(vector).filter(single).filter(undeclared).map(|f| quoted(&f.name)).collect();
        if !names.is_empty() && matches!(self, Scalars::None) {
            let verb = if names.len() == 1 { "holds" } else { "hold" };
            request
                .options
                .hints
                .add(format!("{} never {verb} more than one value: --scalar auto reads scalars", names.join(", ")), false)?;
        }
        Ok(())
    }

    /// Every name given must be one.
    fn check(&self, seen: &[(&str, &Feature)]) -> Result<()> {
        let Scalars::Named(patterns) = self else { return Ok(()) };
        for pattern in patterns {
            if !seen.iter().any(|(name, _)| glob_matches(pattern, name)) {
                let error = Error::usage(format!("--scalar: there is no feature `{pattern}`"));
                let near = crate::error::nearest(pattern, seen.iter().map(|(name, _)| *name));
                return Err(match near {
                    Some(near) => error.help(format!("did you mean {}?", quoted(near))),
                    None => error,
                });
            }
        }
        Ok(())
    }
}

/// The names of the features that the fields of `--schema` are read from.
pub fn declared_features(declared: &[Field]) -> HashSet<String> {
    fn add(field: &Field, name: &str, sparse_at: usize, out: &mut HashSet<String>) {
        let source = &field.source;
        if let Element::Struct(fields) = &field.ty.element {
            for inner in fields {
                add(inner, &format!("{name}.{}", inner.name), sparse_at, out);
            }
            return;
        }
        if !is_complete(&field.ty) {
            return;
        }
        out.insert(source.values.clone().unwrap_or_else(|| name.to_owned()));
        out.extend(source.at.iter().cloned());
        for split in &source.split_by {
            if let SplitBy::Feature(_, feature) = split {
                out.insert(feature.clone());
            }
        }
        if source.split_by.is_empty() {
            out.extend((1..=field.ty.rank() + sparse_at).map(|level| row_lengths_name(name, level)));
        }
        if field.ty.is_sparse() && source.at.is_empty() {
            out.extend((0..field.ty.rank()).map(|axis| indices_name(name, axis)));
            out.insert(values_name(name));
        }
    }
    let mut out = HashSet::new();
    for field in declared {
        add(field, &field.name, field.ty.rank(), &mut out);
    }
    out
}

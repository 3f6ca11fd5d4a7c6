//! Infers the schema from everything observed: the type of each feature, or all conflicts at once.

use super::{Feature, FirstSeen, Observation};
use crate::demand::Wanted;
use crate::error::{Error, Result};
use crate::formats::examples::mapping::{indices_name, is_complete, row_lengths_name, values_name};
use crate::formats::examples::wire::{EXAMPLE_AMONG_SEQUENCES, FeatureKind, Message, SEQUENCE_AMONG_EXAMPLES};
use crate::formats::format::Request;
use crate::hint::Hint;
use crate::options::Scalars;
use crate::path::{glob_matches, quoted};
use crate::printable::{counted, listed};
use crate::schema::facts::Storage;
use crate::schema::notation::{name_text, schema_option};
use crate::schema::{DType, Dim, Element, Field, MAX_FIELDS, Schema, Size, Source, SplitBy, Type};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Maximum length of a feature name, which is repeated in types, messages and output files.
const MAX_NAME_BYTES: usize = 1 << 16;

/// Maximum number of features listed in an error.
const LISTED: usize = 20;

/// The features by name.
type Named<'a> = BTreeMap<&'a str, &'a Feature>;

impl Observation {
    /// The schema of the records observed.
    ///
    /// # Errors
    /// Records that are no tf.Examples, values of different kinds in one feature, or options that name no feature.
    pub(super) fn settled(&self, request: &Request) -> Result<Schema> {
        self.check_payloads(request)?;
        let seen = self.named(request)?;
        let scalars = &request.options.scalar;
        check(scalars, &seen)?;
        let named: Named = seen.iter().copied().collect();
        let lists = self.lists.keys().filter_map(|key| std::str::from_utf8(key).ok());
        let parts = |field: &Field| {
            let of_structure = format!("{}.", field.name);
            let inside = named.range(of_structure.as_str()..).take_while(|(name, _)| name.starts_with(&of_structure));
            let inside = inside.map(|(name, _)| (*name).to_owned());
            declared_features(std::slice::from_ref(field)).into_iter().chain(inside).collect()
        };
        request.note_misspelt(named.keys().copied().chain(lists), parts)?;
        // A declared field takes the position of its first feature, or else the last position.
        let declared: Vec<(&Field, HashSet<String>)> = request
            .declared
            .fields
            .iter()
            .filter(|f| is_complete(&f.ty))
            .map(|f| (f, declared_features(std::slice::from_ref(f)).into_iter().chain([f.name.clone()]).collect()))
            .collect();
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, (_, features)) in declared.iter().enumerate() {
            features.iter().for_each(|feature| readers.entry(feature).or_default().push(at));
        }
        let mut is_placed = vec![false; declared.len()];
        let beside: HashSet<String> = seen.iter().flat_map(|(name, _)| self.beside(name, &named, request)).collect();
        let (mut fields, mut clashes, mut known) = (Vec::new(), Vec::new(), HashSet::new());
        let is_needed =
            |name: &str| request.wanted.includes(name) || name.strip_suffix("/values").is_some_and(|of| request.wanted.includes(of));
        for (name, feature) in &seen {
            for at in readers.get(name).into_iter().flatten().filter(|at| !std::mem::replace(&mut is_placed[**at], true)) {
                let (field, features) = &declared[*at];
                fields.push(self.stored(field, &named, request)?);
                known.extend(features.iter().cloned());
            }
            if known.contains(*name) {
                continue;
            }
            if let Some(field) = self.sparse(name, &named, request) {
                fields.push(field);
            } else if !beside.contains(*name) {
                match feature.dtype(request) {
                    Ok(dtype) => fields.push(self.field(name, feature, dtype, request, &named)),
                    Err(_) if request.dropped.includes(name) => fields.push(Field::new(*name, Type::NULL)),
                    Err(clash) if is_needed(name) => clashes.push(format!("{}: {clash}", quoted(name))),
                    Err(_) => {}
                }
            }
        }
        for (field, _) in declared.iter().zip(&is_placed).filter(|(_, is_placed)| !**is_placed).map(|(declared, _)| declared) {
            fields.push(self.stored(field, &named, request)?);
        }
        hint(scalars, &fields, &named, request)?;
        // Features are unordered, so if all of them are declared, the order is that of the schema.
        let places: HashMap<&str, usize> =
            request.declared.fields.iter().enumerate().map(|(place, field)| (field.name.as_str(), place)).collect();
        if fields.iter().all(|field| places.contains_key(field.name.as_str())) {
            fields.sort_by_key(|field| places.get(field.name.as_str()).copied());
        }
        known.extend(declared_features(&request.declared.fields));
        known.extend(request.declared.fields.iter().map(|f| f.name.clone()));
        self.list_fields(&mut fields, &known, request, &mut clashes)?;
        if clashes.is_empty() { Ok(Schema::new(fields)) } else { Err(clash_error(clashes)) }
    }

    /// Checks that the records are tf.Examples, or that those that are not can be left to the decoder.
    ///
    /// # Errors
    /// Records of both kinds, or none that can be read.
    fn check_payloads(&self, request: &Request) -> Result<()> {
        if let Some((first, message)) = self.foreign.as_ref().filter(|_| stops_at_errors(request)) {
            let (why, kind) = match message {
                Message::SequenceExample => (SEQUENCE_AMONG_EXAMPLES, "tf.Example"),
                _ => (EXAMPLE_AMONG_SEQUENCES, "tf.SequenceExample"),
            };
            let error = Error::data(why).in_input(first.input.clone());
            let error = error.locate(|at| at.records = Some((first.record, first.record)));
            return Err(match &self.proper {
                Some(proper) => error.help(format!("record {} of {} is a {kind}", proper.record, proper.input)),
                None => error,
            });
        }
        // If no record can be read, nothing is known about the types.
        if let (None, true, Some((first, reason))) = (&self.proper, stops_at_errors(request) && self.features.is_empty(), &self.unreadable)
        {
            let error = Error::data(format!("the payload is not a tf.Example: {reason}")).in_input(first.input.clone());
            return Err(error
                .locate(|at| at.records = Some((first.record, first.record)))
                .help("to read records that are arbitrary bytes: --raw-records"));
        }
        if let Some(first) = &self.featureless {
            if self.proper.is_none() && stops_at_errors(request) {
                let error = Error::data("the payload is not a tf.Example: it has no features").in_input(first.input.clone());
                let error = error.locate(|at| at.records = Some((first.record, first.record)));
                return Err(error.help("to read records that are arbitrary bytes: --raw-records"));
            }
            let have = if self.nfeatureless == 1 { "has" } else { "have" };
            let text = format!(
                "{} {have} data but no features of a tf.Example (first: record {}); read as records without fields",
                counted(self.nfeatureless, "record"),
                first.record
            );
            request.options.notices.add_about(&first.input, text, request.options.strict)?;
        }
        Ok(())
    }

    /// The features with their names, in order of appearance.
    ///
    /// # Errors
    /// There are too many, or a name is too long or not UTF-8.
    fn named(&self, request: &Request) -> Result<Vec<(&str, &Feature)>> {
        if self.features.len() > MAX_FIELDS {
            return Err(Error::data(format!("the records have more than {MAX_FIELDS} different features"))
                .help("read only those needed with `select`, and declare their types with --schema"));
        }
        let mut seen = Vec::with_capacity(self.features.len());
        for (key, feature) in &self.features {
            let at_first = |error: Error| error.locate(|at| at.records = Some((feature.first.1, feature.first.1)));
            match std::str::from_utf8(key) {
                Ok(name) if name.len() > MAX_NAME_BYTES => {
                    return Err(at_first(Error::data(format!(
                        "the name of a feature has {} bytes: expected at most {MAX_NAME_BYTES}",
                        name.len()
                    ))));
                }
                Ok(name) => seen.push((name, feature)),
                Err(_) if request.wanted == Wanted::All => {
                    let shown = String::from_utf8_lossy(key);
                    let mut error = at_first(Error::data(format!("the name of a feature is not valid UTF-8: {shown}")));
                    if let Some(seen) = feature.kinds.iter().flatten().min() {
                        error = error.in_input(seen.input.clone());
                    }
                    return Err(error.help("features that are not read are not checked: select the others with `select`"));
                }
                Err(_) => {}
            }
        }
        seen.sort_by_key(|(name, feature)| (feature.first, *name));
        Ok(seen)
    }

    /// The fields of the feature lists, after those of the context.
    fn list_fields(&self, fields: &mut Vec<Field>, known: &HashSet<String>, request: &Request, clashes: &mut Vec<String>) -> Result<()> {
        let mut lists: Vec<(&str, &Feature)> = self.lists.iter().filter_map(|(key, f)| Some((std::str::from_utf8(key).ok()?, f))).collect();
        lists.sort_by_key(|(name, feature)| (feature.first, *name));
        let context: HashSet<String> = fields.iter().map(|f| f.name.clone()).collect();
        for (name, feature) in lists {
            if known.contains(name) {
                continue;
            }
            if context.contains(name) {
                let error = Error::data("it is both a feature of the context and a feature list").in_field(quoted(name));
                let (a, dtype) = (name_text(name), feature.dtype(request).unwrap_or(DType::Int64));
                let list = format!("{a}: {dtype}[?, (?)]");
                let both = format!("{list}; other: {dtype}[1] from {a}");
                return Err(error
                    .help(format!("read the list: {}", schema_option(&list)))
                    .help(format!("read both, if the context has one value: {}", schema_option(&both))));
            }
            match feature.dtype(request) {
                Ok(dtype) => {
                    let optional = feature.present < self.records || feature.may_become_null(request);
                    let ty = Type::tensor(dtype, vec![Dim::UNIFORM, Dim::RAGGED]).with_optional(optional);
                    fields.push(Field::new(name, ty));
                }
                Err(_) if request.dropped.includes(name) => fields.push(Field::new(name, Type::NULL)),
                Err(clash) if request.wanted.includes(name) => clashes.push(format!("{}: {clash}", quoted(name))),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// The features with the partitions of `name`, or with the indices if it is the values feature of a sparse field.
    fn beside(&self, name: &str, named: &Named, request: &Request) -> Vec<String> {
        let holds_ints = |feature: &String| named.get(feature.as_str()).is_some_and(|f| f.is_int64_only());
        if let Some(field) = name.strip_suffix("/values").filter(|_| self.sparse(name, named, request).is_some()) {
            return (0..).map(|i| indices_name(field, i)).take_while(holds_ints).collect();
        }
        (1..).map(|i| row_lengths_name(name, i)).take_while(holds_ints).collect()
    }

    /// The sparse field whose values are in the feature `x/values`.
    fn sparse(&self, name: &str, named: &Named, request: &Request) -> Option<Field> {
        let field = name.strip_suffix("/values")?;
        let ndims = (0..).take_while(|i| named.get(indices_name(field, *i).as_str()).is_some_and(|f| f.is_int64_only())).count();
        if ndims == 0 || named.contains_key(field) || values_name(field) != name {
            return None;
        }
        let values = named.get(name)?;
        let mut ty = Type::sparse(values.dtype(request).ok()?, vec![Dim::UNIFORM; ndims]);
        let anywhere =
            (0..ndims).filter_map(|i| named.get(indices_name(field, i).as_str())).chain([values]).any(|f| f.present == self.records);
        ty.optional = !anywhere;
        // Without sizes, the type `sparse<T>[?]` alone means that the values of a single feature have the indices 0, 1, 2, ...
        let source = match ndims {
            1 => Source { values: Some(name.to_owned()), at: vec![indices_name(field, 0)], ..Source::default() },
            _ => Source::default(),
        };
        Some(Field { source, ..Field::new(field, ty) })
    }

    /// Finds out how the sparse vector `name` of unknown size is stored: its notation is also that of tf.io.VarLenFeature.
    fn locate(&self, field: &mut Field, name: &str, named: &Named, request: &Request) {
        match self.sparse(&values_name(name), named, request).filter(|found| field.source.is_empty() && found.ty.rank() == 1) {
            Some(found) => field.source = found.source,
            None => field.storage = Storage::ValuesOnly,
        }
    }

    /// [`Self::locate`] for the fields of the structure `name`.
    fn locate_inside(&self, fields: &mut [Field], name: &str, named: &Named, request: &Request) {
        for field in fields {
            let name = format!("{name}.{}", field.name);
            if is_plain_vector(field) {
                self.locate(field, &name, named, request);
            } else if let (Element::Struct(inner), true) = (&mut field.ty.element, field.ty.dims.is_empty()) {
                self.locate_inside(inner, &name, named, request);
            }
        }
    }

    /// A declared field, with what the features say of it.
    ///
    /// # Errors
    /// All features of a field are absent, but its name is that of a feature with plain values.
    fn stored(&self, field: &Field, named: &Named, request: &Request) -> Result<Field> {
        let name = field.name.as_str();
        let is_empty = |features: &HashSet<String>| !features.iter().any(|f| f != name && named.contains_key(f.as_str()));
        let ty = &field.ty;
        let mut field = field.clone();
        if is_plain_vector(&field) {
            self.locate(&mut field, name, named, request);
        } else if (ty.is_sparse() || ty.fields().is_some())
            && named.contains_key(name)
            && is_empty(&declared_features(std::slice::from_ref(&field)))
        {
            let (what, features) = match ty.is_sparse() {
                true => ("a sparse tensor", format!("{} and {}", quoted(&values_name(name)), quoted(&indices_name(name, 0)))),
                false => {
                    let first = ty.fields().and_then(|fields| fields.first()).map_or("", |first| &first.name);
                    ("a structure", quoted(&format!("{name}.{first}")) + ", ...")
                }
            };
            let error = Error::data(format!("the feature {} has values; {what} is stored in the features {features}", quoted(name)));
            let seen = named.get(name).and_then(|feature| feature.kinds.iter().flatten().min());
            let error = seen.iter().fold(error, |error, seen| error.in_input(seen.input.clone()));
            return Err(error.help("to see the types of the features: schema FILE, without --schema"));
        } else if let (Element::Struct(inner), true) = (&mut field.ty.element, field.ty.dims.is_empty()) {
            self.locate_inside(inner, name, named, request);
        }
        Ok(field)
    }

    fn field(&self, name: &str, feature: &Feature, dtype: DType, request: &Request, named: &Named) -> Field {
        let mut optional = feature.present < self.records || feature.may_become_null(request);
        if dtype == DType::Null {
            return Field::new(name, Type::tensor(dtype, Vec::new()).with_optional(true));
        }
        let partitions = self.beside(name, named, request);
        if !partitions.is_empty() {
            optional &= partitions.iter().all(|p| named.get(p.as_str()).is_none_or(|f| f.present < self.records));
            let dims = std::iter::once(Dim::UNIFORM).chain(partitions.iter().map(|_| Dim::RAGGED)).collect();
            return Field::new(name, Type::tensor(dtype, dims).with_optional(optional));
        }
        if request.options.scalar.includes(name, feature.longest) {
            return Field::new(name, Type::tensor(dtype, Vec::new()).with_optional(optional || feature.shortest == 0));
        }
        Field::new(name, Type::tensor(dtype, vec![Dim::UNIFORM]).with_optional(optional))
    }
}

impl Feature {
    fn is_int64_only(&self) -> bool {
        matches!(self.kinds, [None, None, _])
    }

    /// Whether records of another kind are read as null.
    fn may_become_null(&self, request: &Request) -> bool {
        request.nulls() && self.clashes(None)
    }

    /// The dtype that holds all values, or the conflict. If bad records are skipped, that of the first record wins.
    fn dtype(&self, request: &Request) -> Result<DType, String> {
        let [bytes, float, int64] = self.kinds.each_ref().map(Option::as_ref);
        let float = float.filter(|float| self.beyond.as_ref().is_none_or(|beyond| beyond >= *float));
        if bytes.is_none() || stops_at_errors(request) {
            return self.common_dtype([bytes, float, int64]);
        }
        self.common_dtype(match self.first_kind {
            Some(FeatureKind::Bytes) => [bytes, None, None],
            _ => [None, float, int64],
        })
    }

    fn common_dtype(&self, kinds: [Option<&FirstSeen>; 3]) -> Result<DType, String> {
        let at = |place: &FirstSeen| format!("in record {} of {}", place.record, place.input);
        match kinds {
            [None, None, None] => Ok(DType::Null),
            [Some(_), None, None] if self.utf8 => Ok(DType::String),
            [Some(_), None, None] => Ok(DType::Bytes),
            [None, Some(_), None] => Ok(DType::Float32),
            [None, None, Some(_)] => Ok(DType::Int64),
            [None, Some(_), Some(_)] => Ok(DType::Float64),
            [Some(bytes), float, int64] => {
                let mut places = vec![(bytes, FeatureKind::Bytes)];
                places.extend(float.map(|p| (p, FeatureKind::Float)));
                places.extend(int64.map(|p| (p, FeatureKind::Int64)));
                places.sort();
                Err(places.iter().map(|(p, kind)| format!("{} {}", kind.name(), at(p))).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// The error for these features, described with the places of the values.
fn clash_error(clashes: Vec<String>) -> Error {
    let mut error = Error::data("a feature has values of different kinds in different records");
    let more = clashes.len().saturating_sub(LISTED);
    for clash in clashes.into_iter().take(LISTED) {
        error = error.help(clash);
    }
    if more > 0 {
        error = error.help(format!("and {more} more features"));
    }
    error
        .help(Hint::to_skip("to skip records whose kind differs from the first record's, use --on-error skip"))
        .help("features that are not read are not checked: drop this feature with `drop`, or select the others with `select`")
}

/// Whether a bad record ends the run.
fn stops_at_errors(request: &Request) -> bool {
    !request.options.on_error.skips()
}

/// Adds a hint on features that could be scalars, unless `--scalar` is given.
fn hint(scalars: &Scalars, fields: &[Field], named: &Named, request: &Request) -> Result<()> {
    let vector = |f: &&Field| f.ty.dims == [Dim::UNIFORM] && !f.ty.is_sparse() && f.ty.fields().is_none();
    let single = |f: &&Field| named.get(f.name.as_str()).is_some_and(|seen| seen.longest == 1);
    let undeclared = |f: &&Field| request.declared.index_of(&f.name).is_none();
    let names: Vec<String> = fields.iter().filter(vector).filter(single).filter(undeclared).map(|f| quoted(&f.name)).collect();
    if !names.is_empty() && *scalars == Scalars::None {
        let (verb, them) = if names.len() == 1 { ("has", "it as a scalar") } else { ("have", "them as scalars") };
        let text = format!("{} never {verb} more than one value; --scalar auto reads {them}", listed(names.into_iter(), LISTED));
        request.options.hints.add(text, false)?;
    }
    let empty = |f: &&Field| named.get(f.name.as_str()).is_some_and(|seen| seen.present > 0 && seen.shortest == 0);
    let names: Vec<String> = fields.iter().filter(|f| f.ty.rank() == 0).filter(empty).filter(undeclared).map(|f| quoted(&f.name)).collect();
    if !names.is_empty() {
        let text = format!("{}: empty lists are read as null, because --scalar reads a scalar", listed(names.into_iter(), LISTED));
        request.options.notices.add(text, request.options.strict)?;
    }
    Ok(())
}

/// Every name given must be a feature.
fn check(scalars: &Scalars, seen: &[(&str, &Feature)]) -> Result<()> {
    let Scalars::Matching(patterns) = scalars else { return Ok(()) };
    for pattern in patterns {
        if !seen.iter().any(|(name, _)| glob_matches(pattern, name)) {
            let error = Error::usage(format!("--scalar: no feature matches `{pattern}`"));
            let near = crate::error::nearest(pattern, seen.iter().map(|(name, _)| *name));
            return Err(match near {
                Some(near) => error.help(format!("did you mean {}?", quoted(near))),
                None => error.help(format!("the features are: {}", listed(seen.iter().map(|(name, _)| quoted(name)), LISTED))),
            });
        }
    }
    Ok(())
}

/// Whether it is a sparse vector of unknown size whose indices are not declared.
fn is_plain_vector(field: &Field) -> bool {
    let ty = &field.ty;
    ty.is_sparse() && ty.rank() == 1 && !matches!(ty.dims[0].size, Size::Known(_)) && field.source.at.is_empty()
}

/// The names of the features from which the fields of `--schema` are read.
pub fn declared_features(declared: &[Field]) -> HashSet<String> {
    fn add(field: &Field, name: &str, sparse_at: usize, out: &mut HashSet<String>) {
        let source = &field.source;
        if let Element::Struct(fields) = &field.ty.element {
            for inner in fields {
                add(inner, &format!("{name}.{}", inner.name), sparse_at, out);
            }
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
    for field in declared.iter().filter(|f| is_complete(&f.ty)) {
        add(field, &field.name, field.ty.rank(), &mut out);
    }
    out
}

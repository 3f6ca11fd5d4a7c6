//! The second half of inference: the type that holds everything observed, or all conflicts at once.
//!
//! - integers are int64, or uint64 if they need it; any fraction or exponent makes float64;
//! - an integer beyond 64 bits is a conflict, and among fractions one that a float64 would change;
//! - strings with numbers, lists with scalars, and similar mixtures are conflicts;
//! - `{"b64": ...}` and sparse objects are recognized only if all values of the field have that form.
//!
//! A conflict is resolved by `json`: immediately with `--mixed json`, otherwise with the `--schema` suggested by the
//! error. With `--on-error skip`, the type seen first is kept, and records with another type are skipped.

use super::cursor::Cursor;
use super::seen::{FirstSeen, Interest, Kind, SeenMember, SeenMembers, SeenNode};
use super::suggest::schema_option;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::options::{OnError, Options};
use crate::path::quoted;
use crate::schema::notation;
use crate::schema::{DType, Dim, Element, Field, Schema, Type};
use std::collections::BTreeSet;
use std::collections::HashSet;
use std::sync::Arc;

/// How conflicts are resolved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Conflicting values are kept as text, and remembered.
    Json,
    /// The first type is kept.
    FirstWins,
}

/// Values of two kinds in one field.
struct Clash {
    names: Vec<String>,
    sentence: String,
    /// Where the kinds of values differ.
    differ: Differ,
    /// Whether only the number of keys is the problem.
    has_many_keys: bool,
}

/// Where values of a field differ in kind.
#[derive(Clone, Copy, PartialEq)]
enum Differ {
    /// Nowhere: no type holds the only kind.
    Nowhere,
    InOneRecord,
    BetweenRecords,
}

struct Settling<'a> {
    rule: Rule,
    inputs: &'a [Arc<str>],
    names: Vec<String>,
    clashes: Vec<Clash>,
    /// Whether unreadable fields become null.
    nulls: bool,
    /// Whether a value of the current field does not fit its type.
    lost: bool,
}

/// The schema of everything observed. `declared`: the fields in `--schema`.
///
/// # Errors
/// Conflicts that neither `--mixed json` nor `--on-error` resolves.
pub fn schema(
    record: &SeenMembers,
    inputs: &[Arc<str>],
    too_many_fields: Option<FirstSeen>,
    declared: &[Field],
    options: &Options,
) -> Result<Schema> {
    if let Some(first) = too_many_fields {
        return Err(crate::schema::too_many_fields()
            .locate(|at| {
                at.input = inputs.get(first.input()).cloned();
                at.line = (first.is_set() && !first.is_record()).then(|| first.line());
            })
            .help("to read some of them: select FIELD,FIELD; to read each record as JSON text: --from text"));
    }
    let rule = if !options.on_error.skips() || options.mixed { Rule::Json } else { Rule::FirstWins };
    let mut settling =
        Settling { rule, inputs, names: Vec::new(), clashes: Vec::new(), nulls: options.on_error == OnError::Null, lost: false };
    let mut schema = Schema::new(settling.fields(record));
    add_declared(&mut schema.fields, declared);
    if settling.clashes.is_empty() || options.mixed {
        for member in &record.list {
            if let Some(map) = as_map(member, &schema) {
                let text = format!(
                    "{}: there are many keys, each in only a few records; if the keys are data, reading them as a map is faster: {}",
                    quoted(&member.name),
                    notation::schema_option(&map)
                );
                options.notices.add(text, false)?;
            }
        }
        return Ok(schema);
    }
    Err(error(&settling.clashes, &schema, inputs))
}

/// The declaration of a field as a map, if its values have one type and each object has few of many keys.
fn as_map(seen: &SeenMember, schema: &Schema) -> Option<String> {
    /// The least number of keys, and the least number of keys for each one in an object.
    const MANY: (usize, u64) = (500, 20);
    let members = seen.node.members.as_deref().filter(|members| members.list.len() >= MANY.0)?;
    let field = schema.fields.iter().find(|field| field.name == seen.name && field.ty.rank() == 0)?;
    let found: u64 = members.list.iter().map(|member| member.count).sum();
    if found.saturating_mul(MANY.1) > members.objects.saturating_mul(members.list.len() as u64) {
        return None;
    }
    let types: BTreeSet<String> =
        field.ty.fields()?.iter().map(|inner| inner.ty.clone().with_optional(false).to_string()).filter(|ty| ty != "null").collect();
    let [ty] = types.iter().collect::<Vec<_>>()[..] else { return None };
    let optional = if field.ty.optional { "optional " } else { "" };
    let has_nulls = members.list.iter().any(|member| member.node[Kind::Null].is_set());
    let value = if has_nulls { format!("optional {ty}") } else { ty.clone() };
    Some(format!("{}: {optional}map<string, {value}>", notation::name_text(&field.name)))
}

/// The type of the single value at the cursor, as far as it is known; conflicts are kept as text.
pub fn type_of(cursor: &mut Cursor) -> Type {
    let mut node = SeenNode::default();
    // The text has been checked before; errors in the value will be reported when it is read.
    let _ = node.see(cursor, &Interest::All, 1, FirstSeen::new(0, 1));
    Settling { rule: Rule::Json, inputs: &[], names: Vec::new(), clashes: Vec::new(), nulls: false, lost: false }.field(
        &node,
        &Interest::All,
        false,
    )
}

fn error(clashes: &[Clash], schema: &Schema, inputs: &[Arc<str>]) -> Error {
    let paths: Vec<&[String]> = clashes.iter().map(|c| c.names.as_slice()).collect();
    let suggestion = Schema::new(only(&schema.fields, &paths));
    let mut error = match clashes {
        [one] => Error::data(one.sentence.clone()).in_field(path_text(&one.names)),
        many => {
            let mut error = Error::data(format!("{} fields contain values of mixed types", many.len()));
            for clash in many {
                error = error.help(format!("{} {}", path_text(&clash.names), clash.sentence));
            }
            error
        }
    };
    if let [one] = inputs {
        error = error.in_input(one.clone());
    }
    let keep = format!("to keep such values as JSON, use {}", schema_option(&suggestion));
    if let [Clash { has_many_keys: true, names, .. }] = clashes {
        let error = match names.as_slice() {
            [name] => {
                let optional = if suggestion.fields.iter().any(|f| f.ty.optional) { "optional " } else { "" };
                let map = notation::schema_option(&format!("{}: {optional}map<string, int64>", notation::name_text(name)));
                error.help(format!("if the keys are data, read them as a map with the type of their values, for example {map}"))
            }
            _ => error,
        };
        return error.help(keep);
    }
    let rule = match clashes.iter().map(|clash| clash.differ).collect::<Vec<_>>().as_slice() {
        [Differ::Nowhere] => "",
        [Differ::InOneRecord] => "all values of a field must have the same type; ",
        _ => "a field must have the same type in all records; ",
    };
    error.help(format!("{rule}{keep}")).help(Hint::to_skip_or(
        "or --mixed json; to skip records whose value differs in type from the first value, use --on-error skip",
        "or --mixed json",
    ))
}

/// Only the fields that lead to one of the paths.
fn only(fields: &[Field], paths: &[&[String]]) -> Vec<Field> {
    let mut kept = Vec::new();
    for field in fields {
        let below: Vec<&[String]> = paths.iter().filter(|p| p.first() == Some(&field.name)).map(|p| &p[1..]).collect();
        if below.is_empty() {
            continue;
        }
        let mut field = field.clone();
        if let Element::Struct(inner) = &mut field.ty.element {
            *inner = only(inner, &below);
        }
        kept.push(field);
    }
    kept
}

fn path_text(names: &[String]) -> String {
    names.iter().map(|n| quoted(n)).collect::<Vec<_>>().join(".")
}

impl Settling<'_> {
    fn fields(&mut self, members: &SeenMembers) -> Vec<Field> {
        let mut list: Vec<&SeenMember> = members.list.iter().collect();
        list.sort_by_key(|m| m.first);
        let mut fields = Vec::with_capacity(list.len());
        for member in list {
            match &member.interest {
                Interest::None => {}
                Interest::Declared(field) => fields.push(Field::clone(field)),
                interest => {
                    let name = if let Interest::Inside(field) = interest { &field.name } else { &member.name };
                    self.names.push(name.clone());
                    let outermost = self.names.len() == 1;
                    if outermost {
                        self.lost = false;
                    }
                    let ty = self.field(&member.node, interest, member.count < members.objects);
                    let ty = if outermost && self.lost && self.nulls { ty.with_optional(true) } else { ty };
                    self.names.pop();
                    fields.push(match interest {
                        Interest::Inside(declared) => Field { ty: merged(&declared.ty, ty), ..Field::clone(declared) },
                        _ => Field::new(name.clone(), ty),
                    });
                }
            }
        }
        fields
    }

    fn field(&mut self, node: &SeenNode, interest: &Interest, absent: bool) -> Type {
        let mut ty = self.value(node, interest, false);
        if let Some(outermost) = ty.dims.first_mut()
            && !matches!(ty.element, Element::Sparse(_))
        {
            *outermost = Dim::UNIFORM;
        }
        ty.with_optional(absent || node[Kind::Null].is_set())
    }

    /// The type without the outermost nulls.
    fn value(&mut self, node: &SeenNode, interest: &Interest, inside_list: bool) -> Type {
        let kinds = kinds(|kind| node[kind]);
        let as_bytes = kinds.as_bytes;
        let mut kinds: Vec<(&str, FirstSeen)> = kinds.found().collect();
        kinds.sort_by_key(|(_, first)| *first);
        if kinds.len() > 1 && self.rule == Rule::Json {
            return self.clash(&kinds);
        }
        self.lost |= kinds.len() > 1;
        match kinds.first() {
            None => Type::tensor(DType::Null, Vec::new()),
            Some(("booleans", _)) => Type::tensor(DType::Bool, Vec::new()),
            Some(("numbers", _)) => self.number(node),
            Some(("strings", _)) => Type::tensor(if as_bytes { DType::Bytes } else { DType::String }, Vec::new()),
            Some(("lists", _)) => self.list(node, interest),
            Some(_) => self.structure(node, interest, inside_list),
        }
    }

    fn number(&mut self, node: &SeenNode) -> Type {
        let Kinds { float, .. } = kinds(|kind| node[kind]);
        let dtype = if float.is_set() {
            if node[Kind::BeyondFloat].is_set() && self.rule == Rule::Json {
                return self.clash(&[
                    ("fractions or non-finite numbers", float),
                    ("integers beyond 2^53, which float64 cannot represent exactly", node[Kind::BeyondFloat]),
                ]);
            }
            self.lost |= node[Kind::BeyondFloat].is_set();
            DType::Float64
        } else if self.rule == Rule::FirstWins {
            self.lost |= node[Kind::Beyond64Bits].is_set() || (node[Kind::BeyondInt64].is_set() && node[Kind::Negative].is_set());
            if node[Kind::BeyondInt64] < node[Kind::Negative] { DType::UInt64 } else { DType::Int64 }
        } else if node[Kind::Beyond64Bits].is_set() {
            return self.clash(&[("integers beyond 64 bits", node[Kind::Beyond64Bits])]);
        } else if node[Kind::BeyondInt64].is_set() {
            if node[Kind::Negative].is_set() {
                return self
                    .clash(&[("negative integers", node[Kind::Negative]), ("integers above the largest int64", node[Kind::BeyondInt64])]);
            }
            DType::UInt64
        } else {
            DType::Int64
        };
        Type::tensor(dtype, Vec::new())
    }

    fn list(&mut self, node: &SeenNode, interest: &Interest) -> Type {
        let Some(element) = &node.element else {
            return Type::tensor(DType::Null, vec![Dim::RAGGED]);
        };
        let mut ty = self.value(element, interest, true);
        ty.dims.insert(0, Dim::RAGGED);
        ty.with_nulls |= element[Kind::Null].is_set();
        ty
    }

    fn structure(&mut self, node: &SeenNode, interest: &Interest, inside_list: bool) -> Type {
        if node[Kind::TooManyFields].is_set() && self.rule == Rule::Json {
            let ty = self.clash(&[("objects with more than 10,000 different keys", node[Kind::TooManyFields])]);
            if let Some(clash) = self.clashes.last_mut() {
                clash.has_many_keys = true;
            }
            return ty;
        }
        let Some(members) = &node.members else {
            return Type::structure(Vec::new(), Vec::new());
        };
        if let (Some(rank), false, false) = (node.sparse_rank, node[Kind::NotSparse].is_set(), inside_list) {
            if node[Kind::OtherRank].is_set() && self.rule == Rule::Json {
                let kind = format!("sparse tensors of rank {rank}");
                return self.clash(&[(&kind, node[Kind::Object]), ("of another rank", node[Kind::OtherRank])]);
            }
            self.lost |= node[Kind::OtherRank].is_set();
            let values = members.list.iter().find(|m| m.name == "values").and_then(|m| m.node.element.as_deref());
            let ty = values.map_or_else(|| Type::tensor(DType::Null, Vec::new()), |v| self.value(v, &Interest::All, true));
            let dtype = ty.dtype().cloned().unwrap_or(DType::Json);
            let mut sparse = Type::sparse(dtype, vec![Dim::UNIFORM; rank]);
            sparse.with_nulls = values.is_some_and(|v| v[Kind::Null].is_set());
            return sparse;
        }
        let mut fields = self.fields(members);
        add_declared(&mut fields, interest.fields());
        Type::structure(fields, Vec::new())
    }

    /// Values of several kinds become text.
    fn clash(&mut self, kinds: &[(&str, FirstSeen)]) -> Type {
        let places: Vec<String> = kinds.iter().map(|(kind, first)| format!("{kind} ({})", self.place(*first))).collect();
        let sentence = match places.split_last() {
            Some((last, [])) => format!("contains {last}"),
            Some((last, before)) => format!("contains {} and {last}", before.join(", ")),
            None => String::new(),
        };
        let mut rest = kinds.iter().skip(1).peekable();
        let differ = match (rest.peek().is_some(), rest.all(|(_, first)| self.place(*first) == self.place(kinds[0].1))) {
            (false, _) => Differ::Nowhere,
            (true, true) => Differ::InOneRecord,
            (true, false) => Differ::BetweenRecords,
        };
        self.clashes.push(Clash { names: self.names.clone(), sentence, differ, has_many_keys: false });
        Type::tensor(DType::Json, Vec::new())
    }

    fn place(&self, first: FirstSeen) -> String {
        let unit = if first.is_record() { "record" } else { "line" };
        match self.inputs {
            [_] | [] => format!("{unit} {}", first.line()),
            many => format!("{} {unit} {}", many.get(first.input()).map_or("", |i| i), first.line()),
        }
    }
}

/// The kinds of values at one position.
pub struct Kinds {
    /// The first value of each kind.
    all: [(&'static str, FirstSeen); 5],
    /// Whether the strings are bytes.
    pub as_bytes: bool,
    /// The first number that is not an integer.
    pub float: FirstSeen,
}

impl Kinds {
    /// Those that occur.
    pub fn found(&self) -> impl Iterator<Item = (&'static str, FirstSeen)> {
        self.all.into_iter().filter(|(_, first)| first.is_set())
    }
}

/// The kinds of values at the position where `first` tells the first of each.
pub fn kinds(first: impl Fn(Kind) -> FirstSeen) -> Kinds {
    let (boolean, number, list, object) = (first(Kind::Boolean), first(Kind::Number), first(Kind::List), first(Kind::Object));
    let (string, base64, non_finite) = (first(Kind::String), first(Kind::Base64), first(Kind::NonFinite));
    let as_bytes = base64.is_set() && !first(Kind::NotBase64).is_set();
    // Floats without a finite value among them are written as these strings alone.
    let alone = [boolean, list, object].iter().all(|other| !other.is_set());
    let as_number = !string.is_set() && (number.is_set() || (non_finite.is_set() && alone));
    let texts = [string, if as_number { FirstSeen::NEVER } else { non_finite }, if as_bytes { base64 } else { FirstSeen::NEVER }];
    let all = [
        ("booleans", boolean),
        ("numbers", if as_number { number.min(non_finite) } else { number }),
        ("strings", texts.into_iter().min().unwrap_or(FirstSeen::NEVER)),
        ("lists", list),
        ("objects", if as_bytes { FirstSeen::NEVER } else { object }),
    ];
    Kinds { all, as_bytes, float: first(Kind::Float).min(non_finite) }
}

/// Adds the declared fields that no record has.
fn add_declared(fields: &mut Vec<Field>, declared: &[Field]) {
    let names: HashSet<String> = fields.iter().map(|field| field.name.clone()).collect();
    fields.extend(declared.iter().filter(|field| !names.contains(&field.name)).cloned());
}

/// The declared structure, completed with inferred fields.
fn merged(declared: &Type, inferred: Type) -> Type {
    match inferred.element {
        Element::Struct(fields) => Type { element: Element::Struct(fields), ..declared.clone() },
        _ => declared.clone(),
    }
}

//! Observes columns and infers their types.

use super::cell::{CellKind, KINDS, boolean, number, plain, short_integer, whole};
use super::clash::{self, Clash, ClashingColumn, LISTED};
use super::dialect::Dialect;
use super::fields::{Fields, MISQUOTED};
use crate::decimal::fits_float64;
use crate::error::Result;
use crate::formats::format::{Observed, Request};
use crate::numerals::Comma;
use crate::options::OnError;
use crate::path::quoted;
use crate::printable::{counted, is_or_are};
use crate::schema::{DType, Dim, Element, Field, Schema, Type};
use std::any::Any;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The largest magnitude up to which a float64 holds every integer.
const EXACT: i128 = 1 << 53;

/// Observations of all columns.
pub struct Seen {
    columns: Vec<ColumnSeen>,
    /// The observed inputs, in order.
    inputs: Vec<Arc<str>>,
    /// The number of parts of the input, in order, that have been observed.
    parts: u64,
    nrecords: u64,
    /// The first record with a different number of fields than columns or wrong quotes, which says nothing about their types.
    uneven: Option<Uneven>,
}

/// The line of a record, its number of fields unless its quotes are wrong, and its file.
struct Uneven {
    line: u64,
    nfields: Option<usize>,
    input: Arc<str>,
}

/// The line of a value, its text for messages, and its file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct First {
    /// The number of the part in which it was seen.
    part: u64,
    line: u64,
    text: Vec<u8>,
    input: Arc<str>,
}

impl First {
    /// `line 2`, or `line 2 of FILE` if there are several.
    fn place(&self, several: bool) -> String {
        if several { format!("line {} of {}", self.line, self.input) } else { format!("line {}", self.line) }
    }

    fn lossy(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }

    /// The text and its place.
    fn shown(&self, several: bool) -> String {
        let place = self.place(several);
        match self.text.len() {
            0 => format!("empty in {place}"),
            nbytes => {
                let cut = if nbytes == SHOWN_NBYTES { "..." } else { "" };
                format!("{:?}{cut} in {place}", String::from_utf8_lossy(&self.text))
            }
        }
    }
}

/// Longer values are cut in messages.
const SHOWN_NBYTES: usize = 40;

struct ColumnSeen {
    name: String,
    /// The first value of each kind.
    firsts: [Option<First>; KINDS.len()],
    has_true: bool,
    has_false: bool,
    smallest: i128,
    largest: i128,
    /// A number beyond 64 bits.
    beyond: Option<First>,
    /// An integer that a float64 would change.
    inexact: Option<First>,
    /// Whether a number has a fraction or an exponent, or is not finite.
    has_fractions: bool,
    /// A number beyond float64.
    infinite: Option<First>,
    /// An empty field, which is an empty list, null or text, depending on the rest of the column.
    empty: Option<First>,
    is_empty_null: bool,
    /// Whether a field is `""` where an empty one is null: it is text, or null in a column of other values.
    has_quoted_empty: bool,
    has_nulls: bool,
    has_null_items: bool,
    is_list: bool,
    /// Whether fields can hold several items.
    has_separator: bool,
    /// Whether `NA` can be null.
    guesses_nulls: bool,
    /// Whether a file does not have the column.
    is_absent: bool,
}

impl ColumnSeen {
    fn new(name: &str, dialect: &Dialect) -> ColumnSeen {
        ColumnSeen {
            name: name.to_owned(),
            firsts: [const { None }; KINDS.len()],
            has_true: false,
            has_false: false,
            smallest: i128::MAX,
            largest: i128::MIN,
            beyond: None,
            inexact: None,
            has_fractions: false,
            infinite: None,
            empty: None,
            is_empty_null: true,
            has_quoted_empty: false,
            has_nulls: false,
            has_null_items: false,
            is_list: false,
            has_separator: dialect.separator.is_some(),
            guesses_nulls: dialect.guesses_nulls,
            is_absent: false,
        }
    }

    fn see(&mut self, text: &[u8], line: u64, input: &Arc<str>) {
        // Most values of a column are short numbers like those before.
        if self.firsts[CellKind::Integer as usize].is_some()
            && let Some(value) = short_integer(text).map(i128::from).filter(|value| value.abs() <= EXACT)
        {
            self.smallest = self.smallest.min(value);
            self.largest = self.largest.max(value);
            return;
        }
        let kind = CellKind::of(text);
        let first = || First { part: 0, line, text: text[..text.len().min(SHOWN_NBYTES)].to_vec(), input: input.clone() };
        // Lines are seen in order.
        self.firsts[kind as usize].get_or_insert_with(first);
        match kind {
            CellKind::Bool if boolean(text) == Some(true) => self.has_true = true,
            CellKind::Bool => self.has_false = true,
            CellKind::Integer | CellKind::Signed => {
                if let Some(value) = whole(plain(text)) {
                    self.smallest = self.smallest.min(value);
                    self.largest = self.largest.max(value);
                    if value.abs() > EXACT && self.inexact.is_none() && !is_exact(plain(text)) {
                        self.inexact = Some(first());
                    }
                }
            }
            CellKind::Float if plain(text).iter().all(|b| b.is_ascii_digit() || *b == b'-') => {
                if self.inexact.is_none() && !is_exact(plain(text)) {
                    self.inexact = Some(first());
                }
                self.beyond.get_or_insert_with(first);
            }
            CellKind::Float | CellKind::Special => {
                self.has_fractions = true;
                if self.infinite.is_none() && is_infinite(plain(text)) {
                    self.infinite = Some(first());
                }
            }
            _ => {}
        }
    }

    /// Numbers its parts after that many others.
    fn follow(&mut self, parts: u64) {
        let single = [&mut self.beyond, &mut self.inexact, &mut self.infinite, &mut self.empty];
        self.firsts.iter_mut().chain(single).flatten().for_each(|first| first.part += parts);
    }

    fn merge(&mut self, other: &ColumnSeen) {
        let earlier = |a: &mut Option<First>, b: &Option<First>| a.take().into_iter().chain(b.clone()).min();
        for (own, theirs) in self.firsts.iter_mut().zip(&other.firsts) {
            *own = earlier(own, theirs);
        }
        self.has_true |= other.has_true;
        self.has_false |= other.has_false;
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
        self.beyond = earlier(&mut self.beyond, &other.beyond);
        self.inexact = earlier(&mut self.inexact, &other.inexact);
        self.has_fractions |= other.has_fractions;
        self.infinite = earlier(&mut self.infinite, &other.infinite);
        self.empty = earlier(&mut self.empty, &other.empty);
        self.is_empty_null &= other.is_empty_null;
        self.has_quoted_empty |= other.has_quoted_empty;
        self.has_nulls |= other.has_nulls;
        self.has_null_items |= other.has_null_items;
        self.is_list |= other.is_list;
        self.is_absent |= other.is_absent;
    }

    /// The first value of a kind, including other kinds that count as this kind here.
    fn first(&self, kind: CellKind) -> Option<First> {
        let empty = self.empty.clone().filter(|_| kind == CellKind::Text && !self.holds_lists() && !self.is_empty_null);
        // Another string says more about a column of text than a word for null.
        let is_shown = |seen: &CellKind| *seen != CellKind::Missing || self.firsts[CellKind::Text as usize].is_none();
        let firsts = KINDS
            .into_iter()
            .filter(|seen| self.resolved(*seen) == kind && is_shown(seen))
            .filter_map(|seen| self.firsts[seen as usize].clone());
        firsts.chain(empty).min()
    }

    /// Whether it is a column of lists. Between numbers, an empty field that is not null can only be an empty list.
    fn holds_lists(&self) -> bool {
        let is_number = |kind: CellKind| !matches!(kind, CellKind::Text | CellKind::Word | CellKind::Digits | CellKind::Missing);
        let seen = || KINDS.into_iter().filter(|kind| self.firsts[*kind as usize].is_some());
        let has_empty = self.empty.is_some() && !self.is_empty_null;
        self.is_list || (self.has_separator && has_empty && seen().next().is_some() && seen().all(is_number))
    }

    /// The effective kind, given the other kinds of the column.
    fn resolved(&self, kind: CellKind) -> CellKind {
        let has = |kind: CellKind| self.firsts[kind as usize].is_some();
        let are_codes = has(CellKind::Digits) && !has(CellKind::Float);
        let has_numbers = has(CellKind::Float) || (has(CellKind::Integer) && !are_codes);
        let are_signed = !has(CellKind::Text) && !has(CellKind::Digits) && (has_numbers || has(CellKind::Special));
        let has_text = has(CellKind::Text) || has(CellKind::Digits) || (has(CellKind::Signed) && !are_signed);
        let may_be_null = has_numbers || has(CellKind::Special) || has(CellKind::Bool);
        match kind {
            // `True` can be text, such as the name of a city.
            CellKind::Bool if has_text && !(self.has_true && self.has_false) => CellKind::Text,
            CellKind::Integer if are_codes => CellKind::Text,
            CellKind::Digits => CellKind::Text,
            CellKind::Signed if are_signed => CellKind::Integer,
            CellKind::Signed => CellKind::Text,
            CellKind::Special if !has_numbers && has_text => CellKind::Text,
            CellKind::Word if !has_numbers && (has_text || !has(CellKind::Special)) => CellKind::Text,
            CellKind::Special | CellKind::Word => CellKind::Float,
            CellKind::Missing if has_text || !may_be_null || !self.guesses_nulls || self.is_list => CellKind::Text,
            _ => kind,
        }
    }

    /// The column, which has no type because of that clash.
    fn clashing(&self, clash: Clash) -> ClashingColumn {
        let is_optional = self.has_nulls || (self.empty.is_some() && self.is_empty_null);
        let typed = |dtype: &str, is_optional: bool| match (self.is_list, is_optional) {
            (true, _) => format!("{dtype}[?]"),
            (false, true) => format!("optional {dtype}"),
            (false, false) => dtype.to_owned(),
        };
        let has_missing = self.guesses_nulls && self.firsts[CellKind::Missing as usize].is_some();
        let is_optional_number = is_optional || has_missing || self.has_quoted_empty;
        let others = clash.others.as_ref().map(|dtype| typed(&dtype.to_string(), is_optional_number));
        ClashingColumn { name: self.name.clone(), text: typed("string", is_optional), others, clash }
    }

    /// The first `NA` or variant that is null.
    fn missing(&self) -> Option<&First> {
        self.firsts[CellKind::Missing as usize].as_ref().filter(|_| self.resolved(CellKind::Missing) == CellKind::Missing)
    }

    /// Whether a field is null for another reason than a word that may mean null.
    fn has_null_fields(&self) -> bool {
        self.is_absent || self.has_nulls || (self.empty.is_some() && self.is_empty_null && !self.is_list)
    }

    /// The type of text, which holds all values.
    fn as_text(&self) -> Type {
        Type {
            optional: self.has_null_fields(),
            with_nulls: self.is_list && self.has_null_items,
            ..Type::tensor(DType::String, if self.is_list { vec![Dim::UNIFORM] } else { Vec::new() })
        }
    }

    /// The type that holds all observed values, or the conflict.
    fn ty(&self, several: bool) -> Result<Type, Clash> {
        let is_typed = |kind: &CellKind| *kind != CellKind::Missing && self.first(*kind).is_some();
        let kinds: Vec<CellKind> = KINDS.into_iter().filter(is_typed).collect();
        let at = |kind: CellKind| self.first(kind).map_or_else(String::new, |first| first.place(several));
        let dtype = match kinds.as_slice() {
            [] if self.has_quoted_empty && !self.is_list => DType::String,
            [] => DType::Null,
            [CellKind::Bool] => DType::Bool,
            [CellKind::Text] => DType::String,
            [CellKind::Integer] if self.largest <= i128::from(i64::MAX) => DType::Int64,
            [CellKind::Integer] if self.smallest >= 0 => DType::UInt64,
            [CellKind::Integer] => {
                return Err(Clash::new(format!("contains negative integers and integers beyond int64 ({})", at(CellKind::Integer))));
            }
            [CellKind::Float] | [CellKind::Integer, CellKind::Float] => match (&self.beyond, &self.infinite, &self.inexact) {
                (Some(first), _, inexact) if inexact.is_some() || !self.has_fractions => {
                    return Err(Clash::new(format!("contains integers beyond 64 bits ({})", first.place(several))));
                }
                (_, Some(first), _) => {
                    let message = format!("contains numbers out of range for float64 ({})", first.shown(several));
                    return Err(Clash { others: Some(DType::Float64), ..Clash::new(message) });
                }
                (_, None, Some(first)) => {
                    return Err(Clash::new(format!(
                        "contains fractions or non-finite numbers ({}) and integers beyond 2^53, which float64 cannot represent exactly ({})",
                        at(CellKind::Float),
                        first.place(several)
                    )));
                }
                (_, None, None) => DType::Float64,
            },
            _ => {
                let mut parts: Vec<(First, &str)> = Vec::new();
                for (kind, found) in kinds.iter().filter_map(|kind| Some((kind, self.first(*kind)?))) {
                    match parts.iter_mut().find(|(_, name)| *name == kind.plural()) {
                        Some((first, _)) => *first = found.min(first.clone()),
                        None => parts.push((found, kind.plural())),
                    }
                }
                let parts: Vec<String> = parts.iter().map(|(first, name)| format!("{name} ({})", first.shown(several))).collect();
                let word = self.first(CellKind::Text).filter(|first| first.text.len() < SHOWN_NBYTES);
                let word_line = word.as_ref().map_or(0, |first| first.line);
                let word = word.and_then(|first| String::from_utf8(first.text).ok());
                let with_commas = word.clone().filter(|word| word.contains(','));
                let word = word.filter(|word| !word.contains([',', '\n']));
                // These are not words for null, however they are spelled: `TRUE`, `+5`.
                let is_boolean = |word: &String| ["true", "false"].iter().any(|other| word.eq_ignore_ascii_case(other));
                let is_value = |word: &String| is_boolean(word) || word.trim().parse::<f64>().is_ok_and(f64::is_finite);
                let others = match kinds.as_slice() {
                    _ if word.as_ref().is_some_and(is_boolean) => None,
                    [CellKind::Bool, CellKind::Text] => Some(DType::Bool),
                    [CellKind::Integer, CellKind::Text] if self.largest <= i128::from(i64::MAX) => Some(DType::Int64),
                    [CellKind::Float, CellKind::Text] | [CellKind::Integer, CellKind::Float, CellKind::Text] => Some(DType::Float64),
                    _ => None,
                };
                let is_number = matches!(others, Some(DType::Int64 | DType::Float64));
                let commas = with_commas.filter(|_| is_number).map_or_else(Vec::new, |word| {
                    let is_whole = others == Some(DType::Int64) && !word.contains('.');
                    let dtype = |comma| if is_whole && comma == Comma::Thousands { DType::Int64 } else { DType::Float64 };
                    let mut readings = Comma::readings(&word);
                    // Beside numbers with a decimal point, commas are none.
                    if others == Some(DType::Float64) && readings.contains(&Comma::Thousands) {
                        readings = vec![Comma::Thousands];
                    }
                    readings.into_iter().map(|comma| (comma, dtype(comma))).collect()
                });
                let words = word.filter(|word| !is_value(word)).into_iter();
                let missing = self.firsts[CellKind::Missing as usize].as_ref().map(First::lossy);
                return Err(Clash {
                    message: format!("contains {}", parts.join(" and ")),
                    words: words.flat_map(|word| [Some(word), missing.clone()]).flatten().collect(),
                    word_line,
                    others,
                    commas,
                });
            }
        };
        let dims = if self.holds_lists() { vec![Dim::UNIFORM] } else { Vec::new() };
        let quoted_nulls = self.has_quoted_empty && dtype != DType::String && !self.is_list;
        Ok(Type {
            element: Element::Value(dtype),
            dims,
            optional: self.has_null_fields() || self.missing().is_some() || quoted_nulls,
            with_nulls: self.is_list && self.has_null_items,
        })
    }
}

impl Seen {
    /// Names a record that the types do not cover, if no record is read later.
    fn announce_uneven(&self, request: &Request) -> Result<()> {
        let Some(Uneven { line, nfields, input }) = self.uneven.as_ref().filter(|_| request.options.on_error == OnError::Fail) else {
            return Ok(());
        };
        let found = match nfields {
            None => MISQUOTED.to_owned(),
            Some(nfields) => {
                let columns = counted(self.columns.len() as u64, "column");
                format!("{}, but there {} {columns}", counted(*nfields as u64, "field"), is_or_are(self.columns.len()))
            }
        };
        let text = format!("line {line} has {found}, so reading the records will fail; see --on-error");
        request.options.hints.add_about(input, text, request.options.strict)
    }

    /// Names the columns in which a word is read as null.
    fn announce_nulls(&self, request: &Request) -> Result<()> {
        let missing: Vec<(&str, &First)> = self.columns.iter().filter_map(|own| Some((own.name.as_str(), own.missing()?))).collect();
        let Some((_, first)) = missing.first() else { return Ok(()) };
        let words: BTreeSet<String> = missing.iter().map(|(_, first)| first.lossy()).collect();
        let verb = is_or_are(words.len());
        let words = words.into_iter().collect::<Vec<_>>().join(", ");
        let named = missing.iter().take(LISTED).map(|(name, _)| quoted(name)).collect::<Vec<_>>().join(", ");
        let more = if missing.len() > LISTED { ", ..." } else { "" };
        let input = if let [input] = self.inputs.as_slice() { input } else { &first.input };
        let text = format!("{words} {verb} read as null in {named}{more}; use --nulls to set the strings that mean null");
        request.options.notices.add_about(input, text, request.options.strict)
    }
}

/// Whether an integer loses nothing as a float64.
fn is_exact(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(fits_float64)
}

/// Whether a number is beyond the largest float64.
fn is_infinite(text: &[u8]) -> bool {
    (text.len() > SHOWN_NBYTES || memchr::memchr2(b'e', b'E', text).is_some()) && number(text).is_none()
}

/// Observes the records of a block except for the `misfits`. Columns that are declared or not required are skipped.
///
/// # Errors
/// A record has a different number of fields, and bad records are not skipped.
pub fn observe(fields: &Fields, misfits: &HashSet<usize>, names: &Arc<Vec<String>>, dialect: &Dialect, request: &Request) -> Result<Seen> {
    let mut columns: Vec<ColumnSeen> = names.iter().map(|name| ColumnSeen::new(name, dialect)).collect();
    let declared: HashSet<&str> = request.declared.fields.iter().map(Field::source_name).collect();
    let is_of_interest =
        |name: &String| !declared.contains(name.as_str()) && request.wanted.includes(name) && !request.dropped.includes(name);
    let looked_at: Vec<bool> = names.iter().map(is_of_interest).collect();
    let mut uneven = None;
    for record in (0..fields.nrecords()).filter(|record| !misfits.contains(record)) {
        let ((first, nfields), line) = (fields.of_record(record), fields.line(record));
        let is_misquoted = fields.misquoted(record).is_some();
        if is_misquoted || nfields != columns.len() {
            let nfields = (!is_misquoted).then_some(nfields);
            uneven.get_or_insert_with(|| Uneven { line, nfields, input: fields.input().clone() });
            continue;
        }
        for (number, column) in columns.iter_mut().enumerate().filter(|(number, _)| looked_at[*number]) {
            let cell = fields.cell(first + number);
            if fields.is_quoted_empty(first + number) && dialect.is_null(cell) {
                column.has_quoted_empty = true;
            } else if cell.is_empty() {
                column.empty.get_or_insert_with(|| First { part: 0, line, text: Vec::new(), input: fields.input().clone() });
                column.is_empty_null &= dialect.is_null(cell);
            } else if dialect.is_null(cell) {
                column.has_nulls = true;
            } else if dialect.separator.is_some_and(|separator| memchr::memchr(separator, cell).is_some()) {
                column.is_list = true;
                for item in dialect.items(cell) {
                    if dialect.is_null(item) { column.has_null_items = true } else { column.see(item, line, fields.input()) }
                }
            } else {
                column.see(cell, line, fields.input());
            }
        }
    }
    let inputs = if fields.nrecords() == 0 { Vec::new() } else { vec![fields.input().clone()] };
    Ok(Seen { columns, inputs, parts: 1, nrecords: fields.nrecords() as u64, uneven })
}

impl Observed for Seen {
    fn merge(&mut self, other: Box<dyn Observed>) {
        let Ok(mut other) = other.into_any().downcast::<Seen>() else { return };
        other.columns.iter_mut().for_each(|column| column.follow(self.parts));
        self.parts += other.parts;
        self.nrecords += other.nrecords;
        // The columns of an empty file are not known.
        if !self.columns.is_empty() && !other.columns.is_empty() {
            let names = |columns: &[ColumnSeen]| columns.iter().map(|column| column.name.clone()).collect::<HashSet<String>>();
            let (ours, theirs) = (names(&self.columns), names(&other.columns));
            if ours != theirs {
                self.columns.iter_mut().for_each(|column| column.is_absent |= !theirs.contains(&column.name));
                other.columns.iter_mut().for_each(|column| column.is_absent |= !ours.contains(&column.name));
            }
        }
        let places: HashMap<String, usize> = self.columns.iter().enumerate().map(|(place, own)| (own.name.clone(), place)).collect();
        for theirs in other.columns {
            match places.get(&theirs.name) {
                Some(place) => self.columns[*place].merge(&theirs),
                None => self.columns.push(theirs),
            }
        }
        self.uneven = self.uneven.take().or(other.uneven);
        for input in other.inputs {
            if self.inputs.last() != Some(&input) {
                self.inputs.push(input);
            }
        }
    }

    fn nrecords(&self) -> Option<u64> {
        Some(self.nrecords)
    }

    fn schema(&self, request: &Request) -> Result<Schema> {
        let sources: HashSet<&str> = request.declared.fields.iter().filter_map(|f| f.source.values.as_deref()).collect();
        self.announce_uneven(request)?;
        let (mut fields, mut clashing) = (Vec::new(), Vec::new());
        for column in self.columns.iter().filter(|column| !sources.contains(column.name.as_str())) {
            match column.ty(self.inputs.len() > 1) {
                Ok(ty) => fields.push(Field::new(column.name.clone(), ty)),
                Err(_) if request.options.mixed => fields.push(Field::new(column.name.clone(), column.as_text())),
                Err(clash) => clashing.push(column.clashing(clash)),
            }
        }
        if clashing.is_empty() {
            self.announce_nulls(request)?;
            return Ok(Schema::new(fields));
        }
        let missing = self.columns.iter().filter_map(ColumnSeen::missing).map(First::lossy).collect();
        let error = clash::error(&clashing, missing, &request.options);
        Err(if let [input] = self.inputs.as_slice() { error.in_input(input.clone()) } else { error })
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

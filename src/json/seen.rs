//! The first half of inference: a tree of observations for each position, with the first line of each kind. Nothing is
//! decided here, so the trees of parts of the input can be merged in any order; `settle` decides the schema.
//!
//! Most records look like earlier ones; observing them allocates nothing.

use super::cursor::Cursor;
use super::error::Parse;
use super::forms::{base64_object, elements, non_finite, overflow, sparse_rank};
use super::keys::{Key, Keys};
use super::limits::MAX_DEPTH;
use crate::decimal::fits_float64;
use crate::schema::{Element, Field, MAX_FIELDS, field_near};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// Where something was first seen; the smaller of two is the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FirstSeen {
    /// The number of the input.
    input: u32,
    /// The line or, if marked so, the record.
    line: u64,
}

/// Marks the number of a record.
const IN_RECORD: u64 = 1 << 63;

impl Default for FirstSeen {
    fn default() -> FirstSeen {
        FirstSeen::NEVER
    }
}

impl FirstSeen {
    /// Not seen.
    pub const NEVER: FirstSeen = FirstSeen { input: u32::MAX, line: u64::MAX };

    /// In that line of the input with that number.
    pub fn new(input: u32, line: u64) -> FirstSeen {
        FirstSeen { input, line: line & (IN_RECORD - 1) }
    }

    /// In the record with that number, where lines have no meaning.
    pub fn record(number: u64) -> FirstSeen {
        FirstSeen { input: 0, line: IN_RECORD | number }
    }

    /// Whether it is a record instead of a line.
    pub fn is_record(self) -> bool {
        self.line & IN_RECORD != 0
    }

    /// Number of the input.
    pub fn input(self) -> usize {
        self.input as usize
    }

    /// The line.
    pub fn line(self) -> u64 {
        self.line & (IN_RECORD - 1)
    }

    /// Whether it has been seen at all.
    pub fn is_set(self) -> bool {
        self != FirstSeen::NEVER
    }

    #[inline(always)]
    fn set(&mut self, here: FirstSeen) {
        if *self == FirstSeen::NEVER {
            *self = here;
        }
    }

    /// Keeps the earlier one. `renumber` maps the input numbers of the other observations.
    pub fn merge(&mut self, other: FirstSeen, renumber: &[u32]) {
        if other.is_set() {
            let input = renumber.get(other.input()).copied().unwrap_or(0);
            *self = (*self).min(FirstSeen { input, ..other });
        }
    }
}

/// How much of a field is to be observed.
#[derive(Clone, Debug, Default)]
pub enum Interest {
    /// All of it.
    #[default]
    All,
    /// `--schema` names fields of this structure; only the others are inferred.
    Inside(Arc<Field>),
    /// `--schema` gives its type.
    Declared(Arc<Field>),
    /// It is not required.
    None,
}

impl Interest {
    /// The extent for the field with that key, the `number`th of the structure, given the declared types of its fields.
    pub fn at(fields: &[Field], key: &str, number: usize) -> Interest {
        match field_near(fields, number, |f| f.source_name() == key) {
            None => Interest::All,
            Some(field) if matches!(field.ty.element, Element::Struct(_)) && !field.is_map() => Interest::Inside(Arc::new(field.clone())),
            Some(field) => Interest::Declared(Arc::new(field.clone())),
        }
    }

    /// The declared types of the structure's fields.
    pub fn fields(&self) -> &[Field] {
        match self {
            Interest::Inside(field) => field.ty.fields().unwrap_or(&[]),
            _ => &[],
        }
    }
}

/// What is told apart among the values at one position.
#[derive(Clone, Copy)]
pub enum Kind {
    /// null.
    Null,
    /// true or false.
    Boolean,
    /// Any number.
    Number,
    /// A number with a fraction or exponent, or a bare NaN or infinity.
    Float,
    /// An integer below 0.
    Negative,
    /// An integer that a float64 cannot distinguish from its neighbors.
    BeyondFloat,
    /// An integer above the largest int64.
    BeyondInt64,
    /// An integer beyond 64 bits.
    Beyond64Bits,
    /// A string other than "NaN", "Infinity" and "-Infinity".
    String,
    /// A string "NaN", "Infinity" or "-Infinity".
    NonFinite,
    /// A list.
    List,
    /// An object.
    Object,
    /// `{"b64": ...}`.
    Base64,
    /// An object with another form than `{"b64": ...}`.
    NotBase64,
    /// An object with another form than that of a sparse tensor.
    NotSparse,
    /// A sparse tensor of another rank than the first.
    OtherRank,
    /// An object that raised the number of keys above the limit.
    TooManyFields,
}

/// Number of kinds.
const NKINDS: usize = Kind::TooManyFields as usize + 1;

/// Observations at one position: the first value of each kind, found by indexing, as in `node[Kind::Null]`.
#[derive(Debug, Default)]
pub struct SeenNode {
    first: [FirstSeen; NKINDS],
    /// The rank of the first sparse tensor.
    pub sparse_rank: Option<usize>,
    /// The elements of the lists.
    pub element: Option<Box<SeenNode>>,
    /// The fields of the objects.
    pub members: Option<Box<SeenMembers>>,
}

impl Index<Kind> for SeenNode {
    type Output = FirstSeen;

    #[inline(always)]
    fn index(&self, kind: Kind) -> &FirstSeen {
        &self.first[kind as usize]
    }
}

impl IndexMut<Kind> for SeenNode {
    #[inline(always)]
    fn index_mut(&mut self, kind: Kind) -> &mut FirstSeen {
        &mut self.first[kind as usize]
    }
}

/// Observations of the fields of the objects at one position.
#[derive(Debug, Default)]
pub struct SeenMembers {
    keys: Keys,
    /// The fields, in order of first occurrence.
    pub list: Vec<SeenMember>,
    /// Number of objects.
    pub objects: u64,
    /// Fields of the next object whose values are observed as null, because they cannot be read.
    pub unreadable: Vec<String>,
}

/// Observations of one field.
#[derive(Debug)]
pub struct SeenMember {
    /// Its key.
    pub name: String,
    /// How much of it is to be observed.
    pub interest: Interest,
    /// Where it was first seen, and how many fields were seen before it, which determines field order.
    pub first: (FirstSeen, usize),
    /// Number of objects that have it.
    pub count: u64,
    /// Observations of its values.
    pub node: SeenNode,
}

impl SeenNode {
    /// Observes the value at the cursor. `depth` is its level; that of the record is 1.
    ///
    /// # Errors
    /// Invalid text. Part of the value may have been observed.
    #[inline]
    pub fn see(&mut self, cursor: &mut Cursor, interest: &Interest, depth: usize, here: FirstSeen) -> Parse<()> {
        match cursor.peek() {
            b'-' | b'0'..=b'9' => self.see_number(cursor, here),
            b'"' => self.see_string(cursor, here),
            b'[' => self.see_list(cursor, interest, depth, here),
            b'{' => self.see_object(cursor, interest, depth, here),
            _ => self.see_word(cursor, here),
        }
    }

    #[inline(always)]
    fn see_number(&mut self, cursor: &mut Cursor, here: FirstSeen) -> Parse<()> {
        self[Kind::Number].set(here);
        if self[Kind::Float].is_set() && cursor.short_float().is_some() {
            return Ok(());
        }
        if let Some(value) = cursor.short_integer() {
            if value < 0 {
                self[Kind::Negative].set(here);
            }
            if value.unsigned_abs() > 1 << 53 && !self[Kind::BeyondFloat].is_set() && !fits_float64(&value.to_string()) {
                self[Kind::BeyondFloat].set(here);
            }
            return Ok(());
        }
        self.see_unusual_number(cursor, here)
    }

    #[inline(never)]
    fn see_unusual_number(&mut self, cursor: &mut Cursor, here: FirstSeen) -> Parse<()> {
        let start = cursor.pos();
        if non_finite(cursor)?.is_some() {
            self[Kind::Float].set(here);
            return Ok(());
        }
        let number = cursor.number()?;
        if !number.integer {
            if number.as_f64().is_none() {
                return Err(overflow(start, &number, "float64"));
            }
            self[Kind::Float].set(here);
            return Ok(());
        }
        match number.as_integer() {
            None => self[Kind::Beyond64Bits].set(here),
            Some(value) if value > i128::from(i64::MAX) => self[Kind::BeyondInt64].set(here),
            Some(value) if value < 0 => self[Kind::Negative].set(here),
            Some(_) => {}
        }
        if !self[Kind::BeyondFloat].is_set() && !fits_float64(number.text()) {
            self[Kind::BeyondFloat].set(here);
        }
        Ok(())
    }

    #[inline(always)]
    fn see_string(&mut self, cursor: &mut Cursor, here: FirstSeen) -> Parse<()> {
        if !self[Kind::String].is_set() && non_finite(cursor)?.is_some() {
            self[Kind::NonFinite].set(here);
            return Ok(());
        }
        self[Kind::String].set(here);
        cursor.skip_string()
    }

    fn see_list(&mut self, cursor: &mut Cursor, interest: &Interest, depth: usize, here: FirstSeen) -> Parse<()> {
        if depth > MAX_DEPTH {
            return Err(cursor.too_deep(cursor.pos()));
        }
        self[Kind::List].set(here);
        cursor.advance(1);
        cursor.space();
        if cursor.take(b']') {
            return Ok(());
        }
        let element = self.element.get_or_insert_default();
        elements(cursor, |cursor| element.see(cursor, interest, depth + 1, here)).map_err(|e| e.in_list())
    }

    fn see_word(&mut self, cursor: &mut Cursor, here: FirstSeen) -> Parse<()> {
        if cursor.take_word("null") {
            self[Kind::Null].set(here);
        } else if cursor.take_word("true") || cursor.take_word("false") {
            self[Kind::Boolean].set(here);
        } else if non_finite(cursor)?.is_some() {
            self[Kind::Number].set(here);
            self[Kind::Float].set(here);
        } else {
            return Err(cursor.unexpected("a value"));
        }
        Ok(())
    }

    fn see_object(&mut self, cursor: &mut Cursor, interest: &Interest, depth: usize, here: FirstSeen) -> Parse<()> {
        if depth > MAX_DEPTH {
            return Err(cursor.too_deep(cursor.pos()));
        }
        let mut ahead = cursor.clone();
        self[Kind::Object].set(here);
        let members = self.members.get_or_insert_default();
        let (nkeys, full) = members.see(cursor, &mut |key, number| Interest::at(interest.fields(), key, number), depth, here)?;
        if full {
            self[Kind::TooManyFields].set(here);
        }
        if !self[Kind::NotBase64].is_set() {
            if nkeys == 1 && base64_object(&mut ahead.clone(), &mut Vec::new())? {
                self[Kind::Base64].set(here)
            } else {
                self[Kind::NotBase64].set(here)
            }
        }
        if !self[Kind::NotSparse].is_set() {
            match if nkeys == 3 { sparse_rank(&mut ahead) } else { None } {
                Some(rank) if *self.sparse_rank.get_or_insert(rank) != rank => self[Kind::OtherRank].set(here),
                Some(_) => {}
                None => self[Kind::NotSparse].set(here),
            }
        }
        Ok(())
    }

    /// Merges observations of other values at the same position.
    fn merge(&mut self, other: SeenNode, renumber: &[u32]) {
        let is_full = self[Kind::TooManyFields].is_set();
        for (mine, theirs) in self.first.iter_mut().zip(&other.first) {
            mine.merge(*theirs, renumber);
        }
        match (self.sparse_rank, other.sparse_rank) {
            // As if the later one had been observed second.
            (Some(a), Some(b)) if a != b => self[Kind::OtherRank].merge(other[Kind::Object], renumber),
            (None, rank) => self.sparse_rank = rank,
            _ => {}
        }
        if let Some(theirs) = other.element {
            self.element.get_or_insert_default().merge(*theirs, renumber);
        }
        if let Some(theirs) = other.members {
            let members = self.members.get_or_insert_default();
            members.merge(*theirs, renumber);
            // Among thousands of keys, it is sought only once.
            if !is_full && let Some(first) = members.first_beyond_limit() {
                self[Kind::TooManyFields] = self[Kind::TooManyFields].min(first);
            }
        }
    }
}

impl SeenMembers {
    /// Observes an object. Returns its number of keys, and whether there are more than a structure may have.
    pub fn see(
        &mut self,
        cursor: &mut Cursor,
        interest: &mut dyn FnMut(&str, usize) -> Interest,
        depth: usize,
        here: FirstSeen,
    ) -> Parse<(usize, bool)> {
        cursor.advance(1);
        self.keys.begin();
        self.objects += 1;
        let (mut nkeys, mut full) = (0, false);
        cursor.space();
        if cursor.take(b'}') {
            return Ok((0, false));
        }
        loop {
            let start = cursor.pos();
            let id = match self.keys.read(cursor)? {
                Key::Known(id) => Some(id),
                Key::New(_) if self.list.len() >= MAX_FIELDS => None,
                Key::New(name) => {
                    let id = self.keys.add(&name);
                    self.keys.mark(id, start)?;
                    let first = (here, self.list.len());
                    self.list.push(SeenMember {
                        interest: interest(&name, self.list.len()),
                        name,
                        first,
                        count: 0,
                        node: SeenNode::default(),
                    });
                    Some(id)
                }
            };
            nkeys += 1;
            match id.and_then(|id| self.list.get_mut(id)) {
                Some(member) => {
                    member.count += 1;
                    match &member.interest {
                        Interest::Declared(_) | Interest::None => cursor.skip_value(),
                        _ if self.unreadable.contains(&member.name) => {
                            member.node[Kind::Null].set(here);
                            cursor.skip_value()
                        }
                        interest => member.node.see(cursor, interest, depth + 1, here),
                    }
                    .map_err(|e| e.in_field(&member.name))?;
                }
                None => {
                    full = true;
                    cursor.skip_value()?;
                }
            }
            if !cursor.more(b'}')? {
                return Ok((nkeys, full));
            }
        }
    }

    /// The field with that key.
    pub fn find(&self, name: &str) -> Option<&SeenNode> {
        self.keys.find(name).and_then(|id| self.list.get(id)).map(|member| &member.node)
    }

    /// Where the first key beyond the maximum number was seen.
    pub fn first_beyond_limit(&self) -> Option<FirstSeen> {
        if self.list.len() <= MAX_FIELDS {
            return None;
        }
        let mut firsts: Vec<FirstSeen> = self.list.iter().map(|member| member.first.0).collect();
        Some(*firsts.select_nth_unstable(MAX_FIELDS).1)
    }

    /// Merges observations of later objects. `renumber` maps their input numbers.
    pub fn merge(&mut self, other: SeenMembers, renumber: &[u32]) {
        self.objects += other.objects;
        // Several JSON values can be in the same line.
        let before = self.list.len();
        for theirs in other.list {
            let mut first = FirstSeen::NEVER;
            first.merge(theirs.first.0, renumber);
            let first = (first, before + theirs.first.1);
            match self.keys.find(&theirs.name) {
                Some(id) => {
                    let mine = &mut self.list[id];
                    mine.first = mine.first.min(first);
                    mine.count += theirs.count;
                    mine.node.merge(theirs.node, renumber);
                }
                None => {
                    self.keys.add(&theirs.name);
                    let mut node = SeenNode::default();
                    node.merge(theirs.node, renumber);
                    self.list.push(SeenMember { first, node, ..theirs });
                }
            }
        }
    }
}

//! Inference, first half: one tree of what has been seen at each position, with the first line of each
//! kind. Nothing is decided here, so that trees of parts of the input can be merged in any way;
//! [`super::settle`] decides.
//!
//! Records mostly look like the ones before: then seeing one allocates nothing.

use super::cursor::{Cursor, MAX_DEPTH};
use super::keys::{Key, Keys};
use super::leaf::{self, base64_object, non_finite};
use super::object::MAX_FIELDS;
use super::settle;
use super::sparse;
use super::trouble::Parse;
use crate::demand::Wanted;
use crate::error::Result;
use crate::formats::format::{Observed, Request};
use crate::schema::{Element, Field, Schema, Type};
use std::any::Any;
use std::sync::Arc;

/// Where something was first seen: the input's number, and the line in it. The smaller one is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

impl Mark {
    pub const NEVER: Mark = Mark(u64::MAX);

    pub fn new(input: usize, line: u64) -> Mark {
        Mark(((input as u64) << 48) | (line & ((1 << 48) - 1)))
    }

    pub fn input(self) -> usize {
        (self.0 >> 48) as usize
    }

    pub fn line(self) -> u64 {
        self.0 & ((1 << 48) - 1)
    }

    pub fn is_set(self) -> bool {
        self != Mark::NEVER
    }

    #[inline(always)]
    fn set(&mut self, here: Mark) {
        if *self == Mark::NEVER {
            *self = here;
        }
    }

    fn merge(&mut self, other: Mark, renumber: &[usize]) {
        if other.is_set() {
            let other = Mark::new(renumber.get(other.input()).copied().unwrap_or(0), other.line());
            *self = (*self).min(other);
        }
    }
}

/// What is to be seen of a field.
#[derive(Clone, Debug, Default)]
pub enum Look {
    #[default]
    All,
    /// `--schema` names fields of this structure; they are not inferred, the others are.
    Inside(Arc<Field>),
    /// `--schema` names it.
    Declared(Arc<Field>),
    /// Nobody wants it.
    Not,
}

impl Look {
    fn at(fields: &[Field], key: &str) -> Look {
        match fields.iter().find(|f| f.source.values.as_deref().unwrap_or(&f.name) == key) {
            None => Look::All,
            Some(field) if matches!(field.ty.element, Element::Struct(_)) => Look::Inside(Arc::new(field.clone())),
            Some(field) => Look::Declared(Arc::new(field.clone())),
        }
    }

    /// What is said of the fields of the structure.
    pub fn fields(&self) -> &[Field] {
        match self {
            Look::Inside(field) => field.ty.fields().unwrap_or(&[]),
            _ => &[],
        }
    }
}

/// What has been seen at one position: the first place of each kind of value.
#[derive(Debug)]
pub struct Node {
    pub null: Mark,
    pub boolean: Mark,
    /// Any number.
    pub number: Mark,
    /// With a fraction or exponent, or a bare NaN or infinity.
    pub float: Mark,
    pub negative: Mark,
    /// An integer whose neighbours a float64 cannot tell apart.
    pub beyond_float: Mark,
    pub beyond_int64: Mark,
    /// An integer that no 64 bits hold.
    pub beyond_64_bits: Mark,
    /// A string that is no "NaN", "Infinity" or "-Infinity".
    pub string: Mark,
    pub non_finite: Mark,
    pub list: Mark,
    pub object: Mark,
    /// `{"b64": ...}`, and the first object of another form.
    pub base64: Mark,
    pub not_base64: Mark,
    /// The rank of sparse tensors, and the first object of another form or rank.
    pub sparse: Option<usize>,
    pub not_sparse: Mark,
    pub too_many_fields: Mark,
    pub item: Option<Box<Node>>,
    pub members: Option<Box<Members>>,
}

/// The fields of the objects at one position.
#[derive(Debug, Default)]
pub struct Members {
    keys: Keys,
    pub list: Vec<Member>,
    pub objects: u64,
}

/// One of them.
#[derive(Debug)]
pub struct Member {
    pub name: String,
    pub look: Look,
    /// Where it was first seen, and as which key of the object: the order of the fields.
    pub first: (Mark, usize),
    pub count: u64,
    pub node: Node,
}

impl Default for Node {
    fn default() -> Node {
        const NEVER: Mark = Mark::NEVER;
        Node {
            null: NEVER,
            boolean: NEVER,
            number: NEVER,
            float: NEVER,
            negative: NEVER,
            beyond_float: NEVER,
            beyond_int64: NEVER,
            beyond_64_bits: NEVER,
            string: NEVER,
            non_finite: NEVER,
            list: NEVER,
            object: NEVER,
            base64: NEVER,
            not_base64: NEVER,
            sparse: None,
            not_sparse: NEVER,
            too_many_fields: NEVER,
            item: None,
            members: None,
        }
    }
}

impl Node {
    /// Sees the value at the cursor. `depth`: its own level, the record's being 1.
    ///
    /// # Errors
    /// Bad text; part of it may have been seen.
    #[inline]
    fn see(&mut self, cursor: &mut Cursor, look: &Look, depth: usize, here: Mark) -> Parse<()> {
        match cursor.peek() {
            b'-' | b'0'..=b'9' => self.see_number(cursor, here),
            b'"' => self.see_string(cursor, here),
            b'[' => self.see_list(cursor, look, depth, here),
            b'{' => self.see_object(cursor, look, depth, here),
            _ => self.see_word(cursor, here),
        }
    }

    #[inline(always)]
    fn see_number(&mut self, cursor: &mut Cursor, here: Mark) -> Parse<()> {
        self.number.set(here);
        if self.float.is_set() && cursor.short_float().is_some() {
            return Ok(());
        }
        if let Some(value) = cursor.short_integer() {
            if value < 0 {
                self.negative.set(here);
            }
            if value.unsigned_abs() > 1 << 53 {
                self.beyond_float.set(here);
            }
            return Ok(());
        }
        self.see_unusual_number(cursor, here)
    }

    #[inline(never)]
    fn see_unusual_number(&mut self, cursor: &mut Cursor, here: Mark) -> Parse<()> {
        let start = cursor.pos();
        if non_finite(cursor)?.is_some() {
            self.float.set(here);
            return Ok(());
        }
        let number = cursor.number()?;
        if !number.integer {
            if number.as_f64().is_none() {
                return Err(leaf::overflow(start, &number, "float64"));
            }
            self.float.set(here);
            return Ok(());
        }
        match number.as_integer() {
            None => self.beyond_64_bits.set(here),
            Some(value) if value > i128::from(i64::MAX) => self.beyond_int64.set(here),
            Some(value) if value < 0 => self.negative.set(here),
            Some(_) => {}
        }
        if !leaf::fits_float(&number) {
            self.beyond_float.set(here);
        }
        Ok(())
    }

    #[inline(always)]
    fn see_string(&mut self, cursor: &mut Cursor, here: Mark) -> Parse<()> {
        if !self.string.is_set() && non_finite(cursor)?.is_some() {
            self.non_finite.set(here);
            return Ok(());
        }
        self.string.set(here);
        cursor.skip_string()
    }

    fn see_list(&mut self, cursor: &mut Cursor, look: &Look, depth: usize, here: Mark) -> Parse<()> {
        if depth > MAX_DEPTH {
            return Err(cursor.too_deep(cursor.pos()));
        }
        self.list.set(here);
        cursor.advance(1);
        cursor.space();
        if cursor.take(b']') {
            return Ok(());
        }
        let item = self.item.get_or_insert_default();
        leaf::items(cursor, |cursor| item.see(cursor, look, depth + 1, here)).map_err(|t| t.in_list())
    }

    fn see_word(&mut self, cursor: &mut Cursor, here: Mark) -> Parse<()> {
        if cursor.take_word("null") {
            self.null.set(here);
        } else if cursor.take_word("true") || cursor.take_word("false") {
            self.boolean.set(here);
        } else if non_finite(cursor)?.is_some() {
            self.number.set(here);
            self.float.set(here);
        } else {
            return Err(cursor.unexpected("a value"));
        }
        Ok(())
    }

    fn see_object(&mut self, cursor: &mut Cursor, look: &Look, depth: usize, here: Mark) -> Parse<()> {
        if depth > MAX_DEPTH {
            return Err(cursor.too_deep(cursor.pos()));
        }
        let mut ahead = cursor.clone();
        self.object.set(here);
        let members = self.members.get_or_insert_default();
        let (nkeys, full) = members.see(cursor, &mut |key| Look::at(look.fields(), key), depth, here)?;
        if full {
            self.too_many_fields.set(here);
        }
        if !self.not_base64.is_set() {
            if nkeys == 1 && base64_object(&mut ahead.clone(), &mut Vec::new())? {
                self.base64.set(here)
            } else {
                self.not_base64.set(here)
            }
        }
        if !self.not_sparse.is_set() {
            match if nkeys == 3 { sparse::rank_of(&mut ahead) } else { None } {
                Some(rank) if self.sparse.is_none_or(|r| r == rank) => self.sparse = Some(rank),
                _ => self.not_sparse.set(here),
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: Node, renumber: &[usize]) {
        let (mine, theirs) = (self.marks(), other.marks_by_value());
        for (mine, theirs) in mine.into_iter().zip(theirs) {
            mine.merge(theirs, renumber);
        }
        match (self.sparse, other.sparse) {
            // Of two ranks, neither: as if the later one had been seen second.
            (Some(a), Some(b)) if a != b => {
                let mut second = other.object;
                self.not_sparse.merge(std::mem::replace(&mut second, Mark::NEVER), renumber);
            }
            (None, rank) => self.sparse = rank,
            _ => {}
        }
        if let Some(theirs) = other.item {
            self.item.get_or_insert_default().merge(*theirs, renumber);
        }
        if let Some(theirs) = other.members {
            self.members.get_or_insert_default().merge(*theirs, renumber);
            if self.members.as_ref().is_some_and(|m| m.list.len() > MAX_FIELDS) {
                self.too_many_fields = self.too_many_fields.min(self.object);
            }
        }
    }

    fn marks(&mut self) -> [&mut Mark; 16] {
        [
            &mut self.null,
            &mut self.boolean,
            &mut self.number,
            &mut self.float,
            &mut self.negative,
            &mut self.beyond_float,
            &mut self.beyond_int64,
            &mut self.beyond_64_bits,
            &mut self.string,
            &mut self.non_finite,
            &mut self.list,
            &mut self.object,
            &mut self.base64,
            &mut self.not_base64,
            &mut self.not_sparse,
            &mut self.too_many_fields,
        ]
    }

    fn marks_by_value(&self) -> [Mark; 16] {
        [
            self.null,
            self.boolean,
            self.number,
            self.float,
            self.negative,
            self.beyond_float,
            self.beyond_int64,
            self.beyond_64_bits,
            self.string,
            self.non_finite,
            self.list,
            self.object,
            self.base64,
            self.not_base64,
            self.not_sparse,
            self.too_many_fields,
        ]
    }
}

impl Members {
    /// Sees an object; gives its number of keys, and whether there are more than a structure may have.
    fn see(&mut self, cursor: &mut Cursor, look: &mut dyn FnMut(&str) -> Look, depth: usize, here: Mark) -> Parse<(usize, bool)> {
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
                    self.list.push(Member { look: look(&name), name, first: (here, nkeys), count: 0, node: Node::default() });
                    Some(id)
                }
            };
            nkeys += 1;
            match id.and_then(|id| self.list.get_mut(id)) {
                Some(member) => {
                    member.count += 1;
                    match &member.look {
                        Look::Declared(_) | Look::Not => cursor.skip_value(),
                        look => member.node.see(cursor, look, depth + 1, here),
                    }
                    .map_err(|t| t.in_field(&member.name))?;
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

    fn merge(&mut self, other: Members, renumber: &[usize]) {
        self.objects += other.objects;
        for theirs in other.list {
            let mut mark = Mark::NEVER;
            mark.merge(theirs.first.0, renumber);
            let first = (mark, theirs.first.1);
            match self.keys.find(&theirs.name) {
                Some(id) => {
                    let mine = &mut self.list[id];
                    mine.first = mine.first.min(first);
                    mine.count += theirs.count;
                    mine.node.merge(theirs.node, renumber);
                }
                None => {
                    self.keys.add(&theirs.name);
                    let mut node = Node::default();
                    node.merge(theirs.node, renumber);
                    self.list.push(Member { first, node, ..theirs });
                }
            }
        }
    }
}

/// What has been seen of some records.
#[derive(Debug, Default)]
pub struct Observation {
    /// The inputs that marks name by number.
    pub inputs: Vec<Arc<str>>,
    pub record: Members,
    pub too_many_fields: Option<Mark>,
}

impl Observation {
    pub fn new(input: Arc<str>) -> Observation {
        Observation { inputs: vec![input], ..Observation::default() }
    }

    /// Sees a record.
    ///
    /// # Errors
    /// Bad text, or no object; part of it may have been seen.
    pub fn see(&mut self, cursor: &mut Cursor, declared: &Schema, wanted: &Wanted, line: u64) -> Parse<()> {
        if cursor.peek() != b'{' {
            cursor.clone().skip_value()?;
            return Err(cursor.unexpected("an object: a record is a structure of named fields"));
        }
        let here = Mark::new(0, line);
        let mut look = |key: &str| match Look::at(&declared.fields, key) {
            Look::All if !wanted.includes(key) => Look::Not,
            look => look,
        };
        let (_, full) = self.record.see(cursor, &mut look, 1, here)?;
        if full {
            self.too_many_fields.get_or_insert(here);
        }
        Ok(())
    }
}

impl Observed for Observation {
    fn merge(&mut self, other: Box<dyn Observed>) {
        let Ok(other) = other.into_any().downcast::<Observation>() else { return };
        let renumber: Vec<usize> = other
            .inputs
            .iter()
            .map(|input| {
                self.inputs.iter().position(|i| i == input).unwrap_or_else(|| {
                    self.inputs.push(input.clone());
                    self.inputs.len() - 1
                })
            })
            .collect();
        if let Some(theirs) = other.too_many_fields {
            self.too_many_fields.get_or_insert(Mark::NEVER).merge(theirs, &renumber);
        }
        self.record.merge(other.record, &renumber);
        if self.record.list.len() > MAX_FIELDS {
            self.too_many_fields.get_or_insert(Mark::new(0, 1));
        }
    }

    fn schema(&self, request: &Request) -> Result<Schema> {
        settle::schema(self, request)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// The type of the one value at the cursor, as far as it can be told.
pub fn type_of(cursor: &mut Cursor) -> Type {
    let mut node = Node::default();
    // The text has been checked before; what is wrong with the value will be said when it is read.
    let _ = node.see(cursor, &Look::All, 1, Mark::new(0, 1));
    settle::type_alone(&node)
}

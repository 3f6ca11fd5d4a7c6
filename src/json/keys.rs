//! The keys of one structure by index, predicted from the order of the previous object. Most objects have the keys of
//! the previous one, so a key costs one comparison.

use super::cursor::Cursor;
use super::error::{Parse, ParseError};
use super::limits::MAX_NAME_BYTES;
use crate::hint::Hint;
use std::collections::HashMap;

/// Keys, indexed in order of insertion.
#[derive(Debug)]
pub struct Keys {
    names: Vec<Box<str>>,
    /// The usual spelling of each key: quoted, with no more escapes than needed, so that no other key has it.
    quoted: Vec<Box<[u8]>>,
    ids: HashMap<Box<str>, usize>,
    /// The successor of each key in the last object; position 0 is the start of the object.
    next: Vec<usize>,
    /// The last object that contained the key.
    seen: Vec<u64>,
    object: u64,
    last: usize,
    spelled: Vec<u8>,
}

/// A key of an object.
pub enum Key {
    /// A known key, by index.
    Known(usize),
    /// An unknown key, by name.
    New(String),
}

impl Default for Keys {
    fn default() -> Keys {
        Keys {
            names: Vec::new(),
            quoted: Vec::new(),
            ids: HashMap::new(),
            next: vec![0],
            seen: Vec::new(),
            object: 0,
            last: 0,
            spelled: Vec::new(),
        }
    }
}

impl Keys {
    /// Adds a new key and returns its index.
    pub fn add(&mut self, name: &str) -> usize {
        let id = self.names.len();
        self.names.push(name.into());
        self.quoted.push(serde_json::Value::from(name).to_string().into_bytes().into());
        self.ids.insert(name.into(), id);
        // Insertion order, until an order has been observed.
        self.next.push(id + 1);
        self.seen.push(0);
        id
    }

    /// The index of a key.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.ids.get(name).copied()
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The name of a key.
    pub fn name(&self, id: usize) -> &str {
        self.names.get(id).map_or("", |name| name)
    }

    /// Resets to the start of an object.
    #[inline(always)]
    pub fn begin(&mut self) {
        self.object += 1;
        self.last = 0;
    }

    /// Whether the current object has already had the key.
    #[inline(always)]
    pub fn has(&self, id: usize) -> bool {
        self.seen[id] == self.object
    }

    /// Reads a key and its colon. The caller either adds a new key with [`Keys::add`] and [`Keys::mark`], or ignores
    /// it.
    ///
    /// # Errors
    /// There is no key, or the object has already had it.
    #[inline(always)]
    pub fn read(&mut self, cursor: &mut Cursor) -> Parse<Key> {
        let start = cursor.pos();
        let guess = self.next[self.last];
        if let Some(quoted) = self.quoted.get(guess)
            && cursor.take_bytes(quoted)
        {
            self.mark(guess, start)?;
            cursor.colon()?;
            return Ok(Key::Known(guess));
        }
        self.read_unexpected(cursor, guess)
    }

    #[inline(never)]
    fn read_unexpected(&mut self, cursor: &mut Cursor, guess: usize) -> Parse<Key> {
        let start = cursor.pos();
        // If a few optional keys are absent, the one after them is next.
        let mut candidate = guess;
        for _ in 0..3 {
            candidate = self.next.get(candidate + 1).copied().unwrap_or(usize::MAX - 1);
            if let Some(quoted) = self.quoted.get(candidate)
                && cursor.take_bytes(quoted)
            {
                // The predicted order is kept, because the absent keys may return in the next object.
                self.check_again(candidate, start)?;
                self.seen[candidate] = self.object;
                self.last = candidate + 1;
                cursor.colon()?;
                return Ok(Key::Known(candidate));
            }
        }
        let name = read_key(cursor, &mut self.spelled)?;
        match self.ids.get(name).copied() {
            Some(id) => {
                self.mark(id, start)?;
                Ok(Key::Known(id))
            }
            None if name.len() > MAX_NAME_BYTES => Err(too_long(name, start)),
            None => Ok(Key::New(name.to_owned())),
        }
    }

    /// Records that the current object has the key, at `start`.
    ///
    /// # Errors
    /// The object has already had the key.
    #[inline(always)]
    pub fn mark(&mut self, id: usize, start: usize) -> Parse<()> {
        self.check_again(id, start)?;
        self.seen[id] = self.object;
        self.next[self.last] = id;
        self.last = id + 1;
        Ok(())
    }

    #[inline(always)]
    fn check_again(&self, id: usize, start: usize) -> Parse<()> {
        if self.has(id) { Err(repeated(&self.names[id], start)) } else { Ok(()) }
    }
}

/// Reads a key in any spelling, and its colon. The key is in `spelled`.
///
/// # Errors
/// There is no key.
pub fn read_key<'a>(cursor: &mut Cursor, spelled: &'a mut Vec<u8>) -> Parse<&'a str> {
    let start = cursor.pos();
    if cursor.peek() != b'"' {
        return Err(cursor.no_key());
    }
    spelled.clear();
    cursor.string(spelled)?;
    cursor.colon()?;
    std::str::from_utf8(spelled).map_err(|_| ParseError::syntax(start, "the key is not valid UTF-8"))
}

#[cold]
fn too_long(name: &str, start: usize) -> Box<ParseError> {
    let message = format!("a key has {} bytes: the name of a field can have at most {MAX_NAME_BYTES}", name.len());
    ParseError::syntax(start, message).help("if the keys of an object are data, declare a map: --schema 'NAME: map<string, int64>'")
}

/// The error for a repeated key at `start`.
#[cold]
pub fn repeated(name: &str, start: usize) -> Box<ParseError> {
    ParseError::syntax(start, format!("the key \"{name}\" occurs twice in one object")).help(Hint::to_skip_or(
        "the intended value is ambiguous; skip such records with --on-error skip",
        "the intended value is ambiguous",
    ))
}

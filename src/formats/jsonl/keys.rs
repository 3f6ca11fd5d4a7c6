//! The keys of one structure by number, predicted from the order of the previous object. Most objects
//! have the keys of the one before, so that a key costs one comparison.

use super::cursor::Cursor;
use super::error::{Parse, ParseError};
use super::limits::MAX_NAME_BYTES;
use std::collections::HashMap;

/// Keys by number, in the order they were added.
#[derive(Debug)]
pub struct Keys {
    names: Vec<Box<str>>,
    /// The usual spelling of each: in quotes, without escapes.
    quoted: Vec<Box<[u8]>>,
    ids: HashMap<Box<str>, usize>,
    /// The key that followed each key; position 0 is the start of the object.
    next: Vec<usize>,
    /// The last object that had the key.
    seen: Vec<u64>,
    object: u64,
    last: usize,
    spelled: Vec<u8>,
}

/// A key of an object.
pub enum Key {
    /// By its number.
    Known(usize),
    /// By its name.
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
    /// Adds a new key; returns its number.
    pub fn add(&mut self, name: &str) -> usize {
        let id = self.names.len();
        self.names.push(name.into());
        let quoted: Vec<u8> = [b"\"", name.as_bytes(), b"\""].concat();
        self.quoted.push(quoted.into());
        self.ids.insert(name.into(), id);
        // Until an order is seen: the order in which they were added.
        self.next.push(id + 1);
        self.seen.push(0);
        id
    }

    /// The number of a key.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.ids.get(name).copied()
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The name of a key.
    pub fn name(&self, id: usize) -> &str {
        self.names.get(id).map_or("", |name| name)
    }

    /// Before the first key of an object.
    #[inline(always)]
    pub fn begin(&mut self) {
        self.object += 1;
        self.last = 0;
    }

    /// Whether the current object has had the key.
    #[inline(always)]
    pub fn has(&self, id: usize) -> bool {
        self.seen[id] == self.object
    }

    /// Reads a key and its colon. A new key is added by the caller with [`Keys::add`] and [`Keys::mark`],
    /// or ignored.
    ///
    /// # Errors
    /// No key, or one that the object has had already.
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
        // Where a few optional keys are absent, the one after them is next.
        let mut candidate = guess;
        for _ in 0..3 {
            candidate = self.next.get(candidate + 1).copied().unwrap_or(usize::MAX - 1);
            if let Some(quoted) = self.quoted.get(candidate)
                && cursor.take_bytes(quoted)
            {
                // The order is not changed: the absent ones may be back in the next object.
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

    /// The current object has the key, at `start`.
    ///
    /// # Errors
    /// It has had it already.
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

/// Reads a key, however it is spelled, and its colon. The key is in `spelled`.
///
/// # Errors
/// No key.
pub fn read_key<'a>(cursor: &mut Cursor, spelled: &'a mut Vec<u8>) -> Parse<&'a str> {
    let start = cursor.pos();
    if cursor.peek() != b'"' {
        return Err(cursor.unexpected("a key in double quotes"));
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

/// An object has had the key at `start` already.
#[cold]
pub fn repeated(name: &str, start: usize) -> Box<ParseError> {
    ParseError::syntax(start, format!("the key \"{name}\" occurs twice in one object"))
        .help("the intended value is ambiguous; leave such records out with --on-error skip")
}

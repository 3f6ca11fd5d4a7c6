//! The keys of one structure: known ones by number, predicted by the order in which the object
//! before had them. Most objects look like the one before, so that a key costs one comparison.

use super::cursor::Cursor;
use super::trouble::{Parse, Trouble};
use std::collections::HashMap;

/// Keys by number, in the order they were added.
#[derive(Debug)]
pub struct Keys {
    names: Vec<Box<str>>,
    /// The usual spelling of each: in quotes, without escapes.
    quoted: Vec<Box<[u8]>>,
    ids: HashMap<Box<str>, usize>,
    /// The key that came behind each key; position 0 is the start of the object.
    next: Vec<usize>,
    /// The last object that had the key.
    seen: Vec<u64>,
    object: u64,
    last: usize,
    spelled: Vec<u8>,
}

/// A key of an object.
pub enum Key {
    Known(usize),
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
    /// Adds a key that is not there yet; gives its number.
    pub fn add(&mut self, name: &str) -> usize {
        let id = self.names.len();
        self.names.push(name.into());
        self.quoted.push(format!("\"{name}\"").into_bytes().into());
        self.ids.insert(name.into(), id);
        // Until an order is seen: the order in which they were added.
        self.next.push(id + 1);
        self.seen.push(0);
        id
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.ids.get(name).copied()
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn name(&self, id: usize) -> &str {
        self.names.get(id).map_or("", |name| name)
    }

    /// Before the first key of an object.
    #[inline(always)]
    pub fn begin(&mut self) {
        self.object += 1;
        self.last = 0;
    }

    /// Whether the object at hand has had the key.
    #[inline(always)]
    pub fn has(&self, id: usize) -> bool {
        self.seen[id] == self.object
    }

    /// The key behind which the cursor will stand, behind its colon, too. A new one is to be added
    /// with [`Keys::add`] and [`Keys::mark`], or is left alone.
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
        // Where a few optional keys are absent, the one behind them is next.
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
        if cursor.peek() != b'"' {
            return Err(cursor.unexpected("a key in double quotes"));
        }
        self.spelled.clear();
        let mut spelled = std::mem::take(&mut self.spelled);
        let read = cursor.string(&mut spelled);
        self.spelled = spelled;
        read?;
        cursor.colon()?;
        let name = std::str::from_utf8(&self.spelled).map_err(|_| Trouble::syntax(start, "the key is not UTF-8"))?;
        match self.ids.get(name).copied() {
            Some(id) => {
                self.mark(id, start)?;
                Ok(Key::Known(id))
            }
            None => Ok(Key::New(name.to_owned())),
        }
    }

    /// The object at hand has the key; `start` is where it stands.
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
        if self.has(id) { Err(self.twice(id, start)) } else { Ok(()) }
    }

    #[cold]
    fn twice(&self, id: usize, start: usize) -> Box<Trouble> {
        Trouble::syntax(start, format!("the key \"{}\" stands twice in one object", self.names[id]))
            .help("which of the two values is meant, nobody can say; leave such records out with --on-error skip")
    }
}

//! Names of the files of a dataset: `a@8.tfrecord` for `a-00000-of-00008.tfrecord` and so on.

use crate::error::{Error, Result, mismatch};

/// Maximum number of shards, which are numbered with five digits.
pub const MAX_SHARDS: usize = 99_999;

/// A name that contains `@N`, at its end or before its extensions: `a@8.tfrecord`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sharded {
    front: String,
    back: String,
    pub nshards: usize,
}

impl Sharded {
    /// `front-00000-of-00008back`.
    ///
    /// # Errors
    /// Zero shards, or more than [`MAX_SHARDS`].
    pub fn new(front: &str, back: &str, nshards: usize) -> Result<Sharded> {
        if !(1..=MAX_SHARDS).contains(&nshards) {
            return Err(Error::usage(mismatch(format_args!("a number of shards from 1 to {MAX_SHARDS}"), nshards)));
        }
        Ok(Sharded { front: front.to_owned(), back: back.to_owned(), nshards })
    }

    /// Parses a name whose last component contains `@N`.
    ///
    /// # Errors
    /// See [`Sharded::new`].
    pub fn parse(name: &str) -> Result<Option<Sharded>> {
        let start = name.rfind('/').map_or(0, |i| i + 1);
        for (at, _) in name.match_indices('@').filter(|(at, _)| *at > start) {
            let rest = &name[at + 1..];
            let ndigits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, back) = rest.split_at(ndigits);
            if ndigits > 0 && (back.is_empty() || back.starts_with('.')) {
                let nshards = digits.parse().map_err(|_| {
                    Error::usage(mismatch(format_args!("a number of shards from 1 to {MAX_SHARDS}"), digits).prefixed(name))
                })?;
                return Sharded::new(&name[..at], back, nshards).map(Some);
            }
        }
        Ok(None)
    }

    /// The name of shard `index`.
    pub fn name(&self, index: usize) -> String {
        format!("{}-{index:05}-of-{:05}{}", self.front, self.nshards, self.back)
    }

    /// All names together, for messages: `front@8back`.
    pub fn pattern(&self) -> String {
        format!("{}@{}{}", self.front, self.nshards, self.back)
    }

    /// The part before the number.
    pub fn front(&self) -> &str {
        &self.front
    }

    /// The part after the number.
    pub fn back(&self) -> &str {
        &self.back
    }

    /// The same shards with another suffix after the number.
    pub fn with_back(&self, back: String) -> Sharded {
        Sharded { front: self.front.clone(), back, nshards: self.nshards }
    }

    /// A glob for all names, regardless of their numbers: `front-*-of-00008back`.
    pub fn glob(&self) -> String {
        format!("{}-*-of-{:05}{}", self.front, self.nshards, self.back)
    }

    /// The shard number and the number of shards in a name of this dataset.
    pub fn matches(&self, name: &str) -> Option<(usize, usize)> {
        let middle = name.strip_prefix(self.front.as_str())?.strip_suffix(self.back.as_str())?.strip_prefix('-')?;
        let (index, nshards) = middle.split_once("-of-")?;
        Some((number(index)?, number(nshards)?))
    }

    /// The dataset to which a shard name belongs, and the shard number: from 0, or from 1 up to the number of shards.
    pub fn of(name: &str) -> Option<(Sharded, usize)> {
        name.match_indices("-of-").find_map(|(at, of)| {
            let index = number(name.get(at.checked_sub(5)?..at)?)?;
            let front = name.get(..at - 5)?.strip_suffix('-')?;
            let (nshards, back) = name.get(at + of.len()..)?.split_at_checked(5)?;
            let sharded = Sharded::new(front, back, number(nshards)?).ok()?;
            (index <= sharded.nshards).then_some((sharded, index))
        })
    }
}

fn number(digits: &str) -> Option<usize> {
    (digits.len() == 5 && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_before_the_extension() {
        for (name, expected) in [
            ("a@2.tfrecord", Some(["a-00000-of-00002.tfrecord", "a-00001-of-00002.tfrecord"])),
            ("d@9.x/a@2.tfrecord.gz", Some(["d@9.x/a-00000-of-00002.tfrecord.gz", "d@9.x/a-00001-of-00002.tfrecord.gz"])),
            ("a.tfrecord@2", Some(["a.tfrecord-00000-of-00002", "a.tfrecord-00001-of-00002"])),
            ("me@home.jsonl", None),
            ("me@2nd.jsonl", None),
            ("@2.jsonl", None),
            ("a@.jsonl", None),
        ] {
            let found = Sharded::parse(name).unwrap().map(|s| [s.name(0), s.name(1)]);
            assert_eq!(found, expected.map(|names| names.map(str::to_owned)), "{name}");
        }
        for name in ["a@0.x", "a@99999999999999999999999.x"] {
            let error = Sharded::parse(name).unwrap_err();
            assert!(error.message().contains(&format!("1 to {MAX_SHARDS}")), "{error}");
        }
        let sharded = Sharded::new("a", ".x", 8).unwrap();
        assert_eq!(sharded.matches("a-00003-of-00004.x"), Some((3, 4)));
        assert_eq!(sharded.matches("b-00003-of-00004.x"), None);
        assert_eq!(sharded.matches("a-3-of-4.x"), None);
        assert_eq!(Sharded::of("a-00003-of-00008.x"), Some((sharded, 3)));
        for name in ["a-00009-of-00008.x", "a-00000-of-00000.x", "a-3-of-8.x", "00003-of-00008.x", "a-00003-of-0000é"] {
            assert_eq!(Sharded::of(name), None, "{name}");
        }
    }
}

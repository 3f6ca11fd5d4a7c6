//! What the character classes of RE2 match in ill-formed text.
//!
//! RE2 compiles a class to ranges of bytes. It does not leave out surrogates, and it compiles U+0080 to U+10FFFF as a whole
//! with any continuation bytes: overlong sequences of 3 or 4 bytes, and those beyond U+10FFFF that start with F4, match too.
//! The crate `regex` matches only what is well-formed, so the rest is added as bytes.
//!
//! Semantics: `Compiler::AddRuneRangeUTF8` and `Compiler::Add_80_10ffff` of RE2.

/// What a class contains beyond ASCII, as far as it matters in ill-formed text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beyond {
    /// Any character.
    any: bool,
    /// All characters.
    all: bool,
    /// The surrogates, U+D800 to U+DFFF.
    surrogates: bool,
}

/// Not ASCII, in RE2.
const ALL: &str = r"(?-u:[\xC2-\xDF][\x80-\xBF]|[\xE0-\xEF][\x80-\xBF]{2}|[\xF0-\xF4][\x80-\xBF]{3})";

/// A surrogate.
const SURROGATES: &str = r"(?-u:\xED[\xA0-\xBF][\x80-\xBF])";

impl Beyond {
    /// Every character.
    pub const ALL: Beyond = Beyond { any: true, all: true, surrogates: true };

    /// A range of characters. `folds`: matched in either case; only K and S are equal to characters beyond ASCII.
    pub fn range(low: char, high: char, folds: bool) -> Beyond {
        let folds = folds && "KSks".contains(|c| (low..=high).contains(&c));
        let all = low <= '\u{80}' && high == char::MAX;
        Beyond { any: folds || !high.is_ascii(), all, surrogates: low <= '\u{D7FF}' && high >= '\u{E000}' }
    }

    /// An ASCII class, such as `\w`; `letters`: it contains K and S.
    pub fn ascii(letters: bool, folds: bool) -> Beyond {
        Beyond { any: letters && folds, ..Beyond::default() }
    }

    /// A category or script, such as `\p{L}`.
    pub fn named(name: &str) -> Beyond {
        if name == "Any" { Beyond::ALL } else { Beyond { any: true, all: false, surrogates: matches!(name, "C" | "Cs") } }
    }

    /// Every other character.
    pub fn negated(self) -> Beyond {
        Beyond { any: !self.all, all: !self.any, surrogates: !self.surrogates }
    }

    /// What is in either.
    pub fn or(self, other: Beyond) -> Beyond {
        Beyond { any: self.any || other.any, all: self.all || other.all, surrogates: self.surrogates || other.surrogates }
    }

    /// The class, in brackets, with the ill-formed sequences that it matches.
    pub fn with_ill_formed(self, class: &str) -> String {
        match self {
            Beyond { all: true, .. } => format!(r"(?:[{class}&&[\x00-\x7F]]|{ALL})"),
            Beyond { surrogates: true, .. } => format!("(?:{class}|{SURROGATES})"),
            _ => class.to_owned(),
        }
    }
}

/// The length of the first character, which may be a surrogate; 1 at the end of the text or for other ill-formed text.
pub fn first_character(text: &[u8]) -> usize {
    if let [0xED, 0xA0..=0xBF, 0x80..=0xBF, ..] = text {
        return 3;
    }
    let most = &text[..text.len().min(4)];
    most.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next()).map_or(1, char::len_utf8)
}

//! RE2 regular expressions on top of the crate `regex`.
//!
//! Both find the leftmost match and prefer the first alternative, but their syntax differs, so patterns are translated:
//! `\d \s \w \b` are ASCII, `[` and `&&` inside a class are literals, `{` is a literal unless a count follows,
//! `\Q...\E`, `\C` and octal escapes exist, and groups accept only the flags `i m s U`.
//!
//! Semantics: <https://github.com/google/re2/wiki/Syntax>.

use super::ill_formed::{Beyond, first_character};
use regex::bytes::{CaptureLocations, Regex, RegexBuilder};

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    /// Whether it can match part of a character: `\C`, `\B`.
    pub cuts: bool,
}

/// The replacement of a match: literal text and group references.
#[derive(Clone, Debug)]
pub struct Rewrite {
    pieces: Vec<RewritePiece>,
    /// Whether it references a group that the pattern does not have.
    missing: bool,
}

#[derive(Clone, Debug)]
enum RewritePiece {
    Text(Vec<u8>),
    Group(usize),
}

impl Pattern {
    /// Compiles a pattern. With `whole`, it matches whole strings only.
    ///
    /// # Errors
    /// Patterns that RE2 rejects.
    pub fn new(pattern: &str, whole: bool) -> Result<Pattern, String> {
        let mut translation = Translation { rest: pattern, out: String::new(), cuts: false, flags: Flags::default(), outer: Vec::new() };
        translation.run()?;
        let text = if whole { format!(r"\A(?:{})\z", translation.out) } else { translation.out };
        let regex = RegexBuilder::new(&text).build().map_err(|e| match e {
            regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
            other => {
                let text = other.to_string();
                text.lines().rev().find_map(|l| l.strip_prefix("error: ")).unwrap_or("it is not valid").to_owned()
            }
        })?;
        Ok(Pattern { regex, cuts: translation.cuts })
    }

    /// Whether it matches somewhere, or the whole text. Source: `tf.strings.regex_full_match`. O(bytes).
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.regex.is_match(text)
    }

    /// Appends the text with all matches, or the first one, rewritten. Source: `tf.strings.regex_replace`.
    pub fn replace(&self, text: &[u8], rewrite: &Rewrite, global: bool, out: &mut Vec<u8>) {
        if rewrite.missing {
            out.extend_from_slice(text);
            return;
        }
        let mut groups = self.regex.capture_locations();
        let (mut at, mut last) = (0, None);
        while at <= text.len() {
            let Some((start, end)) = self.find(text, at, rewrite, &mut groups) else { break };
            out.extend_from_slice(&text[at..start]);
            if start == end && last == Some(start) {
                // Skips an empty match at the end of the previous one by advancing one character.
                let next = start + first_character(&text[start..]);
                out.extend_from_slice(&text[start..next.min(text.len())]);
                at = next;
                continue;
            }
            rewrite.append(text, (start, end), &groups, out);
            at = end;
            last = Some(end);
            if !global {
                break;
            }
        }
        out.extend_from_slice(text.get(at..).unwrap_or_default());
    }

    fn find(&self, text: &[u8], at: usize, rewrite: &Rewrite, groups: &mut CaptureLocations) -> Option<(usize, usize)> {
        let found = if rewrite.has_groups() { self.regex.captures_read_at(groups, text, at)? } else { self.regex.find_at(text, at)? };
        Some((found.start(), found.end()))
    }
}

impl Rewrite {
    /// Parses `\0` to `\9` and `\\`. If a rewrite references a group that the pattern does not have, nothing is
    /// replaced.
    ///
    /// # Errors
    /// Any other escape.
    pub fn new(text: &[u8], pattern: &Pattern) -> Result<Rewrite, String> {
        let mut pieces = Vec::new();
        let mut plain = Vec::new();
        let mut missing = false;
        let mut bytes = text.iter();
        while let Some(byte) = bytes.next() {
            if *byte != b'\\' {
                plain.push(*byte);
                continue;
            }
            match bytes.next() {
                Some(b'\\') => plain.push(b'\\'),
                Some(digit @ b'0'..=b'9') => {
                    let group = usize::from(digit - b'0');
                    missing |= group >= pattern.regex.captures_len();
                    if !plain.is_empty() {
                        pieces.push(RewritePiece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(RewritePiece::Group(group));
                }
                _ => return Err(r"expected \0 to \9 or \\ after a backslash".to_owned()),
            }
        }
        if !plain.is_empty() {
            pieces.push(RewritePiece::Text(plain));
        }
        Ok(Rewrite { pieces, missing })
    }

    fn has_groups(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, RewritePiece::Group(1..)))
    }

    fn append(&self, text: &[u8], whole: (usize, usize), groups: &CaptureLocations, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            let (start, end) = match piece {
                RewritePiece::Text(text) => {
                    out.extend_from_slice(text);
                    continue;
                }
                RewritePiece::Group(0) => whole,
                // A group that did not participate is empty.
                RewritePiece::Group(n) => groups.get(*n).unwrap_or((0, 0)),
            };
            out.extend_from_slice(&text[start..end]);
        }
    }
}

/// An item that can be repeated.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    Item,
    Repetition,
}

/// The flags of a group that change what a class matches.
#[derive(Clone, Copy, Default)]
struct Flags {
    /// `i`: in either case.
    folds: bool,
    /// `s`: `.` matches a new line too.
    dot_all: bool,
}

struct Translation<'a> {
    rest: &'a str,
    out: String,
    cuts: bool,
    flags: Flags,
    /// The flags of the enclosing groups.
    outer: Vec<Flags>,
}

impl<'a> Translation<'a> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn skip(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let mut before = Before::Nothing;
        while let Some(c) = self.next() {
            before = match c {
                '*' | '+' | '?' => self.repetition(before, &c.to_string())?,
                '{' => match self.count()? {
                    Some(count) => self.repetition(before, &count)?,
                    None => self.literal('{'),
                },
                '(' => self.group()?,
                '|' => {
                    self.out.push('|');
                    Before::Nothing
                }
                ')' | '^' | '$' => {
                    if c == ')' {
                        self.flags = self.outer.pop().unwrap_or_default();
                    }
                    self.out.push(c);
                    Before::Item
                }
                '.' => {
                    let class = if self.flags.dot_all { r"[\x00-\x7F]" } else { r"[^\n]" };
                    self.out.push_str(&Beyond::ALL.with_ill_formed(class));
                    Before::Item
                }
                '[' => self.class()?,
                '\\' => self.escape()?,
                c => self.literal(c),
            };
        }
        Ok(())
    }

    fn literal(&mut self, c: char) -> Before {
        if c.is_ascii_punctuation() && c != '<' && c != '>' {
            self.out.push('\\');
        }
        self.out.push(c);
        Before::Item
    }

    fn repetition(&mut self, before: Before, operator: &str) -> Result<Before, String> {
        match before {
            Before::Nothing => return Err(format!("{operator} has nothing to repeat")),
            Before::Repetition => return Err(format!("{operator} follows another repetition")),
            Before::Item => self.out.push_str(operator),
        }
        if self.skip("?") {
            self.out.push('?');
        }
        Ok(Before::Repetition)
    }

    /// Parses `{2}`, `{2,}` or `{2,5}`, after `{`; `None` if it is not a count.
    fn count(&mut self) -> Result<Option<String>, String> {
        let Some((inside, rest)) = self.rest.split_once('}') else { return Ok(None) };
        let (low, high) = inside.split_once(',').map_or((inside, None), |(low, high)| (low, Some(high)));
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !digits(low) || high.is_some_and(|h| !h.is_empty() && !digits(h)) {
            return Ok(None);
        }
        const MOST: u32 = 1000;
        let number = |s: &str| s.parse::<u32>().ok().filter(|n| *n <= MOST);
        let (Some(least), Some(most)) = (number(low), high.filter(|h| !h.is_empty()).map_or(Some(MOST), number)) else {
            return Err(format!("{{{inside}}} repeats more than {MOST} times"));
        };
        if least > most {
            return Err(format!("{{{inside}}} is not a valid range"));
        }
        self.rest = rest;
        Ok(Some(format!("{{{inside}}}")))
    }

    /// Parses a group or flags, after `(`.
    fn group(&mut self) -> Result<Before, String> {
        if !self.rest.starts_with('?') {
            self.outer.push(self.flags);
            self.out.push('(');
            return Ok(Before::Nothing);
        }
        let head = if self.rest.starts_with("?P<") {
            self.rest.find('>').map(|end| &self.rest[..=end])
        } else {
            self.rest.find([':', ')']).map(|end| &self.rest[..=end]).filter(|head| {
                let flags = &head[1..head.len() - 1];
                flags.bytes().all(|b| b"imsU-".contains(&b)) && (head.ends_with(':') || !flags.trim_matches('-').is_empty())
            })
        };
        let Some(head) = head else {
            return Err(format!("({} is not supported", self.rest.chars().take(2).collect::<String>()));
        };
        if !head.ends_with(')') {
            self.outer.push(self.flags);
        }
        if !head.starts_with("?P<") {
            let (on, off) = head.split_once('-').unwrap_or((head, ""));
            self.flags.folds = (self.flags.folds || on.contains('i')) && !off.contains('i');
            self.flags.dot_all = (self.flags.dot_all || on.contains('s')) && !off.contains('s');
        }
        self.out.push('(');
        self.out.push_str(head);
        self.rest = &self.rest[head.len()..];
        Ok(Before::Nothing)
    }

    /// Parses an escape outside of a class, after the backslash.
    fn escape(&mut self) -> Result<Before, String> {
        let Some(c) = self.rest.chars().next() else {
            return Err("the pattern ends with a backslash".to_owned());
        };
        if let Some((class, beyond)) = perl_class(c, self.flags.folds) {
            self.out.push_str(&beyond.with_ill_formed(class));
            self.next();
            return Ok(Before::Item);
        }
        let text = match c {
            'A' => r"\A",
            'z' => r"\z",
            'b' => r"(?-u:\b)",
            'B' => r"(?-u:\B)",
            'C' => r"(?s-u:.)",
            'Q' => {
                self.next();
                let (inside, rest) = self.rest.split_once(r"\E").unwrap_or((self.rest, ""));
                self.rest = rest;
                inside.chars().for_each(|c| {
                    self.literal(c);
                });
                return Ok(if inside.is_empty() { Before::Nothing } else { Before::Item });
            }
            'p' | 'P' => {
                let (class, beyond) = self.unicode_class()?;
                self.out.push_str(&beyond.with_ill_formed(&class));
                return Ok(Before::Item);
            }
            _ => {
                let c = self.character()?;
                return Ok(self.literal(c));
            }
        };
        self.cuts |= matches!(c, 'B' | 'C');
        self.out.push_str(text);
        self.next();
        Ok(Before::Item)
    }

    /// Parses `pL`, `p{Greek}` or `P{^Lu}`, after the backslash.
    fn unicode_class(&mut self) -> Result<(String, Beyond), String> {
        let mut negated = self.next() == Some('P');
        let name = if self.skip("{") {
            let Some((name, rest)) = self.rest.split_once('}') else {
                return Err(r"\p{ has no closing brace".to_owned());
            };
            self.rest = rest;
            name
        } else {
            let length = self.rest.chars().next().map_or(0, char::len_utf8);
            let (name, rest) = self.rest.split_at(length);
            self.rest = rest;
            name
        };
        let name = match name.strip_prefix('^') {
            Some(name) => {
                negated = !negated;
                name
            }
            None => name,
        };
        if !name.starts_with(|c: char| c.is_ascii_uppercase()) || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(format!("unknown character class \\p{{{name}}}"));
        }
        let class = match name {
            // Without unassigned characters, and without surrogates, which are bytes here.
            "C" => r"\p{Cc}\p{Cf}\p{Co}".to_owned(),
            "Cs" => r"[^\x00-\x{10FFFF}]".to_owned(),
            "Any" => r"\x00-\x{10FFFF}".to_owned(),
            name if name.len() > 2 => format!(r"\p{{Script={name}}}"),
            name => format!(r"\p{{{name}}}"),
        };
        let beyond = Beyond::named(name);
        Ok(if negated { (format!("[^{class}]"), beyond.negated()) } else { (format!("[{class}]"), beyond) })
    }

    /// Parses an escaped character, outside of a class or in it, after the backslash.
    fn character(&mut self) -> Result<char, String> {
        let c = self.next().ok_or("the pattern ends with a backslash")?;
        let wrong = || format!("\\{c} is not supported");
        let octal = |rest: &str, most: usize| rest.bytes().take(most).take_while(|b| (b'0'..=b'7').contains(b)).count();
        let code = match c {
            'a' => 7,
            'f' => 12,
            't' => 9,
            'n' => 10,
            'r' => 13,
            'v' => 11,
            '0'..='7' => {
                let more = octal(self.rest, 2);
                if c != '0' && more == 0 {
                    return Err(format!("\\{c} is a backreference, which is not supported"));
                }
                let (digits, rest) = self.rest.split_at(more);
                self.rest = rest;
                digits.bytes().fold(c as u32 - '0' as u32, |all, b| all * 8 + u32::from(b - b'0'))
            }
            'x' => {
                let digits = if self.skip("{") {
                    let (digits, rest) = self.rest.split_once('}').ok_or_else(wrong)?;
                    self.rest = rest;
                    digits
                } else {
                    let (digits, rest) = self.rest.split_at_checked(2).ok_or_else(wrong)?;
                    self.rest = rest;
                    digits
                };
                Some(digits)
                    .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))
                    .and_then(|d| u32::from_str_radix(d, 16).ok())
                    .ok_or_else(wrong)?
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => c as u32,
            _ => return Err(wrong()),
        };
        char::from_u32(code).ok_or_else(wrong)
    }

    /// Parses a class, after `[`.
    fn class(&mut self) -> Result<Before, String> {
        let is_negated = self.skip("^");
        let mut class = if is_negated { "[^" } else { "[" }.to_owned();
        let (mut beyond, mut first) = (Beyond::default(), true);
        while first || !self.skip("]") {
            first = false;
            let (part, of_part) = self.class_part()?;
            class.push_str(&part);
            beyond = beyond.or(of_part);
        }
        class.push(']');
        self.out.push_str(&if is_negated { beyond.negated() } else { beyond }.with_ill_formed(&class));
        Ok(Before::Item)
    }

    /// Parses a character, a range or a class inside of a class.
    fn class_part(&mut self) -> Result<(String, Beyond), String> {
        let folds = self.flags.folds;
        if let Some(rest) = self.rest.strip_prefix("[:")
            && let Some((name, rest)) = rest.split_once(":]")
        {
            const NAMES: &str = " alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit ";
            const WITHOUT_LETTERS: &str = " blank cntrl digit punct space xdigit ";
            let plain = name.trim_start_matches('^');
            if !NAMES.contains(&format!(" {plain} ")) {
                return Err(format!("unknown character class [:{name}:]"));
            }
            self.rest = rest;
            let beyond = Beyond::ascii(!WITHOUT_LETTERS.contains(&format!(" {plain} ")), folds);
            return Ok((format!("[:{name}:]"), if name == plain { beyond } else { beyond.negated() }));
        }
        if let Some(rest) = self.rest.strip_prefix('\\')
            && let Some(c) = rest.chars().next()
        {
            if let Some((class, beyond)) = perl_class(c, folds) {
                self.rest = &rest[1..];
                return Ok((class.to_owned(), beyond));
            }
            if matches!(c, 'p' | 'P') {
                self.rest = rest;
                return self.unicode_class();
            }
        }
        let low = self.class_character()?;
        let high = match self.rest.strip_prefix('-') {
            Some(rest) if !rest.starts_with(']') => {
                self.rest = rest;
                if let Some(c) = rest.strip_prefix('\\').and_then(|rest| rest.chars().next())
                    && (perl_class(c, folds).is_some() || matches!(c, 'p' | 'P'))
                {
                    return Err(format!("\\{c} is a class, which cannot end a range"));
                }
                self.class_character()?
            }
            _ => low,
        };
        if high < low {
            return Err(format!("the range {low}-{high} is in reverse order"));
        }
        Ok((format!(r"\x{{{:X}}}-\x{{{:X}}}", low as u32, high as u32), Beyond::range(low, high, folds)))
    }

    fn class_character(&mut self) -> Result<char, String> {
        match self.next() {
            None => Err("[ without ]".to_owned()),
            Some('\\') => self.character(),
            Some(c) => Ok(c),
        }
    }
}

/// `\d` and similar classes, which are ASCII, or all but these.
fn perl_class(c: char, folds: bool) -> Option<(&'static str, Beyond)> {
    let class = match c {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => r"[\t\n\f\r ]",
        'S' => r"[^\t\n\f\r ]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        _ => return None,
    };
    let beyond = Beyond::ascii(c.eq_ignore_ascii_case(&'w'), folds);
    Some((class, if c.is_ascii_uppercase() { beyond.negated() } else { beyond }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(pattern: &str, rewrite: &str, text: &[u8]) -> Vec<u8> {
        let pattern = Pattern::new(pattern, false).unwrap();
        let rewrite = Rewrite::new(rewrite.as_bytes(), &pattern).unwrap();
        let mut out = Vec::new();
        pattern.replace(text, &rewrite, true, &mut out);
        out
    }

    /// Results from TensorFlow 2.21.
    #[test]
    fn ill_formed_text_matches_as_in_re2() {
        for (pattern, rewrite, text, expected) in [
            (r"[\x{800}-\x{FFFF}]", "", &b"\xed\xbf\xbf \x80"[..], &b" \x80"[..]),
            ("[^^]?", r"<\0>", b"\x7f\xed\xe0\x80\x80a", b"<\x7f>\xed<\xe0\x80\x80><a>"),
            ("[^^]?", r"<\0>", b"\xf5\x80\x80\x80\xe0\x9f\xbf\x80", b"<>\xf5<>\x80<>\x80<>\x80<\xe0\x9f\xbf>\x80<>"),
            (r"(?i:[\Wa]+?(?i:[\PLa])??)", r"<\0>", b"\xed\xbf\xbf", b"<\xed\xbf\xbf>"),
            (r"(?:(.*k\b)?|[a-\x{10FFFF}])", r"[\1]", b"\x00\xed\xbf\xbf7K", b"[]\x00[]\xed\xbf\xbf[]7[]K[]"),
            (r"[^a][\x{800}-\x{FFFF}]{1,2}", r"<\0>", b"\x00\xc1\xbf7\xed\xa0\x80k", b"\x00\xc1\xbf<7\xed\xa0\x80>k"),
        ] {
            assert_eq!(replaced(pattern, rewrite, text), expected, "{pattern:?} in {text:?}");
        }
    }

    /// Results from TensorFlow 2.21.
    #[test]
    fn patterns_mean_what_they_mean_in_re2() {
        for (pattern, rewrite, text, expected) in [
            ("a*", "-", "abcb ab", "-b-c-b- -b-"),
            ("", "-", "aé ", "-a-é- -"),
            ("(a)(b)?", r"[\2\1]", "abcb a", "[ba]cb [a]"),
            ("a|ab", r"<\0>", "ab", "<a>b"),
            (".", r"\\", "aé\n", "\\\\\n"),
            (r"\w", "W", "aé_7", "WéWW"),
            (r"\D", "N", "7é", "7N"),
            (r"\s", "S", "a b\x0b", "aSb\x0b"),
            (r"\b", "|", "abé b", "|ab|é |b|"),
            (r"\pL", "L", "aé7", "LL7"),
            (r"\p{^Greek}", "G", "aα", "Gα"),
            (r"\Qa.\E", "Q", "a.ab", "Qab"),
            ("[a[]", "X", "a[&", "XX&"),
            ("[a&&b]", "X", "a&b~", "XXX~"),
            ("[]a]", "x", "a]b", "xxb"),
            ("[^]a]", "x", "a]b", "a]x"),
            (r"[\D]", "N", "7a", "7N"),
            ("[[:^digit:]]", "w", "7a", "7w"),
            (r"\101|\x41|\x{e9}|\07", "X", "Aé\x07", "XXX"),
            ("{|}|]", "y", "a{}]", "ayyy"),
            ("x{2", "y", "xx{2x{2", "xx{2x{2".replace("x{2", "y").as_str()),
            ("(?i)k", "K", "\u{212a}kK", "KKK"),
            ("(?m)^", "^", "a\n", "^a\n^"),
            ("^", "^", "a\nb", "^a\nb"),
            ("$", "$", "a\n", "a\n$"),
            ("(?s).", ".", "a\n", ".."),
            (r"\<a", "x", "<a a", "x a"),
            ("#| ", "_", "a #", "a__"),
        ] {
            assert_eq!(replaced(pattern, rewrite, text.as_bytes()), expected.as_bytes(), "{pattern:?} in {text:?}");
        }
    }

    #[test]
    fn what_re2_does_not_read_is_refused() {
        for pattern in [
            "(",
            ")",
            "*a",
            "a**",
            "a++",
            "a?+",
            "a{2}{3}",
            "a{1001}",
            "a{3,2}",
            "(?=a)",
            "(?#c)a",
            "(?<n>a)",
            "(?x) a",
            "(?-u)a",
            r"\Z",
            r"\8",
            r"\1",
            r"\e",
            r"\u00e9",
            r"\é",
            r"[\b]",
            r"[a-\d]",
            "[z-a]",
            "[a--b]",
            "[[:foo:]]",
            r"\p{greek}",
            "[a",
            r"a\",
            r"\x{}",
        ] {
            assert!(Pattern::new(pattern, false).is_err(), "{pattern:?} is read");
        }
        let pattern = Pattern::new("(a)", false).unwrap();
        assert!(Rewrite::new(br"\x", &pattern).is_err() && Rewrite::new(br"\", &pattern).is_err());
    }
}

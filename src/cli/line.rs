//! The words of a command line, as a shell splits or passes them.

/// The words of the command line without the program name, and which of them is being completed.
#[derive(Debug, Default, PartialEq)]
pub struct Line {
    /// The words before the one being completed.
    pub before: Vec<String>,
    /// The word being completed, up to the cursor.
    pub current: String,
    /// The words after it.
    pub after: Vec<String>,
    /// For bash: the position in `current` from which readline replaces text.
    pub replaced_from: usize,
    /// For bash: the quote that is open at the cursor.
    pub quote: Option<char>,
}

/// The words of a command, as a shell splits it, without the name of the program.
pub fn shell_words(command: &str) -> Vec<String> {
    Line::of_text("", &format!("{command} "), "").before
}

impl Line {
    /// The line inside the innermost bracket open at the cursor, and whether there is one. Chains in closed brackets
    /// are omitted.
    pub fn inside(&self) -> (Line, bool) {
        let is_close = |word: &str| word == "]" || word.starts_with("]=");
        let mut levels: Vec<Vec<String>> = vec![Vec::new()];
        for word in &self.before {
            if word == "[" {
                levels.push(Vec::new());
            } else if is_close(word) && levels.len() > 1 {
                levels.pop();
            } else if let Some(level) = levels.last_mut() {
                level.push(word.clone());
            }
        }
        let is_inside = levels.len() > 1;
        let after = if is_inside { self.after.iter().take_while(|word| !is_close(word)).cloned().collect() } else { self.after.clone() };
        let before = levels.pop().unwrap_or_default();
        (Line { before, current: self.current.clone(), after, replaced_from: self.replaced_from, quote: self.quote }, is_inside)
    }

    /// Parses the arguments of the completion script. bash passes its word breaks and the text before and after the
    /// cursor; other shells pass the number of words before the cursor, and the words.
    pub fn read(shell: &str, words: &[String]) -> Option<Line> {
        if shell == "bash" {
            let [breaks, before, after] = words else { return None };
            return Some(Line::of_text(breaks, before, after));
        }
        let (at, words) = words.split_first()?;
        let at: usize = at.parse().ok().filter(|at| *at <= words.len())?;
        Some(Line {
            before: words[..at].to_vec(),
            current: words.get(at).cloned().unwrap_or_default(),
            after: words.get(at + 1..).unwrap_or_default().to_vec(),
            ..Line::default()
        })
    }

    fn of_text(breaks: &str, before: &str, after: &str) -> Line {
        let mut words = Words::default();
        words.read(before, breaks);
        let (current, replaced_from) = (words.current.take().unwrap_or_default(), words.replaced_from);
        let quote = words.quote;
        // The text of the current word after the cursor is ignored. A quote that is not closed may be about to be.
        let rest = match quote.and_then(|quote| after.find(quote)) {
            Some(end) => &after[end + 1..],
            None if quote.is_some() || current.is_empty() => after,
            None => after.trim_start_matches(|c: char| !c.is_whitespace()),
        };
        let mut following = Words::default();
        following.read(rest, "");
        following.end();
        let program = words.done.iter().position(|word| !is_variable(word)).map_or(0, |at| at + 1);
        Line { before: words.done.split_off(program.min(words.done.len())), current, after: following.done, replaced_from, quote }
    }
}

/// Whether the word is `NAME=VALUE` before the program name.
fn is_variable(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// Splits text as a shell does, omitting redirections.
#[derive(Default)]
struct Words {
    done: Vec<String>,
    current: Option<String>,
    quote: Option<char>,
    replaced_from: usize,
    /// The next word is the target of a redirection.
    is_target: bool,
}

impl Words {
    fn read(&mut self, text: &str, breaks: &str) {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match (self.quote, c) {
                (Some(quote), c) if c == quote => self.quote = None,
                (Some('"') | None, '\\') => self.push(chars.next()),
                (Some(_), c) => self.push(Some(c)),
                (None, '\'' | '"') => {
                    self.quote = Some(c);
                    self.replaced_from = self.current.get_or_insert_default().len();
                }
                (None, '<' | '>') => {
                    // The number in `2>` is part of the redirection.
                    self.current = None;
                    self.is_target = true;
                }
                (None, c) if c.is_whitespace() => self.end(),
                (None, c) => {
                    self.push(Some(c));
                    if breaks.contains(c) {
                        self.replaced_from = self.current.as_ref().map_or(0, String::len);
                    }
                }
            }
        }
    }

    fn push(&mut self, c: Option<char>) {
        self.current.get_or_insert_default().extend(c);
    }

    fn end(&mut self) {
        if let Some(word) = self.current.take()
            && !std::mem::take(&mut self.is_target)
        {
            self.done.push(word);
        }
        self.replaced_from = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bash(before: &str, after: &str) -> Line {
        let words = [" \t\n\"'@><=;|&(:", before, after].map(str::to_owned);
        Line::read("bash", &words).unwrap()
    }

    #[test]
    fn text_is_split_as_bash_splits_it() {
        let line = bash("X=1 tatter --from=jsonl select ", " 'my file.jsonl' 2> log -q");
        assert_eq!(line.before, ["--from=jsonl", "select"]);
        assert_eq!((line.current.as_str(), line.after), ("", vec!["my file.jsonl".to_owned(), "-q".to_owned()]));
        let line = bash("tatter convert --on-error=sk", "ip a\\ b");
        assert_eq!((line.current.as_str(), line.replaced_from, line.after), ("--on-error=sk", 11, vec!["a b".to_owned()]));
        let line = bash("tatter filter 'len(x) > to", "");
        assert_eq!((line.current.as_str(), line.replaced_from, line.quote), ("len(x) > to", 0, Some('\'')));
        // The quote is closed after the cursor, or not yet.
        for after in ["' x.jsonl", " > 1' x.jsonl", " x.jsonl"] {
            assert_eq!(bash("tatter filter 'len(to", after).after.last().unwrap(), "x.jsonl", "{after}");
        }
        assert_eq!(bash("tatter", ""), Line { current: "tatter".to_owned(), ..Line::default() });
    }

    #[test]
    fn a_line_in_brackets_is_one_of_its_own() {
        let line = bash("tatter mix [ select x a.jsonl ]=2 [ filter 'x > 0' then select ", " b.jsonl ] c.jsonl");
        let (inner, is_inside) = line.inside();
        assert!(is_inside);
        assert_eq!((inner.before.join(" "), inner.after), ("filter x > 0 then select".to_owned(), vec!["b.jsonl".to_owned()]));
        let (outer, is_inside) = bash("tatter mix [ select x a.jsonl ]=2 ", " b.jsonl").inside();
        assert_eq!((outer.before.join(" "), outer.after.join(" "), is_inside), ("mix".to_owned(), "b.jsonl".to_owned(), false));
    }

    #[test]
    fn other_shells_pass_words() {
        let words = ["1", "select", "i", "x.jsonl"].map(str::to_owned);
        let line = Line::read("zsh", &words).unwrap();
        assert_eq!((line.before, line.current.as_str(), line.after), (vec!["select".to_owned()], "i", vec!["x.jsonl".to_owned()]));
        for words in [vec![], vec!["x".to_owned()], vec!["3".to_owned(), "a".to_owned()]] {
            assert_eq!(Line::read("fish", &words), None);
        }
    }
}

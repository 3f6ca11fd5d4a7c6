//! Prints completions for the scripts: lines `files` and `glued` where they apply, then one word per line, followed by
//! a tab and a description for shells that show it.

use super::answer::Answer;
use crate::cli::line::Line;

/// The lines.
pub fn printed(shell: &str, line: &Line, answer: Answer) -> String {
    let how = [("files", answer.files), ("glued", answer.glued)];
    let how: Vec<&str> = how.iter().filter(|(_, holds)| *holds).map(|(word, _)| *word).collect();
    let mut text = format!("{}\n", how.join(" "));
    for item in &answer.items {
        let word = match shell {
            "bash" => of_bash(&item.text, line),
            _ => item.text.clone(),
        };
        text.push_str(&word.replace(['\n', '\t'], " "));
        if shell != "bash" {
            text.push('\t');
            text.push_str(&item.about.replace(['\n', '\t'], " "));
        }
        text.push('\n');
    }
    text
}

/// bash replaces only the text after the last word break, and inserts it verbatim.
fn of_bash(text: &str, line: &Line) -> String {
    let rest = text.get(line.replaced_from..).unwrap_or(text);
    let is_plain = |c: char| match line.quote {
        Some('"') => !"\\\"$`".contains(c),
        Some(_) => true,
        None => c.is_alphanumeric() || "_-./,=:@%+".contains(c),
    };
    rest.chars().flat_map(|c| (!is_plain(c)).then_some('\\').into_iter().chain([c])).collect()
}

#[cfg(test)]
mod tests {
    use super::super::complete;
    use std::ffi::OsString;

    fn asked(words: &[&str]) -> String {
        complete(&["__complete"].iter().chain(words).map(OsString::from).collect::<Vec<_>>()).unwrap_or_default()
    }

    #[test]
    fn bash_gets_what_it_inserts() {
        let breaks = " \t\n\"'@><=;|&(:";
        assert_eq!(asked(&["bash", breaks, "tatter convert --to=tfr", ""]), "\ntfrecord\n");
        assert_eq!(asked(&["bash", "", "tatter convert --to=tfr", ""]), "\n--to=tfrecord\n");
        assert_eq!(asked(&["bash", breaks, "tatter convert ", ""]), "files\nthen\n");
        assert_eq!(asked(&["fish", "0", "uniq"]), "\nunique\tDrop duplicate records\n");
    }

    #[test]
    fn what_makes_no_sense_completes_nothing() {
        for words in [&[][..], &["bash"], &["zsh", "x"], &["fish", "9", "a"]] {
            assert_eq!(asked(words), "");
        }
        assert_eq!(asked(&["fish", "1", "no-such-verb", ""]), "files\n");
    }
}

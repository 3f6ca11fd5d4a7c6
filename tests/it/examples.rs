//! The examples in help and man pages are run unchanged.

use crate::tatter::{Outcome, parallel, shell};
use std::fs;
use std::path::Path;
use tatter::cli::COMMANDS;
use tatter::verbs::{Example, VERBS};

#[test]
fn examples_print_what_they_say() {
    let of_verbs = VERBS.iter().flat_map(|verb| verb.examples.iter().map(move |e| (verb.name, e)));
    let of_commands = COMMANDS.iter().flat_map(|command| command.examples.iter().map(move |e| (command.name, e)));
    let examples: Vec<_> = of_verbs.chain(of_commands).collect();
    let failures: Vec<String> = parallel(&examples, |(verb, example)| {
        let directory = tempfile::tempdir().unwrap();
        let outcome = run_example(example, "", directory.path());
        (outcome.text() != example.output || outcome.status > 1).then(|| {
            format!("{verb}: tatter {}\n--- says\n{}--- prints\n{}{}", example.args, example.output, outcome.text(), outcome.stderr)
        })
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(failures.is_empty(), "{}\n{} of {} examples differ", failures.join("\n"), failures.len(), examples.len());
}

/// Runs an example with additional options, with its files in that directory.
pub fn run_example(example: &Example, options: &str, directory: &Path) -> Outcome {
    let mut input = example.input;
    if let Some(files) = example.input.strip_prefix("==> ") {
        for (name, text) in files.split("==> ").filter_map(|file| file.split_once(" <==\n")) {
            fs::write(directory.join(name), text).unwrap();
        }
        input = "";
    }
    shell(&format!("tatter {options} {}", example.args), directory, input.as_bytes())
}

#[test]
fn every_verb_has_two_examples_and_says_what_it_does() {
    for verb in VERBS {
        assert!(verb.examples.len() >= 2, "{} has fewer than two examples", verb.name);
        assert!(!verb.about.is_empty(), "{} does not say what it does", verb.name);
        assert!(verb.summary.len() <= 62, "{}: the summary is too long for one screen", verb.name);
        assert!(verb.examples.iter().all(|e| e.args.contains(verb.name)), "{}: an example of another verb", verb.name);
    }
}

#[test]
fn the_short_help_fits_one_screen() {
    let outcome = shell("tatter -h", std::path::Path::new("."), b"");
    let text = outcome.text();
    assert!(text.lines().count() <= 40, "{} lines", text.lines().count());
    for line in text.lines() {
        assert!(line.chars().count() <= 120, "too wide: {line}");
    }
}

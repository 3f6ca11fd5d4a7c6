//! Tests that advice works: whatever the message of a failed transcript command suggests is done in the situation that
//! printed it.
//!
//! - A whole command (`tatter ...`, `mkdir ...`, `chmod ...`) is run and must succeed.
//! - A verb (`fill it first: fill-null x=0`, `leave it out: drop x`) is added to the chain, at some position.
//! - A global option is added to the failed command, which must then succeed, or at least not fail for the same reason.
//!
//! This happens in a copy of the transcript's directory. Lines with placeholders (`FILE`, `...`) are forms, not
//! commands.

use crate::tatter::{Outcome, shell};
use std::path::Path;
use std::process::Command;

/// Advice that is not followed here, with reasons.
const EXEMPT: &[(&str, &str)] = &[
    ("duckdb", "another program, which may not be installed"),
    ("tatter -h", "a page, tested elsewhere"),
    ("python3 -c", "another program, tested in inputs/wrong"),
    ("to run without records", "it takes the place of the FILE"),
    ("the type was fixed before this record", "a later record may widen another field"),
    ("(with the actual sizes)", "the sizes are examples"),
    ("create_lod_tensor(x", "the types are examples"),
    ("skip bad records first:", "it writes another file"),
    ("to skip the records with other values:", "two options together, tested in csv/csv"),
    ("to skip it: --schema", "two options together, tested in csv/csv"),
    ("write to another file, or use -o FILE --in-place", "in the place of a redirection by the shell"),
    ("or leave it out: drop", "named for one field at a time: the others follow"),
    ("in this file first: ", "a verb for one of several inputs"),
    ("move its fields out first: ", "the verb must then name the new field"),
    ("cast it first: cast tokens=int32", "in place of another cast"),
    ("read it in this type, which keeps nulls", "in place of the cast"),
    ("<(tatter", "dash has no process substitution"),
];

/// Transcripts with known failures, identified by a part of the command, with reasons.
const KNOWN: &[(&str, &str)] = &[
    ("o\\nut/x.jsonl", "the quotes of a name with a newline are those of bash, not of dash"),
    ("keys.jsonl", "ten thousand fields take long without optimisation"),
    ("convert array.json", "records of an array are not skipped, but the advice says so"),
    ("18446744073709551615", "the first record decides on int64, then the second is not skipped"),
];

/// The advice of a failed command that does not work when followed.
pub fn failures(command: &str, outcome: &Outcome, directory: &Path) -> Vec<String> {
    let mut lines = outcome.stderr.lines().skip_while(|line| !line.starts_with("error: "));
    let Some(error) = lines.next() else { return Vec::new() };
    if KNOWN.iter().any(|(part, _)| command.contains(part)) {
        return Vec::new();
    }
    let advice: Vec<&str> = lines.take_while(|line| line.starts_with("  ")).map(str::trim_start).collect();
    let mut failures = Vec::new();
    for line in advice {
        if EXEMPT.iter().any(|(text, _)| line.contains(text)) {
            continue;
        }
        let mut tries = Vec::new();
        if let Some(whole) = whole_command(line) {
            // Run everything before the failed command.
            let last = command.rsplit([';', '&']).next().unwrap_or_default().trim_start();
            tries.push(if whole.starts_with("tatter ") { whole } else { format!("{whole} && {last}") });
        } else if ends_in_tatter(command) {
            tries.extend(options(line).into_iter().map(|option| with_option(command, &option)));
            for step in steps(line) {
                let last = |found: &Outcome| found.status == 0 || !found.stderr.contains(error);
                if !with_step(command, &step).iter().any(|again| last(&repeated(again, directory))) {
                    failures.push(format!("`{command}` says\n    {line}\nbut `{step}` does not help"));
                }
            }
        }
        for again in tries {
            let found = repeated(&again, directory);
            let is_better = found.status == 0
                || (again.starts_with("mkdir") && !found.stderr.contains(error))
                || (!found.stderr.contains(error) && found.status == 1 && found.stderr.contains("note: "));
            if !is_better {
                failures.push(format!(
                    "`{command}` says\n    {line}\nbut `{again}` prints\n    {}",
                    found.stderr.trim_end().replace('\n', "\n    ")
                ));
            }
        }
    }
    failures
}

/// The outcome of a command in a copy of the directory.
fn repeated(command: &str, directory: &Path) -> Outcome {
    let copy = tempfile::tempdir().unwrap();
    Command::new("cp").arg("-a").arg(format!("{}/.", directory.display())).arg(copy.path()).status().unwrap();
    shell(command, copy.path(), b"")
}

/// Verbs that prepare fields for a verb or a format that does not accept them.
const STEPS: [&str; 9] = ["fill-null", "drop", "to-dense", "from-sparse", "to-sparse", "promote", "cast", "select", "rename"];

/// Calls of such verbs in a line of advice.
fn steps(line: &str) -> Vec<String> {
    let step = |clause: &str| {
        let (why, step) = clause.split_once(": ")?;
        let is_added = ["first", "leave it out", "drop the field", "make it dense", "ragged"].iter().any(|word| why.contains(word));
        let verb = step.split(' ').next().unwrap_or_default();
        (is_added && STEPS.contains(&verb) && !is_form(step) && !step.contains(" then ")).then(|| step.to_owned())
    };
    line.split("; ").filter_map(step).collect()
}

/// The command with the step before each verb of its chain.
fn with_step(command: &str, step: &str) -> Vec<String> {
    let start = command.rfind("tatter ").map_or(0, |at| at + "tatter ".len());
    let starts = [start].into_iter().chain(command[start..].match_indices(" then ").map(|(at, then)| start + at + then.len()));
    starts.map(|at| format!("{}{step} then {}", &command[..at], &command[at..])).collect()
}

/// The command with the option, replacing an option of the same name.
fn with_option(command: &str, option: &str) -> String {
    let name = option.split(' ').next().unwrap_or_default();
    let Some((before, after)) = command.split_once(&format!("{name} ")) else { return format!("{command} {option}") };
    let after = match after.strip_prefix('\'') {
        Some(quoted) => quoted.split_once('\'').map_or("", |(_, rest)| rest),
        None => after.split_once(' ').map_or("", |(_, rest)| rest),
    };
    format!("{before}{option} {}", after.trim_start())
}

/// The command in a line of advice, if it is not a form.
fn whole_command(line: &str) -> Option<String> {
    let quoted = line.split('`').skip(1).step_by(2).find(|part| part.starts_with("tatter "));
    let plain = || {
        if line.starts_with("usage: ") {
            return None;
        }
        let after = line.rsplit_once(": tatter ").map(|(_, rest)| format!("tatter {rest}"));
        after.or_else(|| line.starts_with("tatter ").then(|| line.to_owned()))
    };
    let mkdir = || {
        let (_, command) = line.split_once(": ")?;
        (command.starts_with("mkdir ") || command.starts_with("chmod ")).then(|| command.to_owned())
    };
    quoted.map(str::to_owned).or_else(plain).or_else(mkdir).filter(|command| !is_form(command))
}

/// Whether it contains a placeholder.
fn is_form(command: &str) -> bool {
    let is_placeholder = |word: &str| word.len() > 1 && word.bytes().all(|b| b.is_ascii_uppercase());
    command.contains("...") || command.split(|c: char| !c.is_ascii_alphanumeric()).any(is_placeholder)
}

/// Whether appended words become options of the failed program.
fn ends_in_tatter(command: &str) -> bool {
    let last = command.rsplit(['|', ';', '&']).next().unwrap_or_default();
    last.trim_start().starts_with("tatter ") && !command.contains(" -- ") && !command.contains("2>")
}

/// Global options in a line of advice, with their values.
fn options(line: &str) -> Vec<String> {
    // Several options belong together.
    if let Some(at) = line.find("--nulls '") {
        return Some(line[at..].to_owned()).filter(|options| !is_form(options)).into_iter().collect();
    }
    let mut found = Vec::new();
    for name in ["--schema '", "--on-error skip", "--on-error null", "--mixed json", "--in-place", "--force", "--from text", "--from jsonl"]
    {
        for (at, _) in line.match_indices(name) {
            let rest = &line[at..];
            let end = match name.strip_suffix('\'') {
                Some(_) => rest[name.len()..].find('\'').map_or(rest.len(), |end| name.len() + end + 1),
                None => name.len(),
            };
            found.push(rest[..end].to_owned());
        }
    }
    found.retain(|option| !line.contains("tatter ...") && !is_form(option));
    found
}

//! Completions in real shells: keys are typed on a terminal, and the resulting command is run.

use crate::tatter::root;
use crate::terminal::{Session, is_installed};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A shell without personal settings that has loaded the script and shows the prompt `ready>`.
fn shell(name: &str, directory: &Path) -> Session {
    let start = match name {
        "bash" => "exec bash --noprofile --rcfile rc -i",
        "zsh" => "ZDOTDIR=. exec zsh -d -i",
        _ => "exec fish --no-config --init-command 'source rc'",
    };
    let rc = match name {
        "bash" => "PS1='ready''> '\nsource <(tatter completions bash)\n",
        "zsh" => "PS1='ready''> '\nunsetopt zle_bracketed_paste\nautoload -U compinit && compinit -u\nsource <(tatter completions zsh)\n",
        _ => {
            "function fish_prompt; echo -n 'ready''> '; end\nset -U fish_greeting\nset -g fish_autosuggestion_enabled 0\ntatter completions fish | source\n"
        }
    };
    fs::write(directory.join(if name == "zsh" { ".zshrc" } else { "rc" }), rc).unwrap();
    let session = Session::start(start, directory, (120, 24));
    session.wait_for("the prompt", |shown| shown.contains("ready> "));
    // Some shells drop keys until they have set up the terminal.
    std::thread::sleep(Duration::from_millis(300));
    session
}

/// Types the keys of every line, each of which writes to the file `out`, and checks its contents.
fn check(name: &str, lines: &[(&str, &str)]) {
    if !is_installed("script") || !is_installed(name) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let at = |file: &str| directory.path().join(file);
    fs::copy(root().join("fixtures/inputs/docs.jsonl"), at("my docs.jsonl")).unwrap();
    fs::copy(root().join("fixtures/inputs/colors.jsonl"), at("colors.jsonl")).unwrap();
    fs::write(at("schema.txt"), "lengths: int32[?]").unwrap();
    fs::write(at("ids.jsonl"), (1..6).map(|n| format!("{{\"id\":{n},\"n\":{n}}}\n")).collect::<String>()).unwrap();
    let mut session = shell(name, directory.path());
    for (keys, expected) in lines {
        let _ = fs::remove_file(at("out"));
        let prompts = session.shown().matches("ready> ").count();
        for key in keys.split_inclusive('\t') {
            session.type_keys(key);
            std::thread::sleep(Duration::from_millis(if key.ends_with('\t') { 400 } else { 50 }));
        }
        session.type_keys("\r");
        session
            .wait_for(&format!("the end of {keys:?} in {name}"), |shown| at("out").exists() && shown.matches("ready> ").count() > prompts);
        let found = fs::read_to_string(at("out")).unwrap();
        assert_eq!(found, *expected, "{name}: {keys:?}; the terminal shows:\n{}", session.shown());
    }
    session.type_keys("exit\r");
    session.end();
}

/// The keys that move the cursor to the n-th character of the line.
fn to(n: usize) -> String {
    format!("\u{1}{}", "\u{6}".repeat(n))
}

fn lines() -> Vec<(String, &'static str)> {
    vec![
        // A verb and a file name.
        ("tatter coun\tcol\t > out".to_owned(), "4\n"),
        // A name that contains a space.
        ("tatter coun\tmy\t > out".to_owned(), "5\n"),
        // A value of an option, and one after `=`.
        ("tatter schema --as js\tcolors.jsonl --from=jsonl > out".to_owned(), JSON),
        ("tatter head -n 1 then count --fro\tjsonl colors.jsonl > out".to_owned(), "1\n"),
        // A file after `@`.
        ("tatter schema --schema @sch\tcolors.jsonl > out".to_owned(), "colors:  string[?]\nlengths: int32[?]\n"),
        // The table of a lookup.
        ("tatter lookup id in ids\t--take n then count my\t > out".to_owned(), "5\n"),
        // A name inside an open quote.
        ("tatter count 'my\t > out".to_owned(), "5\n"),
        // A field of the file that follows, and of one that precedes.
        (format!("tatter select  then schema 'my docs.jsonl' > out{}i\t", to("tatter select ".len())), "id: int64\n"),
        (
            format!(
                "tatter promote docs.tokens --as toks then select  then schema 'my docs.jsonl' > out{}to\t",
                to("tatter promote docs.tokens --as toks then select ".len())
            ),
            "toks: string[?]\n",
        ),
    ]
}

const JSON: &str = r#"{"fields": [
  {"name":"colors","type":"string[?]","kind":"tensor","dtype":"string","shape":[null],"ragged":[false]},
  {"name":"lengths","type":"int64[?]","kind":"tensor","dtype":"int64","shape":[null],"ragged":[false]}
]}
"#;

fn check_shell(name: &str) {
    let mut lines = lines();
    if name == "bash" {
        // Other shells complete at the end of the word.
        let cursor = to("tatter filter 'reduce_sum(leng".len());
        lines.push((format!("tatter filter 'reduce_sum(leng) > 8' then count colors.jsonl > out{cursor}\t"), "1\n"));
    }
    if name == "fish" {
        // This shell does not report the text after the cursor.
        lines.retain(|(keys, _)| !keys.contains('\u{1}'));
    }
    check(name, &lines.iter().map(|(keys, expected)| (keys.as_str(), *expected)).collect::<Vec<_>>());
}

#[test]
fn bash_completes() {
    check_shell("bash");
}

#[test]
fn zsh_completes() {
    check_shell("zsh");
}

#[test]
fn fish_completes() {
    check_shell("fish");
}

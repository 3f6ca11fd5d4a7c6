//! `tatter help WORD`: a verb, a command, a function, or a topic such as formats, types and exit codes.

use super::help::{ABOUT, ARRAYS, EXIT_CODES, NOTATION, SUFFIXES};
use super::help::{fitted, format_list, global_options, near, of_command, of_verb, verb_list};
use super::standalone::Standalone;
use super::synonyms;
use crate::error::{Error, Result};
use crate::expr;
use crate::formats::{FORMATS, Format};
use crate::verbs::{self, VERBS};

const EXPRESSIONS: &str = "\
Expressions are used by `map`, `filter`, `sort --by` and other verbs: `tatter help map` and `tatter help filter` explain them.
`tatter help functions` lists their functions, and `tatter help strings.split` explains one. `--arg NAME=VALUE` and `--with NAME=FILE` \
define constants.
";

const VERSION: &str = "`tatter --version` prints the version, and with -v what it was built with.\n";

/// The output of `tatter help WORD`.
///
/// # Errors
/// There is no such verb, command, function or topic.
pub fn of_word(word: &str, commands: &[Standalone]) -> Result<String> {
    if let Some(verb) = verbs::find(word) {
        return Ok(of_verb(verb));
    }
    if let Some(command) = commands.iter().find(|c| c.name == word) {
        return Ok(of_command(command));
    }
    if word == "functions" {
        return Ok(fitted(&expr::function_list()));
    }
    if let Some(text) = expr::function_help(word).or_else(|| expr::functions_of(word)) {
        return Ok(fitted(&text));
    }
    if let Some(text) = topic(word) {
        return Ok(fitted(&text));
    }
    let error = Error::usage(format!("there is no verb or function `{word}`"));
    let forms = synonyms::forms(word);
    if let Some(form) = forms.first() {
        let verb = form.split(' ').nth(1).and_then(verbs::find);
        let error = forms.iter().fold(error, |error, form| error.help(form.clone()));
        return Err(match verb {
            Some(verb) => error.help(format!("`tatter help {0}` explains `{0}`", verb.name)),
            None => error,
        });
    }
    let functions = expr::functions::all().flat_map(|f| f.names.iter().copied());
    Err(match near(word, VERBS.iter().map(|v| v.name).chain(commands.iter().map(|c| c.name)).chain(functions)) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("`tatter -h` lists the verbs"),
    })
}

/// The text for a topic. `words` are those after `help`, with spaces between them.
fn topic(words: &str) -> Option<String> {
    let name = words.to_ascii_lowercase().replace(['_', '-'], " ");
    let text = match name.as_str() {
        "tatter" | "usage" | "files" | "inputs" | "input" | "globs" | "shards" => ABOUT.to_owned(),
        "types" | "type" | "dtypes" | "dtype" | "notation" | "schemas" | "axes" => NOTATION.to_owned(),
        "exit codes" | "exit code" | "exit status" | "exit" | "status" => EXIT_CODES.to_owned(),
        "options" | "option" | "global options" | "globals" => global_options(),
        "formats" | "format" => format!("{}{SUFFIXES}", format_list()),
        "verbs" | "commands" => verb_list(),
        "arrays" => ARRAYS.to_owned(),
        "expressions" | "expression" | "exprs" | "expr" | "operators" => EXPRESSIONS.to_owned(),
        "version" => VERSION.to_owned(),
        _ => return FORMATS.iter().find(|format| is_called(**format, &name)).map(|format| of_format(*format)),
    };
    Some(text)
}

fn is_called(format: &dyn Format, name: &str) -> bool {
    format.name().replace('-', " ") == name || format.extensions().contains(&name.trim_start_matches('.'))
}

fn of_format(format: &dyn Format) -> String {
    let name = format.name();
    let mut text = format!("{name}: {}\n", format.summary());
    let extensions: Vec<String> = format.extensions().iter().map(|extension| format!(".{extension}")).collect();
    if !extensions.is_empty() {
        text.push_str(&format!("Extensions: {}\n", extensions.join(" ")));
    }
    text.push_str(&format!(
        "\n`--from {name}` reads it and `--to {name}` writes it where the file does not tell. `tatter help formats` lists all formats, and \
         `tatter help options` has the options of each under Formats.\n"
    ));
    if ["npz", "npy", "safetensors"].contains(&name) {
        text.push_str(&format!("\n{ARRAYS}"));
    }
    text
}

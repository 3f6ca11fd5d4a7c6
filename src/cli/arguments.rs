//! Lists the arguments and options of a command for its help.

use crate::screen::{padded, width, wrapped};
use clap::{Arg, Command};
use std::fmt::Write;

/// Longer names are on a separate line.
const WIDEST: usize = 28;
/// On narrower terminals, the help of an option is below its name.
const NARROW: usize = 60;

/// Arguments, followed by options grouped by heading, wrapped to `columns`.
pub fn listed(command: &Command, columns: usize) -> String {
    let shown = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "FILE";
    let arguments: Vec<&Arg> = command.get_positionals().filter(shown).collect();
    let options: Vec<&Arg> = command.get_opts().filter(shown).collect();
    let mut headings: Vec<&str> = Vec::new();
    for heading in options.iter().map(|arg| heading(arg)) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    let mut text = String::new();
    section(&mut text, "Arguments", &arguments, columns);
    for title in headings {
        let options: Vec<&Arg> = options.iter().copied().filter(|arg| heading(arg) == title).collect();
        section(&mut text, title, &options, columns);
    }
    text
}

fn heading(arg: &Arg) -> &str {
    arg.get_help_heading().unwrap_or("Options")
}

fn section(text: &mut String, title: &str, args: &[&Arg], columns: usize) {
    if args.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(text, "{title}:");
    let names: Vec<String> = args.iter().map(|arg| name(arg)).collect();
    let widest = names.iter().map(|name| width(name)).filter(|width| *width <= WIDEST).max().unwrap_or(0).max(8);
    for (name, arg) in names.iter().zip(args) {
        let is_beside = columns >= NARROW && width(name) <= widest;
        let indent = if columns >= NARROW { widest + 4 } else { 6 };
        let mut lines = vec![help(arg)];
        let values: Vec<_> = arg.get_possible_values().into_iter().filter(|value| value.get_help().is_some()).collect();
        let longest = values.iter().map(|value| value.get_name().len()).max().unwrap_or(0);
        for value in values {
            let about = value.get_help().map(ToString::to_string).unwrap_or_default();
            lines.push(format!("  {:longest$}  {about}", value.get_name()));
        }
        let help = wrapped(&lines.join("\n"), columns.saturating_sub(indent).max(20));
        let mut lines = help.lines();
        if is_beside {
            let _ = writeln!(text, "  {}  {}", padded(name, widest, false), lines.next().unwrap_or_default());
        } else {
            let _ = writeln!(text, "  {name}");
        }
        for line in lines {
            let _ = writeln!(text, "{:indent$}{line}", "");
        }
    }
}

/// `-o, --output OUT`
fn name(arg: &Arg) -> String {
    let values: Vec<&str> = arg.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
    let value = if values.is_empty() { arg.get_id().as_str().to_owned() } else { values.join(" ") };
    let (short, long) = match (arg.get_short(), arg.get_long()) {
        (None, None) => return value,
        (short, long) => (short.map_or_else(|| "    ".to_owned(), |short| format!("-{short}, ")), long),
    };
    let name = match long {
        Some(long) => format!("{short}--{long}"),
        None => short.trim_end_matches(", ").to_owned(),
    };
    match arg.get_action().takes_values() {
        true if arg.is_require_equals_set() => format!("{name}[={value}]"),
        true => format!("{name} {value}"),
        false => name,
    }
}

/// The description of an option, with its default and its values.
fn help(arg: &Arg) -> String {
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let takes_values = arg.get_action().takes_values() && !arg.is_hide_default_value_set();
    let default: Vec<String> = arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes_values && !default.is_empty() {
        let _ = write!(text, " [default: {}]", default.join(" "));
    }
    let values: Vec<_> = arg.get_possible_values();
    let plain: Vec<&str> = values.iter().filter(|value| value.get_help().is_none()).map(|value| value.get_name()).collect();
    // Values that the help already names are not listed again.
    if takes_values && plain.iter().any(|value| !text.split(|c: char| !c.is_alphanumeric()).any(|word| word == *value)) {
        let _ = write!(text, " [values: {}]", plain.join(", "));
    }
    text
}

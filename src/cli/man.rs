//! Man pages, generated from the definitions of the parser: tatter(1), a page for each verb and standalone command, and
//! tatter-functions(7).

use super::help;
use super::standalone::Standalone;
use super::typed::Typed;
use crate::error::{Error, Result, nearest};
use crate::io::Outputs;
use crate::options::Options;
use crate::screen::wrapped;
use crate::verbs::combine::brackets;
use crate::verbs::{Entry, Example, VERBS};
use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use std::io::Write;
use std::path::Path;

/// All pages, with file names.
///
/// # Errors
/// None, because the pages are written to memory.
pub fn pages(commands: &[Standalone]) -> Result<Vec<(String, Vec<u8>)>> {
    let mut pages =
        vec![("tatter.1".to_owned(), main_page(commands)?), ("tatter-functions.7".to_owned(), crate::expr::manual().into_bytes())];
    for verb in VERBS {
        pages.push((format!("tatter-{}.1", verb.name), verb_page(verb)?));
    }
    for command in commands {
        pages.push((format!("tatter-{}.1", command.name), standalone_page(command)?));
    }
    Ok(pages)
}

/// Finds a page by name: `tatter`, `functions`, a verb or another command; `tatter-head` as well as `head`.
///
/// # Errors
/// There is no such page.
pub fn page(name: &str, commands: &[Standalone]) -> Result<Vec<u8>> {
    let short = name.strip_prefix("tatter-").unwrap_or(name);
    if short == "tatter" {
        return main_page(commands);
    }
    if short == "functions" {
        return Ok(crate::expr::manual().into_bytes());
    }
    if let Some(verb) = VERBS.iter().find(|v| v.name == short) {
        return verb_page(verb);
    }
    if let Some(command) = commands.iter().find(|c| c.name == short) {
        return standalone_page(command);
    }
    let error = Error::usage(format!("no man page `{name}`"));
    Err(match nearest(short, VERBS.iter().map(|v| v.name).chain(commands.iter().map(|c| c.name)).chain(["functions", "tatter"])) {
        Some(near) => error.help(format!("did you mean `tatter man {near}`?")),
        None => {
            error.help("there is a page for each command, for `functions` and for `tatter`; `tatter man --output DIR` writes all of them")
        }
    })
}

/// Writes all pages to a directory.
///
/// # Errors
/// Writing fails.
pub fn write_all(directory: &Path, commands: &[Standalone], options: &Options, out: &mut dyn Write) -> Result<()> {
    let failed = |name: &str, e: &std::io::Error| Error::io(name, "cannot write", e);
    if !options.dry_run {
        std::fs::create_dir_all(directory).map_err(|e| failed(&directory.display().to_string(), &e))?;
    }
    let mut outputs = Vec::new();
    for (name, text) in pages(commands)? {
        let path = directory.join(name);
        if options.dry_run {
            writeln!(out, "output  {}", path.display()).map_err(|e| failed("standard output", &e))?;
            continue;
        }
        let output = Outputs::plan(&Options { output: Some(path.into()), is_output_literal: true, shards: None, ..options.clone() })?;
        let mut page = output.create(0)?;
        page.write_all(&text).and_then(|()| page.flush()).map_err(|e| failed(output.name(), &e))?;
        outputs.push(output);
    }
    outputs.iter().try_for_each(Outputs::commit)
}

/// The width of unfilled text.
const COLUMNS: usize = 72;

fn main_page(commands: &[Standalone]) -> Result<Vec<u8>> {
    let mut page = Page::new("tatter", "ragged, sparse and structured tensors from the command line");
    page.section("SYNOPSIS");
    page.line("tatter VERB [OPTIONS] [ARGS] [then VERB ...]... [FILE]... [-o OUT]");
    page.section("DESCRIPTION");
    page.paragraph(help::ABOUT);
    page.section("VERBS");
    for verb in VERBS {
        page.entry(&format!("tatter-{}(1)", verb.name), verb.summary);
    }
    page.section("OTHER COMMANDS");
    for command in commands {
        page.entry(&format!("tatter-{}(1)", command.name), command.summary);
    }
    page.options(Typed::augment_args(Command::new("tatter")))?;
    page.section("FORMATS");
    page.verbatim(&wrapped(&format!("{}\n{}", help::format_list(), help::ARRAYS), COLUMNS));
    page.section("TYPES");
    page.verbatim(&wrapped(help::NOTATION, COLUMNS));
    page.exit_status();
    page.section("ENVIRONMENT");
    for (name, meaning) in help::ENVIRONMENT.lines().filter_map(|line| line.strip_prefix("  ")?.split_once("  ")) {
        page.entry(name, meaning.trim_start());
    }
    Ok(page.text)
}

fn verb_page(verb: &Entry) -> Result<Vec<u8>> {
    let command = verb.command();
    let mut page = Page::of_command(verb.name, verb.summary, verb.about, &command);
    if verb.combines {
        page.paragraph(&format!("\n{}", brackets(verb.name)));
    }
    page.arguments(command)?;
    if !verb.meaning.is_empty() {
        page.section("MODELED ON");
        page.line(verb.meaning);
    }
    Ok(page.end_of_command(verb.examples))
}

fn standalone_page(standalone: &Standalone) -> Result<Vec<u8>> {
    let command = standalone.command();
    let mut page = Page::of_command(standalone.name, standalone.summary, standalone.about, &command);
    page.arguments(command)?;
    Ok(page.end_of_command(standalone.examples))
}

/// A page being written.
struct Page {
    text: Vec<u8>,
}

impl Page {
    fn new(name: &str, summary: &str) -> Page {
        let mut page = Page { text: Vec::new() };
        page.add(|roff| {
            roff.control("TH", [name, "1", "", concat!("tatter ", env!("CARGO_PKG_VERSION")), "tatter"]);
        });
        page.section("NAME");
        page.line(&format!("{name} - {summary}"));
        page
    }

    /// The first sections of the page of a command.
    fn of_command(name: &str, summary: &str, about: &str, command: &Command) -> Page {
        let mut page = Page::new(&format!("tatter-{name}"), summary);
        page.section("SYNOPSIS");
        page.line(&help::usage_line(name, command));
        page.section("DESCRIPTION");
        page.paragraph(about);
        page
    }

    /// The last sections of the page of a command.
    fn end_of_command(mut self, examples: &[Example]) -> Vec<u8> {
        self.examples(examples);
        self.exit_status();
        self.section("SEE ALSO");
        self.line("tatter(1) for the global options, formats and types");
        self.text
    }

    fn add(&mut self, write: impl FnOnce(&mut Roff)) {
        let mut roff = Roff::new();
        write(&mut roff);
        // The preamble that defines the apostrophe must appear only once, at the top.
        let text = if self.text.is_empty() { roff.render() } else { roff.to_roff() };
        self.text.extend_from_slice(text.as_bytes());
    }

    fn section(&mut self, title: &str) {
        self.add(|roff| {
            roff.control("SH", [title]);
        });
    }

    fn line(&mut self, text: &str) {
        self.inlines([roman(text)]);
    }

    fn inlines<const N: usize>(&mut self, inlines: [Inline; N]) {
        self.add(|roff| {
            roff.text(inlines);
        });
    }

    /// Appends text with blank lines between paragraphs. Line breaks are kept, because some lines are commands to type.
    fn paragraph(&mut self, text: &str) {
        let mut is_command = false;
        for (i, line) in text.trim_end().lines().enumerate() {
            if line.is_empty() {
                self.add(|roff| {
                    roff.control("PP", []);
                });
            } else {
                if i > 0 && (line.starts_with(' ') || is_command) {
                    self.add(|roff| {
                        roff.control("br", []);
                    });
                }
                self.line(line);
            }
            is_command = line.starts_with(' ');
        }
    }

    fn verbatim(&mut self, text: &str) {
        self.add(|roff| {
            roff.control("nf", []);
        });
        for line in text.lines() {
            self.line(line);
        }
        self.add(|roff| {
            roff.control("fi", []);
        });
    }

    fn entry(&mut self, term: &str, text: &str) {
        self.add(|roff| {
            roff.control("TP", []);
        });
        self.inlines([bold(term)]);
        self.line(text);
    }

    fn exit_status(&mut self) {
        self.section("EXIT STATUS");
        for (code, meaning) in help::EXIT_CODES.lines().filter_map(|line| line.trim_start().split_once("  ")) {
            self.entry(code, meaning.trim_start());
        }
    }

    /// The section of arguments and options, if the command has any.
    fn arguments(&mut self, command: Command) -> Result<()> {
        if command.get_arguments().next().is_some() { self.options(command) } else { Ok(()) }
    }

    fn options(&mut self, command: Command) -> Result<()> {
        let man = Man::new(command.disable_help_flag(true).disable_version_flag(true));
        let mut rendered = Vec::new();
        man.render_options_section(&mut rendered).map_err(|e| Error::io("man page", "cannot write", &e))?;
        // Removes the preamble, which is at the top of the page.
        let text = String::from_utf8_lossy(&rendered);
        let start = text.find(".SH").unwrap_or(0);
        self.text.extend_from_slice(&text.as_bytes()[start..]);
        Ok(())
    }

    fn examples(&mut self, examples: &[Example]) {
        if examples.is_empty() {
            return;
        }
        self.section("EXAMPLES");
        self.line("Lines that begin with < are input; ==> and <== enclose file names. The output of a command is shown below it.");
        for example in examples {
            self.add(|roff| {
                roff.control("PP", []);
            });
            self.line(&format!("{}:", example.about));
            let mut text = String::new();
            for line in example.input.lines() {
                text.push_str(&format!("    < {line}\n"));
            }
            text.push_str(&format!("    $ tatter {}\n", example.args));
            for line in example.output.lines() {
                text.push_str(&format!("    {line}\n"));
            }
            self.verbatim(&text);
        }
    }
}

//! FILEs that do not exist, but are a number, a field, a condition or an output: each habit is a rule.

use super::words::{descends, is_field, is_file_of_a_format, line, moved, without_word};
use crate::cli::brackets::typed_word;
use crate::cli::split::{Words, has_option};
use crate::error::{Error, Kind, Result};
use crate::expr::names_used;
use crate::hint::Hint;
use crate::io::is_there;
use crate::options::Options;
use crate::path::{FieldPath, in_expression};
use crate::schema::Schema;
use crate::verbs::Entry;
use clap::Command;
use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The schema that reaches the last verb of a command line, if it is known.
type Outlined<'a> = &'a dyn Fn(Vec<OsString>) -> Option<Schema>;

/// Detects FILEs that do not exist but are a number, a field or an output. `is_report`: whether the verb writes no records.
///
/// # Errors
/// A misplaced word, with the intended command.
pub fn in_files(files: &[OsString], verb: &Entry, is_report: bool, options: &Options, words: &Words, outlined: Outlined) -> Result<()> {
    if verb.name == "convert" {
        note_input_as_output(files, options)?;
    }
    let is_plain = |name: &&str| *name != "-" && !name.contains(['*', '@', '?', '[', ':']) && !is_there(OsStr::new(name));
    let missing: Vec<&str> = files.iter().filter_map(|file| file.to_str()).filter(is_plain).collect();
    let Some((name, others_missing)) = missing.split_first() else { return Ok(()) };
    let others_exist = files.iter().any(|file| Path::new(file).exists());
    let missing = Missing {
        name,
        others_missing,
        others_exist,
        files,
        verb,
        command: verb.command(),
        is_report,
        options,
        words,
        outlined,
        schema: OnceCell::new(),
    };
    RULES.iter().find_map(|rule| rule(&missing)).map_or(Ok(()), Err)
}

/// The first FILE that does not exist, and the command line around it.
struct Missing<'a> {
    name: &'a str,
    /// The other FILEs that do not exist.
    others_missing: &'a [&'a str],
    /// Whether there is a FILE that exists.
    others_exist: bool,
    files: &'a [OsString],
    verb: &'a Entry,
    command: Command,
    is_report: bool,
    options: &'a Options,
    words: &'a Words,
    outlined: Outlined<'a>,
    schema: OnceCell<Option<Schema>>,
}

/// The error for a habit that the word shows; `None` if it does not.
type Rule = fn(&Missing) -> Option<Error>;

/// The first that applies is reported.
const RULES: [Rule; 24] = [
    several_files,
    apart_from_its_name,
    number_given_before,
    number_of_records,
    number_of_the_first,
    negative_number,
    buffer_size,
    numbers_of_records,
    second_number,
    list_for_windows,
    condition_beside_an_option,
    value_beside_forward,
    direction,
    size_of_a_field,
    name_of_the_copy,
    field_without_an_option,
    second_field,
    assignments_apart,
    expression_apart,
    conditions_apart,
    condition_to_filter,
    help,
    field_to_select,
    output,
];

impl Missing<'_> {
    /// A misplaced word, which is not an error of the file system.
    fn misplaced(&self, advice: impl Into<Hint>) -> Error {
        Error::usage("no such file").in_input(self.name).help(advice)
    }

    /// Perhaps a field or an output, perhaps a missing file.
    fn perhaps_misplaced(&self, advice: impl Into<Hint>) -> Error {
        self.misplaced(advice).with_kind(Kind::Io)
    }

    fn is_number(&self) -> bool {
        self.name.parse::<u64>().is_ok()
    }

    fn is_number_for(&self, verb: &str) -> bool {
        self.verb.name == verb && self.is_number()
    }

    /// The command line with the word replaced by these, at that position of the verb's words.
    fn moved(&self, at: usize, instead: &[&str]) -> String {
        moved(self.words, self.name, at, instead)
    }

    fn has_option(&self, option: &str) -> bool {
        has_option(&self.command, option)
    }

    /// The positional argument that is an expression.
    fn expression(&self) -> Option<&str> {
        self.command.get_positionals().map(|arg| arg.get_id().as_str()).find(|id| ["condition", "assignments"].contains(id))
    }

    /// The value name of the positional argument that is a field or several.
    fn own_field(&self) -> Option<&str> {
        let names = self.command.get_positionals().filter_map(|arg| arg.get_value_names()?.first());
        names.map(|name| name.as_str()).find(|name| name.starts_with("FIELD") || ["PATH", "OLD=NEW,.."].contains(name))
    }

    /// The option that names fields.
    fn option_of_fields(&self) -> Option<&'static str> {
        ["--fields", "--by"].into_iter().find(|option| self.has_option(option))
    }

    /// Whether the records that reach the last verb have the field, or are not known.
    fn has_field(&self, name: &str) -> bool {
        // As in `count by city`.
        name.eq_ignore_ascii_case("by") || self.has_path(&FieldPath::name(name))
    }

    /// The same for a path.
    fn has_path(&self, path: &FieldPath) -> bool {
        self.schema().is_none_or(|schema| schema.find(path).is_ok())
    }

    /// Whether it is known to be a field of structures, which is no key.
    fn is_structure(&self, name: &str) -> bool {
        self.schema().is_some_and(|schema| schema.find(&FieldPath::name(name)).is_ok_and(|(_, field)| field.ty.fields().is_some()))
    }

    /// The schema of the records that reach the last verb, if it is known. It is read once.
    fn schema(&self) -> Option<&Schema> {
        let read = || {
            let verbs = self.words.verbs.iter().take(self.words.verbs.len().saturating_sub(1));
            let verbs = verbs.flat_map(|own| own.iter().cloned().chain(["then".into()]));
            let files = self.files.iter().filter(|file| Path::new(file).is_file()).cloned();
            (self.outlined)(self.words.before.iter().cloned().chain(verbs).chain(["schema".into(), "--".into()]).chain(files).collect())
        };
        self.schema.get_or_init(read).as_ref()
    }
}

/// `"a.jsonl b.jsonl"`, the names of several files in one word
fn several_files(missing: &Missing) -> Option<Error> {
    let names: Vec<&str> = missing.name.split_whitespace().collect();
    let are_files = names.len() > 1 && names.iter().all(|name| Path::new(name).is_file());
    are_files.then(|| missing.perhaps_misplaced(format!("write each file as a separate argument: {}", names.join(" "))))
}

/// `--arg n 2`, as in jq.
fn apart_from_its_name(missing: &Missing) -> Option<Error> {
    let own = missing.words.verbs.last()?;
    let at = own.iter().rposition(|own| own == missing.name)?;
    let name = own.get(at.checked_sub(1)?)?.to_str().filter(|name| !name.contains('='))?;
    let option = own.get(at.checked_sub(2)?)?.to_str().filter(|option| ["--arg", "--with"].contains(option))?;
    let mut meant = without_word(missing.words, missing.name);
    meant.verbs.last_mut()?[at - 1] = format!("{name}={}", missing.name).into();
    Some(missing.misplaced(format!("{option} needs `=` before the value: {}", line(&meant))))
}

/// `head 3 5`
fn number_given_before(missing: &Missing) -> Option<Error> {
    let takes_number = missing.verb.optional_argument || missing.has_option("-n") || missing.verb.name == "shuffle";
    let given = number_given(missing.words, missing.name).filter(|_| missing.is_number() && takes_number)?;
    Some(missing.misplaced(format!("the number of records is already given: {given}")))
}

/// `head data.jsonl 3`, `sample data.jsonl 3`
fn number_of_records(missing: &Missing) -> Option<Error> {
    if !missing.is_number() {
        return None;
    }
    if missing.verb.optional_argument {
        return Some(missing.misplaced(format!("put the number after the verb: {}", missing.moved(1, &[missing.name]))));
    }
    missing
        .has_option("-n")
        .then(|| missing.misplaced(format!("use -n for the number of records: {}", missing.moved(1, &["-n", missing.name]))))
}

/// `enumerate 1`
fn number_of_the_first(missing: &Missing) -> Option<Error> {
    missing.is_number_for("enumerate").then(|| {
        missing.misplaced(format!("use --start for the number of the first record: {}", missing.moved(1, &["--start", missing.name])))
    })
}

/// `batch -2`
fn negative_number(missing: &Missing) -> Option<Error> {
    let name = missing.name;
    if name == "-0" {
        let error = Error::usage("-0 requires --files-from LIST");
        return Some(error.help("specify the list: --files-from LIST -0").help("for a file of that name, write ./-0"));
    }
    let wrong = || Error::usage(format!("`{}` has no option {name}", missing.verb.name));
    let is_negative = name.starts_with('-') && name.parse::<f64>().is_ok();
    is_negative.then(|| wrong().help(format!("for a file of that name, write ./{name}")))
}

/// `shuffle 1000`
fn buffer_size(missing: &Missing) -> Option<Error> {
    missing
        .is_number_for("shuffle")
        .then(|| missing.misplaced(format!("use --buffer for the buffer size: {}", missing.moved(1, &["--buffer", missing.name]))))
}

/// `get 3 5`
fn numbers_of_records(missing: &Missing) -> Option<Error> {
    missing.is_number_for("get").then(|| missing.misplaced("separate record numbers with commas: get 3,5"))
}

/// `batch 2 4`, `padded-batch 4 32`
fn second_number(missing: &Missing) -> Option<Error> {
    let takes_one = missing.command.get_positionals().filter(|arg| arg.get_id() != "FILE").count() == 1;
    let given = number_given(missing.words, missing.name).filter(|_| takes_one && missing.is_number())?;
    let error = missing.misplaced(format!("`{}` takes one number, already given as {given}; FILEs come after it", missing.verb.name));
    let sizes = || format!("for the sizes of a field, use --shape: --shape 'FIELD=[{}]'", missing.name);
    Some(if missing.has_option("--shape") { error.help(sizes()) } else { error })
}

/// `window tokens`
fn list_for_windows(missing: &Missing) -> Option<Error> {
    let is_list = missing.verb.name == "window" && missing.others_exist && is_field(missing.name);
    is_list.then(|| missing.misplaced(format!("for windows over a list: windows {} --size W", missing.name)))
}

/// `split --by k 'x > 3'`
fn condition_beside_an_option(missing: &Missing) -> Option<Error> {
    if missing.verb.name != "split" || !missing.name.contains([' ', '<', '>', '=', '(']) {
        return None;
    }
    let own = missing.words.verbs.last()?.iter().filter_map(|word| word.to_str());
    let has = |option: &str| own.clone().any(|word| word.starts_with(option));
    if !has("--into") {
        // `split train=0.5 test=0.5`, `split --by user train=0.5 test=0.5`
        let is_share = |word: &&str| word.split_once('=').is_some_and(|(_, share)| share.parse::<f64>().is_ok());
        let shares: Vec<&str> = own.clone().filter(is_share).collect();
        if shares.contains(&missing.name) {
            let by = missing.words.verbs.last().and_then(|own| value_after(own, "--by"));
            let by = by.map(|by| format!(" --by {}", typed_word(by))).unwrap_or_default();
            let shares = typed_word(&shares.join(","));
            return Some(missing.misplaced(format!("use --into for shares: {}{by} --into {shares} -o FILE", missing.verb.name)));
        }
        if !has("--by") {
            return None;
        }
    }
    let error = missing.misplaced("--into and --by take no CONDITION");
    Some(error.help(format!("select records first: filter {} then {} ...", typed_word(missing.name), missing.verb.name)))
}

/// `fill-null x=0 --forward y`
fn value_beside_forward(missing: &Missing) -> Option<Error> {
    if missing.verb.name != "fill-null" || !missing.name.contains('=') {
        return None;
    }
    let rest = without_word(missing.words, missing.name);
    let own: Vec<&str> = rest.verbs.last()?.iter().filter_map(|word| word.to_str()).collect();
    own.iter().find(|word| word.starts_with("--forward"))?;
    let last = own.iter().rposition(|word| word.starts_with("--forward") || word.starts_with("--by"))?;
    let end = last + if own[last].contains('=') { 1 } else { 2 };
    let both = missing.moved(end, &["then", "fill-null", missing.name]);
    Some(missing.misplaced(format!("--forward takes no FIELD=VALUE; to fill what is left: {both}")))
}

/// `sort --by k desc`, as in SQL.
fn direction(missing: &Missing) -> Option<Error> {
    let descends = descends(OsStr::new(missing.name))?;
    let mut meant = without_word(missing.words, missing.name);
    let own = meant.verbs.last_mut().filter(|_| missing.verb.name == "sort")?;
    let option = own.iter().position(|own| own == "--by")?;
    let key = own.get_mut(option + 1)?;
    if descends {
        // SQL's word applies to the last key.
        let keys = key.to_str().filter(|keys| !keys.contains(['(', '[', '-']))?;
        let last = keys.rfind(',').map_or(0, |comma| comma + 1);
        *key = format!("{}-{}", &keys[..last], &keys[last..]).into();
    }
    let rule = if descends { "a key that starts with - is sorted in descending order" } else { "the order is ascending" };
    Some(missing.misplaced(format!("{rule}: {}", line(&meant))))
}

/// `to-dense tokens 5 data.jsonl`, `to-dense -f tokens 5 data.jsonl`
fn size_of_a_field(missing: &Missing) -> Option<Error> {
    if !missing.has_option("--shape") || !missing.others_exist {
        return None;
    }
    let name = missing.name;
    let sized = |field: &str, size: &str| ["--shape".to_owned(), format!("{}=[{size}]", in_expression(field))];
    let field = missing.words.verbs.last().and_then(|own| value_after(own, "-f"));
    let size = missing.others_missing.iter().find(|other| other.parse::<u64>().is_ok());
    match (field, size) {
        (None, Some(size)) if is_field(name) => {
            let [option, shape] = sized(name, size);
            let meant = moved(&without_word(missing.words, size), name, 1, &["-f", name, &option, &shape]);
            Some(missing.misplaced(format!("use -f for fields and --shape for sizes: {meant}")))
        }
        (Some(field), _) if missing.is_number() => {
            let [option, shape] = sized(field, name);
            Some(missing.misplaced(format!("use --shape for sizes: {}", missing.moved(usize::MAX, &[&option, &shape]))))
        }
        _ => None,
    }
}

/// `promote docs.tokens tokens data.jsonl`
fn name_of_the_copy(missing: &Missing) -> Option<Error> {
    let is_name = missing.verb.name == "promote" && missing.others_exist && is_field(missing.name);
    is_name.then(|| missing.misplaced(format!("use --as to name the copy: {}", missing.moved(usize::MAX, &["--as", missing.name]))))
}

/// `unique user data.jsonl`; `count by city data.jsonl`, as in SQL.
fn field_without_an_option(missing: &Missing) -> Option<Error> {
    let (name, words) = (missing.name, missing.words);
    let option = missing.option_of_fields().filter(|_| missing.others_exist)?;
    let is_known = |name: &str| is_field(name) && missing.has_field(name) && (option != "--by" || !missing.is_structure(name));
    if !name.split(',').all(is_known) {
        return None;
    }
    let (option, what) = if option == "--by" { (option, "a field") } else { ("-f", "fields") };
    let field = missing.others_missing.first().filter(|field| name.eq_ignore_ascii_case("by") && option == "--by" && is_field(field));
    let meant = match field {
        Some(field) => moved(&without_word(words, name), field, 1, &[option, field]),
        None => with_value(words, option, name).unwrap_or_else(|| missing.moved(1, &[option, name])),
    };
    Some(missing.perhaps_misplaced(format!("use {option} to name {what}: {meant}")))
}

/// `explode tokens labels data.jsonl`
fn second_field(missing: &Missing) -> Option<Error> {
    let own = missing.own_field().filter(|own| ["FIELD", "PATH"].contains(own))?;
    let is_second = missing.others_exist && FieldPath::parse(missing.name).is_ok_and(|path| missing.has_path(&path));
    is_second.then(|| missing.perhaps_misplaced(format!("{} takes one {own}", missing.verb.name)))
}

/// `map y=1 z=2`
fn assignments_apart(missing: &Missing) -> Option<Error> {
    let is_assignment = missing.verb.name == "map" && missing.name.contains('=') && missing.name != "=";
    is_assignment.then(|| missing.misplaced("put all assignments in a single shell argument, separated by `;`: map 'y = x + 1; z = x * 2'"))
}

/// `filter x == 3`
fn expression_apart(missing: &Missing) -> Option<Error> {
    let name = missing.name;
    missing.expression().filter(|_| name.starts_with(['=', '<', '>', '!', '+', '-', '*', '/']) || name == "and" || name == "or")?;
    let example = if missing.verb.name == "map" { "y = x + 1" } else { "x > 3" };
    Some(missing.misplaced(format!("an expression is a single shell argument: put it in quotes, as in {} '{example}'", missing.verb.name)))
}

/// `filter 'x > 3' 'y < 5'`
fn conditions_apart(missing: &Missing) -> Option<Error> {
    missing.expression().filter(|id| *id == "condition" && missing.name.contains([' ', '<', '>', '=']))?;
    Some(missing.misplaced("a condition is a single shell argument; `and` joins two: filter '(x > 3) and (y < 5)'"))
}

/// `count 'ms > 100' data.jsonl`
fn condition_to_filter(missing: &Missing) -> Option<Error> {
    let name = missing.name;
    let compares = name.contains(['<', '>']) || name.contains("==") || name.contains("!=");
    if !compares || !missing.others_exist || missing.expression().is_some() || names_used(name, false).is_none() {
        return None;
    }
    let mut meant = without_word(missing.words, name);
    let at = meant.verbs.len().saturating_sub(1);
    meant.verbs.insert(at, vec!["filter".into(), name.into()]);
    Some(missing.misplaced(format!("select records first: {}", line(&meant))))
}

/// `sort help`
fn help(missing: &Missing) -> Option<Error> {
    (missing.name == "help").then(|| missing.misplaced(format!("for help on the verb: tatter {} --help", missing.verb.name)))
}

/// `convert id data.jsonl`
fn field_to_select(missing: &Missing) -> Option<Error> {
    let name = missing.name;
    let takes_fields = missing.option_of_fields().is_some() || missing.expression().is_some() || missing.own_field().is_some();
    if takes_fields || !missing.others_exist || !is_field(name) || !missing.has_field(name) {
        return None;
    }
    let mut meant = without_word(missing.words, name);
    let at = meant.verbs.len().saturating_sub(1);
    meant.verbs.insert(at, vec!["select".into(), name.into()]);
    Some(missing.perhaps_misplaced(format!("to choose fields, use select: {}", line(&meant))))
}

/// `convert a.jsonl b.parquet`, as for `cp`.
fn output(missing: &Missing) -> Option<Error> {
    let ([input, output], None, false) = (missing.files, &missing.options.output, missing.is_report) else { return None };
    let extension = |file: &OsString| Path::new(file).extension().map(OsStr::to_owned);
    let is_output = output == missing.name && is_file_of_a_format(missing.name) && extension(input) != extension(output);
    is_output
        .then(|| missing.perhaps_misplaced(format!("to write to this file, use -o: {}", missing.moved(usize::MAX, &["-o", missing.name]))))
}

/// Adds a notice for `convert a.jsonl a.parquet`, as for `cp`, where the second FILE exists and is read as well.
fn note_input_as_output(files: &[OsString], options: &Options) -> Result<()> {
    let ([input, output], None) = (files, &options.output) else { return Ok(()) };
    let (input, output) = (Path::new(input), Path::new(output));
    let is_of_a_format = |file: &Path| file.is_file() && file.to_str().is_some_and(is_file_of_a_format);
    if input.file_stem() != output.file_stem()
        || input.extension() == output.extension()
        || ![input, output].into_iter().all(is_of_a_format)
    {
        return Ok(());
    }
    let name = output.display();
    options.notices.add(format!("{name} is read as an input; to write to it, use -o {name}"), options.strict)
}

/// The word after the option.
fn value_after<'a>(own: &'a [OsString], option: &str) -> Option<&'a str> {
    own.iter().skip_while(|word| *word != option).nth(1)?.to_str()
}

/// A number among the words of the last verb, other than the misplaced `word`.
fn number_given<'a>(words: &'a Words, word: &str) -> Option<&'a str> {
    let own = words.verbs.last()?;
    let misplaced = own.iter().rposition(|own| own == word);
    let is_number = |at: usize| Some(at) != misplaced && own[at].to_str().is_some_and(|own| own.parse::<u64>().is_ok());
    let is_argument = |at: usize| {
        let before = own.get(at.wrapping_sub(1)).map(|before| before.to_string_lossy());
        before.is_none_or(|before| !before.starts_with('-') || before == "-n" || before == "--buffer")
    };
    (1..own.len()).find(|at| is_number(*at) && is_argument(*at)).and_then(|at| own[at].to_str())
}

/// The line with the word as another value of an option that is given already; `None` if it is not given.
fn with_value(words: &Words, option: &str, word: &str) -> Option<String> {
    let mut meant = without_word(words, word);
    let own = meant.verbs.last_mut()?;
    let at = own.iter().position(|own| own == option)?;
    let value = own.get_mut(at + 1)?;
    value.push(format!(",{word}"));
    Some(line(&meant))
}

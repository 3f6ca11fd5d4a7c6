//! Interprets a command line written for another tool, and fills a template with its words.

use super::conversions::Target;
use super::fields;
use super::known::{Known, is_accepted};
use super::table::renamed;
use super::template::{is_whole, placed};
use crate::cli::brackets::typed_word;
use crate::cli::misplaced::is_file_of_a_format;
use crate::cli::patterns::{Search, Substitution, in_single_quotes};
use crate::cli::split::{Words, find_option, has_option, is_option};
use crate::cli::typed::Typed;
use crate::expr::{condition, names_used};
use crate::path::{FieldPath, in_expression, quoted};
use crate::printable::shell_word;
use crate::schema::{Field, Schema};
use clap::{Args, Command};
use std::ffi::OsString;
use std::path::Path;

/// The words of one verb of the command line, and what they mean.
pub struct Given<'a> {
    name: &'a str,
    /// The position of the verb in the chain.
    index: usize,
    words: &'a Words,
    /// The words after the name, without global options.
    own: Vec<String>,
    /// The global options among them, with their values.
    globals: Vec<String>,
    /// The words after `--`.
    dashed: Vec<String>,
    search: Option<Search>,
    substitution: Option<Substitution>,
    key: Option<String>,
    /// The first word after the key.
    value: Option<String>,
    /// The first two numbers.
    numbers: [Option<String>; 2],
    files: Vec<String>,
}

impl Given<'_> {
    /// The words of the verb `name`, at position `index` in the chain.
    pub fn of<'a>(name: &'a str, index: usize, words: &'a Words) -> Given<'a> {
        let own = words.verbs.get(index).map_or_else(Vec::new, |verb| texts(verb.get(1..).unwrap_or(&[])));
        let is_last = index + 1 == words.verbs.len();
        let (globals, own) = global_options(own);
        let dashed = if is_last { texts(&words.files) } else { Vec::new() };
        let (search, substitution) = (Search::of(name, &own), Substitution::of(name, &own));
        let key = key_of(&own).filter(|_| substitution.is_none());
        let mut others = own.iter().filter(|word| !is_file(word) && !is_option(word) && Some(*word) != key);
        let value = others.next().cloned();
        let mut numbers = own.iter().map(|word| word.trim_start_matches("-n")).filter(|word| word.parse::<u64>().is_ok());
        let numbers = [(); 2].map(|()| numbers.next().map(str::to_owned));
        let mut files: Vec<String> = match &search {
            Some(search) => search.files.clone(),
            None => {
                let is_file = |word: &&String| is_file(word) && (substitution.is_none() || is_there(word) || is_file_of_a_format(word));
                own.iter().filter(is_file).cloned().collect()
            }
        };
        // Miller's join reads the other file with -f.
        if let (true, Some(at)) = (name == "join", name_after(&own, "-f").and_then(|other| files.iter().position(|file| file == other))) {
            let other = files.remove(at);
            files.insert(files.len().min(1), other);
        }
        files.extend(dashed.iter().cloned());
        let key = key.cloned();
        Given { name, index, words, own, globals, dashed, search, substitution, key, value, numbers, files }
    }

    /// The command line with the verb replaced by the template; `None` if a placeholder has no value, or the command is
    /// rejected.
    pub fn command_line(&self, template: &str, known: &Known) -> Option<String> {
        // Global options cannot be added to a sequence of several commands.
        let globals: &[String] = if template.contains("&&") { &[] } else { &self.globals };
        let before = texts(&self.words.before);
        let template = if self.names_output() { template.replace(" -o data.parquet --no-clobber", "") } else { template.to_owned() };
        let arguments = self.arguments(&template);
        let template = template.trim_start_matches("tatter ");
        let command = placed(template, |place| self.place(place, template, &arguments, known))?;
        if is_whole(&command) && !is_accepted(&format!("tatter {command}"), known) {
            return None;
        }
        // Other verbs of the chain can also be names from other tools.
        let other = |verb: &[String]| match verb.split_first().map(|(name, args)| (renamed(name), args)) {
            Some((Some(command), args)) => command.replace("{args}", &joined(args)),
            _ => joined(verb),
        };
        let verb = |(number, verb): (usize, &Vec<OsString>)| if number == self.index { command.clone() } else { other(&texts(verb)) };
        let verbs: Vec<String> = self.words.verbs.iter().enumerate().map(verb).collect();
        let parts = ["tatter".to_owned(), joined(&before), verbs.join(" then "), joined(globals)];
        Some(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "))
    }

    /// Whether an option names the output.
    fn names_output(&self) -> bool {
        let before = texts(&self.words.before);
        self.globals.iter().chain(&before).any(|word| word.starts_with("-o") || word.starts_with("--output"))
    }

    /// `-o OUT` for the only file that does not exist, or else the format that is named: `save in.jsonl out.parquet`,
    /// `export --format parquet in.jsonl`.
    fn target(&self) -> (Option<&String>, String) {
        if self.names_output() {
            return (None, String::new());
        }
        let mut absent = self.files.iter().filter(|file| !is_there(file));
        if let (Some(file), None) = (absent.next(), absent.next())
            && is_file_of_a_format(file)
            && self.files.len() > 1
        {
            return (Some(file), format!("-o {}", typed_word(file)));
        }
        let format = ["--format", "--fmt"].into_iter().find_map(|option| {
            let word = self.own.iter().find(|word| bare(word) == option)?;
            word.split_once('=').map(|(_, format)| format.to_owned()).or_else(|| name_after(&self.own, option).cloned())
        });
        let fallback = if self.name.starts_with("to") { "-o data.parquet --no-clobber" } else { "" };
        (None, format.map_or_else(|| fallback.to_owned(), |format| format!("--to {}", shell_word(&format))))
    }

    /// The options for the output of a command that is named after a format, such as `csv2parquet` or `to parquet`.
    fn converted(&self) -> Option<String> {
        let named = |word: &String| Some(Target::of(&format!("{} {word}", self.name))?.options(&self.stem()));
        let options = Target::of(self.name).map(|target| target.options(&self.stem())).or_else(|| self.own.iter().find_map(named))?;
        let (target, to_target) = self.target();
        Some(match options.strip_prefix("-o ") {
            Some(_) if self.names_output() => String::new(),
            Some(_) if target.is_some() => to_target,
            Some(output) if is_there(output) => format!("{options} --no-clobber"),
            _ => options,
        })
    }

    /// The name for an output: that of the only file, without its extensions.
    fn stem(&self) -> String {
        let [file] = self.files.as_slice() else { return "data".to_owned() };
        let (folder, name) = file.rsplit_once('/').map_or(("", file.as_str()), |(folder, name)| (folder, name));
        let stem = name.split('.').next().filter(|stem| !stem.is_empty() && *stem != "-").unwrap_or("data");
        shell_word(&if folder.is_empty() { stem.to_owned() } else { format!("{folder}/{stem}") })
    }

    /// The words without the target, and without the format that an option names.
    fn inputs(&self, arguments: &[String]) -> Vec<String> {
        let (target, _) = self.target();
        let is_format = |at: &usize| match at.checked_sub(1) {
            Some(before) if ["--format", "--fmt"].contains(&self.own[before].as_str()) => true,
            _ => Target::of(&format!("{} {}", self.name, self.own[*at])).is_some(),
        };
        let format = (0..self.own.len()).find(is_format).map(|at| &self.own[at]);
        arguments.iter().filter(|word| Some(*word) != target && Some(*word) != format).cloned().collect()
    }

    /// The schema of the records that reach the verb.
    fn schema(&self, known: &Known) -> Option<Schema> {
        self.schema_of(&self.files, known)
    }

    /// The schema of the records that reach the verb if these files are read.
    fn schema_of(&self, files: &[String], known: &Known) -> Option<Schema> {
        let before = self.words.verbs[..self.index].iter().flat_map(|verb| verb.iter().cloned().chain(["then".into()]));
        let inputs = files.iter().filter(|file| is_there(file)).map(OsString::from);
        let inputs: Vec<OsString> = inputs.collect();
        if inputs.is_empty() || inputs.iter().any(|file| file == "-") {
            return None;
        }
        (known.outline)(before.chain(["schema".into(), "--".into()]).chain(inputs).collect())
    }

    /// All words, without options of the other tool that the suggested verb does not have.
    fn arguments(&self, template: &str) -> Vec<String> {
        let verb = template.trim_start_matches("tatter ").split(' ').next().and_then(crate::verbs::find).map(|entry| entry.command());
        let is_foreign = |word: &&String| {
            is_option(word) && word.parse::<f64>().is_err() && verb.as_ref().is_some_and(|verb| !has_option(verb, bare(word)))
        };
        let words = self.own.iter().filter(|word| !is_foreign(word)).chain(&self.dashed);
        // Miller writes $x for the field x.
        words.map(|word| if takes_expression(template) { without_dollars(word) } else { word.clone() }).collect()
    }

    /// The value of a placeholder of the template; `None` if the words do not provide one.
    fn place(&self, place: &str, template: &str, arguments: &[String], known: &Known) -> Option<String> {
        let [number, second] = self.numbers.each_ref().map(Option::as_deref);
        let file = |number: usize| Some(self.files.get(number).map_or_else(|| "FILE".to_owned(), |file| typed_word(file)));
        let aggregate = self.key.as_deref().filter(|key| is_aggregate(key));
        let key = |quoted: fn(&str) -> String| match aggregate {
            Some(_) => None,
            None => Some(self.key.as_deref().map_or_else(|| "FIELD".to_owned(), quoted)),
        };
        let option = |name: &str| Some(self.key.as_ref().map_or_else(String::new, |key| format!("{name} {}", shell_word(&as_field(key)))));
        match place {
            "args" => Some(joined(arguments)),
            "where" => Some(joined(&self.conditions(arguments))),
            "inputs" => Some(joined(&self.inputs(arguments))),
            "target" => Some(self.target().1),
            "searched" => {
                let [not, i, pattern] = ["not", "i", "pattern"].map(|place| self.search.as_ref().and_then(|search| search.place(place)));
                let regex = format!("(?s{}).*{}.*", i.unwrap_or_default(), pattern?);
                let is_inverted = not.is_some_and(|not| !not.is_empty());
                let column = self.search.as_ref().and_then(|search| search.column.as_deref());
                Some(fields::searched(self.schema(known).as_ref(), column, &regex, is_inverted))
            }
            "whole" if self.key.is_none() => Some(self.schema(known).and_then(|schema| fields::all(&schema)).unwrap_or("FIELD".to_owned())),
            "exploded" => self.exploded(known),
            "common" => {
                let of = |at: usize| self.schema_of(self.files.get(at..=at)?, known);
                let shared = || fields::common(&of(0)?, &of(1)?);
                self.key.is_none().then(shared).flatten().or_else(|| key(|key| shell_word(&as_field(key))))
            }
            "others" => fields::others(&self.schema(known)?, self.key.as_deref()?),
            "separated" => {
                let is_text = fields::is_string(&self.schema(known)?, self.key.as_deref()?);
                let field = key(|key| in_single_quotes(&as_field(key)))?;
                let split = || format!("map '{field} = strings.split({field}, \"{}\")' then ", in_single_quotes(&self.separator()));
                Some(if is_text { split() } else { String::new() })
            }
            "casts" => self.own.iter().find(|word| word.contains('=') && !is_there(word)).map(|pairs| shell_word(&with_dtypes(pairs))),
            "computed" => self.computed(arguments),
            "converted" => self.converted(),
            "grouped" => name_after(&self.own, "-g").map(|key| shell_word(&as_field(key))),
            "numbered" => Some(fields::numbered(&self.schema(known)?, &self.own)?),
            "complete" if self.key.is_none() => Some(fields::without_nulls(&self.schema(known)?)?),
            "complete" => Some(format!("not is_null({}, level=0)", key(|key| in_single_quotes(&as_field(key)))?)),
            // Without a FILE, the first of several programs would wait.
            "files" if self.files.is_empty() && template.contains("&&") => Some("FILE".to_owned()),
            "files" => Some(joined(&self.files)),
            "file" => file(0),
            "other" => file(1),
            "n" => Some(number.unwrap_or("N").to_owned()),
            "number" => Some(number.unwrap_or("1").to_owned()),
            "skipped" => Some(second.unwrap_or("N").to_owned()),
            "listed" => self.listed(),
            "range" => self.range(),
            "name" => Some(self.name.to_owned()),
            "value" => self.value.as_deref().map(in_single_quotes),
            "shares" => Some(self.shares()),
            "by" => option("--by"),
            "fields" => option("-f"),
            "shape" if self.key.is_none() => match number {
                Some(number) => fields::shapes(&self.schema(known)?, number),
                None => Some(String::new()),
            },
            "shape" => {
                let shape = |(key, number): (&String, &str)| format!("--shape {}", shell_word(&format!("{}=[{number}]", as_field(key))));
                Some(self.key.as_ref().zip(number).map_or_else(String::new, shape))
            }
            "condition" => {
                let compares = |word: &String| word.contains(['<', '>']) || word.contains("==") || word.contains("!=");
                arguments.iter().any(compares).then(|| joined(arguments))
            }
            "promoted" => self.promoted(known),
            "list" if self.promoted(known).is_some() => None,
            "key" | "list" | "whole" => key(|key| shell_word(&as_field(key))),
            "field" => key(|key| in_single_quotes(&as_field(key))),
            "column" => key(in_sql),
            "aggregate" => aggregate.map(str::to_owned),
            _ => {
                let of_sed = || Substitution::place(self.substitution.as_ref(), place);
                Some(self.search.as_ref().and_then(|search| search.place(place)).unwrap_or_else(of_sed))
            }
        }
    }

    /// The verb that makes records of the values of the field, if they are in lists.
    fn exploded(&self, known: &Known) -> Option<String> {
        let schema = self.schema(known);
        let key = FieldPath::parse(self.key.as_deref().unwrap_or("FIELD")).ok();
        let field = schema.as_ref().zip(key.as_ref()).and_then(|(schema, key)| schema.find(key).ok());
        match field {
            Some((_, field)) if !field.ty.dims.is_empty() => Some(format!("explode {} then ", shell_word(&as_field(self.key.as_deref()?)))),
            _ => Some(String::new()),
        }
    }

    /// The words of a verb whose argument is a condition, which may be one of SQL.
    fn conditions(&self, arguments: &[String]) -> Vec<String> {
        let meant = |word: &String| match names_used(word, false) {
            Some(_) => word.clone(),
            None => condition(word).unwrap_or_else(|| word.clone()),
        };
        let mut words = arguments.iter();
        words.next().map(meant).into_iter().chain(words.cloned()).collect()
    }

    /// An assignment to a new field, of a value that is no condition.
    fn computed(&self, arguments: &[String]) -> Option<String> {
        let value = arguments.iter().find(|word| !is_file(word) && !is_option(word))?;
        let is_value = names_used(value, false).is_some() && !value.contains(['<', '>', '=']);
        is_value.then(|| shell_word(&format!("result = {value}")))
    }

    /// Miller's separator of the items of a list.
    fn separator(&self) -> String {
        let after = |option: &str| self.own.iter().skip_while(|word| *word != option).nth(1);
        let given = ["--evar", "--nested-fs"].into_iter().find_map(after).map_or(";", String::as_str);
        let named = [("semicolon", ";"), ("comma", ","), ("pipe", "|"), ("space", " "), ("tab", "\\t")];
        named.iter().find(|(name, _)| *name == given).map_or(given, |(_, separator)| separator).to_owned()
    }

    /// Numbers as in `2,4`.
    fn listed(&self) -> Option<String> {
        let is_list = |word: &&String| word.starts_with(|c: char| c.is_ascii_digit()) && word.chars().all(|c| "0123456789,-".contains(c));
        self.own.iter().find(is_list).filter(|_| self.numbers[1].is_none()).cloned()
    }

    /// The two numbers, or a Python slice, which counts from 0 and excludes its end.
    fn range(&self) -> Option<String> {
        let slice = |word: &String| {
            let (start, end) = word.split_once(':')?;
            let (start, end): (u64, u64) = (start.parse().ok()?, end.parse().ok()?);
            (start < end).then(|| (start + 1, end))
        };
        let pair = || Some((self.numbers[0].as_ref()?.parse().ok()?, self.numbers[1].as_ref()?.parse().ok()?));
        match self.own.iter().find_map(slice).or_else(pair)? {
            (0, _) => None,
            (first, last) if first == last => Some(first.to_string()),
            (first, last) => Some(format!("{first}-{last}")),
        }
    }

    /// The shares of training and test records.
    fn shares(&self) -> String {
        let size = self.own.iter().skip_while(|word| !["--test-size", "--test_size"].contains(&word.as_str())).nth(1);
        let size = size.and_then(|size| size.parse::<f32>().ok()).filter(|size| *size > 0.0 && *size < 1.0).unwrap_or(0.1);
        format!("train={},test={size}", 1.0 - size)
    }

    /// The verbs that move its fields out of the key, or the first structure, if it is a structure.
    fn promoted(&self, known: &Known) -> Option<String> {
        let schema = self.schema(known)?;
        let is_structure = |field: &&Field| field.ty.fields().is_some() && field.ty.dims.is_empty();
        let key = self.key.clone().or_else(|| Some(quoted(&schema.fields.iter().find(is_structure)?.name)))?;
        schema.moved_out(&FieldPath::parse(&key).ok()?, |_| true)
    }
}

/// The word after an option that names fields, or the first word that is not a file.
fn key_of(own: &[String]) -> Option<&String> {
    let is_field = |word: &&String| !is_there(word) && !is_file_of_a_format(word);
    let options = ["-f", "-j", "--on", "-c", "--columns", "--by", "--key", "on", "using"];
    let named = options.into_iter().find_map(|option| name_after(own, option)).filter(is_field);
    named.or_else(|| own.iter().find(|word| !is_file(word) && !is_option(word) && is_name(word)))
}

/// The name after an option.
fn name_after<'a>(own: &'a [String], option: &str) -> Option<&'a String> {
    own.iter().skip_while(|word| *word != option).nth(1).filter(|word| is_name(word))
}

/// Not a number, nor numbers as in `cut -f 1,3-`.
fn is_name(word: &str) -> bool {
    word.contains(char::is_alphanumeric) && word.parse::<f64>().is_err() && !word.chars().all(|c| c.is_ascii_digit() || ",-".contains(c))
}

fn is_there(word: &str) -> bool {
    word == "-" || Path::new(word).exists()
}

/// Whether a word is a file, which need not exist. A program in the language of another tool contains dots too, and
/// `meta.lang` is a field.
fn is_file(word: &str) -> bool {
    let is_program = word.starts_with(['.', '{', '$']) || word.contains('(');
    let is_path = !is_file_of_a_format(word) && word.chars().all(|c| c.is_alphanumeric() || "_.".contains(c));
    is_there(word) || (word.contains(['.', '/']) && !is_program && !is_path)
}

fn joined(words: &[String]) -> String {
    words.iter().map(|word| typed_word(word)).collect::<Vec<_>>().join(" ")
}

/// Whether the words after the verb of the template are expressions.
fn takes_expression(template: &str) -> bool {
    template.starts_with("tatter map ") || template.starts_with("tatter filter ")
}

/// An expression without the `$` before the names of fields.
fn without_dollars(text: &str) -> String {
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if !part.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            out.push('$');
        }
        out.push_str(part);
    }
    out
}

/// Whether a key is a call such as `sum(x)`, which SQL computes over all records.
fn is_aggregate(key: &str) -> bool {
    let names = ["sum", "avg", "mean", "min", "max", "count", "median", "stddev", "variance"];
    let call = key.strip_suffix(')').and_then(|call| call.split_once('('));
    call.is_some_and(|(name, of)| {
        names.contains(&name.to_ascii_lowercase().as_str()) && of.chars().all(|c| c.is_alphanumeric() || "_*".contains(c))
    })
}

/// Pairs of fields and dtypes, with the names of dtypes here.
fn with_dtypes(pairs: &str) -> String {
    let usual = |dtype: &str| match dtype.trim_matches(['"', '\'']) {
        "int" | "Int64" | "integer" => "int64",
        "float" | "double" | "Float64" => "float64",
        "str" | "String" | "object" | "text" => "string",
        "boolean" | "Boolean" => "bool",
        _ => "",
    };
    let pair = |pair: &str| match pair.split_once('=') {
        Some((field, dtype)) if !usual(dtype).is_empty() => format!("{field}={}", usual(dtype)),
        _ => pair.to_owned(),
    };
    pairs.split(',').map(pair).collect::<Vec<_>>().join(",")
}

/// Fields or an expression as typed, but a name such as `my-key` in backquotes.
fn as_field(key: &str) -> String {
    let is_name = !key.contains([',', '.', '`']) && key.chars().all(|c| c.is_alphanumeric() || "_- ".contains(c));
    if is_name { in_expression(key) } else { key.to_owned() }
}

/// An SQL column inside the double quotes of a shell word.
fn in_sql(key: &str) -> String {
    if key.chars().all(|c| c.is_alphanumeric() || "_.,".contains(c)) {
        return key.to_owned();
    }
    let quoted = format!("\"{}\"", key.replace('"', "\"\""));
    quoted.chars().flat_map(|c| "\"\\$`".contains(c).then_some('\\').into_iter().chain([c])).collect()
}

/// The global options that take a value, with their values, and the remaining words.
fn global_options(words: Vec<String>) -> (Vec<String>, Vec<String>) {
    let globals = Typed::augment_args(Command::new("tatter"));
    let takes_value = |word: &str| find_option(&globals, word).is_some_and(|arg| arg.get_action().takes_values());
    let (mut own, mut others) = (Vec::new(), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        // The other tool's option of this name may take no value: `cut -o -f id`.
        let is_followed = word.contains('=') || words.as_slice().first().is_some_and(|next| !next.starts_with('-') || next == "-");
        if !takes_value(bare(&word)) || !is_followed {
            others.push(word);
            continue;
        }
        let value = if word.contains('=') { None } else { words.next() };
        own.push(word);
        own.extend(value);
    }
    (own, others)
}

/// An option without its value.
fn bare(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

fn texts(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

//! Interprets a command line written for another tool, and fills a template with its words.

use super::aggregation::Aggregation;
use super::awk::{self, Lines};
use super::conversions::Target;
use super::fields;
use super::known::{Known, is_accepted};
use super::order::sort_keys;
use super::table::renamed;
use super::template::{is_command, is_whole, placed};
use super::words::{bare, global_options, is_file, is_there, key_of, name_after, texts, without_ignored};
use crate::cli::brackets::typed_word;
use crate::cli::misplaced::is_file_of_a_format;
use crate::cli::patterns::{Search, Substitution, in_single_quotes};
use crate::cli::records::Records;
use crate::cli::split::{Words, has_option, is_option};
use crate::cli::sql;
use crate::expr::{condition, names_used};
use crate::path::{FieldPath, in_expression, quoted};
use crate::printable::shell_word;
use crate::schema::{Field, Schema};
use std::ffi::OsString;

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
    /// The program of awk or sed.
    program: Option<String>,
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
        let (globals, own) = global_options(name, without_ignored(name, own));
        let dashed = if is_last { texts(&words.files) } else { Vec::new() };
        let (search, substitution) = (Search::of(name, &own), Substitution::of(name, &own));
        let program = awk::program(&own).filter(|_| ["awk", "gawk", "sed"].contains(&name));
        let key = key_of(&own).filter(|_| program.is_none());
        let mut others = own.iter().filter(|word| !is_file(word) && !is_option(word) && Some(*word) != key);
        let value = others.next().cloned();
        let mut numbers = own.iter().map(|word| word.trim_start_matches("-n")).filter(|word| word.parse::<u64>().is_ok());
        let numbers = [(); 2].map(|()| numbers.next().map(str::to_owned));
        let mut files: Vec<String> = match (&search, program) {
            (Some(search), _) => search.files.clone(),
            (None, Some((_, files))) => files.to_vec(),
            (None, None) => own.iter().filter(|word| is_file(word)).cloned().collect(),
        };
        // Miller's join reads the other file with -f.
        if let (true, Some(at)) = (name == "join", name_after(&own, "-f").and_then(|other| files.iter().position(|file| file == other))) {
            let other = files.remove(at);
            files.insert(files.len().min(1), other);
        }
        files.extend(dashed.iter().cloned());
        let (key, program) = (key.cloned(), program.map(|(program, _)| program.clone()));
        Given { name, index, words, own, globals, dashed, search, substitution, program, key, value, numbers, files }
    }

    /// The command line with the verb replaced by the template; `None` if a placeholder has no value, or the command is
    /// rejected.
    pub fn command_line(&self, template: &str, known: &Known) -> Option<String> {
        // Global options cannot be added to a sequence of several commands.
        let globals: &[String] = if template.contains("&&") { &[] } else { &self.globals };
        let before = texts(&self.words.before);
        let template = if self.names_output() { template.replace(" -o data.parquet --no-clobber", "") } else { template.to_owned() };
        let arguments = self.arguments(&template);
        if !is_command(&template) {
            return placed(&template, |place| self.place(place, &template, &arguments, known));
        }
        let template = template.trim_start_matches("tatter ");
        let command = placed(template, |place| self.place(place, template, &arguments, known))?;
        // Other verbs of the chain can also be names from other tools.
        let other = |verb: &[String]| match verb.split_first().map(|(name, args)| (renamed(name), args)) {
            Some((Some(command), args)) => command.replace("{args}", &joined(args)),
            _ => joined(verb),
        };
        let verb = |(number, verb): (usize, &Vec<OsString>)| if number == self.index { command.clone() } else { other(&texts(verb)) };
        let verbs: Vec<String> = self.words.verbs.iter().enumerate().map(verb).collect();
        let parts = ["tatter".to_owned(), joined(&before), verbs.join(" then "), joined(globals)];
        let line = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        (!is_whole(&line) || is_accepted(&line, known)).then_some(line)
    }

    /// The fields that `FIELD` in the suggested command can be, if they are known.
    pub fn choices(&self, command: &str, known: &Known) -> Option<String> {
        let has_field = command.split(|c: char| !c.is_alphanumeric()).any(|word| word == "FIELD");
        fields::choices(&self.schema(known).filter(|_| has_field)?, command.contains("strings."))
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
                let search = self.search.as_ref()?;
                let (regex, is_inverted) = search.test()?;
                Some(fields::searched(self.schema(known).as_ref(), search.column.as_deref(), &regex, is_inverted))
            }
            "extracted" => self.extracted(&self.schema(known)?),
            "counted" => self.search.as_ref().map(Search::after),
            "sorted" => match aggregate {
                Some(_) => None,
                None => Some(self.sorted(known).map_or_else(|| "FIELD".to_owned(), |keys| shell_word(&keys))),
            },
            "records" => Records::of(self.name, &self.own)?.verbs(),
            "skipping" => Some(format!("skip {}", number.filter(|_| second.is_none() && self.has_no_option())?)),
            "program" => self.lines(known),
            "query" => self.query(),
            "string" => Some(in_single_quotes(&match &self.key {
                Some(key) => as_field(key),
                None => self.schema(known).and_then(|schema| fields::only_string(&schema).map(in_expression)).unwrap_or("FIELD".to_owned()),
            })),
            "filled" if self.key.is_none() => {
                fields::filled(&self.schema(known)?, self.own.iter().find(|word| !is_option(word) && !is_there(word))?)
            }
            "filled" => None,
            "given" => self.key.as_ref().and_then(|_| key(|key| shell_word(&as_field(key)))),
            "aggregated" => self.aggregation().map(|found| shell_word(&found.fields.join(","))),
            "per" => self.aggregation().map(|found| found.by.map_or_else(String::new, |by| format!("--by {}", shell_word(&as_field(&by))))),
            "cut" => self.cut(&self.schema(known)?),
            // Only values fit in columns.
            "flat" => fields::are_values(&self.schema(known)?).then(String::new),
            "labelled" => self.labelled(&self.schema(known)?),
            "decimated" => {
                let number = number?.parse::<u64>().ok()?;
                Some(format!("{}/{number}", number.checked_sub(1)?))
            }
            "assigned" => {
                let mut words = self.own.iter().filter(|word| !is_there(word) && !is_option(word));
                let (name, value) = (words.next()?, words.next()?);
                names_used(value, false)?;
                Some(shell_word(&format!("{} = {value}", in_expression(name))))
            }
            "joined" => Some(shell_word(&self.joined_text(arguments, &self.schema(known)?)?)),
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
            "column" => match self.schema(known).zip(self.key.as_deref()) {
                Some((schema, keys)) if keys.split(',').any(|key| schema.index_of(key).is_none()) => None,
                _ => key(in_sql),
            },
            "aggregate" => aggregate.map(str::to_owned),
            _ if self.program.is_some() && self.substitution.is_none() => None,
            _ => Some(Substitution::place(self.substitution.as_ref(), place)),
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

    fn has_no_option(&self) -> bool {
        !self.own.iter().any(|word| is_option(word))
    }

    /// The keys of a sort, with their directions.
    fn sorted(&self, known: &Known) -> Option<String> {
        let schema = self.schema(known);
        let is_field = |name: &str| schema.as_ref().map(|schema| schema.index_of(name).is_some());
        let words = self.own.iter().filter(|word| !is_file(word) && !self.files.contains(word)).map(String::as_str);
        sort_keys(words, is_field)
    }

    /// What the words summarize, and by what.
    fn aggregation(&self) -> Option<Aggregation> {
        Aggregation::of(&self.own, is_file)
    }

    /// The verbs for a program of awk or sed that chooses lines or columns.
    fn lines(&self, known: &Known) -> Option<String> {
        let program = self.program.as_ref()?;
        let has_header = self.files.first().is_some_and(|file| {
            let name = file.trim_end_matches(".gz").trim_end_matches(".zst");
            name.ends_with(".csv") || name.ends_with(".tsv")
        });
        let schema = self.schema(known);
        let lines = Lines { schema: schema.as_ref(), has_header };
        match self.name {
            "sed" => lines.of_sed(program, self.own.iter().any(|word| word == "-n")),
            _ => lines.of_awk(program),
        }
    }

    /// The arguments of DuckDB for a query of records in Parquet.
    fn query(&self) -> Option<String> {
        match self.own.iter().find(|word| sql::is_query(word)) {
            Some(query) => Some(sql::command(query, "data.parquet")?.strip_prefix("duckdb ")?.to_owned()),
            None => Some("-c \"SELECT * FROM 'data.parquet'\"".to_owned()),
        }
    }

    /// The verbs that replace a string by the first match of a pattern, where it has one.
    fn extracted(&self, schema: &Schema) -> Option<String> {
        let [found, first] = self.search.as_ref()?.extraction()?;
        let field = in_single_quotes(&in_expression(fields::only_string(schema)?));
        let name = shell_word(&quoted(fields::only_string(schema)?));
        Some(format!(
            "filter 'strings.regex_full_match({field}, \"{found}\")' then map '{field} = strings.regex_replace({field}, \"{first}\", \"\\\\1\")' then select {name}"
        ))
    }

    /// New names for the first fields.
    fn labelled(&self, schema: &Schema) -> Option<String> {
        let names: Vec<&str> = self.key.as_ref()?.split(',').collect();
        let olds = schema.fields.get(..names.len())?.iter();
        let pairs = olds.zip(&names).filter(|(old, new)| old.name != **new);
        let pairs: Vec<String> = pairs.map(|(old, new)| format!("{}={new}", quoted(&old.name))).collect();
        (!pairs.is_empty()).then(|| shell_word(&pairs.join(",")))
    }

    /// The assignment for the characters of `cut -c2-4`, of lines of text.
    fn cut(&self, schema: &Schema) -> Option<String> {
        let at = self.own.iter().position(|word| word.starts_with("-c"))?;
        let list = self.own[at].strip_prefix("-c").filter(|list| !list.is_empty()).or_else(|| self.own.get(at + 1).map(String::as_str))?;
        let (first, last) = list.split_once('-').unwrap_or((list, list));
        let first: u64 = if first.is_empty() { 1 } else { first.parse().ok()? };
        let position = first.checked_sub(1)?;
        let length = last.parse::<u64>().ok()?.checked_sub(position)?;
        let [text] = schema.fields.as_slice() else { return None };
        let name = Some(in_expression(&text.name)).filter(|_| fields::is_string(schema, &text.name))?;
        // substr rejects a position after the end.
        let characters = match position {
            0 => format!("strings.substr({name}, 0, {length}, unit=\"UTF8_CHAR\")"),
            _ => format!("strings.regex_replace({name}, \"(?s)^.{{0,{position}}}(.{{0,{length}}}).*\", \"\\\\1\")"),
        };
        Some(shell_word(&format!("{name} = {characters}")))
    }

    /// An assignment of Miller that joins texts with ` . `.
    fn joined_text(&self, arguments: &[String], schema: &Schema) -> Option<String> {
        let (name, value) = arguments.iter().find(|word| word.contains(" . "))?.split_once('=')?;
        let text = |part: &str| match part {
            literal if literal.starts_with('"') => literal.to_owned(),
            field if fields::is_string(schema, field) => field.to_owned(),
            value => format!("strings.as_string({value})"),
        };
        let parts: Vec<String> = crate::quotes::split(value, &['"'], '.').into_iter().map(text).collect();
        Some(format!("{} = {}", name.trim(), parts.join(" + ")))
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
        let list = self.own.iter().find(is_list).filter(|list| self.numbers[1].is_none() && list.contains([',', '-']))?;
        match self.name {
            // Python counts from 0.
            "iloc" => {
                let numbers = list.split(',').map(|number| Some((number.parse::<u64>().ok()? + 1).to_string()));
                Some(numbers.collect::<Option<Vec<_>>>()?.join(","))
            }
            _ => Some(list.clone()),
        }
    }

    /// The shares of training and test records.
    fn shares(&self) -> String {
        let is_share = |word: &&String| word.parse::<f32>().is_ok_and(|share| share > 0.0 && share < 1.0);
        if let [train, test] = self.own.iter().filter(is_share).collect::<Vec<_>>()[..] {
            return format!("train={train},test={test}");
        }
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

//! `split`: divides records among several outputs in one pass.

mod values;

use super::shared::key_table::KeyTable;
use super::shared::keys::{KeyField, Keys, key_columns};
use super::shared::seed::Seed;
use super::shared::shares::{key_text, parse_shares};
use super::verb::{ArgumentUnless, Bound, Example, Flow, Fold, Map, Operator, OutputPart, Route, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result, mismatch};
use crate::expr::{ScalarExpr, bind_scalar, names_used, sip};
use crate::options::Options;
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::schema::Schema;
use crate::tensor::Tensor;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use values::{Named, filled};

/// Divides records among several outputs.
#[derive(clap::Args)]
pub struct Split {
    /// Expression that evaluates to one bool per record: if it is true, the record goes to -o, otherwise to --else
    #[arg(value_name = "CONDITION")]
    condition: String,
    /// Output file for the other records
    #[arg(long = "else", value_name = "OUT", value_hint = clap::ValueHint::FilePath)]
    other: Option<OsString>,
    /// Names of the parts and their shares, which must add up to 1
    #[arg(long, value_name = "NAME=SHARE,..")]
    into: Option<String>,
    /// Write a file for each value; with --into, keep records with equal values together [default: each record by itself]
    #[arg(long, value_name = "EXPR")]
    by: Option<String>,
    /// With --into, divide the records of each value in the same proportions
    #[arg(long, value_name = "FIELDS", value_parser = Keys::parse)]
    stratify: Option<Keys>,
    #[command(flatten)]
    seed: Seed,
}

impl Verb for Split {
    const NAME: &'static str = "split";
    const SUMMARY: &'static str = "Divide records among several outputs";
    const ABOUT: &'static str = "\
`split CONDITION -o YES --else NO` writes the records for which the condition is true to one output and all others to another.

`split --into train=0.9,test=0.1 -o data.parquet` writes data-train.parquet and data-test.parquet. `{}` in the name of the output is \
replaced by the name of the part: -o '{}/data@8.tfrecord'.

`split --by FIELD -o 'out/{}.jsonl'` writes a file for each value of FIELD; without `{}`, `-o x.jsonl` writes x-VALUE.jsonl.

All outputs have the same format, are written in one pass and appear together at the end. Records keep their order.

With --into, each part gets about the given share of the records; with few keys, the actual shares may differ widely. The bucket of a record is \
TensorFlow's strings.to_hash_bucket_strong(KEY, 1000000, [SEED, 0]), and the first parts take the first buckets. KEY is the value of --by: \
a string as it is, an integer or bool as decimal text; without --by, it is the record number, counted from 0. Thus records with equal keys \
stay together, and no record moves to another part when records are added (without --by, only if they are added at the end). To divide a \
part again by the same key, use a different --seed; with the same seed, all its keys would go to the first parts.

With --stratify FIELDS, the records of each value are divided separately, in order: at any point, each part is within one record of its \
share of that value (with P parts, within P - 1 records). --seed determines which records go where.

With --by alone, `{}` is replaced by the value, which must be a string, an integer or a bool. Letters, digits, `_`, `-`, \
`+` and `.` (but not as the first character) are kept; all other bytes are written as `%` and two hexadecimal digits: a/b becomes the \
file a%2Fb.jsonl. The empty string becomes `%`. At most 400 values are allowed, because their files are open at the same time; a null, \
and values that differ only in case, are errors. To bound memory use, the files of values that appear later have smaller Parquet row \
groups. Files that an earlier run wrote for other values are kept.";
    const MEANING: &'static str = "";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "records with and without tokens; without -o, the former go to standard output",
            args: "split 'len(tokens) > 0' --else /dev/null",
            input: "{\"tokens\": [5, 2]}\n{\"tokens\": []}\n{\"tokens\": [7]}\n",
            output: "{\"tokens\":[5,2]}\n{\"tokens\":[7]}\n",
        },
        Example {
            about: "all records of a user in one part; --dry-run prints the plan",
            args: "split --into train=0.9,test=0.1 --by user -o users.parquet --dry-run",
            input: "{\"user\": 1}\n{\"user\": 2}\n",
            output: "input   standard input (jsonl)\nschema in\n    user: int64\nafter split\n    user: int64\n\
                     output  users-train.parquet (parquet)\noutput  users-test.parquet (parquet)\n",
        },
        Example {
            about: "a file for each user",
            args: "split --by user -o '{}.jsonl' in.jsonl && cat ann.jsonl",
            input: "==> in.jsonl <==\n{\"user\": \"ann\", \"id\": 1}\n{\"user\": \"bob\", \"id\": 2}\n{\"user\": \"ann\", \"id\": 3}\n",
            output: "{\"user\":\"ann\",\"id\":1}\n{\"user\":\"ann\",\"id\":3}\n",
        },
        Example {
            about: "half of the records of each label",
            args: "split --into a=0.5,b=0.5 --stratify label -o '{}.jsonl' in.jsonl && cat b.jsonl",
            input: "==> in.jsonl <==\n{\"label\": 0, \"id\": 1}\n{\"label\": 0, \"id\": 2}\n{\"label\": 1, \"id\": 3}\n{\"label\": 1, \"id\": 4}\n",
            output: "{\"label\":0,\"id\":2}\n{\"label\":1,\"id\":4}\n",
        },
    ];
    const ARGUMENT_UNLESS: Option<ArgumentUnless> = Some(|given| given("--into") || (given("--by") && !given("--else")));

    fn parts(&self) -> Result<Option<Vec<OutputPart>>> {
        match (&self.into, &self.other) {
            (None, Some(_)) if self.by.is_some() => {
                let error = Error::usage("--by and a condition cannot be used together");
                Err(error.help("without a condition, --by writes a file for each value: split --by FIELD -o 'out/{}.jsonl'"))
            }
            (None, _) if self.stratify.is_some() => Err(Error::usage("--stratify requires --into NAME=SHARE,..")),
            (Some(_), _) if self.by.is_some() && self.stratify.is_some() => {
                let error = Error::usage("--by keeps the records of a key together, but --stratify divides them: choose one");
                Err(error.help("if all keys have about the same shares of --stratify FIELD, --by is enough"))
            }
            (Some(_), Some(_)) => Err(Error::usage("--into names all parts: it takes no --else")),
            (Some(into), None) => Ok(Some(shares(into)?.into_iter().map(|(name, _)| OutputPart::Named(name)).collect())),
            (None, None) if self.by.is_some() => Ok(Some(vec![OutputPart::EachValue])),
            (None, _) if self.condition.is_empty() => Err(without_parts("FILE")),
            (None, Some(other)) => Ok(Some(vec![OutputPart::Output, OutputPart::File(other.clone())])),
            (None, None) if Path::new(&self.condition).exists() => Err(without_parts(&shell_word(&self.condition))),
            (None, None) if is_shares(&self.condition) => Err(Error::usage(mismatch("a condition", format_args!("`{}`", self.condition)))
                .help("use --into for the shares: split --into train=0.9,test=0.1 -o part.jsonl")),
            (None, None) if let Some(error) = assignment(&self.condition) => Err(error),
            (None, None) => {
                let (error, condition) = (Error::usage("no output for the other records: add --else OUT"), shell_word(&self.condition));
                let is_field = FieldPath::parse(&self.condition).is_ok_and(|path| path.in_expression() == self.condition);
                let error = if is_field {
                    error.help(format!("to write a file for each value: split --by {condition} -o 'part-{{}}.jsonl'"))
                } else {
                    error
                };
                Err(error.help(format!("to drop the others: filter {condition}")))
            }
        }
    }

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let options = &self.seed.options(options);
        let seed = options.seed;
        let route = match (&self.into, &self.by) {
            (None, Some(by)) => Route::Values { names: Arc::new(Named::new(by, schema, options)?), key: by.clone() },
            (None, None) => {
                let condition = bind_scalar(&self.condition, schema, options)?.into_condition(&self.condition)?;
                Route::Mapped(Arc::new(Marked { condition }))
            }
            (Some(into), Some(by)) => {
                let bucket = bind_scalar(&bucket_of(by, seed, schema, options)?, schema, options)?;
                Route::Mapped(Arc::new(Bucketed { bucket, filled: filled(by, schema, options)?, ends: ends(&shares(into)?) }))
            }
            (Some(into), None) if self.stratify.is_some() => {
                let keys = self.stratify.as_ref().map_or(Ok(Vec::new()), |keys| keys.fields(schema, "split --stratify"))?;
                let shares = shares(into)?.into_iter().map(|(_, share)| share).collect();
                let table = KeyTable::new(Self::NAME, "stratify by fewer fields, or by a coarser key computed with map", options);
                Route::Folded(Box::new(Stratified { keys, shares, seed, table, given: Vec::new() }))
            }
            (Some(into), None) => {
                let ends = ends(&shares(into)?);
                Route::Numbered(Arc::new(move |number| part_of(sip((seed, 0), number.to_string().as_bytes()) % BUCKETS, &ends)))
            }
        };
        Ok(Bound { schema: schema.clone(), operator: Operator::Split(route) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let used = match (&self.into, &self.by) {
            (_, Some(by)) => names_used(by, false),
            (None, None) => names_used(&self.condition, false),
            (Some(_), None) => return after.and_fields(self.stratify.iter().flat_map(Keys::names)),
        };
        used.map_or_else(Demand::everything, |used| after.and_fields(used.read))
    }
}

/// The error if no parts are given.
fn without_parts(file: &str) -> Error {
    Error::usage("expected a condition, --by or --into")
        .help(format!("to divide by shares: tatter split --into train=0.9,test=0.1 -o part.jsonl {file}"))
        .help(format!("to divide by a condition: tatter split CONDITION -o yes.jsonl --else no.jsonl {file}"))
        .help(format!("to write 4 files of about equal size: tatter convert --shards 4 -o part.jsonl {file}"))
}

/// Shares are resolved to millionths.
const BUCKETS: u64 = 1_000_000;

/// The bucket of a key, as an expression.
fn bucket_of(by: &str, seed: u64, schema: &Schema, options: &Options) -> Result<String> {
    Ok(format!("strings.to_hash_bucket_strong({}, {BUCKETS}, [{seed}, 0])", key_text(by, schema, options)?))
}

/// Parses `train=0.9,test=0.1`.
fn shares(text: &str) -> Result<Vec<(String, f64)>> {
    let shares = parse_shares(text, "--into", false)?;
    match shares.iter().find(|(name, _)| name.contains(['/', '@', '#', '='])) {
        Some((name, _)) => Err(Error::usage(format!("--into: `{name}` cannot be the name of a part: it must not contain / @ # ="))),
        None => Ok(shares),
    }
}

/// The end of each part's range of buckets.
fn ends(shares: &[(String, f64)]) -> Vec<u64> {
    let mut sum = 0.0;
    let mut ends: Vec<u64> = shares
        .iter()
        .map(|(_, share)| {
            sum += share;
            (sum * BUCKETS as f64).round() as u64
        })
        .collect();
    if let Some(last) = ends.last_mut() {
        *last = BUCKETS;
    }
    ends
}

fn part_of(bucket: u64, ends: &[u64]) -> usize {
    ends.iter().position(|end| bucket < *end).unwrap_or(ends.len().saturating_sub(1))
}

/// Adds the number of the part as the last column.
fn with_part(chunk: &Chunk, parts: Vec<i64>) -> Result<Chunk> {
    let mut columns = chunk.columns.clone();
    columns.push(Tensor::Leaf(Arc::new(Int64Array::from(parts))));
    chunk.with_columns(columns)
}

struct Marked {
    condition: ScalarExpr,
}

impl Map for Marked {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let mut parts = vec![1; chunk.nrows];
        for row in self.condition.rows_where_true(&chunk)? {
            parts[row] = 0;
        }
        with_part(&chunk, parts)
    }
}

struct Bucketed {
    bucket: ScalarExpr,
    /// The key with a value instead of nulls.
    filled: String,
    ends: Vec<u64>,
}

impl Map for Bucketed {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let buckets = self.bucket.eval(&chunk)?;
        let values = buckets.as_leaf()?.as_primitive_opt::<Int64Type>().ok_or_else(|| Error::internal("a bucket that is not an int64"))?;
        if let Some(row) = (0..chunk.nrows).find(|row| values.is_null(*row)) {
            let error = Error::data("the key of --by is null").at_row(row);
            return Err(error.help(format!("replace nulls with a value: --by {}", self.filled)));
        }
        with_part(&chunk, values.values().iter().map(|bucket| part_of(*bucket as u64, &self.ends) as i64).collect())
    }
}

/// Divides the records of each key into the same shares.
struct Stratified {
    /// The fields of the key.
    keys: Vec<KeyField>,
    shares: Vec<f64>,
    seed: u64,
    table: KeyTable,
    /// For each key, the number of records in each part so far.
    given: Vec<Vec<u64>>,
}

impl Stratified {
    /// The part of the next record of a key. The parts are drawn in order, each from the records that the parts before it
    /// leave, so that each has its share of any number of records to within one, and exactly on average over keys.
    fn part(&mut self, key: usize) -> usize {
        let given = &self.given[key];
        let (mut rest, mut share_of_rest) = (given.iter().sum::<u64>(), self.shares.iter().sum::<f64>());
        let last = given.len() - 1;
        let mut part = 0;
        while part < last {
            let share = self.shares[part] / share_of_rest;
            let chosen = given[part];
            // At most every other record is drawn, so that no record is drawn twice.
            let is_chosen = match share <= 0.5 {
                true => self.drawn(key, part, share, rest + 1) > chosen,
                false => self.drawn(key, part, 1.0 - share, rest + 1) <= rest - chosen,
            };
            if is_chosen {
                break;
            }
            rest -= chosen;
            share_of_rest -= self.shares[part];
            part += 1;
        }
        self.given[key][part] += 1;
        part
    }

    /// How many of the first `n` records are drawn: one in each run of `1 / share`, at a random position.
    fn drawn(&self, key: usize, part: usize, share: f64, n: u64) -> u64 {
        let runs = (n as f64 * share).floor();
        let random = sip((self.seed, key as u64 + 1), format!("{part}/{runs}").as_bytes());
        let position = runs + (random >> 11) as f64 / (1u64 << 53) as f64;
        runs as u64 + u64::from(position < n as f64 * share)
    }
}

impl Fold for Stratified {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let found = self.table.insert(&key_columns(&self.keys, &chunk)?)?;
        self.given.resize_with(self.table.len(), || vec![0; self.shares.len()]);
        let parts = found.numbers.into_iter().map(|key| self.part(key as usize) as i64).collect();
        out.push(with_part(&chunk, parts)?);
        Ok(Flow::More)
    }
}

/// The error for `train=0.5`, which is either a share or meant as a comparison.
fn assignment(text: &str) -> Option<Error> {
    let (name, value) = text.split_once('=').filter(|(name, value)| !value.starts_with('=') && !name.ends_with(['<', '>', '!']))?;
    let (name, value) = (name.trim(), value.trim());
    FieldPath::parse(name).ok()?;
    let error = Error::usage(mismatch("a condition", format_args!("`{text}`")));
    let share: Option<f64> = value.parse().ok().filter(|share| *share > 0.0 && *share < 1.0);
    let error = match share {
        Some(share) => {
            let rest = if name == "test" { "train" } else { "test" };
            let shares = format!("{name}={share},{rest}={}", ((1.0 - share) * 1e6).round() / 1e6);
            error.help(format!("to divide the records by shares: split --into {} -o part.jsonl", shell_word(&shares)))
        }
        None => error,
    };
    Some(error.help(format!("to compare values, use ==: split {} -o yes.jsonl --else no.jsonl", shell_word(&format!("{name} == {value}")))))
}

/// Whether the text has the form `train=0.9,test=0.1` or `0.9,0.1`. A single `x=1` could be meant as a condition.
fn is_shares(text: &str) -> bool {
    let is_share = |part: &str| part.split_once('=').map_or(part, |(_, share)| share).trim().parse::<f64>().is_ok();
    (text.contains(',') || !text.contains('=')) && text.split(',').all(is_share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_take_buckets_in_order() {
        let ends = ends(&shares("a=0.7,b=0.2,c=0.1").unwrap());
        assert_eq!(ends, [700_000, 900_000, 1_000_000]);
        assert_eq!([0, 699_999, 700_000, 999_999].map(|bucket| part_of(bucket, &ends)), [0, 0, 1, 2]);
        for wrong in ["a/b=1", "a@2=1", "a=b=1"] {
            assert!(shares(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_key_is_divided_in_its_shares_whenever_it_ends() {
        for (shares, most) in [(vec![0.9, 0.1], 1.0), (vec![0.5, 0.5], 1.0), (vec![0.7, 0.2, 0.1], 2.0)] {
            for seed in 0..20 {
                let table = KeyTable::unlimited(&Options::default());
                let given = vec![vec![0; shares.len()]; 2];
                let mut stratified = Stratified { keys: Vec::new(), shares: shares.clone(), seed, table, given };
                for n in 1..500u64 {
                    stratified.part((n % 2) as usize);
                    stratified.part(1);
                    for given in &stratified.given {
                        let total = given.iter().sum::<u64>() as f64;
                        let near = shares.iter().zip(given).all(|(share, n)| (share * total - *n as f64).abs() < most + 1e-6);
                        assert!(near, "{given:?} of {shares:?}");
                    }
                }
            }
        }
    }
}

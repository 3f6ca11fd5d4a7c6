//! `stats`: summarizes each field, in memory that does not grow with the data.
//!
//! Chunks are summarized on any thread ([`Digest`]) and the summaries are merged in order. A summary holds counts,
//! exact sums, minima, maxima and sets, so the output depends neither on record order nor on how records are divided
//! into chunks. Only `--padding` and the sketch of frequent values ([`top`]) need the records in order.

mod bins;
mod chart;
mod collect;
mod distinct;
mod drift;
mod groups;
mod html;
mod json;
mod moments;
mod padding;
mod pick;
mod report;
mod sizes;
mod summary;
mod table;
mod tally;
mod text;
mod top;
mod values;

use crate::chunk::Chunk;
use crate::demand::{Demand, Wanted};
use crate::error::{Error, Result};
use crate::notice::Notices;
use crate::options::Options;
use crate::path::{FieldPath, quoted};
use crate::printable::{counted, listed};
use crate::schema::Schema;
use crate::verbs::shared::args::positive;
use crate::verbs::shared::fields::{FieldArgs, Patterns};
use crate::verbs::shared::keys::Keys;
use crate::verbs::verb::{Bound, Digest, Example, Flow, Fold, Operator, Report, Verb, Verdict};
use collect::{Collector, Shares};
use drift::{Baseline, Drift};
use groups::{GroupParts, Groups, Partition};
use padding::{Lengths, PaddedField, PaddingCosts, padded_fields};
use report::Shown;
use std::any::Any;
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;
use summary::Summary;
use top::Top;

/// Prints counts, ranges and sizes of the fields.
#[derive(clap::Args, Clone, Debug)]
pub struct Stats {
    #[command(flatten)]
    fields: FieldArgs,
    /// Print a summary for each combination of values of these fields (at most 1000, or as many as --max-memory holds)
    #[arg(long, value_name = "FIELDS", value_parser = Keys::parse)]
    by: Option<Keys>,
    /// Compare with another dataset: distances between the values and sizes of each field
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    against: Option<OsString>,
    /// With --against: exit with 1 if a distance exceeds X (0 to 1)
    #[arg(long, value_name = "X", requires = "against", value_parser = share)]
    max_drift: Option<f64>,
    /// Compare the padding in batches of N: in input order, in buckets, and packed
    #[arg(long, value_name = "N", value_parser = positive)]
    padding: Option<usize>,
    /// Print every histogram with its numbers
    #[arg(long)]
    histogram: bool,
    /// Output format [default: by the extension of the output, .html or .json, otherwise text]
    #[arg(long = "as", value_name = "FORMAT", value_enum)]
    form: Option<Form>,
}

/// A number from 0 to 1.
fn share(text: &str) -> Result<f64, Error> {
    let expected = || Error::usage("expected a number from 0 to 1");
    text.parse().ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(expected)
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Tables for a terminal
    Text,
    /// A JSON object with the data of every histogram
    Json,
    /// A self-contained web page
    Html,
}

impl Form {
    /// The form that the name of the output indicates.
    fn of_output(options: &Options) -> Form {
        match options.output_extension() {
            Some("html" | "htm") => Form::Html,
            Some("json") => Form::Json,
            _ => Form::Text,
        }
    }
}

impl Verb for Stats {
    const NAME: &'static str = "stats";
    const SUMMARY: &'static str = "Print counts, ranges and sizes of the fields";
    const ABOUT: &'static str = "\
Prints, for each field, a table of its values (nulls, range, mean, distinct values), of the sizes of its lists, and of its most frequent \
values. Ends a chain, and reads the records once. Axes are numbered within the record: `docs` has axis 0, and `docs.tokens` \
adds axis 1. Up to K = 65536 distinct values of each field are counted exactly (with 33 fields or more, K = 2097152 divided by the number of \
fields; with --by, a hundredth of that, but at least 1024). Memory use does not grow with the data, and the output is the same for any number \
of threads.

The first table has one row per field: the number of values, of nulls and of zeros, minimum, mean, standard deviation, median and \
maximum, the number of distinct values, and a histogram. The number of distinct values is exact up to K, or 2048 if that is more; \
with 256 fields or more, it is also exact for columns smaller than 96 MiB divided by the number of fields; ~ marks an estimate, usually within 1% of the true number. \
Dates, times and durations have no mean, median or numeric histogram, only a line of bars.

The second table has one row per axis whose size varies: the number of rows, how many are null or empty, and quantiles of their \
sizes; 90% of the rows are no longer than the number in the 90% column. For strings, sizes are in bytes.

The third table lists the most frequent strings and integers, each with its share of all values.

The mean and the (population) standard deviation are computed from exact sums of the finite values; --as json contains the sum too. The p-quantile is the smallest value \
such that at least a fraction p of the finite values do not exceed it, so the median of 1 and 2 is 1. Quantiles of values are exact if \
there are at most K distinct values, otherwise within 1% (2% if there are both positive and negative numbers), provided that the largest \
magnitude is at most 10^9 times the smallest; they are float64, so integers beyond 2^53 are rounded. The same holds for histograms: a \
value within 1% (2%) of the boundary between two bars may be counted in either. Sizes are exact below 65536 and accurate to within 1% above.

If a field has more than K distinct values, the counts of frequent values may be too low, by at most 2/K of all values: shares are marked \
>=, and only values whose counts exceed that error are listed.

--by FIELDS prints a row for each combination of values of those fields, the most frequent first. To get only the counts, as records, \
use `count --by`.

--padding 32 shows how much of a padded batch of 32 is padding when records are batched in input order, batched in buckets of similar \
length, or packed into rows, and prints the command for each.

--against FILE first reads another dataset, without applying the chain to it, and compares the values and the sizes of each field. \
Numbers and sizes are compared in up to 20 bins of about equal counts; strings, bools, and integers with at most 100 distinct values are \
compared one by one; nulls and NaN have separate bins. For structures and decimals, only the share of nulls is compared. If a string field has more than 100 distinct values and most of its values are distinct, only the lengths are compared. JS \
is the Jensen-Shannon divergence in bits, L-inf the largest difference between shares: both are 0 for equal distributions and at most 1. \
With --max-drift X, the exit code is 1 if either distance exceeds X for any field; a field that is new or missing, or that \
changed between integers, floats, bools, strings, lists and structures, counts as 1.";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "summarize a dataset",
            args: "stats",
            input: "{\"tokens\": [5, 2, 9], \"label\": \"a\"}\n{\"tokens\": [], \"label\": \"b\"}\n{\"tokens\": [7, 7, 7, 7, 7, 7], \"label\": \"a\"}\n{\"tokens\": [1], \"label\": null}\n",
            output: "\
4 records\n\
\n\
values  type             count  null  zero  min  mean    std  median  max  distinct\n\
tokens  int64[?]            10     -     -    1   5.9  2.385       7    9         5  ▂▂  ▂ █ ▂\n\
label   optional string      3     1        \"a\"                       \"b\"         2\n\
\n\
sizes   axis   rows  null  empty  min  mean  median  90%  99%  max\n\
tokens  0         4     -      1    0   2.5       1    6    6    6  ██ █  █\n\
label   bytes     3     -      -    1     1       1    1    1    1  █\n\
\n\
top\n\
tokens  7 60.0%    1 10.0%    2 10.0%  5 10.0%  9 10.0%\n\
label   \"a\" 66.7%  \"b\" 33.3%\n",
        },
        Example {
            about: "what has changed between two datasets; --max-drift 0.1 would exit with 1 here",
            args: "stats --against before.jsonl now.jsonl",
            input: "==> now.jsonl <==\n{\"label\": \"a\", \"n\": 3}\n{\"label\": \"a\", \"n\": 5}\n{\"label\": \"c\", \"n\": 5}\n\
                    ==> before.jsonl <==\n{\"label\": \"a\", \"n\": 3}\n{\"label\": \"b\", \"n\": 5}\n{\"label\": \"a\", \"n\": 4}\n",
            output: "\
3 records\n\
\n\
values  type    count  null  zero  min   mean     std  median  max  distinct\n\
label   string      3     -        \"a\"                         \"c\"         2\n\
n       int64       3     -     -    3  4.333  0.9428       5    5         2  ▄ █\n\
\n\
sizes  axis   rows  null  empty  min  mean  median  90%  99%  max\n\
label  bytes     3     -      -    1     1       1    1    1    1  █\n\
\n\
top\n\
label  \"a\" 66.7%  \"c\" 33.3%\n\
n      5 66.7%    3 33.3%\n\
\n\
against before.jsonl: 3 records\n\
\n\
drift  of         JS  L-inf\n\
label  values  0.333  0.333  new \"c\"; missing \"b\"\n\
label  bytes       0      0\n\
n      values  0.208  0.333  mean 4.333, was 4; missing 4\n",
        },
        Example {
            about: "one summary per label",
            args: "stats --by label -f n",
            input: "{\"label\": \"a\", \"n\": 3}\n{\"label\": \"b\", \"n\": 5}\n{\"label\": \"a\", \"n\": 4}\n",
            output: "\
3 records\n\
\n\
label  records\n\
\"a\"          2\n\
\"b\"          1\n\
\n\
values  label  type   count  null  zero  min  mean  std  median  max  distinct\n\
n       \"a\"    int64      2     -     -    3   3.5  0.5       3    4         2  ██\n\
n       \"b\"    int64      1     -     -    5     5    0       5    5         1  █\n",
        },
        Example {
            about: "the cost of padding",
            args: "stats -f tokens --padding 2",
            input: "{\"tokens\": [1]}\n{\"tokens\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n{\"tokens\": [1, 2]}\n{\"tokens\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n",
            output: "\
4 records\n\
\n\
values  type      count  null  zero  min   mean    std  median  max  distinct\n\
tokens  int64[?]     22     -     -    1  4.727  2.895       4   10        10  █▆▄▄▄▄▄▄▄▂\n\
\n\
sizes   axis  rows  null  empty  min  mean  median  90%  99%  max\n\
tokens  0        4     -      -    1   5.5       2   10   10   10  ██      ██\n\
\n\
top\n\
tokens  1 18.2%  2 13.6%  3 9.1%  4 9.1%  5 9.1%\n\
\n\
batches                  padding              command\n\
tokens   in input order    42.1%  ████▎       padded-batch 2\n\
\x20        in buckets         8.3%  ▉           bucket --by 'len(tokens)' --boundaries 8 --batch-sizes 2,2 --pad\n\
\x20        packed            31.2%  ███▏        pack -f tokens --length 16\n",
        },
    ];
    const REPORTS: bool = true;

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let form = self.form.unwrap_or_else(|| Form::of_output(options));
        if self.histogram && form != Form::Text {
            return Err(Error::usage("--histogram works only with --as text; json and html always include histograms"));
        }
        for (other, is_given) in [("--padding", self.padding.is_some()), ("--against", self.against.is_some())] {
            if self.by.is_some() && is_given {
                return Err(Error::usage(format!("--by and {other} cannot be used together")).help("select one group with filter first"));
            }
        }
        let named = self.fields.resolve(schema)?.map(HashSet::from_iter);
        // Naming a structure selects all fields in it.
        let is_wanted = |path: &FieldPath| match &named {
            None => true,
            Some(named) => path.is_within(named),
        };
        let (keys, names) = match &self.by {
            Some(by) => groups::keys(by, schema, Self::NAME).map(|(keys, names)| (Some(keys), Some(names)))?,
            None => (None, None),
        };
        let summaries = |top: &Top| -> Vec<Summary> { schema.fields.iter().map(|f| Summary::new(f, None, 0, top, &is_wanted)).collect() };
        let nfields = summaries(&Top::new(0)).iter().map(Summary::len).sum::<usize>();
        // Each group has separate sketches.
        let fields = summaries(&Top::new(top::capacity(if self.by.is_some() { nfields.saturating_mul(100) } else { nfields })));
        let padded = match self.padding {
            None => Vec::new(),
            Some(batch) => {
                let padded = padded_fields(schema, batch, &|name| is_wanted(&FieldPath::name(name)));
                if padded.is_empty() {
                    return Err(Error::usage("no field needs --padding: each has a fixed size, is sparse, or is inside a structure")
                        .help("promote fields of structures first: promote docs.tokens"));
                }
                padded
            }
        };
        let shares = if self.by.is_none() { Shares::new(&fields) } else { None };
        let padded_columns: Vec<(usize, usize)> = padded.iter().map(PaddedField::position_and_rank).collect();
        let kept: Vec<usize> = padded_columns.iter().map(|(position, _)| *position).collect();
        // Collected chunks have no other columns.
        let collected = match &shares {
            Some(_) => Arc::new(Schema::new(kept.iter().map(|position| schema.fields[*position].clone()).collect())),
            None => schema.clone(),
        };
        let position = |at: usize, position: usize| if shares.is_some() { at } else { position };
        let digest = Arc::new(Summarize {
            partition: Partition::new(&fields, keys, shares.is_some(), options),
            padded: padded_columns.iter().enumerate().map(|(at, (column, rank))| (position(at, *column), *rank)).collect(),
        });
        let report = Summaries {
            collector: (nfields > 1).then(|| (fields.clone(), shares.clone(), kept, collected)),
            groups: Groups::new(fields, names, shares, options),
            padded,
            digest,
            form,
            batch: self.padding,
            histogram: self.histogram,
            columns: options.columns(),
            baseline: options.baseline.clone().and_then(|baseline| baseline.downcast().ok()),
            against: self.against.as_ref().map_or_else(String::new, |file| file.display().to_string()),
            max_drift: self.max_drift,
            notices: options.notices.clone(),
        };
        Ok(Bound { schema: Arc::new(Schema::default()), operator: Operator::Report(Box::new(report)) })
    }

    fn baseline(&self) -> Option<OsString> {
        // The conflict of the two options is reported before anything is read.
        self.against.clone().filter(|_| self.by.is_none())
    }

    fn demand(&self, _: Demand) -> Demand {
        let patterns: Option<Vec<Patterns>> = self.fields.fields.iter().map(|text| Patterns::parse(text).ok()).collect();
        match patterns {
            Some(patterns) if !patterns.is_empty() => {
                let keys = self.by.iter().flat_map(Keys::names);
                Demand { fields: Wanted::Matching(patterns.iter().flat_map(Patterns::wanted).chain(keys).collect()), records: None }
            }
            _ => Demand::everything(),
        }
    }
}

/// Summarizes chunks on any thread.
struct Summarize {
    partition: Partition,
    /// Position and rank of the fields whose lengths `--padding` needs.
    padded: Vec<(usize, usize)>,
}

/// The digest of a chunk.
struct ChunkDigest {
    parts: GroupParts,
    lengths: Lengths,
}

impl Digest for Summarize {
    fn digest(&self, chunk: &Chunk) -> Result<Box<dyn Any + Send>> {
        let lengths =
            self.padded.iter().map(|(position, rank)| padding::lengths(&chunk.columns[*position], *rank)).collect::<Result<_>>()?;
        Ok(Box::new(ChunkDigest { parts: self.partition.parts(chunk)?, lengths }))
    }
}

/// The summary of all records.
struct Summaries {
    /// The fields to collect, the shares for their values, the columns to keep, and the schema of the collected chunks.
    collector: Option<(Vec<Summary>, Option<Shares>, Vec<usize>, Arc<Schema>)>,
    groups: Groups,
    padded: Vec<PaddedField>,
    digest: Arc<Summarize>,
    form: Form,
    batch: Option<usize>,
    histogram: bool,
    /// The maximum width of the text.
    columns: Option<usize>,
    /// The dataset to compare with, once it has been read.
    baseline: Option<Arc<Baseline>>,
    /// The name of that dataset.
    against: String,
    max_drift: Option<f64>,
    notices: Notices,
}

impl Report for Summaries {
    fn digest(&self) -> Option<Arc<dyn Digest>> {
        Some(self.digest.clone())
    }

    fn collector(&self) -> Option<(Box<dyn Fold>, Arc<Schema>)> {
        let (fields, shares, kept, schema) = self.collector.as_ref()?;
        Some((Box::new(Collector::new(fields, shares.clone(), kept.clone())), schema.clone()))
    }

    fn push_digest(&mut self, digest: Box<dyn Any + Send>) -> Result<Flow> {
        let digest = digest.downcast::<ChunkDigest>().map_err(|_| Error::internal("no digest of stats"))?;
        self.groups.push(digest.parts)?;
        self.padded.iter_mut().zip(&digest.lengths).for_each(|(field, lengths)| field.add(lengths));
        Ok(Flow::More)
    }

    fn push(&mut self, chunk: &Chunk, _: &mut dyn Write) -> Result<Flow> {
        let digest = self.digest.digest(chunk)?;
        self.push_digest(digest)
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<Verdict> {
        let reports: Vec<PaddingCosts> = self.padded.iter_mut().map(PaddedField::finish).collect();
        self.groups.end()?;
        let (records, by) = (self.groups.records(), self.groups.by());
        let groups = self.groups.shown()?;
        let drift = match (&self.baseline, groups.first()) {
            (Some(baseline), Some(all)) => Some(Drift::new(baseline, &all.fields, self.max_drift)),
            _ => None,
        };
        let shown = Shown { records, by, groups, padding: self.batch.map(|batch| (batch, &reports[..])), drift: drift.as_ref() };
        let text = match self.form {
            Form::Text => text::text(&shown, self.histogram, self.columns),
            Form::Json => json::text(&shown),
            Form::Html => html::text(&shown),
        };
        out.write_all(text.as_bytes()).map_err(|e| Error::io("output", "cannot write", &e))?;
        let mut far: Vec<String> = drift.iter().flat_map(Drift::above).map(|row| quoted(&row.field)).collect();
        far.dedup();
        let is_far = !far.is_empty();
        if let (true, Some(max)) = (is_far, self.max_drift) {
            let of = listed(far.iter(), 20);
            self.notices.add(format!("the drift of {} exceeds {max}: {of}", counted(far.len() as u64, "field")), false)?;
        }
        Ok(if is_far { Verdict::Bad } else { Verdict::Good })
    }

    fn into_baseline(mut self: Box<Self>) -> Result<Option<Arc<dyn Any + Send + Sync>>> {
        self.groups.end()?;
        let records = self.groups.records();
        Ok(Some(Arc::new(Baseline { name: self.against, records, fields: self.groups.into_fields() })))
    }
}

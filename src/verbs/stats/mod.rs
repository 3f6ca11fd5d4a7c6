//! `stats`: summarizes each field, in memory that does not grow with the data.
//!
//! Chunks are summarized on any thread ([`Digest`]) and the summaries are merged in order. A summary holds only counts,
//! minima, maxima and sets, so the output depends neither on the order nor on how records are split into chunks. Only
//! `--padding` needs the lengths of records in order.

mod bins;
mod chart;
mod distinct;
mod html;
mod json;
mod padding;
mod sizes;
mod summary;
mod table;
mod text;
mod values;

use crate::chunk::Chunk;
use crate::demand::{Demand, Wanted};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::FieldPath;
use crate::schema::Schema;
use crate::tensor::Tensor;
use crate::verbs::shared::args::positive;
use crate::verbs::shared::fields::{FieldArgs, Patterns};
use crate::verbs::verb::{Bound, Digest, Example, Flow, Operator, Report, Verb, Verdict};
use padding::{Lengths, PaddedField, PaddingCosts, padded_fields};
use std::any::Any;
use std::io::Write;
use std::sync::Arc;
use summary::Summary;

/// Prints counts, ranges and sizes of the fields.
#[derive(clap::Args, Clone, Debug)]
pub struct Stats {
    #[command(flatten)]
    fields: FieldArgs,
    /// Compare the padding in batches of N: in input order, in buckets, packed
    #[arg(long, value_name = "N", value_parser = positive)]
    padding: Option<usize>,
    /// Print every histogram with its numbers
    #[arg(long)]
    histogram: bool,
    /// Output form
    #[arg(long = "as", value_name = "FORM", value_enum, default_value = "text")]
    form: Form,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Tables for a terminal
    Text,
    /// A JSON object with the numbers of every histogram
    Json,
    /// A self-contained web page
    Html,
}

impl Verb for Stats {
    const NAME: &'static str = "stats";
    const SUMMARY: &'static str = "Print counts, ranges and sizes of the fields";
    const ABOUT: &'static str = "\
Ends a chain, reads the records once and prints two tables. The first has one row per field: the number of values and \
of nulls, minimum and maximum, the number of distinct values (exact up to 2048; ~ marks an estimate within about 1%), \
and a histogram. The second has one row per axis whose size varies: the number of rows, how many are null or empty, \
and quantiles of their sizes; 90% of the rows are not longer than the number in column 90%. For strings it counts \
bytes. Axes are those of the record: `docs.tokens` has axis 1 where `docs` has axis 0.

Sizes are exact below 65536 and within 1% above. --padding 32 shows which share of a padded batch of 32 is padding if \
records are batched as they come, in buckets of similar length, or packed into rows, and the command for each. Memory \
use does not grow with the data, and the output is the same for any number of threads.";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "summarize a data set",
            args: "stats",
            input: "{\"tokens\": [5, 2, 9], \"label\": \"a\"}\n{\"tokens\": [], \"label\": \"b\"}\n{\"tokens\": [7, 7, 7, 7, 7, 7], \"label\": \"a\"}\n{\"tokens\": [1], \"label\": null}\n",
            output: "\
4 records\n\
\n\
values  type             count  null  min  max  distinct\n\
tokens  int64[?]            10     -    1    9         5  ▂▂  ▂ █ ▂\n\
label   optional string      3     1  \"a\"  \"b\"         2\n\
\n\
sizes   axis   rows  null  empty  min  mean  median  90%  99%  max\n\
tokens  0         4     -      1    0   2.5       1    6    6    6  ██ █  █\n\
label   bytes     3     -      -    1     1       1    1    1    1  █\n",
        },
        Example {
            about: "the cost of padding",
            args: "stats -f tokens --padding 2",
            input: "{\"tokens\": [1]}\n{\"tokens\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n{\"tokens\": [1, 2]}\n{\"tokens\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n",
            output: "\
4 records\n\
\n\
values  type      count  null  min  max  distinct\n\
tokens  int64[?]     22     -    1   10        10  █▆▄▄▄▄▄▄▄▂\n\
\n\
sizes   axis  rows  null  empty  min  mean  median  90%  99%  max\n\
tokens  0        4     -      -    1   5.5       2   10   10   10  ██      ██\n\
\n\
batches                padding              by\n\
tokens   as they come    42.1%  ████▎       padded-batch 2\n\
\x20        in buckets       8.3%  ▉           bucket --by 'len(tokens)' --boundaries 8 --batch-sizes 2,2 --pad\n\
\x20        packed          31.2%  ███▏        pack -f tokens --length 16\n",
        },
    ];
    const REPORTS: bool = true;

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        if self.histogram && self.form != Form::Text {
            return Err(Error::usage("--histogram works only with --as text; json and html always include histograms"));
        }
        let named = self.fields.resolve(schema)?;
        // A structure selects all fields in it.
        let is_wanted = |path: &FieldPath| match &named {
            None => true,
            Some(named) => named.iter().any(|n| path.names().starts_with(n.names())),
        };
        let fields: Vec<Summary> = schema.fields.iter().map(|f| Summary::new(f, None, 0, &is_wanted)).collect();
        let padded = match self.padding {
            None => Vec::new(),
            Some(batch) => {
                let padded = padded_fields(schema, batch, &|name| is_wanted(&FieldPath::name(name)));
                if padded.is_empty() {
                    return Err(Error::usage(
                        "--padding: no field needs padding: each has a fixed size, is sparse, or is inside a structure",
                    )
                    .help("promote fields of structures first, as promote docs.tokens"));
                }
                padded
            }
        };
        let digest = Arc::new(Summarize {
            fields: fields.iter().map(Summary::cleared).collect(),
            padded: padded.iter().map(PaddedField::position_and_rank).collect(),
        });
        let report = Summaries {
            records: 0,
            fields,
            padded,
            digest,
            form: self.form,
            batch: self.padding,
            histogram: self.histogram,
            columns: options.columns(),
        };
        Ok(Bound { schema: Arc::new(Schema::default()), operator: Operator::Report(Box::new(report)) })
    }

    fn demand(&self, _: Demand) -> Demand {
        let patterns: Option<Vec<Patterns>> = self.fields.fields.iter().map(|text| Patterns::parse(text).ok()).collect();
        match patterns {
            Some(patterns) if !patterns.is_empty() => {
                Demand { fields: Wanted::Matching(patterns.iter().flat_map(Patterns::wanted).collect()), records: None }
            }
            _ => Demand::everything(),
        }
    }
}

/// Summarizes chunks on any thread.
struct Summarize {
    /// Empty summaries.
    fields: Vec<Summary>,
    /// Position and rank of the fields whose lengths `--padding` needs.
    padded: Vec<(usize, usize)>,
}

/// Chunks with fewer bytes per field are not summarized one by one: an empty summary of each field would cost more than they do.
const LEAST_NBYTES: usize = 8 << 10;

/// The digest of a chunk.
struct ChunkDigest {
    records: u64,
    values: ChunkValues,
    lengths: Lengths,
}

enum ChunkValues {
    Summarized(Vec<Summary>),
    /// Few values per field, to be added one by one.
    Columns(Vec<Tensor>),
}

fn add(fields: &mut [Summary], columns: &[Tensor]) -> Result<()> {
    fields.iter_mut().zip(columns).try_for_each(|(field, column)| field.add(column, None).map_err(|e| e.in_field(&field.path)))
}

impl Digest for Summarize {
    fn digest(&self, chunk: &Chunk) -> Result<Box<dyn Any + Send>> {
        let lengths =
            self.padded.iter().map(|(position, rank)| padding::lengths(&chunk.columns[*position], *rank)).collect::<Result<_>>()?;
        let count: usize = self.fields.iter().map(Summary::len).sum();
        let values = if chunk.nbytes() / count.max(1) < LEAST_NBYTES && count > 1 {
            ChunkValues::Columns(chunk.columns.clone())
        } else {
            let mut fields: Vec<Summary> = self.fields.iter().map(Summary::cleared).collect();
            add(&mut fields, &chunk.columns)?;
            ChunkValues::Summarized(fields)
        };
        Ok(Box::new(ChunkDigest { records: chunk.nrows as u64, values, lengths }))
    }
}

/// The summary of all records.
struct Summaries {
    records: u64,
    fields: Vec<Summary>,
    padded: Vec<PaddedField>,
    digest: Arc<Summarize>,
    form: Form,
    batch: Option<usize>,
    histogram: bool,
    /// The width that the text has to fit.
    columns: Option<usize>,
}

impl Report for Summaries {
    fn digest(&self) -> Option<Arc<dyn Digest>> {
        Some(self.digest.clone())
    }

    fn push_digest(&mut self, digest: Box<dyn Any + Send>) -> Result<Flow> {
        let digest = digest.downcast::<ChunkDigest>().map_err(|_| Error::internal("no digest of stats"))?;
        self.records += digest.records;
        match digest.values {
            ChunkValues::Summarized(fields) => self.fields.iter_mut().zip(fields).for_each(|(own, their)| own.merge(their)),
            ChunkValues::Columns(columns) => add(&mut self.fields, &columns)?,
        }
        self.padded.iter_mut().zip(&digest.lengths).for_each(|(field, lengths)| field.add(lengths));
        Ok(Flow::More)
    }

    fn push(&mut self, chunk: &Chunk, _: &mut dyn Write) -> Result<Flow> {
        let digest = self.digest.digest(chunk)?;
        self.push_digest(digest)
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<Verdict> {
        let mut fields = Vec::new();
        self.fields.iter().for_each(|f| f.wanted(&mut fields));
        let reports: Vec<PaddingCosts> = self.padded.iter_mut().map(PaddedField::finish).collect();
        let padding = self.batch.map(|batch| (batch, &reports[..]));
        let text = match self.form {
            Form::Text => text::text(self.records, &fields, padding, self.histogram, self.columns),
            Form::Json => json::text(self.records, &fields, padding),
            Form::Html => html::text(self.records, &fields, padding),
        };
        out.write_all(text.as_bytes()).map_err(|e| Error::io("output", "cannot write", &e))?;
        Ok(Verdict::Good)
    }
}

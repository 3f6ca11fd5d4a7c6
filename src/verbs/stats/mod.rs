//! `stats`: what is in the data, field by field, in memory that does not grow with it.
//!
//! Chunks are summed up on any thread ([`Digest`]) and the sums put together in order. Everything in them is
//! a count, a least or a greatest value, or a set: neither the order nor the parts that they come in change
//! what is printed. Only `--padding` looks at records one after the other, at their lengths alone.

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
use crate::verbs::shared::args::positive;
use crate::verbs::shared::fields::{FieldArgs, Patterns};
use crate::verbs::verb::{Bound, Digest, Example, Flow, Operator, Report, Verb, Verdict};
use padding::{Lengths, Padded, padded_fields};
use std::any::Any;
use std::io::Write;
use std::sync::Arc;
use summary::Summary;

/// Counts, sizes and ranges of the fields.
#[derive(clap::Args, Clone, Debug)]
pub struct Stats {
    #[command(flatten)]
    fields: FieldArgs,
    /// Compare what padding costs in batches of N: as the records come, in buckets, packed
    #[arg(long, value_name = "N", value_parser = positive)]
    padding: Option<usize>,
    /// Draw every histogram with its numbers
    #[arg(long)]
    histogram: bool,
    /// For a terminal, for programs, or a page for a browser
    #[arg(long = "as", value_name = "FORM", value_enum, default_value = "text")]
    form: Form,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    /// One object, with the numbers of every histogram
    Json,
    /// A page that needs nothing besides itself
    Html,
}

impl Verb for Stats {
    const NAME: &'static str = "stats";
    const SUMMARY: &'static str = "Report counts, sizes and ranges of the fields";
    const ABOUT: &'static str = "\
Ends a chain: it reads what reaches it once and prints two tables. The first has a row for each field: how many single \
values there are and how many are null, the least and the greatest, how many are different (exactly up to 2048, ~ marks \
an estimate within about 1%), and where they lie between the two. The second has a row for each axis whose size differs: how many \
rows there are, how many are null or empty, and how long they are; 90% of the rows are not longer than what stands below 90%. \
Of strings, the bytes are counted. Axes are those of the record: `docs.tokens` has axis 1 where `docs` has axis 0.\n\n\
Sizes are exact below 65536, and within 1% above. --padding 32 shows how much of each batch would be filling, \
padded as the records come, in buckets of similar length, or packed into rows, and the command for each. \
Memory does not grow with the data, and the output is the same for any number of threads.";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "the first look at a data set",
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
            about: "what padding costs",
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
padding                filling              by\n\
tokens   as they come    42.1%  ████▎       padded-batch 2\n\
\x20        in buckets       8.3%  ▉           bucket --by 'len(tokens)' --boundaries 8 --batch-sizes 2,2 --pad\n\
\x20        packed          31.2%  ███▏        pack -f tokens --length 16\n",
        },
    ];
    const REPORTS: bool = true;

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        if self.histogram && self.form != Form::Text {
            return Err(Error::usage("--histogram is for the text: json and html have the numbers of every histogram anyway"));
        }
        let named = self.fields.resolve(schema)?;
        // A structure stands for all that is in it.
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
                        "--padding: no field is padded: each has one size in all records, is sparse, or stands in a structure",
                    )
                    .help("promote fields of structures first, as promote docs.tokens"));
                }
                padded
            }
        };
        let looked_at =
            Arc::new(Look { fields: fields.iter().map(Summary::cleared).collect(), places: padded.iter().map(Padded::place).collect() });
        let report = Sums { records: 0, fields, padded, looked_at, form: self.form, batch: self.padding, histogram: self.histogram };
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

/// What a thread does with a chunk.
struct Look {
    /// Nothing seen yet.
    fields: Vec<Summary>,
    /// The fields whose lengths are told.
    places: Vec<(usize, usize)>,
}

/// What a thread has seen of a chunk.
struct Seen {
    records: u64,
    fields: Vec<Summary>,
    lengths: Lengths,
}

impl Digest for Look {
    fn digest(&self, chunk: &Chunk) -> Result<Box<dyn Any + Send>> {
        let mut fields: Vec<Summary> = self.fields.iter().map(Summary::cleared).collect();
        for (field, column) in fields.iter_mut().zip(&chunk.columns) {
            field.add(column, None).map_err(|e| e.in_field(&field.path))?;
        }
        let lengths =
            self.places.iter().map(|(position, rank)| padding::lengths(&chunk.columns[*position], *rank)).collect::<Result<_>>()?;
        Ok(Box::new(Seen { records: chunk.nrows as u64, fields, lengths }))
    }
}

/// What is known of all records.
struct Sums {
    records: u64,
    fields: Vec<Summary>,
    padded: Vec<Padded>,
    looked_at: Arc<Look>,
    form: Form,
    batch: Option<usize>,
    histogram: bool,
}

impl Report for Sums {
    fn digest(&self) -> Option<Arc<dyn Digest>> {
        Some(self.looked_at.clone())
    }

    fn push_digest(&mut self, digest: Box<dyn Any + Send>) -> Result<Flow> {
        let seen = digest.downcast::<Seen>().map_err(|_| Error::internal("no digest of stats"))?;
        self.records += seen.records;
        self.fields.iter_mut().zip(seen.fields).for_each(|(own, their)| own.merge(their));
        self.padded.iter_mut().zip(&seen.lengths).for_each(|(field, lengths)| field.add(lengths));
        Ok(Flow::More)
    }

    fn push(&mut self, chunk: &Chunk, _: &mut dyn Write) -> Result<Flow> {
        let seen = self.looked_at.digest(chunk)?;
        self.push_digest(seen)
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<Verdict> {
        let mut fields = Vec::new();
        self.fields.iter().for_each(|f| f.wanted(&mut fields));
        let reports: Vec<padding::Report> = self.padded.iter_mut().map(Padded::finish).collect();
        let padding = self.batch.map(|batch| (batch, &reports[..]));
        let text = match self.form {
            Form::Text => text::text(self.records, &fields, padding, self.histogram),
            Form::Json => json::text(self.records, &fields, padding),
            Form::Html => html::text(self.records, &fields, padding),
        };
        out.write_all(text.as_bytes()).map_err(|e| Error::io("output", "cannot write", &e))?;
        Ok(Verdict::Good)
    }
}

//! `sample N` or `sample 0.1`: keeps a random sample.

use super::shared::keys::Keys;
use super::shared::least_of_each::{LeastOfEach, Share};
use super::shared::memory::Slices;
use super::shared::number::NumberField;
use super::shared::pool::{Pool, RecordId};
use super::shared::seed::Seed;
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result, mismatch};
use crate::expr;
use crate::options::Options;
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::random::{Random, Stream};
use crate::schema::{DType, Schema};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_cast::display::array_value_to_string;
use std::sync::Arc;

/// Keeps a random sample of the records, in order.
#[derive(clap::Args, Clone, Debug)]
pub struct Sample {
    /// Number of records, such as 100, or fraction of them, such as 0.1
    #[arg(value_name = "N|FRACTION", value_parser = parse)]
    size: SampleSize,
    /// Sample each combination of values of these fields separately (stratified)
    #[arg(long, value_name = "FIELDS", value_parser = Keys::parse)]
    by: Option<Keys>,
    /// Field with the weights: each draw chooses a record with a probability proportional to its weight
    #[arg(long, value_name = "FIELD", value_parser = FieldPath::parse)]
    weights: Option<FieldPath>,
    #[command(flatten)]
    seed: Seed,
}

#[derive(Clone, Copy, Debug)]
enum SampleSize {
    Of(usize),
    Fraction(f64),
}

fn parse(text: &str) -> Result<SampleSize, Error> {
    if let Ok(count) = text.parse::<usize>() {
        return Ok(SampleSize::Of(count));
    }
    match text.parse::<f64>() {
        Ok(fraction) if (0.0..=1.0).contains(&fraction) && (text.contains('.') || fraction.fract() != 0.0) => {
            Ok(SampleSize::Fraction(fraction))
        }
        _ => {
            let error = Error::usage("expected a number of records, such as 100, or a fraction from 0 to 1, such as 0.1");
            Err(match text.strip_suffix('%').and_then(|percent| percent.trim().parse::<f64>().ok()) {
                Some(percent) if (0.0..=100.0).contains(&percent) => error.help(format!("{text} is {:?}", percent / 100.0)),
                _ => error,
            })
        }
    }
}

impl Verb for Sample {
    const NAME: &'static str = "sample";
    const SUMMARY: &'static str = "Keep a random sample of the records";
    const ABOUT: &'static str = "\
`sample 100` keeps 100 records, chosen uniformly at random, or all if there are fewer; they are held in memory (see --max-memory). \
`sample 0.1` keeps each record with probability 0.1, without buffering; `sample 1` keeps one record, `sample 1.0` all of them. Records stay in \
order. The sample depends only on --seed and the input, not on the number of threads.

With --by, `sample 100` keeps 100 records of each key, or all of a key that has fewer; `sample 0.1` keeps a tenth of each, rounded to the nearest \
number (half to even), and holds all records until the input ends. Keys are compared as in `unique`.

With --weights, `sample 100` draws 100 records one after the other without replacement; each draw chooses a record with a probability \
proportional to its weight (Efraimidis and Spirakis 2006). Weights are numbers of at least 0; a record of weight 0 is never chosen. With --by too, \
it does so for each key.

If `sample` is the first verb and the types are known without reading records (the input stores them, or every needed field has a type in \
--schema; `then select FIELDS` limits the needed fields), only the records of the sample are read: from TFRecords with an index next to \
each (`tatter index x.tfrecord` creates x.tfrecord.idx), from ArrayRecords, and from TFDS directories whose shards are either of these. For \
Parquet and Arrow files, only the row groups and record batches that contain a sampled record are decoded. The sample is the same either \
way, but records that are not in it are not checked.";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "exactly two of four, in order; another seed selects different records",
            args: "sample 2 --seed 7",
            input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n{\"id\": 4}\n",
            output: "{\"id\":1}\n{\"id\":4}\n",
        },
        Example {
            about: "each with probability 0.5, about half of them",
            args: "sample 0.5 --seed 7",
            input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n{\"id\": 4}\n",
            output: "{\"id\":2}\n{\"id\":3}\n",
        },
        Example {
            about: "one of each label",
            args: "sample 1 --by label",
            input: "{\"id\": 1, \"label\": \"a\"}\n{\"id\": 2, \"label\": \"a\"}\n{\"id\": 3, \"label\": \"a\"}\n{\"id\": 4, \"label\": \"b\"}\n",
            output: "{\"id\":1,\"label\":\"a\"}\n{\"id\":4,\"label\":\"b\"}\n",
        },
        Example {
            about: "in proportion to a weight; never those of weight 0",
            args: "sample 2 --weights w",
            input: "{\"id\": 1, \"w\": 0}\n{\"id\": 2, \"w\": 5}\n{\"id\": 3, \"w\": 0.1}\n{\"id\": 4, \"w\": 20}\n",
            output: "{\"id\":2,\"w\":5.0}\n{\"id\":4,\"w\":20.0}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let random = self.random(options);
        let step: Box<dyn Fold> = match self.size {
            _ if !self.is_by_position() => Box::new(self.drawn_from(schema, random, options)?),
            SampleSize::Fraction(probability) => Box::new(Chances { probability, random }),
            SampleSize::Of(size) => {
                let pool = Pool::new(format!("sample {size}"), "sample fewer records, or a fraction: sample 0.1", options);
                let slots = Slots { size, random, seen: 0 };
                Box::new(Reservoir { slots, pool, kept: Vec::new(), options: options.clone(), slices: None })
            }
        };
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(step) })
    }

    fn draw(&self, nrecords: u64, options: &Options) -> Option<Vec<u32>> {
        if !self.is_by_position() {
            return None;
        }
        let (nrecords, mut random) = (u32::try_from(nrecords).ok()?, self.random(options));
        let mut drawn: Vec<u32> = Vec::new();
        match self.size {
            SampleSize::Fraction(probability) => drawn.extend((0..nrecords).filter(|_| random.chance(probability))),
            SampleSize::Of(0) => {}
            SampleSize::Of(size) => {
                let mut slots = Slots { size, random, seen: 0 };
                for record in 0..nrecords {
                    slots.offer(&mut drawn, record);
                }
                drawn.sort_unstable();
            }
        }
        Some(drawn)
    }

    fn demand(&self, after: Demand) -> Demand {
        let weights = self.weights.iter().filter_map(|path| path.names().first().cloned());
        Demand { records: None, ..after }.and_fields(self.by.iter().flat_map(Keys::names).chain(weights))
    }
}

impl Sample {
    /// Whether the values of the records do not matter.
    fn is_by_position(&self) -> bool {
        self.by.is_none() && self.weights.is_none()
    }

    /// Draws from each key, or by weight.
    fn drawn_from(&self, schema: &Schema, random: Random, options: &Options) -> Result<Drawing> {
        let (text, share) = match self.size {
            SampleSize::Of(size) => (format!("sample {size}"), Share::Most(size)),
            SampleSize::Fraction(fraction) => (format!("sample {fraction:?}"), Share::Fraction(fraction)),
        };
        let keys = self.by.as_ref().map_or(Ok(Vec::new()), |by| by.fields(schema, &text))?;
        let weights = self.weights.as_ref().map(|path| NumberField::find(path, schema, &format!("{text} --weights"))).transpose()?;
        let way_out = match (share, &self.weights) {
            (Share::Fraction(_), Some(path)) => {
                let error = Error::usage(format!("--weights needs a number of records, and {text} is a fraction"));
                return Err(error.help(format!("give the number: sample 100 --weights {}", shell_word(&path.to_string()))));
            }
            (Share::Fraction(_), None) => {
                "sample a number of records of each key: sample 100 --by FIELDS; or about the fraction, without --by"
            }
            (Share::Most(_), _) if self.by.is_some() => "sample fewer records of each, or use a coarser key computed with map",
            (Share::Most(_), _) => "sample fewer records",
        };
        let is_empty = matches!(share, Share::Most(0));
        let option = if self.by.is_some() { "--by" } else { "--weights" };
        Ok(Drawing { is_empty, drawn: LeastOfEach::new(format!("{text} {option}"), way_out, share, keys, options), weights, random })
    }

    fn random(&self, options: &Options) -> Random {
        self.seed.random(Stream::Sample, options)
    }
}

struct Chances {
    probability: f64,
    random: Random,
}

impl Fold for Chances {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let rows: Vec<usize> = (0..chunk.nrows).filter(|_| self.random.chance(self.probability)).collect();
        if !rows.is_empty() {
            out.push(chunk.gather(&rows)?);
        }
        Ok(Flow::More)
    }
}

/// Reservoir sampling: record i, counted from 0, replaces a kept record with probability size / (i + 1).
struct Slots {
    size: usize,
    random: Random,
    seen: u64,
}

impl Slots {
    /// Keeps or discards the next record, and returns whether it was kept.
    fn offer<T>(&mut self, kept: &mut Vec<T>, record: T) -> bool {
        self.seen += 1;
        if kept.len() < self.size {
            kept.push(record);
            return true;
        }
        let slot = kept.get_mut(self.random.below(self.seen) as usize);
        slot.map(|slot| *slot = record).is_some()
    }
}

struct Reservoir {
    slots: Slots,
    pool: Pool,
    /// The records of the reservoir.
    kept: Vec<RecordId>,
    options: Options,
    slices: Option<Slices>,
}

impl Fold for Reservoir {
    fn push(&mut self, chunk: Chunk, _: &mut Vec<Chunk>) -> Result<Flow> {
        let size = self.slots.size;
        if size == 0 {
            return Ok(Flow::Done);
        }
        let part = self.pool.next_part();
        let mut is_needed = false;
        for row in 0..chunk.nrows {
            is_needed |= self.slots.offer(&mut self.kept, (part, row));
        }
        if is_needed {
            self.pool.add(chunk)?;
        }
        if self.pool.nrows() > size.saturating_mul(2).saturating_add(1024) {
            self.pool.compact(&mut self.kept)?;
        }
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        let slices = self.slices.get_or_insert_with(|| {
            let mut kept = std::mem::take(&mut self.kept);
            kept.sort_unstable();
            self.pool.take(kept, &self.options)
        });
        slices.next_chunk()
    }
}

/// Gives each record a random rank and keeps those of least rank.
struct Drawing {
    /// Whether no records are drawn.
    is_empty: bool,
    drawn: LeastOfEach,
    weights: Option<NumberField>,
    random: Random,
}

impl Fold for Drawing {
    fn push(&mut self, chunk: Chunk, _: &mut Vec<Chunk>) -> Result<Flow> {
        if self.is_empty {
            return Ok(Flow::Done);
        }
        // The bits of floats that are not negative have their order.
        let random = &mut self.random;
        let Some(field) = &self.weights else {
            let nrows = chunk.nrows;
            self.drawn.push(chunk, (0..nrows).map(|_| Some(random.uniform(53).to_bits())))?;
            return Ok(Flow::More);
        };
        let weights = weights(field, &chunk)?;
        // Exponential variates with these rates: the first of several events is each of them in proportion to its rate.
        let rank = |weight: &f64| {
            let waiting = 0.0 - libm::log(1.0 - random.uniform(53));
            (*weight > 0.0).then(|| (waiting / weight).to_bits())
        };
        self.drawn.push(chunk, weights.iter().map(rank))?;
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        self.drawn.next_chunk()
    }
}

/// The weights of the records.
fn weights(field: &NumberField, chunk: &Chunk) -> Result<Vec<f64>> {
    let values = field.of(chunk)?;
    let values = values.as_leaf()?;
    let wide = expr::cast(values, &DType::Float64)?;
    let weights = wide.as_primitive::<Float64Type>().values();
    let is_bad = |row: &usize| values.is_null(*row) || !(0.0..f64::INFINITY).contains(&weights[*row]);
    let Some(row) = (0..chunk.nrows).find(is_bad) else { return Ok(weights.to_vec()) };
    if values.is_null(row) {
        return Err(field.null_at(row));
    }
    let name = field.path().in_expression();
    let condition = if weights[row] == f64::INFINITY { format!("is_finite({name})") } else { format!("{name} >= 0") };
    let found = array_value_to_string(values, row).unwrap_or_default();
    let error = field.error_at(row, mismatch("a finite weight of at least 0", found));
    Err(error.help(format!("drop such records first: filter {}", shell_word(&condition))))
}

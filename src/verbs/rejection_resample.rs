//! `rejection-resample`: drops records so that the classes have given shares.

use super::shared::seed::Seed;
use super::shared::shares::{key_text, parse_shares};
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::expr::{ScalarExpr, bind_scalar, names_used};
use crate::options::Options;
use crate::printable::shell_word;
use crate::random::{Random, Stream};
use crate::schema::Schema;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use std::collections::HashMap;
use std::sync::Arc;

/// Drops records at random so that the classes have the requested shares.
#[derive(clap::Args, Clone, Debug)]
pub struct RejectionResample {
    /// Class of a record: a string, an integer or a bool
    #[arg(long, value_name = "EXPR")]
    by: String,
    /// Share of each class in the output; the shares must add up to 1
    #[arg(long, value_name = "CLASS=SHARE,..")]
    target: String,
    /// Share of each class in the input [default: estimated from the records so far]
    #[arg(long, value_name = "CLASS=SHARE,..")]
    initial: Option<String>,
    #[command(flatten)]
    seed: Seed,
}

/// Pseudocount of records of each class before the first record, as in TensorFlow.
const SMOOTHING: f64 = 10.0;

impl Verb for RejectionResample {
    const NAME: &'static str = "rejection-resample";
    const SUMMARY: &'static str = "Drop records to match target class proportions";
    const ABOUT: &'static str = "\
Keeps each record with a probability proportional to the target share of its class divided by its initial share, scaled so that the \
largest is 1: the classes then have the proportions of --target, and no record of the scarcest class is dropped. No record is repeated, \
and records stay in order. Without --initial, the proportions of the input are estimated from the records so far and 10 imaginary ones of each \
class, so the first records deviate from the target. Records of a class with share 0 are dropped; a record of a class that --target does not \
name is an error. A class whose name contains a comma is written in backquotes: --target '`a,b`=0.5,c=0.5'. One \
random number is drawn for each record, so the output depends only on --seed and the records.

(TensorFlow also samples from the original dataset when that lowers the rejection rate, so its output may repeat records.)";
    const MEANING: &'static str = "tf.data.Dataset.rejection_resample";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "equal shares of two classes; the input has three times as many of one",
            args: "rejection-resample --by label --initial a=0.75,b=0.25 --target a=0.5,b=0.5 --seed 1",
            input: "{\"label\": \"a\", \"id\": 1}\n{\"label\": \"a\", \"id\": 2}\n{\"label\": \"b\", \"id\": 3}\n{\"label\": \"a\", \"id\": 4}\n",
            output: "{\"label\":\"a\",\"id\":2}\n{\"label\":\"b\",\"id\":3}\n",
        },
        Example {
            about: "only one class",
            args: "rejection-resample --by y --target 0=0,1=1",
            input: "{\"y\": 0}\n{\"y\": 1}\n{\"y\": 0}\n{\"y\": 1}\n",
            output: "{\"y\":1}\n{\"y\":1}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let options = &self.seed.options(options);
        let target = parse_shares(&self.target, "--target", true)?;
        let initial = match &self.initial {
            None => None,
            Some(text) => Some(shares_of(&parse_shares(text, "--initial", true)?, &target)?),
        };
        let class = bind_scalar(&key_text(&self.by, schema, options)?, schema, options)?;
        let (names, target): (Vec<String>, Vec<f64>) = target.into_iter().unzip();
        let fold = Resampled {
            class,
            by: self.by.clone(),
            numbers: names.iter().cloned().zip(0..).collect(),
            seen: vec![SMOOTHING; names.len()],
            names,
            target,
            initial,
            random: Random::of(Stream::RejectionResample, options.seed),
        };
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(fold)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let after = Demand { records: None, ..after };
        names_used(&self.by, false).map_or_else(Demand::everything, |used| after.and_fields(used.read))
    }
}

/// The initial shares, in the order of the targets.
fn shares_of(initial: &[(String, f64)], target: &[(String, f64)]) -> Result<Vec<f64>> {
    if let Some((other, _)) = initial.iter().find(|(name, _)| !target.iter().any(|(known, _)| known == name)) {
        let error = Error::usage(format!("--initial names the class `{other}`, but --target does not"));
        return Err(error.help(format!("to drop that class: --target {other}=0,..")));
    }
    let find = |(name, share): &(String, f64)| match initial.iter().find(|(known, _)| known == name) {
        Some((_, 0.0)) | None if *share > 0.0 => {
            Err(Error::usage(format!("--target asks for records of `{name}`, but --initial says that there are none")))
        }
        found => Ok(found.map_or(0.0, |(_, share)| *share)),
    };
    target.iter().map(find).collect()
}

struct Resampled {
    class: ScalarExpr,
    by: String,
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    target: Vec<f64>,
    initial: Option<Vec<f64>>,
    /// Records of each class so far.
    seen: Vec<f64>,
    random: Random,
}

impl Resampled {
    /// The probability of keeping a record of the class.
    fn chance(&self, class: usize) -> f64 {
        let initial = self.initial.as_ref().unwrap_or(&self.seen);
        // The sum of the initial shares cancels out.
        let ratio = |class: usize| if initial[class] > 0.0 { self.target[class] / initial[class] } else { 0.0 };
        let greatest = (0..self.target.len()).map(ratio).fold(0.0, f64::max);
        if greatest > 0.0 { ratio(class) / greatest } else { 0.0 }
    }

    fn number(&self, class: &[u8], row: usize) -> Result<usize> {
        let text = std::str::from_utf8(class).ok();
        text.and_then(|text| self.numbers.get(text)).copied().ok_or_else(|| {
            let shown = text.map_or_else(|| class.escape_ascii().to_string(), str::to_owned);
            let error = Error::data(format!("--by {}: there is no --target for `{shown}`, only for {}", self.by, self.names.join(", ")));
            if let Some(name) = self.names.iter().find(|name| name.eq_ignore_ascii_case(&shown)) {
                return error.at_row(row).help(format!("write {shown} instead of {name}"));
            }
            let mut target: Vec<String> = self.names.iter().zip(&self.target).map(|(name, share)| format!("{name}={share}")).collect();
            target.push(format!("{shown}=0"));
            error.at_row(row).help(format!("to drop such records: --target {}", shell_word(&target.join(","))))
        })
    }
}

/// The bytes of each string.
fn texts(array: &ArrayRef) -> Result<Vec<Option<&[u8]>>> {
    match array.data_type() {
        DataType::LargeUtf8 => Ok(array.as_string::<i64>().iter().map(|text| text.map(str::as_bytes)).collect()),
        DataType::LargeBinary => Ok(array.as_binary::<i64>().iter().collect()),
        other => Err(Error::internal(format!("a class of type {other}"))),
    }
}

impl Fold for Resampled {
    fn rejects_as_a_whole(&self) -> bool {
        true
    }

    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let classes = self.class.eval(&chunk)?;
        let mut numbers = Vec::with_capacity(chunk.nrows);
        for (row, class) in texts(classes.as_leaf()?)?.into_iter().enumerate() {
            let Some(class) = class else {
                let error = Error::data(format!("--by {} is null", self.by)).at_row(row);
                let filter = shell_word(&format!("not is_null({})", self.by));
                return Err(error.help(format!("drop such records first: filter {filter} then rejection-resample ...")));
            };
            numbers.push(self.number(class, row)?);
        }
        let mut rows = Vec::new();
        for (row, class) in numbers.into_iter().enumerate() {
            self.seen[class] += 1.0;
            if self.random.chance(self.chance(class)) {
                rows.push(row);
            }
        }
        if !rows.is_empty() {
            out.push(chunk.gather(&rows)?);
        }
        Ok(Flow::More)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Origin;
    use crate::schema::{DType, Field, Type};
    use crate::tensor::Tensor;
    use arrow_array::{Int64Array, LargeStringArray};

    /// The number of records of each class that are kept.
    fn kept(classes: &[&str], initial: Option<&str>, target: &str, seed: u64) -> HashMap<String, f64> {
        let schema = Schema::new(vec![Field::new("y", Type::tensor(DType::String, Vec::new()))]);
        let verb = RejectionResample {
            by: "y".into(),
            target: target.into(),
            initial: initial.map(str::to_owned),
            seed: Seed { given: Some(seed) },
        };
        let Operator::Fold(mut fold) = verb.bind(&Arc::new(schema), &Options::default()).unwrap().operator else { unreachable!() };
        let array: ArrayRef = Arc::new(LargeStringArray::from(classes.to_vec()));
        let mut out = Vec::new();
        fold.push(Chunk::try_new(classes.len(), vec![Tensor::Leaf(array)], Origin::default()).unwrap(), &mut out).unwrap();
        let mut counts = HashMap::new();
        for chunk in out {
            for class in chunk.columns[0].as_leaf().unwrap().as_string::<i64>().iter().flatten() {
                *counts.entry(class.to_owned()).or_default() += 1.0;
            }
        }
        counts
    }

    /// Within five standard deviations of the binomial distribution, for each of 50 seeds.
    #[test]
    fn classes_have_their_shares() {
        let classes: Vec<&str> = (0..5000).map(|i| if i % 10 == 0 { "b" } else { "a" }).collect();
        for seed in 0..50 {
            let counts = kept(&classes, Some("a=0.9,b=0.1"), "a=0.5,b=0.5", seed);
            assert_eq!(counts["b"], 500.0, "none of the scarcest is left out");
            assert!((counts["a"] - 500.0).abs() < 5.0 * (4500.0f64 / 9.0 * (1.0 - 1.0 / 9.0)).sqrt(), "{counts:?}");
            let estimated = kept(&classes, None, "a=0.5,b=0.5", seed);
            assert!((estimated["a"] / estimated["b"] - 1.0).abs() < 0.3, "{estimated:?}");
        }
        assert_eq!(kept(&classes, None, "a=0,b=1", 3), HashMap::from([("b".to_owned(), 500.0)]));
    }

    #[test]
    fn a_number_is_no_text_of_a_class() {
        let array: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        assert!(texts(&array).is_err());
    }
}

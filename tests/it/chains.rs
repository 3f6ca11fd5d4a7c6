//! Random chains of verbs over random data, compared with the slow reference in `reference`: as one process with any
//! number of threads and any chunk size, and as two processes with a pipe of any format between them.
//!
//! `PROPTEST_CASES=100000 cargo test --release --test it chains` runs more cases.

use crate::random::{Dataset, cases, dataset};
use crate::reference::{Dice, STEPS, State};
use crate::tatter::{Outcome, tatter};
use proptest::prelude::*;
use serde_json::Value;

/// The verbs of a chain as arguments, and the output records of each.
fn chain(data: &Dataset, numbers: &[u16]) -> Vec<(String, State)> {
    let records = data.records.iter().map(|record| record.as_object().unwrap().clone()).collect();
    let mut state = State { fields: data.fields.clone(), records };
    let mut dice = Dice::new(numbers);
    let mut verbs = Vec::new();
    for _ in 0..=dice.below(6) {
        let step = STEPS[dice.below(STEPS.len())];
        if let Some((words, after)) = step(&mut dice, &state) {
            verbs.push((words, after.clone()));
            state = after;
        }
    }
    verbs
}

fn words<'a>(verbs: &'a [(String, State)]) -> Vec<&'a str> {
    let mut words: Vec<&'a str> = Vec::new();
    for (i, (verb, _)) in verbs.iter().enumerate() {
        if i > 0 {
            words.push("then");
        }
        words.extend(verb.split_whitespace());
    }
    if words.is_empty() {
        words.push("convert");
    }
    words
}

fn run(words: &[&str], options: &[&str], input: &[u8]) -> Outcome {
    tatter(&[words, options].concat(), input)
}

fn lines(records: impl IntoIterator<Item = Value>) -> String {
    records.into_iter().map(|record| format!("{record}\n")).collect()
}

/// The records printed by a run, with numbers and strings spelled as in serde_json.
fn printed(outcome: &Outcome) -> String {
    lines(outcome.text().lines().map(|line| serde_json::from_str(line).unwrap()))
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn chains_do_what_the_reference_does(
        data in dataset(true),
        numbers in prop::collection::vec(any::<u16>(), 0..40),
        threads in prop::sample::select(vec!["1", "2", "5"]),
        rows in prop::sample::select(vec!["1", "2", "3", "1000"]),
        between in prop::sample::select(vec!["arrow", "jsonl"]),
        cut in any::<prop::sample::Index>(),
    ) {
        let verbs = chain(&data, &numbers);
        let expected = lines(verbs.last().map_or_else(|| data.records.clone(), |(_, state)| state.records.iter().cloned().map(Value::Object).collect()));
        let options = ["--from", "jsonl", "--schema", &data.schema, "--threads", threads, "--chunk-rows", rows];
        let whole = run(&words(&verbs), &options, &data.jsonl());
        prop_assert_eq!(whole.status, 0, "{:?} under {}: {}", words(&verbs).join(" "), data.schema, whole.stderr);
        prop_assert_eq!(printed(&whole), expected, "{:?} under {}", words(&verbs).join(" "), data.schema);

        let (first, second) = verbs.split_at(cut.index(verbs.len() + 1));
        let front = run(&words(first), &[&options[..], &["--to", between]].concat(), &data.jsonl());
        prop_assert_eq!(front.status, 0, "{:?} to {}: {}", words(first).join(" "), between, front.stderr);
        let schema = match between {
            "jsonl" => run(&[&words(first)[..], &["then", "schema"]].concat(), &options, &data.jsonl()).text(),
            _ => String::new(),
        };
        let back = run(&words(second), &["--from", between, "--schema", &schema, "--threads", threads, "--chunk-rows", rows], &front.stdout);
        prop_assert_eq!(back.status, 0, "{:?} | {:?} through {}: {}", words(first).join(" "), words(second).join(" "), between, back.stderr);
        prop_assert_eq!(back.text(), whole.text(), "{:?} | {:?} through {}", words(first).join(" "), words(second).join(" "), between);

        // The first verbs as the chain of the only input of a combining verb.
        let own = ["--from", "jsonl", "--schema", &data.schema, "]", "then"];
        let nested = [&["concatenate", "["][..], &words(first), &own, &words(second), &options[4..]].concat();
        let nested = run(&nested, &[], &data.jsonl());
        prop_assert_eq!(nested.status, 0, "[ {:?} ] then {:?}: {}", words(first).join(" "), words(second).join(" "), nested.stderr);
        prop_assert_eq!(nested.text(), whole.text(), "[ {:?} ] then {:?}", words(first).join(" "), words(second).join(" "));
    }
}

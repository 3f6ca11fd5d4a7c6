//! The sequence functions, compared with a slow, simple reference over nested lists.

use crate::nested::Nested::{self, List, Number};
use crate::nested::{list, ragged, records, run};
use crate::random::cases;
use proptest::prelude::*;
use tatter::schema::{Dim, Type};

/// Records of sequences, and their schema.
#[derive(Clone, Debug)]
struct Field {
    records: Vec<Nested>,
    ty: Type,
    /// The axis of steps.
    axis: usize,
    /// The number of values in a step, if steps have an axis.
    width: Option<usize>,
}

/// One or two LoD levels over steps without an axis, with an axis of known size, or with an axis of unknown size.
fn fields() -> impl Strategy<Value = Field> {
    (2usize..4, prop::option::of(0usize..3), any::<bool>()).prop_flat_map(|(rank, width, known)| {
        records(rank).prop_map(move |records| {
            let mut ty = ragged(rank);
            if let Some(width) = width {
                ty.dims.push(if known { Dim::known(width as u64) } else { Dim::UNIFORM });
            }
            let widened = |n: &Nested| match width {
                Some(width) => list((0..width as i64).map(|i| Number(n.number() * (1 - 2 * i) + 3 * i))),
                None => n.clone(),
            };
            let records = records.iter().map(|r| r.at_depth(rank, &widened)).collect();
            Field { records, ty, axis: rank - 1, width }
        })
    })
}

impl Field {
    /// The result of an expression over `x`.
    fn run(&self, text: &str) -> Result<Vec<Nested>, String> {
        run(text, &[("x", &self.records, self.ty.clone())])
    }

    /// Replaces each sequence of each record.
    fn each(&self, f: impl Fn(&[Nested]) -> Nested) -> Vec<Nested> {
        self.records.iter().map(|r| r.at_depth(self.axis, &|sequence| f(sequence.items()))).collect()
    }

    /// A step filled with one number. Its axis is empty if its size is unknown and no step of the record shows it.
    fn step(&self, n: i64, record: &Nested) -> Nested {
        let open = !matches!(self.ty.dims.last(), Some(d) if *d == Dim::known(self.width.unwrap_or(0) as u64));
        match self.width {
            None => Number(n),
            Some(_) if open && self.sequences(record).iter().all(|s| s.items().is_empty()) => list([]),
            Some(width) => list(vec![Number(n); width]),
        }
    }

    /// The sequences of a record, at any level.
    fn sequences(&self, record: &Nested) -> Vec<Nested> {
        (1..self.axis).fold(record.items().to_vec(), |level, _| level.iter().flat_map(|l| l.items().to_vec()).collect())
    }

    fn longest(&self, record: &Nested) -> usize {
        self.sequences(record).iter().map(|s| s.items().len()).max().unwrap_or(0)
    }
}

/// Combines two steps element-wise.
fn zip(a: &Nested, b: &Nested, f: &dyn Fn(i64, i64) -> i64) -> Nested {
    match (a, b) {
        (Number(a), Number(b)) => Number(f(*a, *b)),
        _ => list(a.items().iter().zip(b.items()).map(|(a, b)| zip(a, b, f))),
    }
}

/// Folds a sequence step by step.
fn folded(sequence: &[Nested], f: &dyn Fn(i64, i64) -> i64) -> Option<Nested> {
    sequence.iter().cloned().reduce(|all, step| zip(&all, &step, f))
}

proptest! {
    #![proptest_config(cases(192))]

    #[test]
    fn sequences_are_pooled(x in fields()) {
        type Pool<'a> = &'a dyn Fn(&[Nested]) -> Option<Nested>;
        let pools: [(&str, Pool); 4] = [
            ("sum", &|s| folded(s, &|a, b| a + b)),
            ("max", &|s| folded(s, &i64::max)),
            ("FIRST", &|s| s.first().cloned()),
            ("last", &|s| s.last().cloned()),
        ];
        for (name, pool) in pools {
            let expected: Vec<Nested> = x.records.iter()
                .map(|r| r.at_depth(x.axis, &|s| pool(s.items()).unwrap_or_else(|| x.step(-7, r))))
                .collect();
            prop_assert_eq!(x.run(&format!("sequence_pool(x, \"{name}\", pad_value=-7)")), Ok(expected));
        }
        let average: Vec<Nested> = x.records.iter()
            .map(|r| r.at_depth(x.axis, &|s| {
                let n = s.items().len() as i64;
                folded(s.items(), &|a, b| a + b).map_or_else(|| x.step(0, r), |sum| zip(&sum, &sum, &|v, _| v * 12 / n))
            }))
            .collect();
        // Sequences have at most three steps, and 12 is a multiple of all their lengths.
        prop_assert_eq!(x.run("cast(round(12.0 * sequence_pool(cast(x, float64), \"average\")), int64)"), Ok(average));
        prop_assert_eq!(x.run("sequence_first_step(x)"), x.run("sequence_pool(x, \"first\")"));
        prop_assert_eq!(x.run("sequence_last_step(x)"), x.run("sequence_pool(x, \"last\")"));
    }

    #[test]
    fn sequences_are_padded_and_unpadded(x in fields(), more in 0usize..3) {
        let padded = |extra: usize| -> Vec<Nested> {
            x.records.iter().map(|r| r.at_depth(x.axis, &|s| {
                let mut steps = s.items().to_vec();
                steps.resize(x.longest(r) + extra, x.step(5, r));
                List(steps)
            })).collect()
        };
        let lengths = x.each(|s| Number(s.len() as i64));
        prop_assert_eq!(x.run("sequence_pad(x, 5)[0]"), Ok(padded(0)));
        prop_assert_eq!(x.run("sequence_pad(x, 5)[1]"), Ok(lengths));
        let longest: Vec<Nested> = x.records.iter().map(|r| Number((x.longest(r) + more) as i64)).collect();
        let fields = [("x", x.records.as_slice(), x.ty.clone()), ("m", longest.as_slice(), ragged(0))];
        prop_assert_eq!(run("sequence_pad(x, 5, maxlen=m)[0]", &fields), Ok(padded(more)));
        let too_short = x.records.iter().any(|r| x.longest(r) > 1);
        prop_assert_eq!(x.run("sequence_pad(x, 5, maxlen=1)[0]").is_err(), too_short);
        if x.axis == 1 {
            let columns = x.each(|s| list(s.iter().map(|v| if x.width.is_some() { v.clone() } else { list([v.clone()]) })));
            prop_assert_eq!(x.run("sequence_unpad(sequence_pad(x, 5)[0], sequence_pad(x, 5)[1])"), Ok(columns));
            let mask: Vec<Nested> = x.records.iter().map(|r| r.at_depth(1, &|s| {
                list((0..x.longest(r)).map(|i| Number(i64::from(i < s.items().len()))))
            })).collect();
            prop_assert_eq!(x.run("sequence_mask(row_lengths(x))"), Ok(mask));
        }
    }

    #[test]
    fn sequences_are_rearranged(x in fields(), window in 2usize..5, width in 1usize..4) {
        let turned = |s: &[Nested]| s.iter().rev().cloned().collect::<Vec<_>>();
        prop_assert_eq!(x.run("sequence_reverse(x)"), Ok(x.each(|s| List(turned(s)))));
        prop_assert_eq!(x.run("sequence_concat([x, sequence_reverse(x), x])"), Ok(x.each(|s| List([s, &turned(s), s].concat()))));
        let second = x.each(|s| List(s[s.len() / 2..].to_vec()));
        let offsets: Vec<Nested> = x.each(|s| list([Number((s.len() / 2) as i64)]));
        let lengths: Vec<Nested> = x.each(|s| Number((s.len() - s.len() / 2) as i64));
        let fields = [
            ("x", x.records.as_slice(), x.ty.clone()),
            ("at", offsets.as_slice(), Type { dims: [ragged(x.axis).dims, vec![Dim::known(1)]].concat(), ..ragged(0) }),
            ("n", lengths.as_slice(), ragged(x.axis)),
        ];
        prop_assert_eq!(run("sequence_slice(x, at, n)", &fields), Ok(second));
        prop_assert!(run("sequence_slice(x, at, n + 1)", &fields).is_err() || x.records.iter().all(|r| x.sequences(r).is_empty()));
        let values = |s: &[Nested]| s.iter().flat_map(|v| if x.width.is_some() { v.items().to_vec() } else { vec![v.clone()] }).collect::<Vec<_>>();
        let fits = x.records.iter().all(|r| x.sequences(r).iter().all(|s| values(s.items()).len() % width == 0));
        let found = x.run(&format!("sequence_reshape(x, {width})"));
        if fits {
            prop_assert_eq!(found, Ok(x.each(|s| list(values(s).chunks(width).map(|c| List(c.to_vec()))))));
        } else {
            prop_assert!(found.is_err());
        }
        if x.width.is_none_or(|w| w == 1) {
            let windows = x.each(|s| {
                let v = values(s);
                list((0..v.len()).map(|i| list((i..i + window).map(|k| v.get(k).cloned().unwrap_or(Number(9))))))
            });
            prop_assert_eq!(x.run(&format!("sequence_enumerate(x, {window}, pad_value=9)")), Ok(windows));
        }
    }

    #[test]
    fn sequences_are_repeated(x in fields(), times in prop::collection::vec(0usize..4, 16)) {
        // y has as many sequences as x has items, with these lengths.
        let y: Vec<Nested> = x.records.iter()
            .map(|r| list(r.items().iter().zip(times.iter().cycle()).map(|(_, n)| list(vec![Number(0); *n]))))
            .collect();
        let fields = [("x", x.records.as_slice(), x.ty.clone()), ("y", y.as_slice(), ragged(2))];
        let repeated: Vec<Nested> = x.records.iter().zip(&y)
            .map(|(r, y)| list(r.items().iter().zip(y.items()).flat_map(|(item, n)| vec![item.clone(); n.items().len()])))
            .collect();
        let found = run("sequence_expand(x, y)", &fields);
        if x.axis == 1 { prop_assert_eq!(found, Ok(repeated)) } else { prop_assert!(found.is_err()) }
        // Rows without LoD: the first level of x repeats them, and all of its levels surround them.
        let rows: Vec<Nested> = x.records.iter().map(|r| list((0..x.sequences(r).len()).map(|i| Number(i as i64)))).collect();
        let fields = [("x", x.records.as_slice(), x.ty.clone()), ("r", rows.as_slice(), ragged(1))];
        let expected: Vec<Nested> = x.records.iter().map(|r| {
            let number = std::cell::Cell::new(-1);
            r.at_depth(x.axis, &|s| {
                number.set(number.get() + 1);
                list(vec![Number(number.get()); s.items().len()])
            })
        }).collect();
        prop_assert_eq!(run("sequence_expand_as(r, x)", &fields), Ok(expected));
        let flat: Vec<Nested> = x.records.iter().map(|r| {
            list(x.sequences(r).iter().enumerate().flat_map(|(i, s)| vec![Number(i as i64); s.items().len()]))
        }).collect();
        prop_assert_eq!(run("sequence_expand(r, x)", &fields), Ok(flat));
    }

    #[test]
    fn levels_are_counted_and_put_back(x in fields()) {
        let lengths: Vec<Nested> = x.records.iter().map(|r| {
            let mut level = vec![r.clone()];
            list((0..=x.axis).map(|_| {
                let own = list(level.iter().map(|l| Number(l.items().len() as i64)));
                level = level.iter().flat_map(|l| l.items().to_vec()).collect();
                own
            }).collect::<Vec<_>>().into_iter().skip(1))
        }).collect();
        let offsets: Vec<Nested> = lengths.iter().map(|r| r.at_depth(1, &|l| {
            let mut end = 0;
            list(std::iter::once(Number(0)).chain(l.items().iter().map(|n| { end += n.number(); Number(end) })))
        })).collect();
        prop_assert_eq!(x.run("recursive_sequence_lengths(x)"), Ok(lengths));
        prop_assert_eq!(x.run("lod(x)"), Ok(offsets));
        let levels = |name: &str| (0..x.axis).map(|i| format!("{name}(x)[{i}]")).collect::<Vec<_>>().join(", ");
        let again = |call: &str, name: &str| x.run(&format!("{call}(flat_values(x), [{}])", levels(name)));
        prop_assert_eq!(again("create_lod_tensor", "recursive_sequence_lengths"), Ok(x.records.clone()));
        prop_assert_eq!(again("set_lod", "lod"), Ok(x.records.clone()));
    }

    #[test]
    fn softmax_is_of_each_sequence(x in fields()) {
        let expected = x.each(|s| {
            let exp = |v: &Nested| (v.number() as f64).exp();
            let value = |i: usize, k: Option<usize>| match k {
                Some(k) => exp(&s[i].items()[k]),
                None => exp(&s[i]),
            };
            let share = |i: usize, k| Number((1e6 * value(i, k) / (0..s.len()).map(|i| value(i, k)).sum::<f64>()).round() as i64);
            list((0..s.len()).map(|i| match x.width {
                Some(width) => list((0..width).map(|k| share(i, Some(k)))),
                None => share(i, None),
            }))
        });
        prop_assert_eq!(x.run("cast(round(1000000.0 * sequence_softmax(cast(x, float64))), int64)"), Ok(expected));
    }

    #[test]
    fn updates_are_added_where_indices_say(ids in records(2)) {
        let ids: Vec<Nested> = ids.iter().map(|r| r.at_depth(2, &|n| Number(n.number().abs() % 5))).collect();
        let expected: Vec<Nested> = ids.iter().map(|r| r.at_depth(1, &|s| {
            let mut row = [1i64; 5];
            s.items().iter().for_each(|id| row[id.number() as usize] += id.number() + 10);
            list(row.map(Number))
        })).collect();
        prop_assert_eq!(run("sequence_scatter(ones([len(i), 5], int64), i, i + 10)", &[("i", &ids, ragged(2))]), Ok(expected));
        let beyond = ids.iter().any(|r| r.items().iter().any(|s| s.items().iter().any(|id| id.number() > 3)));
        prop_assert_eq!(run("sequence_scatter(ones([len(i), 4], int64), i, i)", &[("i", &ids, ragged(2))]).is_err(), beyond);
    }
}

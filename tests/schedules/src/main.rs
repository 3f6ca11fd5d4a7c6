//! The engine under a scheduler that decides, at every lock and wait, which thread goes on.
//!
//! Each schedule runs a random flow with a random number of workers and compares it with a loop. A schedule in which all
//! workers wait, and none will be woken, fails as a deadlock; the failure prints the schedule, which can be replayed.

#[path = "../../../src/run/engine/mod.rs"]
#[allow(unused_imports)] // what only the crate uses of it
mod engine;

/// What the engine needs of the crate's errors.
mod error {
    pub type Result<T, E = Error> = std::result::Result<T, E>;

    #[derive(Debug, PartialEq)]
    pub struct Error(pub String);
}

/// What the engine needs of the crate's handling of panics.
mod panic {
    use crate::error::Error;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    pub fn caught<T>(function: impl FnOnce() -> T) -> Result<T, Error> {
        catch_unwind(AssertUnwindSafe(function)).map_err(|payload| Error(payload.downcast_ref::<&str>().map_or("?", |s| s).to_owned()))
    }
}

use engine::{Line, Lines, Merge, Node, Origin, Serial, WorkPiece};
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number that claims to hold some memory.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Number(u64);

impl WorkPiece for Number {
    fn nbytes(&self) -> usize {
        // Of three sizes: nothing, a part of what a node takes in, more than that.
        [0, 40 << 20, 200 << 20][(self.0 % 3) as usize]
    }
}

/// What a serial node does.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Passes all pieces on.
    All,
    /// Passes on every other piece; gives as many at the end as were left out.
    Half,
    /// Gives each piece that many times, all at once.
    Times(usize),
    /// Gives each piece that many times, one by one.
    OneByOne(usize),
    /// Wants no more after that many pieces.
    Enough(usize),
}

/// A serial node. It counts the pieces that leave the parallel node before it.
struct Stage {
    kind: Kind,
    seen: usize,
    left: Vec<Number>,
    /// A piece to give again, and how many times.
    again: Option<(Number, usize)>,
    in_work: Option<Arc<AtomicUsize>>,
}

impl Stage {
    fn new(kind: Kind, in_work: Option<Arc<AtomicUsize>>) -> Stage {
        Stage { kind, seen: 0, left: Vec::new(), again: None, in_work }
    }
}

impl Serial<Number> for Stage {
    fn push(&mut self, work: Number, out: &mut Vec<Number>) -> bool {
        if let Some(in_work) = &self.in_work {
            in_work.fetch_sub(1, Ordering::Relaxed);
        }
        self.seen += 1;
        match self.kind {
            Kind::All | Kind::Enough(_) => out.push(work),
            Kind::Half if self.seen.is_multiple_of(2) => self.left.push(work),
            Kind::Half => out.push(work),
            Kind::Times(n) => out.extend(std::iter::repeat_n(work, n)),
            Kind::OneByOne(n) => {
                self.again = Some((work, n));
                self.resume(out);
            }
        }
        !matches!(self.kind, Kind::Enough(n) if self.seen >= n)
    }

    fn has_more(&self) -> bool {
        self.again.is_some()
    }

    fn resume(&mut self, out: &mut Vec<Number>) {
        if let Some((work, left)) = self.again.take() {
            out.push(work);
            self.again = (left > 1).then_some((work, left - 1));
        }
    }

    /// One piece a call.
    fn finish(&mut self, out: &mut Vec<Number>) -> bool {
        out.extend(self.left.pop());
        !self.left.is_empty()
    }
}

/// The last node: collects.
struct Collect<'a>(Stage, &'a mut Vec<Number>);

impl Serial<Number> for Collect<'_> {
    fn push(&mut self, work: Number, _: &mut Vec<Number>) -> bool {
        self.0.push(work, self.1)
    }

    fn has_more(&self) -> bool {
        self.0.has_more()
    }

    fn resume(&mut self, _: &mut Vec<Number>) {
        self.0.resume(self.1);
    }

    fn finish(&mut self, _: &mut Vec<Number>) -> bool {
        self.0.finish(self.1)
    }
}

/// One piece of each of two lines in turn, the first line first. The line that ends first is replaced by an empty one.
struct Turns(usize, bool);

impl<'a> Merge<'a, Number> for Turns {
    fn next(&mut self, lines: &mut Lines<'_, 'a, Number>) -> Option<Number> {
        let line = self.0 % 2;
        self.0 += 1;
        lines.pull(line).or_else(|| {
            if !std::mem::replace(&mut self.1, true) {
                lines.replace(line, numbers(0, 1, 0, 0));
            }
            lines.pull(line)
        })
    }
}

/// Every `step`th number below `end`, from `first` on: of a source, or merged of two lines, and so on for that many levels.
fn numbers<'a>(first: u64, step: u64, end: u64, merges: usize) -> Line<'a, Number> {
    let same = || Node::Parallel(Arc::new(|work| work));
    if merges == 0 {
        let mut numbers = (first..end).step_by(step as usize).map(Number);
        return Line { origin: Origin::Source(Box::new(move || numbers.next())), nodes: vec![same()] };
    }
    let lines = vec![numbers(first, 2 * step, end, merges - 1), numbers(first + step, 2 * step, end, 0)];
    Line { origin: Origin::Merge(Box::new(Turns(0, false)), lines), nodes: vec![Node::Serial(Box::new(Stage::new(Kind::All, None)))] }
}

/// A flow: `parallel[i]` says whether a parallel node comes before the serial node `serial[i]`.
#[derive(Debug)]
struct Flow {
    npieces: u64,
    /// How many merges are nested before it.
    merges: usize,
    parallel: Vec<bool>,
    serial: Vec<Kind>,
    /// A piece at which a parallel node panics.
    broken: Option<u64>,
    threads: usize,
}

impl Flow {
    fn random(breaks: bool) -> Flow {
        let mut random = thread_rng();
        let nstages = random.gen_range(1..=3);
        let npieces = random.gen_range(0..=12);
        let parallel: Vec<bool> = (0..nstages).map(|_| random.gen_bool(0.7)).collect();
        let mut kind = || match random.gen_range(0..7) {
            0 | 1 => Kind::All,
            2 => Kind::Half,
            3 => Kind::Times(random.gen_range(2..10)),
            4 => Kind::OneByOne(random.gen_range(2..10)),
            _ => Kind::Enough(random.gen_range(1..8)),
        };
        let serial = (0..nstages).map(|_| kind()).collect();
        let merges = [0, 0, 1, 2][random.gen_range(0..4)];
        let broken = breaks.then(|| random.gen_range(0..npieces + 1));
        Flow { npieces, merges, parallel, serial, broken, threads: random.gen_range(2..=4) }
    }

    /// What comes out, by a loop: each stage after the other.
    fn expected(&self) -> Vec<Number> {
        let mut pieces: Vec<Number> = (0..self.npieces).map(Number).collect();
        for (is_parallel, kind) in self.parallel.iter().zip(&self.serial) {
            let mut stage = Stage::new(*kind, None);
            let mut out = Vec::new();
            let mut wants = true;
            for piece in pieces {
                if !wants {
                    break;
                }
                wants = stage.push(Number(piece.0 + u64::from(*is_parallel)), &mut out);
                while stage.has_more() {
                    stage.resume(&mut out);
                }
            }
            while stage.finish(&mut out) {}
            pieces = out;
        }
        pieces
    }

    fn run(&self) {
        let mut seen = Vec::new();
        let mut nodes = Vec::new();
        // The window, and the piece that the serial node is taking.
        let limit = self.threads + 3;
        for (at, (is_parallel, kind)) in self.parallel.iter().zip(&self.serial).enumerate() {
            let in_work = is_parallel.then(Arc::<AtomicUsize>::default);
            if let Some(in_work) = in_work.clone() {
                let broken = self.broken;
                nodes.push(Node::Parallel(Arc::new(move |work: Number| {
                    assert!(in_work.fetch_add(1, Ordering::Relaxed) < limit, "more pieces in work than {limit}");
                    shuttle::thread::yield_now();
                    if broken == Some(work.0) {
                        panic!("broken");
                    }
                    Number(work.0 + 1)
                })));
            }
            let stage = Stage::new(*kind, in_work);
            if at + 1 < self.serial.len() {
                nodes.push(Node::Serial(Box::new(stage)));
            } else {
                nodes.push(Node::Serial(Box::new(Collect(stage, &mut seen))));
                break;
            }
        }
        let mut line = numbers(0, 1, self.npieces, self.merges);
        line.nodes = nodes;
        match engine::run(line, self.threads) {
            Ok(_) => assert_eq!(seen, self.expected(), "{self:?}"),
            Err(error) => {
                assert!(self.broken.is_some(), "{self:?}: {error:?}");
                assert_eq!(error.0, "broken", "{self:?}");
                assert!(self.expected().starts_with(&seen), "{self:?}: {seen:?}");
            }
        }
    }
}

/// Keeps the scheduler from printing the schedule of every panic that is wanted.
fn quieten() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref::<&str>() != Some(&"broken") {
            print(info);
        }
    }));
}

fn main() {
    let iterations = std::env::args().nth(1).map_or(20_000, |n| n.parse().expect("a number of schedules"));
    let random = || RandomScheduler::new(iterations);
    Runner::new(random(), Config::new()).run(|| Flow::random(false).run());
    Runner::new(PctScheduler::new(3, iterations), Config::new()).run(|| Flow::random(false).run());
    quieten();
    Runner::new(random(), Config::new()).run(|| Flow::random(true).run());
    let mut exhaustive = 0;
    for (threads, merges) in [(1, 0), (2, 0), (1, 1), (2, 1)] {
        for serial in [vec![Kind::All], vec![Kind::Enough(1)], vec![Kind::Half], vec![Kind::OneByOne(2)]] {
            let flow = Arc::new(Flow { npieces: 2, merges, parallel: vec![true], serial, broken: None, threads });
            exhaustive += Runner::new(DfsScheduler::new(Some(iterations), false), Config::new()).run(move || flow.run());
        }
    }
    println!(
        "schedules: {iterations} random, {iterations} with few switches, {iterations} with panics, {exhaustive} of small flows in order"
    );
}

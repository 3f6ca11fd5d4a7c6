//! Ordered, bounded, parallel stages: the one file with threads.
//!
//! Work flows from a source through nodes. A *parallel* node turns one piece of work into one piece, on any
//! thread, in any order; a *serial* node takes the pieces one at a time, in order, and gives any
//! number. A serial node may say that it has enough: everything before it is then dropped and
//! the source is not asked again.
//!
//! ```text
//! source -> [parallel] -> serial -> [parallel] -> serial -> ...
//! ```
//!
//! No thread belongs to a node. Each of the `threads` workers looks for something to do, from the
//! last node to the first and finally to the source, so that what is nearest to the output
//! goes first and little is in flight. One worker is a value, not a special case: it does everything by itself,
//! in the same order. A node takes in at most `threads + 2` pieces that have not left it in
//! order yet, and no more of them once they hold `MAX_NBYTES`; that bounds the memory, but for what a serial node gives at
//! once. It cannot block for ever, because the piece that is next in order is always among them.

use crate::error::{Error, Result};
use crate::panic;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

// `tests/schedules` compiles this file with a scheduler that permutes the threads.
#[cfg(shuttle)]
use shuttle::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::scope,
};
#[cfg(not(shuttle))]
use std::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::scope,
};

/// Gives the next piece of work; `None` at the end.
pub type Source<'a, W> = Box<dyn FnMut() -> Option<W> + Send + 'a>;

/// Bytes that a parallel node may have in work before it takes in no more, however many threads there are.
const MAX_NBYTES: usize = 96 << 20;

/// A piece of work.
pub trait Piece {
    /// Its memory, where it is much.
    fn nbytes(&self) -> usize {
        0
    }
}

/// One step of the flow.
pub enum Node<'a, W> {
    /// One piece to one piece, any order.
    Parallel(Arc<dyn Fn(W) -> W + Send + Sync + 'a>),
    /// In order.
    Serial(Box<dyn Serial<W> + 'a>),
}

/// A node that sees the pieces in order.
pub trait Serial<W>: Send {
    /// Takes a piece, gives any number of pieces; `false`: it wants no more.
    fn push(&mut self, work: W, out: &mut Vec<W>) -> bool;
    /// Called after the last piece, again and again while it gives `true`.
    fn finish(&mut self, out: &mut Vec<W>) -> bool {
        let _ = out;
        false
    }
}

/// Where the workers spent their time, summed over them.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// In the source.
    pub source: Duration,
    /// In each node.
    pub nodes: Vec<Duration>,
    /// Without anything to do.
    pub waiting: Duration,
}

/// Runs the source through the nodes, the last of which is serial, with that many workers.
///
/// # Errors
/// A panic inside a node.
pub fn run<'a, W: Piece + Send + 'a>(source: Source<'a, W>, nodes: Vec<Node<'a, W>>, threads: usize) -> Result<Times> {
    let threads = threads.max(1);
    let times = Times { nodes: vec![Duration::ZERO; nodes.len()], ..Times::default() };
    let stations = nodes.into_iter().map(Station::new).collect();
    let source = Some(source);
    let shared = Shared {
        state: Mutex::new(State { source, source_busy: false, emitted: 0, stations, waiting: 0, stop: false, failure: None, times }),
        change: Condvar::new(),
        window: threads + 2,
    };
    scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| shared.work());
        }
        shared.work();
    });
    let state = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    state.failure.map_or(Ok(state.times), Err)
}

struct Shared<'a, W> {
    state: Mutex<State<'a, W>>,
    change: Condvar,
    window: usize,
}

struct State<'a, W> {
    source: Option<Source<'a, W>>,
    source_busy: bool,
    /// Pieces that the source has given.
    emitted: u64,
    stations: Vec<Station<'a, W>>,
    /// Workers that found nothing to do.
    waiting: usize,
    stop: bool,
    failure: Option<Error>,
    times: Times,
}

/// A node with the pieces that wait for it.
struct Station<'a, W> {
    node: Option<Node<'a, W>>,
    is_parallel: bool,
    /// Parallel: pieces to start, in order.
    ready: VecDeque<(u64, W)>,
    running: usize,
    /// Parallel: the bytes of each piece that the next node has not taken yet, in order, and their sum.
    sizes: VecDeque<usize>,
    nbytes: usize,
    /// Serial: pieces that have arrived, perhaps out of order.
    pending: BTreeMap<u64, W>,
    /// Serial: the number of the piece to take next.
    next: u64,
    /// How many pieces arrive in all, once that is known.
    total: Option<u64>,
    /// Serial: pieces given so far.
    emitted: u64,
    finished: bool,
}

/// Something to do, taken out of the state.
enum Job<'a, W> {
    Source(Source<'a, W>),
    Parallel(usize, u64, Arc<dyn Fn(W) -> W + Send + Sync + 'a>, W),
    Push(usize, Box<dyn Serial<W> + 'a>, W),
    Finish(usize, Box<dyn Serial<W> + 'a>),
}

impl<'a, W> Station<'a, W> {
    fn new(node: Node<'a, W>) -> Self {
        let is_parallel = matches!(node, Node::Parallel(_));
        Station {
            node: Some(node),
            is_parallel,
            ready: VecDeque::new(),
            running: 0,
            sizes: VecDeque::new(),
            nbytes: 0,
            pending: BTreeMap::new(),
            next: 0,
            total: None,
            emitted: 0,
            finished: false,
        }
    }

    fn clear(&mut self) -> Vec<W> {
        let mut dropped: Vec<W> = self.ready.drain(..).map(|(_, w)| w).collect();
        dropped.extend(std::mem::take(&mut self.pending).into_values());
        dropped
    }
}

impl<'a, W: Piece + Send> Shared<'a, W> {
    fn lock(&self) -> MutexGuard<'_, State<'a, W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What each worker does until there is nothing left. Only the worker that takes a job wakes another, and only if
    /// there is a second job: whoever changes the state looks for a job right after that, so none is overlooked.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if state.stop {
                return;
            }
            match state.take_job(self.window) {
                Some(job) => {
                    if state.waiting > 0 && state.has_job(self.window) {
                        self.change.notify_one();
                    }
                    drop(state);
                    let done = panic::caught(|| self.run_job(job));
                    state = self.lock();
                    if let Err(bug) = done {
                        state.failure.get_or_insert(bug);
                        state.stop = true;
                        self.change.notify_all();
                    }
                }
                None if state.is_over() => {
                    state.stop = true;
                    self.change.notify_all();
                }
                None => {
                    state.waiting += 1;
                    let began = Instant::now();
                    state = self.change.wait(state).unwrap_or_else(PoisonError::into_inner);
                    state.waiting -= 1;
                    state.times.waiting += began.elapsed();
                }
            }
        }
    }

    fn run_job(&self, job: Job<'a, W>) {
        let began = Instant::now();
        match job {
            Job::Source(mut source) => {
                let work = source();
                let mut state = self.lock();
                state.times.source += began.elapsed();
                state.source_busy = false;
                if state.stations.first().is_some_and(|s| s.finished || s.total.is_some()) {
                    return; // a later node has enough
                }
                match work {
                    Some(work) => {
                        let number = state.emitted;
                        state.emitted += 1;
                        state.source = Some(source);
                        state.arrive(0, number, work);
                    }
                    None => {
                        let total = state.emitted;
                        state.set_total(0, total);
                    }
                }
            }
            Job::Parallel(at, number, function, work) => {
                let work = function(work);
                let mut state = self.lock();
                state.times.nodes[at] += began.elapsed();
                state.stations[at].running -= 1;
                if state.stations[at].finished {
                    drop(state); // a later node has enough; free the work outside the lock
                    drop(work);
                    return;
                }
                state.arrive(at + 1, number, work);
            }
            Job::Push(at, mut node, work) => {
                let mut out = Vec::new();
                let more = node.push(work, &mut out);
                let mut dropped = Vec::new();
                let mut state = self.lock();
                state.times.nodes[at] += began.elapsed();
                if state.stations[at].finished {
                    drop(state); // a later node has enough
                    drop((node, out));
                    return;
                }
                state.emit(at, out);
                state.stations[at].node = Some(Node::Serial(node));
                if !more {
                    dropped = state.enough(at);
                }
                drop(state);
                drop(dropped);
            }
            Job::Finish(at, mut node) => {
                let mut out = Vec::new();
                let more = node.finish(&mut out);
                let mut state = self.lock();
                state.times.nodes[at] += began.elapsed();
                if state.stations[at].finished {
                    drop(state); // a later node has enough
                    drop((node, out));
                    return;
                }
                state.emit(at, out);
                state.stations[at].node = Some(Node::Serial(node));
                if !more {
                    state.stations[at].finished = true;
                    let total = state.stations[at].emitted;
                    state.set_total(at + 1, total);
                }
            }
        }
    }
}

impl<'a, W: Piece> State<'a, W> {
    /// The job nearest to the output that can run now.
    fn take_job(&mut self, window: usize) -> Option<Job<'a, W>> {
        let Some(at) = (0..self.stations.len()).rev().find(|at| self.can_run(*at, window)) else {
            return self.take_source(window);
        };
        let station = &mut self.stations[at];
        if let Some(Node::Parallel(function)) = &station.node {
            let (number, work) = station.ready.pop_front()?;
            station.running += 1;
            return Some(Job::Parallel(at, number, function.clone(), work));
        }
        let Some(Node::Serial(node)) = station.node.take() else { return None };
        let Some(work) = station.pending.remove(&station.next) else { return Some(Job::Finish(at, node)) };
        station.next += 1;
        if let Some(before) = at.checked_sub(1).and_then(|before| self.stations.get_mut(before)) {
            before.nbytes -= before.sizes.pop_front().unwrap_or(0);
        }
        Some(Job::Push(at, node, work))
    }

    fn take_source(&mut self, window: usize) -> Option<Job<'a, W>> {
        if !self.can_read(window) {
            return None;
        }
        let source = self.source.take()?;
        self.source_busy = true;
        Some(Job::Source(source))
    }

    /// Whether there is a job.
    fn has_job(&self, window: usize) -> bool {
        self.can_read(window) || (0..self.stations.len()).any(|at| self.can_run(at, window))
    }

    /// Whether the source may be asked now.
    fn can_read(&self, window: usize) -> bool {
        let is_open = self.stations.first().is_some_and(|s| s.total.is_none());
        is_open && !self.source_busy && self.source.is_some() && self.room_at(0, window)
    }

    /// Whether station `at` has something to do now.
    fn can_run(&self, at: usize, window: usize) -> bool {
        let station = &self.stations[at];
        if station.is_parallel {
            return !station.ready.is_empty();
        }
        let is_next_there = station.total == Some(station.next) || station.pending.contains_key(&station.next);
        is_next_there && !station.finished && station.node.is_some() && self.room_at(at + 1, window)
    }

    /// Whether station `at` may take in another piece: parallel stations count what has not left them in order yet.
    fn room_at(&self, at: usize, window: usize) -> bool {
        let Some(station) = self.stations.get(at) else { return true };
        let waiting = if station.is_parallel { self.stations.get(at + 1).map_or(0, |s| s.pending.len()) } else { 0 };
        let count = station.ready.len() + station.running + station.pending.len() + waiting;
        count < window && (count == 0 || station.nbytes < MAX_NBYTES)
    }

    fn arrive(&mut self, at: usize, number: u64, work: W) {
        if let Some(station) = self.stations.get_mut(at) {
            if station.is_parallel {
                let nbytes = work.nbytes();
                station.sizes.push_back(nbytes);
                station.nbytes += nbytes;
                station.ready.push_back((number, work));
            } else {
                station.pending.insert(number, work);
            }
        }
    }

    fn emit(&mut self, at: usize, out: Vec<W>) {
        for work in out {
            let number = self.stations[at].emitted;
            self.stations[at].emitted += 1;
            self.arrive(at + 1, number, work);
        }
    }

    /// `total` pieces arrive at station `at` in all; a parallel station passes as many on.
    fn set_total(&mut self, at: usize, total: u64) {
        if let Some(station) = self.stations.get_mut(at) {
            station.total = Some(total);
            if station.is_parallel {
                self.set_total(at + 1, total);
            }
        }
    }

    /// Station `at` wants no more: drops everything before it.
    fn enough(&mut self, at: usize) -> Vec<W> {
        self.source = None;
        let mut dropped = Vec::new();
        for station in &mut self.stations[..at] {
            dropped.extend(station.clear());
            station.finished = true;
            station.total.get_or_insert(0);
        }
        let station = &mut self.stations[at];
        dropped.extend(station.clear());
        station.total = Some(station.next);
        dropped
    }

    fn is_over(&self) -> bool {
        self.stations.last().is_none_or(|s| s.finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use std::sync::mpsc;
    use std::time::Duration;

    impl Piece for u64 {}

    struct Collect<'a>(&'a mut Vec<u64>, usize);
    impl Serial<u64> for Collect<'_> {
        fn push(&mut self, work: u64, _: &mut Vec<u64>) -> bool {
            self.0.push(work);
            self.0.len() < self.1
        }
    }

    /// Gives each pair as one sum, and the odd one at the end.
    struct Pairs(Option<u64>);
    impl Serial<u64> for Pairs {
        fn push(&mut self, work: u64, out: &mut Vec<u64>) -> bool {
            match self.0.take() {
                Some(first) => out.push(first + work),
                None => self.0 = Some(work),
            }
            true
        }
        fn finish(&mut self, out: &mut Vec<u64>) -> bool {
            out.extend(self.0.take());
            false
        }
    }

    fn numbers(n: u64) -> Source<'static, u64> {
        let mut next = 0;
        Box::new(move || {
            next += 1;
            (next <= n).then_some(next - 1)
        })
    }

    fn slow(x: u64) -> u64 {
        std::thread::sleep(Duration::from_micros(x * 7919 % 50));
        x * 10
    }

    #[test]
    fn order_is_kept_by_any_number_of_workers() {
        for threads in [1, 2, 8] {
            let mut seen = Vec::new();
            let nodes = vec![
                Node::Parallel(Arc::new(slow)),
                Node::Serial(Box::new(Pairs(None))),
                Node::Parallel(Arc::new(slow)),
                Node::Serial(Box::new(Collect(&mut seen, usize::MAX))),
            ];
            run(numbers(101), nodes, threads).unwrap();
            let mut expected: Vec<u64> = (0..50).map(|i| (20 * i + (20 * i + 10)) * 10).collect();
            expected.push(10_000);
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn enough_stops_an_endless_source() {
        for threads in [1, 4] {
            let mut seen = Vec::new();
            let nodes = vec![Node::Parallel(Arc::new(slow)), Node::Serial(Box::new(Collect(&mut seen, 5)))];
            run(numbers(u64::MAX), nodes, threads).unwrap();
            assert_eq!(seen, [0, 10, 20, 30, 40]);
        }
    }

    /// Gives its piece while it is asked for the rest, after the next node has had enough.
    struct Late(mpsc::Sender<()>, mpsc::Receiver<()>);
    impl Serial<u64> for Late {
        fn push(&mut self, work: u64, out: &mut Vec<u64>) -> bool {
            out.push(work);
            true
        }
        fn finish(&mut self, out: &mut Vec<u64>) -> bool {
            self.0.send(()).unwrap();
            self.1.recv().unwrap();
            std::thread::sleep(Duration::from_millis(20));
            out.push(1);
            false
        }
    }

    struct First<'a>(&'a mut Vec<u64>, mpsc::Sender<()>, mpsc::Receiver<()>);
    impl Serial<u64> for First<'_> {
        fn push(&mut self, work: u64, _: &mut Vec<u64>) -> bool {
            self.0.push(work);
            self.2.recv().unwrap();
            self.1.send(()).unwrap();
            false
        }
    }

    #[test]
    fn a_node_that_has_enough_gets_no_more() {
        let ((to_first, from_late), (to_late, from_first)) = (mpsc::channel(), mpsc::channel());
        let mut seen = Vec::new();
        let late = Late(to_first, from_first);
        let first = First(&mut seen, to_late, from_late);
        run(numbers(1), vec![Node::Serial(Box::new(late)), Node::Serial(Box::new(first))], 2).unwrap();
        assert_eq!(seen, [0]);
    }

    #[test]
    fn a_panic_is_an_error() {
        let mut seen = Vec::new();
        let broken = |x: u64| if x == 3 { panic!("broken") } else { x };
        let nodes = vec![Node::Parallel(Arc::new(broken)), Node::Serial(Box::new(Collect(&mut seen, 100)))];
        let error = run(numbers(10), nodes, 2).unwrap_err();
        assert_eq!((error.kind(), error.message()), (Kind::Internal, "broken"));
    }
}

//! The workers: threads that look for jobs until none are left.

use super::flow::{Line, Lines, Origin, Pull, Serial, Ticket, Times, WorkPiece};
use super::state::{At, Job, State};
use crate::error::Result;
use crate::panic;
use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

// `tests/schedules` compiles the engine with a scheduler that permutes the threads.
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

/// Runs the line, whose last node must be serial, with the given number of workers.
///
/// # Errors
/// A panic inside a node.
pub fn run<'a, W: WorkPiece + Send + 'a>(line: Line<'a, W>, threads: usize) -> Result<Times> {
    let threads = threads.max(1);
    let merged = matches!(line.origin, Origin::Merge(..)).then_some(Duration::ZERO);
    let times = Times { merged, nodes: vec![Duration::ZERO; line.nodes.len()], ..Times::default() };
    let mut state = State {
        lines: Vec::new(),
        active: BTreeSet::new(),
        generations: 0,
        window: threads + 2,
        idle: 0,
        pulling: 0,
        is_pull_changed: false,
        stop: false,
        failure: None,
        times,
    };
    state.add(line, None);
    let shared = Shared { state: Mutex::new(state), job: Condvar::new(), piece: Condvar::new() };
    scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| drop(shared.work(None)));
        }
        drop(shared.work(None));
    });
    let state = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    state.failure.map_or(Ok(state.times), Err)
}

struct Shared<'a, W> {
    state: Mutex<State<'a, W>>,
    /// Signals that there is a job.
    job: Condvar,
    /// Signals a piece to pull, or a job for a worker that waits for one.
    piece: Condvar,
}

impl<'a, W: WorkPiece + Send> Shared<'a, W> {
    fn lock(&self) -> MutexGuard<'_, State<'a, W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The main loop of a worker, until nothing is left or a piece of the line it waits for has arrived. Only a worker
    /// that takes a job wakes another, and only if there is a second job. Because a worker that changes the state looks
    /// for a job right afterwards, no job is missed.
    fn work(&self, awaited: Option<Ticket>) -> MutexGuard<'_, State<'a, W>> {
        let mut state = self.lock();
        if let Some(line) = awaited {
            if state.line(line).is_none() {
                return state;
            }
            state.ask(line);
        }
        loop {
            if std::mem::take(&mut state.is_pull_changed) {
                self.piece.notify_all();
            }
            if state.stop || awaited.is_some_and(|line| state.has_next(line)) {
                break;
            }
            match state.take_job(awaited) {
                Some(job) => {
                    self.wake_another(&state);
                    drop(state);
                    let done = panic::caught(|| self.run_job(job));
                    state = self.lock();
                    if let Err(bug) = done {
                        state.failure.get_or_insert(bug);
                        self.stop(&mut state);
                    }
                }
                None if state.is_over() => {
                    self.stop(&mut state);
                }
                None => {
                    let pulls = usize::from(awaited.is_some());
                    (state.idle, state.pulling) = (state.idle + 1, state.pulling + pulls);
                    let began = Instant::now();
                    let change = if awaited.is_some() { &self.piece } else { &self.job };
                    state = change.wait(state).unwrap_or_else(PoisonError::into_inner);
                    (state.idle, state.pulling) = (state.idle - 1, state.pulling - pulls);
                    state.times.waiting += began.elapsed();
                }
            }
        }
        if let Some(line) = awaited.and_then(|line| state.line(line)) {
            line.waiting -= 1;
        }
        state
    }

    /// A worker that waits for a piece is woken only if no other worker is idle, because it may be unable to take the
    /// job.
    fn wake_another(&self, state: &State<'a, W>) {
        if state.idle > 0 && state.has_job() {
            if state.idle > state.pulling { self.job.notify_one() } else { self.piece.notify_all() }
        }
    }

    fn stop(&self, state: &mut State<'a, W>) {
        state.stop = true;
        self.job.notify_all();
        self.piece.notify_all();
    }

    fn run_job(&self, job: Job<'a, W>) {
        let began = Instant::now();
        match job {
            Job::Source(to, mut source) => {
                let work = source();
                let source = Origin::Source(source);
                self.lock().has_read(to, source, work, began.elapsed());
            }
            Job::Merge(to, mut merge, sources) => {
                let mut lines = Lines::new(self, sources, to.line.number);
                let work = merge.next(&mut lines);
                let elapsed = began.elapsed().saturating_sub(lines.elsewhere());
                self.lock().has_read(to, Origin::Merge(merge, Vec::new()), work, elapsed);
            }
            Job::Parallel(to, number, function, work) => {
                let work = function(work);
                let mut state = self.lock();
                state.spent(to, began.elapsed());
                let Some(line) = state.line(to.line) else { return };
                line.stations[to.station].running -= 1;
                if line.stations[to.station].finished {
                    drop(state); // a later node has enough; free the work outside the lock
                    drop(work);
                    return;
                }
                state.arrive(to.line.number, to.station + 1, number, work);
            }
            Job::Push(to, mut node, work) => {
                let mut out = Vec::new();
                let more = node.push(work, &mut out);
                let Some(mut state) = self.take_back(to, node, out, began.elapsed()) else { return };
                let dropped = if more { Vec::new() } else { state.enough(to) };
                drop(state);
                drop(dropped);
            }
            Job::Resume(to, mut node) => {
                let mut out = Vec::new();
                node.resume(&mut out);
                drop(self.take_back(to, node, out, began.elapsed()));
            }
            Job::Finish(to, mut node) => {
                let mut out = Vec::new();
                let more = node.finish(&mut out);
                let Some(mut state) = self.take_back(to, node, out, began.elapsed()) else { return };
                if !more {
                    let station = &mut state.lines[to.line.number].stations[to.station];
                    station.finished = true;
                    let total = station.emitted;
                    state.set_total(to.line.number, to.station + 1, total);
                }
            }
        }
    }

    /// Returns a serial node with its results to the state. `None` if a later node has ended: both are then freed
    /// outside the lock.
    fn take_back(&self, to: At, node: Box<dyn Serial<W> + 'a>, out: Vec<W>, elapsed: Duration) -> Option<MutexGuard<'_, State<'a, W>>> {
        let mut state = self.lock();
        state.spent(to, elapsed);
        if state.line(to.line).is_none_or(|line| line.stations[to.station].finished) {
            drop(state);
            drop((node, out));
            return None;
        }
        state.emit(to, out);
        state.put_back(to, node);
        Some(state)
    }
}

impl<'a, W: WorkPiece + Send> Pull<'a, W> for Shared<'a, W> {
    fn pull(&self, line: Ticket) -> Option<W> {
        let mut state = self.work(Some(line));
        let piece = state.take_next(line);
        // There is room for another piece.
        self.wake_another(&state);
        piece
    }

    fn replace(&self, line: Ticket, merge: usize, by: Line<'a, W>) -> Ticket {
        let mut state = self.lock();
        if state.line(line).is_none_or(|line| line.is_closed) {
            return line;
        }
        let dropped = state.close_sources(line.number);
        let line = state.put(line.number, by, Some(merge));
        drop(state);
        drop(dropped);
        line
    }
}

//! The state of the lines, and what can be done next. All of it happens under the lock of the workers.

use super::flow::{Line, Merge, Node, Origin, Piece, Serial, Source, Ticket, Times};
use crate::error::Error;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Bytes that a parallel node may have in work before it takes in no more, however many threads there are.
const MAX_NBYTES: usize = 96 << 20;

/// All that the workers share.
pub struct State<'a, W> {
    /// First the one that is run. Those that a merge pulls pieces out of have higher numbers.
    pub lines: Vec<LineState<'a, W>>,
    /// Lines that there were so far.
    pub generations: u64,
    pub window: usize,
    /// Workers without anything to do, and those of them that wait for a piece to pull.
    pub idle: usize,
    pub pulling: usize,
    /// Whether a piece that a worker waits for has come, or none comes.
    pub is_pull_changed: bool,
    pub stop: bool,
    pub failure: Option<Error>,
    pub times: Times,
}

/// A line while it runs.
pub struct LineState<'a, W> {
    generation: u64,
    /// Away while it is asked, and after the end.
    origin: Option<Origin<'a, W>>,
    /// The line whose merge pulls pieces out of this one.
    merge: Option<usize>,
    /// The lines that its own merge pulls pieces out of.
    sources: Vec<usize>,
    /// Whether a piece was pulled out of it yet.
    pub is_asked: bool,
    /// Workers that wait for a piece of it.
    pub waiting: usize,
    /// Pieces that the source has given.
    emitted: u64,
    /// Its nodes; the last, where pieces are pulled, has none.
    pub stations: Vec<Station<'a, W>>,
    /// Whether nothing of it is wanted any more: its number may be given to another.
    pub is_closed: bool,
}

/// A node with the pieces that wait for it.
pub struct Station<'a, W> {
    pub node: Option<Node<'a, W>>,
    is_parallel: bool,
    /// Parallel: pieces to start, in order.
    ready: VecDeque<(u64, W)>,
    pub running: usize,
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
    pub emitted: u64,
    pub finished: bool,
}

/// Which node, or source, a job belongs to.
#[derive(Clone, Copy)]
pub struct At {
    pub line: Ticket,
    /// Of a source 0.
    pub station: usize,
    is_source: bool,
}

/// Something to do, taken out of the state.
pub enum Job<'a, W> {
    Source(At, Source<'a, W>),
    Merge(At, Box<dyn Merge<'a, W> + 'a>, Vec<Ticket>),
    Parallel(At, u64, Arc<dyn Fn(W) -> W + Send + Sync + 'a>, W),
    Push(At, Box<dyn Serial<W> + 'a>, W),
    Finish(At, Box<dyn Serial<W> + 'a>),
}

impl<'a, W> Station<'a, W> {
    fn new(node: Option<Node<'a, W>>) -> Self {
        let is_parallel = matches!(node, Some(Node::Parallel(_)));
        Station {
            node,
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

    /// Pieces in it that are not done.
    fn count(&self) -> usize {
        self.ready.len() + self.running + self.pending.len()
    }

    fn clear(&mut self) -> Vec<W> {
        let mut dropped: Vec<W> = self.ready.drain(..).map(|(_, w)| w).collect();
        dropped.extend(std::mem::take(&mut self.pending).into_values());
        dropped
    }
}

impl<W: Piece> LineState<'_, W> {
    /// Of a line that pieces are pulled out of: whether the next is there, or none follows.
    fn has_next(&self) -> bool {
        self.stations.last().is_none_or(|end| end.finished || end.total == Some(end.next) || end.pending.contains_key(&end.next))
    }

    /// The piece to pull.
    pub fn take_next(&mut self) -> Option<W> {
        self.take_pending(self.stations.len().checked_sub(1)?)
    }

    /// The next piece of a serial station.
    fn take_pending(&mut self, at: usize) -> Option<W> {
        let station = &mut self.stations[at];
        let work = station.pending.remove(&station.next)?;
        station.next += 1;
        if let Some(before) = at.checked_sub(1).and_then(|before| self.stations.get_mut(before)) {
            before.nbytes -= before.sizes.pop_front().unwrap_or(0);
        }
        Some(work)
    }

    fn count(&self) -> usize {
        self.stations.iter().map(Station::count).sum()
    }

    fn is_open(&self) -> bool {
        self.origin.is_some() && self.stations.first().is_some_and(|s| s.total.is_none() && !s.finished)
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
        let count = station.count() + waiting;
        count < window && (count == 0 || station.nbytes < MAX_NBYTES)
    }
}

impl<'a, W: Piece> State<'a, W> {
    /// Adds a line and those that its merge pulls pieces out of; its number.
    pub fn add(&mut self, line: Line<'a, W>, merge: Option<usize>) -> usize {
        let is_free = |line: &LineState<W>| line.is_closed && line.waiting == 0;
        let number = self.lines.iter().position(is_free).unwrap_or(self.lines.len());
        self.put(number, line, merge);
        number
    }

    /// As [`State::add`], under that number.
    pub fn put(&mut self, number: usize, line: Line<'a, W>, merge: Option<usize>) -> Ticket {
        let (origin, sources) = match line.origin {
            Origin::Merge(own, sources) => (Origin::Merge(own, Vec::new()), sources),
            source => (source, Vec::new()),
        };
        let mut stations: Vec<Station<W>> = line.nodes.into_iter().map(|node| Station::new(Some(node))).collect();
        if merge.is_some() {
            stations.push(Station::new(None));
        }
        self.generations += 1;
        let state = LineState {
            generation: self.generations,
            origin: Some(origin),
            merge,
            sources: Vec::new(),
            is_asked: false,
            waiting: 0,
            emitted: 0,
            stations,
            is_closed: false,
        };
        match self.lines.get_mut(number) {
            Some(line) => *line = state,
            None => self.lines.push(state),
        }
        self.lines[number].sources = sources.into_iter().map(|source| self.add(source, Some(number))).collect();
        self.ticket(number)
    }

    fn ticket(&self, number: usize) -> Ticket {
        Ticket { number, generation: self.lines[number].generation }
    }

    /// The line, if it was not replaced.
    pub fn line(&mut self, line: Ticket) -> Option<&mut LineState<'a, W>> {
        self.lines.get_mut(line.number).filter(|state| state.generation == line.generation)
    }

    /// Whether the next piece to pull is there, or none follows.
    pub fn has_next(&mut self, line: Ticket) -> bool {
        self.line(line).is_none_or(|line| line.has_next())
    }

    /// The numbers of the lines: first those that are waited for.
    fn by_urgency(&self) -> impl Iterator<Item = usize> {
        let is_urgent = |line: &usize| self.lines[*line].waiting > 0;
        (0..self.lines.len()).filter(is_urgent).chain((0..self.lines.len()).filter(move |line| !is_urgent(line)))
    }

    /// The job nearest to the output that can run now, for a worker that waits for a piece of that line.
    pub fn take_job(&mut self, awaited: Option<Ticket>) -> Option<Job<'a, W>> {
        let runs = |line: &LineState<W>| (0..line.stations.len()).rev().find(|at| line.can_run(*at, self.window));
        let Some((number, at)) = self.by_urgency().find_map(|number| Some((number, runs(&self.lines[number])?))) else {
            return self.take_source(awaited);
        };
        let to = At { line: self.ticket(number), station: at, is_source: false };
        let line = &mut self.lines[number];
        let station = &mut line.stations[at];
        if let Some(Node::Parallel(function)) = &station.node {
            let (number, work) = station.ready.pop_front()?;
            station.running += 1;
            return Some(Job::Parallel(to, number, function.clone(), work));
        }
        let Some(Node::Serial(node)) = station.node.take() else { return None };
        Some(match line.take_pending(at) {
            Some(work) => Job::Push(to, node, work),
            None => Job::Finish(to, node),
        })
    }

    fn take_source(&mut self, awaited: Option<Ticket>) -> Option<Job<'a, W>> {
        let number = self.by_urgency().find(|line| self.can_read(*line) && self.may_read(*line, awaited))?;
        let to = At { line: self.ticket(number), station: 0, is_source: true };
        Some(match self.lines[number].origin.take()? {
            Origin::Source(source) => Job::Source(to, source),
            Origin::Merge(merge, _) => Job::Merge(to, merge, self.lines[number].sources.iter().map(|line| self.ticket(*line)).collect()),
        })
    }

    /// Whether a worker that waits for a piece of a line may ask the source of another: a merge only if it is among its sources.
    fn may_read(&self, number: usize, awaited: Option<Ticket>) -> bool {
        let Some(awaited) = awaited else { return true };
        if !matches!(self.lines[number].origin, Some(Origin::Merge(..))) {
            return true;
        }
        std::iter::successors(Some(number), |line| self.lines[*line].merge).any(|line| line == awaited.number)
    }

    /// Whether there is a job.
    pub fn has_job(&self) -> bool {
        let can_run = |line: &LineState<W>| (0..line.stations.len()).any(|at| line.can_run(at, self.window));
        (0..self.lines.len()).any(|line| self.can_read(line)) || self.lines.iter().any(can_run)
    }

    /// Whether the source of a line may be asked now.
    fn can_read(&self, number: usize) -> bool {
        let line = &self.lines[number];
        if !line.is_open() || !line.room_at(0, self.window) {
            return false;
        }
        // What is read before it is asked for is bounded for all lines together.
        let is_due = || line.count() == 0 || self.lines[1..].iter().map(LineState::count).sum::<usize>() < self.window;
        line.merge.is_none() || (line.is_asked && is_due())
    }

    /// Takes back a source with the piece that it gave.
    pub fn has_read(&mut self, at: At, origin: Origin<'a, W>, work: Option<W>, elapsed: Duration) {
        self.spent(at, elapsed);
        let Some(line) = self.line(at.line) else { return };
        if line.stations.first().is_some_and(|s| s.finished || s.total.is_some()) {
            return; // a later node has enough
        }
        match work {
            Some(work) => {
                let number = line.emitted;
                line.emitted += 1;
                line.origin = Some(origin);
                self.arrive(at.line.number, 0, number, work);
            }
            None => {
                let total = line.emitted;
                self.set_total(at.line.number, 0, total);
            }
        }
    }

    /// Adds time spent on a job.
    pub fn spent(&mut self, at: At, elapsed: Duration) {
        match (&mut self.times.merged, self.times.nodes.get_mut(at.station)) {
            (Some(merged), _) if at.line.number > 0 => *merged += elapsed,
            (_, Some(node)) if !at.is_source => *node += elapsed,
            _ => self.times.source += elapsed,
        }
    }

    pub fn arrive(&mut self, line: usize, at: usize, number: u64, work: W) {
        let is_pulled = self.lines[line].waiting > 0 && self.lines[line].stations.len() == at + 1;
        if let Some(station) = self.lines[line].stations.get_mut(at) {
            if station.is_parallel {
                let nbytes = work.nbytes();
                station.sizes.push_back(nbytes);
                station.nbytes += nbytes;
                station.ready.push_back((number, work));
            } else {
                self.is_pull_changed |= is_pulled && station.next == number;
                station.pending.insert(number, work);
            }
        }
    }

    pub fn emit(&mut self, from: At, out: Vec<W>) {
        for work in out {
            let station = &mut self.lines[from.line.number].stations[from.station];
            let number = station.emitted;
            station.emitted += 1;
            self.arrive(from.line.number, from.station + 1, number, work);
        }
    }

    /// `total` pieces arrive at station `at` in all; a parallel station passes as many on.
    pub fn set_total(&mut self, line: usize, at: usize, total: u64) {
        self.is_pull_changed |= self.lines[line].waiting > 0;
        if let Some(station) = self.lines[line].stations.get_mut(at) {
            station.total = Some(total);
            if station.is_parallel {
                self.set_total(line, at + 1, total);
            }
        }
    }

    /// A station wants no more: drops everything before it.
    pub fn enough(&mut self, at: At) -> Vec<W> {
        let mut dropped = self.close_sources(at.line.number);
        let line = &mut self.lines[at.line.number];
        line.origin = None;
        let (before, from) = line.stations.split_at_mut(at.station);
        for station in before {
            dropped.extend(station.clear());
            station.finished = true;
            station.total.get_or_insert(0);
        }
        if let Some(station) = from.first_mut() {
            dropped.extend(station.clear());
            station.total = Some(station.next);
        }
        dropped
    }

    /// Drops everything in the lines that this one's merge pulls pieces out of; they end here.
    pub fn close_sources(&mut self, line: usize) -> Vec<W> {
        let mut dropped = Vec::new();
        for source in std::mem::take(&mut self.lines[line].sources) {
            dropped.extend(self.close_sources(source));
            let closed = &mut self.lines[source];
            closed.origin = None;
            for station in &mut closed.stations {
                dropped.extend(station.clear());
                station.finished = true;
                station.total.get_or_insert(0);
            }
            closed.is_closed = true;
            self.is_pull_changed = true;
        }
        dropped
    }

    pub fn is_over(&self) -> bool {
        self.lines.first().and_then(|line| line.stations.last()).is_none_or(|s| s.finished)
    }
}

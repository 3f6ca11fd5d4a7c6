//! The state of the lines, and the choice of the next job. All of it is accessed under the lock of the workers.

use super::flow::{Line, Merge, Node, Origin, Serial, Source, Ticket, Times, WorkPiece};
use crate::error::Error;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of bytes in progress at a parallel node before it stops accepting work, regardless of the number of
/// threads.
const MAX_NBYTES: usize = 96 << 20;

/// The state shared by all workers.
pub struct State<'a, W> {
    /// The line being run comes first. Lines from which a merge pulls have higher numbers.
    pub lines: Vec<LineState<'a, W>>,
    /// The numbers of the lines that can have jobs: the line being run, and those that were pulled from and have not
    /// ended. A merge can have thousands of lines, most of which have not begun or have ended.
    pub active: BTreeSet<usize>,
    /// Number of lines created so far.
    pub generations: u64,
    pub window: usize,
    /// Number of idle workers, and how many of them wait for a piece to pull.
    pub idle: usize,
    pub pulling: usize,
    /// Whether a piece that a worker waits for has arrived, or its line has ended.
    pub is_pull_changed: bool,
    pub stop: bool,
    pub failure: Option<Error>,
    pub times: Times,
}

/// The state of a running line.
pub struct LineState<'a, W> {
    generation: u64,
    /// Taken while it is being called, and after the end.
    origin: Option<Origin<'a, W>>,
    /// The line whose merge pulls from this line.
    merge: Option<usize>,
    /// The lines from which its own merge pulls.
    sources: Vec<usize>,
    /// Number of workers waiting for a piece from it.
    pub waiting: usize,
    /// Number of pieces the source has produced.
    emitted: u64,
    /// Its nodes. In a line that is pulled from, the last station has no node.
    pub stations: Vec<Station<'a, W>>,
    /// Whether nothing from it is needed any more, so that its number can be reused.
    pub is_closed: bool,
}

/// A node with its waiting pieces.
pub struct Station<'a, W> {
    pub node: Option<Node<'a, W>>,
    is_parallel: bool,
    /// Parallel: pieces to process, in order.
    ready: VecDeque<(u64, W)>,
    pub running: usize,
    /// Parallel: the bytes of each piece that the next node has not taken yet, in order, and their sum.
    sizes: VecDeque<usize>,
    nbytes: usize,
    /// Serial: pieces that have arrived, possibly out of order.
    pending: BTreeMap<u64, W>,
    /// Serial: the number of the next piece to take.
    next: u64,
    /// Total number of pieces that will arrive, once known.
    total: Option<u64>,
    /// Serial: number of pieces produced so far.
    pub emitted: u64,
    /// Serial: whether the node has more pieces to produce before it takes the next.
    has_more: bool,
    pub finished: bool,
}

/// The node or source that a job belongs to.
#[derive(Clone, Copy)]
pub struct At {
    pub line: Ticket,
    /// 0 for a source.
    pub station: usize,
    is_source: bool,
}

/// A job, taken out of the state.
pub enum Job<'a, W> {
    Source(At, Source<'a, W>),
    Merge(At, Box<dyn Merge<'a, W> + 'a>, Vec<Ticket>),
    Parallel(At, u64, Arc<dyn Fn(W) -> W + Send + Sync + 'a>, W),
    Push(At, Box<dyn Serial<W> + 'a>, W),
    Resume(At, Box<dyn Serial<W> + 'a>),
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
            has_more: false,
            finished: false,
        }
    }

    /// Number of unfinished pieces at the station.
    fn count(&self) -> usize {
        self.ready.len() + self.running + self.pending.len()
    }

    fn clear(&mut self) -> Vec<W> {
        let mut dropped: Vec<W> = self.ready.drain(..).map(|(_, w)| w).collect();
        dropped.extend(std::mem::take(&mut self.pending).into_values());
        dropped
    }
}

impl<W: WorkPiece> LineState<'_, W> {
    /// For a line that is pulled from: whether the next piece has arrived, or the line has ended.
    fn has_next(&self) -> bool {
        self.stations.last().is_none_or(|end| end.finished || end.total == Some(end.next) || end.pending.contains_key(&end.next))
    }

    /// Takes the next piece to pull.
    fn take_next(&mut self) -> Option<W> {
        self.take_pending(self.stations.len().checked_sub(1)?)
    }

    /// Takes the next piece of a serial station.
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

    /// For a line that is pulled from: whether all its pieces have been taken.
    fn is_exhausted(&self) -> bool {
        self.merge.is_some() && self.stations.last().is_none_or(|end| end.total == Some(end.next))
    }

    fn is_open(&self) -> bool {
        self.origin.is_some() && self.stations.first().is_some_and(|s| s.total.is_none() && !s.finished)
    }

    /// Whether station `at` can run now.
    fn can_run(&self, at: usize, window: usize) -> bool {
        let station = &self.stations[at];
        if station.is_parallel {
            return !station.ready.is_empty() && station.running + self.waiting_after(at) < window;
        }
        let has_input = station.total == Some(station.next) || station.pending.contains_key(&station.next);
        (has_input || station.has_more) && !station.finished && station.node.is_some() && self.room_at(at + 1, window)
    }

    /// Number of pieces that have left a parallel station, but not in order yet.
    fn waiting_after(&self, at: usize) -> usize {
        self.stations.get(at + 1).map_or(0, |next| next.pending.len())
    }

    /// Whether station `at` can accept another piece. Parallel stations count pieces that have not left them in order
    /// yet.
    fn room_at(&self, at: usize, window: usize) -> bool {
        let Some(station) = self.stations.get(at) else { return true };
        let waiting = if station.is_parallel { self.waiting_after(at) } else { 0 };
        let count = station.count() + waiting;
        count < window && (count == 0 || station.nbytes < MAX_NBYTES)
    }
}

impl<'a, W: WorkPiece> State<'a, W> {
    /// Adds a line and the lines from which its merge pulls. Returns its number.
    pub fn add(&mut self, line: Line<'a, W>, merge: Option<usize>) -> usize {
        let is_free = |line: &LineState<W>| line.is_closed && line.waiting == 0;
        let number = self.lines.iter().position(is_free).unwrap_or(self.lines.len());
        self.put(number, line, merge);
        number
    }

    /// Like [`State::add`], with a given number.
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
        if merge.is_none() {
            self.active.insert(number);
        } else {
            self.active.remove(&number);
        }
        let state = LineState {
            generation: self.generations,
            origin: Some(origin),
            merge,
            sources: Vec::new(),
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

    /// The line, unless it has been replaced.
    pub fn line(&mut self, line: Ticket) -> Option<&mut LineState<'a, W>> {
        self.lines.get_mut(line.number).filter(|state| state.generation == line.generation)
    }

    /// Whether the next piece to pull has arrived, or the line has ended.
    pub fn has_next(&mut self, line: Ticket) -> bool {
        self.line(line).is_none_or(|line| line.has_next())
    }

    /// The line numbers, starting with lines that workers wait for.
    fn by_urgency(&self) -> impl Iterator<Item = usize> {
        let is_urgent = |line: &usize| self.lines[*line].waiting > 0;
        let active = || self.active.iter().copied();
        active().filter(is_urgent).chain(active().filter(move |line| !is_urgent(line)))
    }

    /// The runnable job nearest to the output, for a worker that waits for a piece of that line.
    pub fn take_job(&mut self, awaited: Option<Ticket>) -> Option<Job<'a, W>> {
        // The awaited line first: a search among all lines takes time in proportion to their number, for every piece.
        if let Some(own) = awaited.filter(|line| self.line(*line).is_some()) {
            if let Some(at) = self.runnable(own.number) {
                return self.take_station(own.number, at);
            }
            if self.can_read(own.number) {
                return self.take_origin(own.number);
            }
        }
        let runnable = self.by_urgency().find_map(|number| Some((number, self.runnable(number)?)));
        if let Some((number, at)) = runnable {
            return self.take_station(number, at);
        }
        let number = self.by_urgency().find(|line| self.can_read(*line) && self.may_read(*line, awaited))?;
        self.take_origin(number)
    }

    /// The last station of a line that can run now.
    fn runnable(&self, number: usize) -> Option<usize> {
        let line = &self.lines[number];
        (0..line.stations.len()).rev().find(|at| line.can_run(*at, self.window))
    }

    fn take_station(&mut self, number: usize, at: usize) -> Option<Job<'a, W>> {
        let to = At { line: self.ticket(number), station: at, is_source: false };
        let line = &mut self.lines[number];
        let station = &mut line.stations[at];
        if let Some(Node::Parallel(function)) = &station.node {
            let (number, work) = station.ready.pop_front()?;
            station.running += 1;
            return Some(Job::Parallel(to, number, function.clone(), work));
        }
        let Some(Node::Serial(node)) = station.node.take() else { return None };
        if station.has_more {
            return Some(Job::Resume(to, node));
        }
        Some(match line.take_pending(at) {
            Some(work) => Job::Push(to, node, work),
            None => Job::Finish(to, node),
        })
    }

    fn take_origin(&mut self, number: usize) -> Option<Job<'a, W>> {
        let to = At { line: self.ticket(number), station: 0, is_source: true };
        Some(match self.lines[number].origin.take()? {
            Origin::Source(source) => Job::Source(to, source),
            Origin::Merge(merge, _) => Job::Merge(to, merge, self.lines[number].sources.iter().map(|line| self.ticket(*line)).collect()),
        })
    }

    /// Whether a worker that waits for a piece of a line may call the source of another. A merge may be called only if
    /// it is among the sources of the line.
    fn may_read(&self, number: usize, awaited: Option<Ticket>) -> bool {
        let Some(awaited) = awaited else { return true };
        if !matches!(self.lines[number].origin, Some(Origin::Merge(..))) {
            return true;
        }
        std::iter::successors(Some(number), |line| self.lines[*line].merge).any(|line| line == awaited.number)
    }

    /// Whether there is a job.
    pub fn has_job(&self) -> bool {
        self.active.iter().any(|line| self.can_read(*line) || self.runnable(*line).is_some())
    }

    /// Whether the source of an active line may be called now.
    fn can_read(&self, number: usize) -> bool {
        let line = &self.lines[number];
        if !line.is_open() || !line.room_at(0, self.window) {
            return false;
        }
        // The limit on pieces read ahead applies to all lines together.
        let read_ahead = || self.active.range(1..).map(|line| self.lines[*line].count()).sum::<usize>();
        let is_due = || line.count() == 0 || read_ahead() < self.window;
        line.merge.is_none() || is_due()
    }

    /// Returns a source to the state, with the piece it produced.
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

    /// Returns a serial node to its station.
    pub fn put_back(&mut self, at: At, node: Box<dyn Serial<W> + 'a>) {
        let station = &mut self.lines[at.line.number].stations[at.station];
        station.has_more = node.has_more();
        station.node = Some(Node::Serial(node));
    }

    /// Records that `total` pieces will arrive at station `at`. A parallel station passes the same number on.
    pub fn set_total(&mut self, line: usize, at: usize, total: u64) {
        self.is_pull_changed |= self.lines[line].waiting > 0;
        if let Some(station) = self.lines[line].stations.get_mut(at) {
            station.total = Some(total);
            if station.is_parallel {
                self.set_total(line, at + 1, total);
            }
        }
        self.forget_if_exhausted(line);
    }

    /// Marks a line as pulled from.
    pub fn ask(&mut self, line: Ticket) {
        if let Some(state) = self.line(line) {
            state.waiting += 1;
            self.active.insert(line.number);
        }
    }

    /// Takes the next piece to pull from a line.
    pub fn take_next(&mut self, line: Ticket) -> Option<W> {
        let piece = self.line(line)?.take_next();
        self.forget_if_exhausted(line.number);
        piece
    }

    fn forget_if_exhausted(&mut self, line: usize) {
        if self.lines[line].is_exhausted() {
            self.active.remove(&line);
        }
    }

    /// Ends a station that needs no more input, and drops everything before it.
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
            station.has_more = false;
        }
        dropped
    }

    /// Drops everything in the lines from which this line's merge pulls, and ends them.
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
            self.active.remove(&source);
            self.is_pull_changed = true;
        }
        dropped
    }

    pub fn is_over(&self) -> bool {
        self.lines.first().and_then(|line| line.stations.last()).is_none_or(|s| s.finished)
    }
}

//! The flow of work: lines of nodes, and merges of lines.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Produces the next piece of work; `None` at the end.
pub type Source<'a, W> = Box<dyn FnMut() -> Option<W> + Send + 'a>;

/// A piece of work.
pub trait WorkPiece {
    /// The memory it holds, if it is significant.
    fn nbytes(&self) -> usize {
        0
    }
}

/// A source of pieces, and the nodes that process them.
pub struct Line<'a, W> {
    /// The origin of the pieces.
    pub origin: Origin<'a, W>,
    /// The nodes. If the line is run directly, its last node is serial.
    pub nodes: Vec<Node<'a, W>>,
}

/// The origin of the pieces of a line.
pub enum Origin<'a, W> {
    /// A source.
    Source(Source<'a, W>),
    /// Other lines, from which a merge pulls pieces.
    Merge(Box<dyn Merge<'a, W> + 'a>, Vec<Line<'a, W>>),
}

/// Merges the pieces of several lines into one stream.
pub trait Merge<'a, W>: Send {
    /// The next piece; `None` at the end.
    fn next(&mut self, lines: &mut Lines<'_, 'a, W>) -> Option<W>;
}

/// One step of the flow.
pub enum Node<'a, W> {
    /// Maps one piece to one piece, in any order.
    Parallel(Arc<dyn Fn(W) -> W + Send + Sync + 'a>),
    /// Processes pieces in order.
    Serial(Box<dyn Serial<W> + 'a>),
}

/// A node that processes pieces in order.
pub trait Serial<W>: Send {
    /// Takes a piece and produces any number of pieces. Returns `false` if it needs no more.
    fn push(&mut self, work: W, out: &mut Vec<W>) -> bool;
    /// Whether there are more pieces to produce before the next one is taken.
    fn has_more(&self) -> bool {
        false
    }
    /// Called as long as the node has more pieces, when the next node has room for one.
    fn resume(&mut self, out: &mut Vec<W>) {
        let _ = out;
    }
    /// Called after the last piece, repeatedly until it returns `false`.
    fn finish(&mut self, out: &mut Vec<W>) -> bool {
        let _ = out;
        false
    }
}

/// The time that all workers together spent in each part of the flow.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// In the lines from which a merge pulls; `None` if there are none.
    pub merged: Option<Duration>,
    /// In the source.
    pub source: Duration,
    /// In each node.
    pub nodes: Vec<Duration>,
    /// Idle.
    pub waiting: Duration,
}

/// Identifies a line by number and generation, because numbers are reused.
#[derive(Clone, Copy)]
pub struct Ticket {
    pub number: usize,
    /// Incremented for every line.
    pub generation: u64,
}

/// The source lines of a merge.
pub struct Lines<'s, 'a, W> {
    shared: &'s dyn Pull<'a, W>,
    sources: Vec<Ticket>,
    merge: usize,
    /// Time spent waiting or on other work.
    elsewhere: Cell<Duration>,
}

impl<'s, 'a, W> Lines<'s, 'a, W> {
    /// The source lines of the merge of line `merge`.
    pub fn new(shared: &'s dyn Pull<'a, W>, sources: Vec<Ticket>, merge: usize) -> Lines<'s, 'a, W> {
        Lines { shared, sources, merge, elsewhere: Cell::default() }
    }

    /// Time spent waiting or on other work while pulling.
    pub fn elsewhere(&self) -> Duration {
        self.elsewhere.get()
    }

    /// The next piece of a line, in order; `None` at its end.
    pub fn pull(&self, line: usize) -> Option<W> {
        let began = Instant::now();
        let piece = self.shared.pull(*self.sources.get(line)?);
        self.elsewhere.set(self.elsewhere.get() + began.elapsed());
        piece
    }

    /// Replaces a line that has ended by another.
    pub fn replace(&mut self, line: usize, by: Line<'a, W>) {
        if let Some(source) = self.sources.get_mut(line) {
            *source = self.shared.replace(*source, self.merge, by);
        }
    }
}

/// The operations of the workers that [`Lines`] needs.
pub trait Pull<'a, W> {
    fn pull(&self, line: Ticket) -> Option<W>;
    fn replace(&self, line: Ticket, merge: usize, by: Line<'a, W>) -> Ticket;
}

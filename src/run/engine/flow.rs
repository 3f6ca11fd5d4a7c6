//! What flows, and through what: lines of nodes, and merges of lines.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Gives the next piece of work; `None` at the end.
pub type Source<'a, W> = Box<dyn FnMut() -> Option<W> + Send + 'a>;

/// A piece of work.
pub trait Piece {
    /// Its memory, where it is much.
    fn nbytes(&self) -> usize {
        0
    }
}

/// Where the pieces of a line come from, and what is done with them.
pub struct Line<'a, W> {
    /// Where they come from.
    pub origin: Origin<'a, W>,
    /// What is done with them. The last node of the line that is run is serial.
    pub nodes: Vec<Node<'a, W>>,
}

/// Where the pieces of a line come from.
pub enum Origin<'a, W> {
    /// A source.
    Source(Source<'a, W>),
    /// Other lines, which a merge pulls them out of.
    Merge(Box<dyn Merge<'a, W> + 'a>, Vec<Line<'a, W>>),
}

/// Makes one stream of the pieces of several lines.
pub trait Merge<'a, W>: Send {
    /// The next piece; `None` at the end.
    fn next(&mut self, lines: &mut Lines<'_, 'a, W>) -> Option<W>;
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
    /// In the lines that a merge pulls pieces out of; `None` if there are none.
    pub merged: Option<Duration>,
    /// In the source.
    pub source: Duration,
    /// In each node.
    pub nodes: Vec<Duration>,
    /// Without anything to do.
    pub waiting: Duration,
}

/// A line by its number, and which of all that had that number.
#[derive(Clone, Copy)]
pub struct Ticket {
    pub number: usize,
    /// Counts all lines.
    pub generation: u64,
}

/// The lines of a merge.
pub struct Lines<'s, 'a, W> {
    shared: &'s dyn Pull<'a, W>,
    sources: Vec<Ticket>,
    merge: usize,
    /// Time spent on other work, or waiting.
    elsewhere: Cell<Duration>,
}

impl<'s, 'a, W> Lines<'s, 'a, W> {
    /// Those of the merge of line `merge`.
    pub fn new(shared: &'s dyn Pull<'a, W>, sources: Vec<Ticket>, merge: usize) -> Lines<'s, 'a, W> {
        Lines { shared, sources, merge, elsewhere: Cell::default() }
    }

    /// Time spent on other work, or waiting, while it pulled.
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

    /// Replaces a line that is at its end by another.
    pub fn replace(&mut self, line: usize, by: Line<'a, W>) {
        if let Some(source) = self.sources.get_mut(line) {
            *source = self.shared.replace(*source, self.merge, by);
        }
    }
}

/// What [`Lines`] need of the workers.
pub trait Pull<'a, W> {
    fn pull(&self, line: Ticket) -> Option<W>;
    fn replace(&self, line: Ticket, merge: usize, by: Line<'a, W>) -> Ticket;
}

//! Ordered, bounded, parallel stages. All threads of a run are started here, except those of `io` that compress or
//! decompress a stream.
//!
//! Work flows along a line from a source through nodes. A *parallel* node maps one piece of work to one piece, on any
//! thread, in any order. A *serial* node takes the pieces one at a time, in order, and produces any number of pieces. A
//! serial node can end the stream: all work before it is then dropped, and the source is not called again.
//!
//! ```text
//! source -> [parallel] -> serial -> [parallel] -> serial -> ...
//!
//! source -> [parallel] \
//!                       merge -> [parallel] -> serial -> ...
//! source -> [parallel] /
//! ```
//!
//! The source of a line can be a *merge*. It pulls pieces from other lines, in order within each line, choosing which
//! line to pull from next.
//!
//! Threads are not bound to nodes. Each of the `threads` workers looks for work from the last node back to the first,
//! and finally at the source, so that work nearest to the output is done first and little is in flight. A single worker
//! is not a special case: it does everything itself, in the same order. A node accepts at most `threads + 2` pieces
//! that have not yet left it in order, and stops accepting once they hold `MAX_NBYTES`. A serial node may produce more at
//! once: then they wait, and the parallel node still works on as many at a time. A serial node whose pieces take memory
//! themselves produces them one at a time (`Serial::resume`). This bounds memory. It cannot deadlock: pieces are accepted
//! and started in order, so the next one that is needed is always among those accepted, and among those started if there
//! are any.
//!
//! A worker that pulls does other work until its piece arrives. It never starts a merge that is not among the sources
//! of the line it waits for, so waits go only from a line to its sources and always end. A line is not read before the
//! first pull from it. Afterwards, each line can have one piece in flight, and all lines together `threads + 2` more.

mod flow;
mod state;
#[cfg(test)]
mod tests;
mod workers;

pub use flow::{Line, Lines, Merge, Node, Origin, Serial, Source, Times, WorkPiece};
pub use workers::run;

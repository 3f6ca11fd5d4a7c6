//! Ordered, bounded, parallel stages. All threads of a run are started here, but for those of `io` that compress or decompress a stream.
//!
//! Work flows along a line from a source through nodes. A *parallel* node turns one piece of work into one piece, on any
//! thread, in any order; a *serial* node takes the pieces one at a time, in order, and gives any
//! number. A serial node may say that it has enough: everything before it is then dropped and
//! the source is not asked again.
//!
//! ```text
//! source -> [parallel] -> serial -> [parallel] -> serial -> ...
//!
//! source -> [parallel] \
//!                       merge -> [parallel] -> serial -> ...
//! source -> [parallel] /
//! ```
//!
//! The source of a line may be a *merge*: it pulls pieces out of other lines, each in order, whichever it wants next.
//!
//! No thread belongs to a node. Each of the `threads` workers looks for something to do, from the
//! last node to the first and finally to the source, so that what is nearest to the output
//! goes first and little is in flight. One worker is a value, not a special case: it does everything by itself,
//! in the same order. A node takes in at most `threads + 2` pieces that have not left it in
//! order yet, and no more of them once they hold `MAX_NBYTES`; that bounds the memory, but for what a serial node gives at
//! once. It cannot block for ever, because the piece that is next in order is always among them.
//!
//! A worker that pulls works on until its piece is there. It never starts a merge that is not among the sources of the line that
//! it waits for, so waiting goes from a line to its sources only, and ends. A line that nothing was pulled out of yet is not read;
//! of the others, each may have one piece in flight, and all together `threads + 2` more.

mod flow;
mod state;
#[cfg(test)]
mod tests;
mod workers;

pub use flow::{Line, Lines, Merge, Node, Origin, Piece, Serial, Source, Times};
pub use workers::run;

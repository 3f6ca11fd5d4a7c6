//! Verbs: one file or folder each, and one row in [`VERBS`].
//!
//! [`verb`] is the contract, [`shared`] what several verbs use; everything else is one verb. Verbs never import
//! another verb.

#![warn(missing_docs)]

mod batch;
mod bucket;
mod cast;
mod compose;
mod convert;
mod count;
mod decompose;
mod drop;
mod explode;
mod fill_null;
mod filter;
mod from_dense;
mod from_sparse;
mod head;
mod implode;
mod map;
mod merge_dims;
mod pack;
mod padded_batch;
mod partition;
mod promote;
mod rename;
mod sample;
mod schema;
mod select;
mod shard;
mod shared;
mod show;
mod shuffle;
mod skip;
mod sort;
mod stats;
mod tail;
mod to_dense;
mod to_sparse;
mod unbatch;
mod validate;
pub mod verb;

pub use verb::{Bound, Deferred, Digest, Entry, Example, Flow, Fold, Map, Operator, Parsed, Report, Verb, Verdict};

use verb::entry;

/// All verbs, in the order of the help. A new verb is one file, its `mod` line and its row here.
pub static VERBS: &[Entry] = &[
    entry::<convert::Convert>(),
    entry::<count::Count>(),
    entry::<schema::Schema>(),
    entry::<show::Show>(),
    entry::<stats::Stats>(),
    entry::<validate::Validate>(),
    entry::<head::Head>(),
    entry::<tail::Tail>(),
    entry::<skip::Skip>(),
    entry::<shard::Shard>(),
    entry::<sample::Sample>(),
    entry::<shuffle::Shuffle>(),
    entry::<sort::Sort>(),
    entry::<select::Select>(),
    entry::<drop::Drop>(),
    entry::<rename::Rename>(),
    entry::<cast::Cast>(),
    entry::<fill_null::FillNull>(),
    entry::<map::Map>(),
    entry::<filter::Filter>(),
    entry::<batch::Batch>(),
    entry::<unbatch::Unbatch>(),
    entry::<explode::Explode>(),
    entry::<implode::Implode>(),
    entry::<padded_batch::PaddedBatch>(),
    entry::<bucket::Bucket>(),
    entry::<pack::Pack>(),
    entry::<to_dense::ToDense>(),
    entry::<to_sparse::ToSparse>(),
    entry::<from_dense::FromDense>(),
    entry::<from_sparse::FromSparse>(),
    entry::<merge_dims::MergeDims>(),
    entry::<partition::Partition>(),
    entry::<promote::Promote>(),
    entry::<decompose::Decompose>(),
    entry::<compose::Compose>(),
];

/// The verb of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    VERBS.iter().find(|v| v.name == name)
}

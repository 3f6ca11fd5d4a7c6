//! Verbs: one file or folder each, and one row in [`VERBS`].
//!
//! [`verb`] and [`combine`] define the contracts, `entry` makes a row of a verb, `shared` has code used by several verbs,
//! and everything else is one verb. Verbs never import other verbs.

mod assert;
mod assert_cardinality;
mod batch;
mod bucket;
mod cast;
mod choose;
pub mod combine;
mod compose;
mod concatenate;
mod convert;
mod count;
mod cumsum;
mod decompose;
mod drop;
mod entry;
mod enumerate;
mod explode;
mod fill_null;
mod filter;
mod from_dense;
mod from_sparse;
mod get;
mod head;
mod implode;
mod interleave;
mod lookup;
mod map;
mod merge_dims;
mod mix;
mod pack;
mod padded_batch;
mod partition;
mod promote;
mod rejection_resample;
mod rename;
mod repeat;
mod sample;
mod schema;
mod select;
mod shard;
mod shared;
mod show;
mod shuffle;
mod skip;
mod skip_while;
mod sort;
mod split;
mod stats;
mod tail;
mod take_while;
mod to_dense;
mod to_sparse;
mod unbatch;
mod unique;
mod validate;
pub mod verb;
mod window;
mod windows;
mod zip;

pub use entry::{Entry, Group, Parsed, boxed};
pub use shared::divided::by_nbytes;
pub use shared::keys::{KeyField, Keys, key_columns};
pub use shared::memory::Budget;
pub use shared::sorter::{Sorter, numbered, numbers};
pub use verb::{
    Bound, ChunkParts, Deferred, Digest, Example, Flow, Fold, Map, Operator, OutputPart, Report, Route, Unchanged, Verb, Verdict,
};

use entry::entry;

/// All verbs, in help order. To add a verb, add its file, a `mod` line and a row here.
pub static VERBS: &[Entry] = &[
    entry::<convert::Convert>(Group::Inspect),
    entry::<count::Count>(Group::Inspect),
    entry::<schema::Schema>(Group::Inspect),
    entry::<show::Show>(Group::Inspect),
    entry::<stats::Stats>(Group::Inspect),
    entry::<validate::Validate>(Group::Inspect),
    entry::<head::Head>(Group::Records),
    entry::<tail::Tail>(Group::Records),
    entry::<skip::Skip>(Group::Records),
    entry::<get::Get>(Group::Records),
    entry::<take_while::TakeWhile>(Group::Records),
    entry::<skip_while::SkipWhile>(Group::Records),
    entry::<shard::Shard>(Group::Records),
    entry::<sample::Sample>(Group::Records),
    entry::<shuffle::Shuffle>(Group::Records),
    entry::<sort::Sort>(Group::Records),
    entry::<filter::Filter>(Group::Records),
    entry::<split::Split>(Group::Records),
    entry::<rejection_resample::RejectionResample>(Group::Records),
    entry::<unique::Unique>(Group::Records),
    entry::<repeat::Repeat>(Group::Records),
    entry::<assert::Assert>(Group::Records),
    entry::<assert_cardinality::AssertCardinality>(Group::Records),
    entry::<concatenate::Concatenate>(Group::Inputs),
    entry::<mix::Mix>(Group::Inputs),
    entry::<interleave::Interleave>(Group::Inputs),
    entry::<choose::Choose>(Group::Inputs),
    entry::<zip::Zip>(Group::Inputs),
    entry::<select::Select>(Group::Fields),
    entry::<drop::Drop>(Group::Fields),
    entry::<rename::Rename>(Group::Fields),
    entry::<cast::Cast>(Group::Fields),
    entry::<fill_null::FillNull>(Group::Fields),
    entry::<map::Map>(Group::Fields),
    entry::<enumerate::Enumerate>(Group::Fields),
    entry::<lookup::Lookup>(Group::Fields),
    entry::<cumsum::Cumsum>(Group::Fields),
    entry::<batch::Batch>(Group::Batches),
    entry::<window::Window>(Group::Batches),
    entry::<unbatch::Unbatch>(Group::Batches),
    entry::<explode::Explode>(Group::Batches),
    entry::<implode::Implode>(Group::Batches),
    entry::<padded_batch::PaddedBatch>(Group::Batches),
    entry::<bucket::Bucket>(Group::Batches),
    entry::<pack::Pack>(Group::Batches),
    entry::<to_dense::ToDense>(Group::Tensors),
    entry::<to_sparse::ToSparse>(Group::Tensors),
    entry::<from_dense::FromDense>(Group::Tensors),
    entry::<from_sparse::FromSparse>(Group::Tensors),
    entry::<merge_dims::MergeDims>(Group::Tensors),
    entry::<partition::Partition>(Group::Tensors),
    entry::<promote::Promote>(Group::Tensors),
    entry::<decompose::Decompose>(Group::Tensors),
    entry::<compose::Compose>(Group::Tensors),
    entry::<windows::Windows>(Group::Tensors),
];

/// Finds a verb by name.
pub fn find(name: &str) -> Option<&'static Entry> {
    VERBS.iter().find(|v| v.name == name)
}

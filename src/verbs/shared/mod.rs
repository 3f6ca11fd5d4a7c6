//! Code used by several verbs: arguments, selecting and changing fields, batches, padding, packing, held records, and
//! keys.

pub mod args;
pub mod axes;
pub mod batch_padding;
pub mod batches;
pub mod choose;
pub mod count;
pub mod distinct;
pub mod divided;
pub mod edit;
pub mod fields;
pub mod first_of_each;
pub mod key_table;
pub mod keys;
pub mod least_of_each;
pub mod memory;
pub mod number;
pub mod packing;
pub mod pad_plan;
pub mod padding;
pub mod pool;
pub mod prefix;
pub mod queue;
pub mod seed;
pub mod shares;
pub mod sorter;
pub mod spill;
pub mod windowing;

//! The functions: one file per family, one table row per function.
//!
//! A row has the names, the signature with TensorFlow's keywords and defaults, a one-line description, examples that
//! are run as tests, and `bind`, which checks the argument types and returns the result type and the kernel. A function
//! composed of other functions has a formula instead. To add a function, add a row.

/// A row of a family's table.
macro_rules! function {
    ($names:expr, $signature:literal, $summary:literal, $examples:expr, $bind:expr) => {
        Function {
            names: &$names,
            signature: $signature,
            summary: $summary,
            examples: &$examples,
            meaning: crate::expr::call::Meaning::Kernel($bind),
        }
    };
}

/// A row for a function defined by a formula. `alike`: the positions of the tensors that share a dtype, which literals take.
macro_rules! formula {
    ($names:expr, $signature:literal, $summary:literal, $examples:expr, alike: $alike:expr, $formula:expr) => {
        Function {
            names: &$names,
            signature: $signature,
            summary: $summary,
            examples: &$examples,
            meaning: crate::expr::call::Meaning::Formula { formula: $formula, alike: &$alike },
        }
    };
    ($names:expr, $signature:literal, $summary:literal, $examples:expr, $formula:expr) => {
        formula!($names, $signature, $summary, $examples, alike: [], $formula)
    };
}

mod activations;
mod apply;
mod axes;
mod casts;
mod chosen;
mod classes;
mod construct;
mod contractions;
mod convert;
mod cross;
mod cuts;
mod decompose;
mod dense;
mod diagonals;
mod distinct;
mod durations;
mod embeddings;
mod formulas;
mod higher;
mod join;
mod left_out;
mod linear;
mod lines;
mod lookup;
mod losses;
mod maps;
mod math;
mod matrix;
mod nulls;
mod partitions;
mod random;
mod raw;
mod recurrences;
mod reduce;
mod repeat;
mod scatter;
mod segments;
mod select;
mod sequence;
mod shapes;
mod slices;
mod solvers;
mod sort;
mod sparse;
mod special;
mod strings;
mod structured;
mod time;
mod time_order;

pub use left_out::{LEFT_OUT, reason};

use super::call::Function;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The families, in manual order.
pub static FAMILIES: &[Family] = &[
    Family { title: "Arithmetic", functions: math::FUNCTIONS, grows: false },
    Family { title: "Special functions", functions: special::FUNCTIONS, grows: false },
    Family { title: "Activations", functions: activations::FUNCTIONS, grows: false },
    Family { title: "Losses", functions: losses::FUNCTIONS, grows: false },
    Family { title: "Number conversions", functions: casts::FUNCTIONS, grows: false },
    Family { title: "Reductions", functions: reduce::FUNCTIONS, grows: false },
    Family { title: "Norms and moments", functions: formulas::FUNCTIONS, grows: false },
    Family { title: "Construction", functions: construct::FUNCTIONS, grows: true },
    Family { title: "Ragged tensors and row partitions", functions: partitions::FUNCTIONS, grows: false },
    Family { title: "Components and sizes", functions: decompose::FUNCTIONS, grows: false },
    Family { title: "Shapes", functions: shapes::FUNCTIONS, grows: false },
    Family { title: "Ragged, dense and sparse conversions", functions: convert::FUNCTIONS, grows: true },
    Family { title: "Joining and splitting", functions: join::FUNCTIONS, grows: false },
    Family { title: "Axes", functions: axes::FUNCTIONS, grows: false },
    Family { title: "Dense tensors", functions: dense::FUNCTIONS, grows: true },
    Family { title: "Slices and frames", functions: cuts::FUNCTIONS, grows: true },
    Family { title: "Scatter updates", functions: scatter::FUNCTIONS, grows: true },
    Family { title: "Repetition", functions: repeat::FUNCTIONS, grows: true },
    Family { title: "Matrices", functions: matrix::FUNCTIONS, grows: true },
    Family { title: "Linear algebra", functions: linear::FUNCTIONS, grows: true },
    Family { title: "Linear equations", functions: solvers::FUNCTIONS, grows: false },
    Family { title: "Diagonals", functions: diagonals::FUNCTIONS, grows: true },
    Family { title: "Tensor contractions", functions: contractions::FUNCTIONS, grows: true },
    Family { title: "Selection", functions: select::FUNCTIONS, grows: true },
    Family { title: "Embeddings", functions: embeddings::FUNCTIONS, grows: true },
    Family { title: "Sorting and counting", functions: sort::FUNCTIONS, grows: true },
    Family { title: "Unique values", functions: distinct::FUNCTIONS, grows: false },
    Family { title: "Classification and polynomials", functions: classes::FUNCTIONS, grows: true },
    Family { title: "Vocabularies", functions: lookup::FUNCTIONS, grows: true },
    Family { title: "Random numbers", functions: random::FUNCTIONS, grows: true },
    Family { title: "Softmax and cumulative operations", functions: lines::FUNCTIONS, grows: false },
    Family { title: "Higher-order functions", functions: higher::FUNCTIONS, grows: true },
    Family { title: "Recurrences", functions: recurrences::FUNCTIONS, grows: true },
    Family { title: "Nulls", functions: nulls::FUNCTIONS, grows: false },
    Family { title: "Segments", functions: segments::FUNCTIONS, grows: true },
    Family { title: "Feature crosses", functions: cross::FUNCTIONS, grows: true },
    Family { title: "Sequences", functions: sequence::levels::FUNCTIONS, grows: false },
    Family { title: "Sequence pooling", functions: sequence::pool::FUNCTIONS, grows: false },
    Family { title: "Sequence expansion", functions: sequence::expand::FUNCTIONS, grows: true },
    Family { title: "Sequence padding", functions: sequence::pad::FUNCTIONS, grows: true },
    Family { title: "Sequence rearrangement", functions: sequence::rearrange::FUNCTIONS, grows: false },
    Family { title: "Sequence tokens", functions: sequence::erase::FUNCTIONS, grows: false },
    Family { title: "Sequence scatter", functions: sequence::scatter::FUNCTIONS, grows: false },
    Family { title: "Strings", functions: strings::letters::FUNCTIONS, grows: false },
    Family { title: "String joining and splitting", functions: strings::join::FUNCTIONS, grows: false },
    Family { title: "N-grams", functions: strings::ngrams::FUNCTIONS, grows: true },
    Family { title: "Regular expressions", functions: strings::regex::FUNCTIONS, grows: false },
    Family { title: "String and number conversions", functions: strings::number::FUNCTIONS, grows: false },
    Family { title: "Unicode", functions: strings::unicode::FUNCTIONS, grows: false },
    Family { title: "String hashing", functions: strings::hash::FUNCTIONS, grows: false },
    Family { title: "Fingerprints", functions: strings::fingerprint::FUNCTIONS, grows: false },
    Family { title: "Base64", functions: strings::base64::FUNCTIONS, grows: false },
    Family { title: "String formatting", functions: strings::format::FUNCTIONS, grows: false },
    Family { title: "Decompression", functions: strings::compressed::FUNCTIONS, grows: true },
    Family { title: "Lines of CSV", functions: strings::csv::FUNCTIONS, grows: false },
    Family { title: "Raw bytes", functions: strings::raw::FUNCTIONS, grows: false },
    Family { title: "Serialized tensors", functions: strings::serialized::FUNCTIONS, grows: false },
    Family { title: "Times", functions: time::FUNCTIONS, grows: false },
    Family { title: "Structured tensors", functions: structured::fields::FUNCTIONS, grows: false },
    Family { title: "Structured tensors from fields", functions: structured::construct::FUNCTIONS, grows: false },
    Family { title: "Structured tensors from dictionaries", functions: structured::pyval::FUNCTIONS, grows: false },
    Family { title: "Maps", functions: maps::FUNCTIONS, grows: false },
    Family { title: "Sparse tensors", functions: sparse::construct::FUNCTIONS, grows: false },
    Family { title: "Sparse to dense", functions: sparse::dense::FUNCTIONS, grows: true },
    Family { title: "Sparse shapes and entries", functions: sparse::structure::FUNCTIONS, grows: false },
    Family { title: "Sparse joining and splitting", functions: sparse::join::FUNCTIONS, grows: false },
    Family { title: "Sparse arithmetic", functions: sparse::union::FUNCTIONS, grows: false },
    Family { title: "Sparse matrices", functions: sparse::matrix::FUNCTIONS, grows: true },
    Family { title: "Sparse softmax", functions: sparse::softmax::FUNCTIONS, grows: false },
    Family { title: "Sparse reductions", functions: sparse::reduce::FUNCTIONS, grows: false },
    Family { title: "Sparse counts", functions: sparse::count::FUNCTIONS, grows: false },
    Family { title: "Sparse feature crosses", functions: sparse::cross::FUNCTIONS, grows: true },
    Family { title: "Sparse segments", functions: sparse::segments::FUNCTIONS, grows: false },
    Family { title: "Sets and edit distance", functions: sparse::sets::FUNCTIONS, grows: false },
    Family { title: "Indexed slices", functions: slices::FUNCTIONS, grows: false },
];

/// A group of related functions.
pub struct Family {
    /// The heading in the manual.
    pub title: &'static str,
    /// The functions, in manual order.
    pub functions: &'static [Function],
    /// Whether the result of some of them may take many times the memory of their arguments.
    pub grows: bool,
}

/// Functions that can be written as attributes, such as `x.row_splits`.
pub const ATTRIBUTES: &[&str] = &[
    "row_splits",
    "flat_values",
    "values",
    "nested_row_splits",
    "ragged_rank",
    "uniform_row_length",
    "shape",
    "indices",
    "dense_shape",
    "dtype",
    "ndim",
    "rank",
    "row_partitions",
    "static_nrows",
    "static_nvals",
    "static_uniform_row_length",
];

/// The methods of TensorFlow's classes that have a function of their name.
const METHODS: &[(&str, &[&str])] = &[
    (
        "RaggedTensor",
        &[
            "bounding_shape",
            "get_shape",
            "merge_dims",
            "nested_row_lengths",
            "nested_value_rowids",
            "nrows",
            "row_lengths",
            "row_limits",
            "row_starts",
            "to_list",
            "to_sparse",
            "to_tensor",
            "value_rowids",
            "with_flat_values",
            "with_values",
        ],
    ),
    ("SparseTensor", &["get_shape", "with_values"]),
    ("StructuredTensor", &["field_value", "merge_dims", "nrows", "partition_outer_dimension", "promote", "to_pyval", "with_updates"]),
];

static BY_NAME: LazyLock<HashMap<&'static str, &'static Function>> =
    LazyLock::new(|| all().flat_map(|f| f.names.iter().map(move |n| (*n, f))).collect());

/// The last parts of the names of functions in families that [grow](Family::grows).
static GROWING: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let functions = FAMILIES.iter().filter(|family| family.grows).flat_map(|family| family.functions);
    functions.flat_map(|function| function.names).map(|name| name.rsplit_once('.').map_or(*name, |(_, last)| last)).collect()
});

/// Whether the result of a function with this last part of its name may take many times the memory of its arguments.
pub fn grows(name: &str) -> bool {
    GROWING.contains(name)
}

/// All functions.
pub fn all() -> impl Iterator<Item = &'static Function> + Clone {
    FAMILIES.iter().flat_map(|family| family.functions)
}

/// Finds a function by name, with or without `tf.` and `tf.compat.v1.`. If TensorFlow and Paddle use the same name with
/// different meanings, TensorFlow's name includes `tf.`.
pub fn find(name: &str) -> Option<&'static Function> {
    let short = name.strip_prefix("tf.").unwrap_or(name);
    let short = short.strip_prefix("compat.v1.").unwrap_or(short);
    let short = short.strip_prefix("raw_ops.").and_then(raw::function_of).unwrap_or(short);
    let found = BY_NAME.get(name).or_else(|| BY_NAME.get(short));
    found.or_else(|| BY_NAME.get(method(short)?)).copied()
}

/// The function for a method that is called by its class with the tensor as an argument, as in `RaggedTensor.row_lengths(x)`.
fn method(name: &str) -> Option<&str> {
    let (class, name) = name.split_once('.')?;
    let (_, methods) = METHODS.iter().find(|(own, _)| *own == class)?;
    methods.contains(&name).then_some(name)
}

/// Finds the function for an attribute.
pub fn attribute(name: &str) -> Option<&'static Function> {
    // As an attribute, `shape` is the static shape, with None for ragged axes.
    let name = if name == "shape" { "get_shape" } else { name };
    (name == "get_shape" || ATTRIBUTES.contains(&name)).then(|| find(name)).flatten()
}

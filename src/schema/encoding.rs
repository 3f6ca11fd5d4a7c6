//! Encodings of row partitions as integers.

/// An encoding of a row partition as integers.
///
/// Semantics: `tf.RaggedTensor.from_row_splits` and related functions; Paddle's recursive sequence lengths
/// (`lod`) and level-of-detail offsets (`lod_offsets`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionEncoding {
    /// The start of each row, and the end of the last: `[nrows + 1]`.
    RowSplits,
    /// The length of each row: `[nrows]`.
    RowLengths,
    /// The start of each row: `[nrows]`.
    RowStarts,
    /// The end of each row: `[nrows]`.
    RowLimits,
    /// The row of each value, nondecreasing: `[nvals]`; trailing empty rows need `nrows`.
    ValueRowids,
    /// The common length of all rows: `[1]`; rows without values need `nrows`.
    UniformRowLength,
    /// Paddle's name for row lengths.
    Lod,
    /// Paddle's name for row splits.
    LodOffsets,
}

impl PartitionEncoding {
    /// The encodings that a vector per record can hold.
    pub const VECTORS: [PartitionEncoding; 7] = [
        PartitionEncoding::RowSplits,
        PartitionEncoding::RowLengths,
        PartitionEncoding::RowStarts,
        PartitionEncoding::RowLimits,
        PartitionEncoding::ValueRowids,
        PartitionEncoding::Lod,
        PartitionEncoding::LodOffsets,
    ];

    /// The encodings that a tf.io.RaggedFeature can have, in the order of its documentation.
    pub const OF_FEATURES: [PartitionEncoding; 6] = [
        PartitionEncoding::RowLengths,
        PartitionEncoding::RowSplits,
        PartitionEncoding::RowStarts,
        PartitionEncoding::RowLimits,
        PartitionEncoding::ValueRowids,
        PartitionEncoding::UniformRowLength,
    ];

    /// The name on the command line and in field names.
    pub fn name(self) -> &'static str {
        match self {
            PartitionEncoding::RowSplits => "row_splits",
            PartitionEncoding::RowLengths => "row_lengths",
            PartitionEncoding::RowStarts => "row_starts",
            PartitionEncoding::RowLimits => "row_limits",
            PartitionEncoding::ValueRowids => "value_rowids",
            PartitionEncoding::UniformRowLength => "uniform_row_length",
            PartitionEncoding::Lod => "lod",
            PartitionEncoding::LodOffsets => "lod_offsets",
        }
    }
}

//! How a row partition is written down as integers.

/// How a row partition is written down as integers.
///
/// Source of the meaning: `tf.RaggedTensor.from_row_splits` and its siblings; Paddle's recursive sequence lengths
/// (`lod`) and level-of-detail offsets (`lod_offsets`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionEncoding {
    /// Where each row starts, and where the last one ends: `[nrows + 1]`.
    RowSplits,
    /// The length of each row: `[nrows]`.
    RowLengths,
    /// Where each row starts: `[nrows]`.
    RowStarts,
    /// Where each row ends: `[nrows]`.
    RowLimits,
    /// The row of each value, not decreasing: `[nvals]`; empty rows at the end need `nrows`.
    ValueRowids,
    /// The one length of all rows: `[1]`; rows of no values need `nrows`.
    UniformRowLength,
    /// Paddle's name for row lengths.
    Lod,
    /// Paddle's name for row splits.
    LodOffsets,
}

impl PartitionEncoding {
    /// The encodings that a vector of each record can hold.
    pub const VECTORS: [PartitionEncoding; 7] = [
        PartitionEncoding::RowSplits,
        PartitionEncoding::RowLengths,
        PartitionEncoding::RowStarts,
        PartitionEncoding::RowLimits,
        PartitionEncoding::ValueRowids,
        PartitionEncoding::Lod,
        PartitionEncoding::LodOffsets,
    ];

    /// The encodings that a tf.io.RaggedFeature can name, in the order of its documentation.
    pub const OF_FEATURES: [PartitionEncoding; 6] = [
        PartitionEncoding::RowLengths,
        PartitionEncoding::RowSplits,
        PartitionEncoding::RowStarts,
        PartitionEncoding::RowLimits,
        PartitionEncoding::ValueRowids,
        PartitionEncoding::UniformRowLength,
    ];

    /// The name, as it is typed and as it appears in names of fields.
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

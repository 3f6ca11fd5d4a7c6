//! The names of the features that hold a tensor, from the slash-joined names on the path of its field (the key).

/// The feature with the values of a tensor; `has_sizes`: beside its shape, because several sizes are unknown.
pub fn tensor_name(key: &str, has_sizes: bool) -> String {
    if has_sizes { format!("{key}/value") } else { key.to_owned() }
}

/// The feature with the shape of a tensor.
pub fn shape_name(key: &str) -> String {
    format!("{key}/shape")
}

/// The feature with the values inside this many nested sequences of a feature named `base`.
pub fn flat_values_name(base: &str, nsequences: usize) -> String {
    if nsequences > 1 { format!("{base}/ragged_flat_values") } else { base.to_owned() }
}

/// The feature with the row lengths of the sequences at `level`, from 1.
pub fn row_lengths_name(base: &str, level: usize) -> String {
    format!("{base}/ragged_row_lengths_{}", level - 1)
}

//! The encoding of tensors as bytes in feature values.

use crate::schema::DType;

/// How tensors are encoded as bytes.
#[derive(Debug)]
pub struct Packing {
    /// The element type.
    pub element: Element,
    /// The size of each axis; `None` if it varies.
    pub dims: Vec<Option<u64>>,
    /// Whether the bytes are compressed.
    pub zlib: bool,
    /// The feature with the shape of each tensor, if more than one size varies.
    pub sizes: Option<usize>,
    /// Maximum size of a tensor in bytes.
    pub max_nbytes: u64,
}

/// The element type of a tensor stored as bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// A numeric dtype, or bool.
    Of(DType),
    /// The upper half of a float32.
    BFloat16,
}

impl Element {
    /// The dtype that holds the values exactly.
    pub fn dtype(&self) -> DType {
        match self {
            Element::Of(dtype) => dtype.clone(),
            Element::BFloat16 => DType::Float32,
        }
    }

    /// The size of one value in bytes.
    pub fn nbytes(&self) -> usize {
        match self {
            Element::BFloat16 => 2,
            Element::Of(DType::Bool) => 1,
            Element::Of(dtype) => dtype.arrow().primitive_width().unwrap_or(1),
        }
    }
}

//! How tensors are held as bytes by the values of a feature.

use crate::schema::DType;

/// How tensors become bytes.
#[derive(Debug)]
pub struct Packing {
    /// The values.
    pub element: Element,
    /// The size of each axis; `None`: it differs.
    pub dims: Vec<Option<u64>>,
    /// Whether the bytes are compressed.
    pub zlib: bool,
    /// The feature that holds the sizes of each tensor, where more than one differs.
    pub sizes: Option<usize>,
    /// The most bytes of a tensor.
    pub max_nbytes: u64,
}

/// The values of a tensor as bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// Of a numeric dtype, or bool.
    Of(DType),
    /// The upper half of a float32.
    BFloat16,
}

impl Element {
    /// The dtype that holds them exactly.
    pub fn dtype(&self) -> DType {
        match self {
            Element::Of(dtype) => dtype.clone(),
            Element::BFloat16 => DType::Float32,
        }
    }

    /// The bytes of one value.
    pub fn nbytes(&self) -> usize {
        match self {
            Element::BFloat16 => 2,
            Element::Of(DType::Bool) => 1,
            Element::Of(dtype) => dtype.arrow().primitive_width().unwrap_or(1),
        }
    }
}

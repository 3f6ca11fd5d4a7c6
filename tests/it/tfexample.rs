//! tf.Example, as seen by a protobuf implementation.

use prost::Message;
use std::collections::BTreeMap;

#[derive(Clone, PartialEq, Message)]
pub struct Example {
    #[prost(message, optional, tag = "1")]
    pub features: Option<Features>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Features {
    #[prost(btree_map = "string, message", tag = "1")]
    pub feature: BTreeMap<String, Feature>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Feature {
    #[prost(oneof = "Kind", tags = "1, 2, 3")]
    pub kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Kind {
    #[prost(message, tag = "1")]
    Bytes(BytesList),
    #[prost(message, tag = "2")]
    Float(FloatList),
    #[prost(message, tag = "3")]
    Int64(Int64List),
}

#[derive(Clone, PartialEq, Message)]
pub struct BytesList {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub value: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FloatList {
    #[prost(float, repeated, tag = "1")]
    pub value: Vec<f32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Int64List {
    #[prost(int64, repeated, tag = "1")]
    pub value: Vec<i64>,
}

impl Example {
    /// An example with these features; without features it is an empty message.
    pub fn of<'a>(features: impl IntoIterator<Item = (&'a str, Feature)>) -> Example {
        let feature: BTreeMap<_, _> = features.into_iter().map(|(name, f)| (name.to_owned(), f)).collect();
        Example { features: (!feature.is_empty()).then_some(Features { feature }) }
    }
}

pub fn int64_list(values: impl IntoIterator<Item = i64>) -> Feature {
    Feature { kind: Some(Kind::Int64(Int64List { value: values.into_iter().collect() })) }
}

pub fn float_list(values: impl IntoIterator<Item = f32>) -> Feature {
    Feature { kind: Some(Kind::Float(FloatList { value: values.into_iter().collect() })) }
}

pub fn bytes_list(values: &[&[u8]]) -> Feature {
    Feature { kind: Some(Kind::Bytes(BytesList { value: values.iter().map(|v| v.to_vec()).collect() })) }
}

/// The framed payload.
pub fn frame(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u64).to_le_bytes();
    let crc = |bytes: &[u8]| crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes();
    [&length[..], &crc(&length), payload, &crc(payload)].concat()
}

//! The numbers of an array, as text.

use super::{put_float16, put_float32, put_integer};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_schema::DataType;
use half::f16;
use std::ops::Range;

/// The text of a NaN or an infinity in a format.
pub type Special = fn(f64) -> &'static [u8];

/// A number with a text.
pub trait Number: Copy {
    /// Appends the text, which reads back as the same number. That of a float has a decimal point or an exponent.
    fn put(self, special: Special, out: &mut Vec<u8>);
}

macro_rules! integers {
    ($($native:ident)*) => {
        $(impl Number for $native {
            #[inline(always)]
            fn put(self, _: Special, out: &mut Vec<u8>) {
                put_integer(self, out);
            }
        })*
    };
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

impl Number for f16 {
    #[inline(always)]
    fn put(self, special: Special, out: &mut Vec<u8>) {
        if self.is_finite() { put_float16(self, out) } else { out.extend_from_slice(special(self.to_f64())) }
    }
}

impl Number for f32 {
    #[inline(always)]
    fn put(self, special: Special, out: &mut Vec<u8>) {
        if self.is_finite() { put_float32(self, out) } else { out.extend_from_slice(special(self.into())) }
    }
}

impl Number for f64 {
    #[inline(always)]
    fn put(self, special: Special, out: &mut Vec<u8>) {
        match self.is_finite() {
            true => out.extend_from_slice(zmij::Buffer::new().format_finite(self).as_bytes()),
            false => out.extend_from_slice(special(self)),
        }
    }
}

macro_rules! numbers {
    ($($kind:ident $arrow:ident $native:ident,)*) => {
        /// The values of a column of numbers: its dtype is matched once, not for each value.
        pub enum Numbers<'a> {
            $(#[doc = concat!("Of the type `", stringify!($native), "`.")] $kind(&'a [$native]),)*
        }

        impl<'a> Numbers<'a> {
            /// The numbers of an array `[n]`, without its nulls; `None` for values of other dtypes. Zero-copy.
            pub fn of(array: &'a dyn Array) -> Option<Numbers<'a>> {
                Some(match array.data_type() {
                    $(DataType::$kind => Numbers::$kind(array.as_primitive::<$arrow>().values()),)*
                    _ => return None,
                })
            }

            /// Appends the number at a position.
            #[inline(always)]
            pub fn put(&self, at: usize, special: Special, out: &mut Vec<u8>) {
                match self {
                    $(Numbers::$kind(values) => values[at].put(special, out),)*
                }
            }

            /// Appends the numbers of a range, each followed by `end`.
            #[inline]
            pub fn put_each(&self, range: Range<usize>, special: Special, end: u8, out: &mut Vec<u8>) {
                match self {
                    $(Numbers::$kind(values) => values[range].iter().for_each(|value| {
                        value.put(special, out);
                        out.push(end);
                    }),)*
                }
            }
        }
    };
}
numbers! {
    Int8 Int8Type i8,
    Int16 Int16Type i16,
    Int32 Int32Type i32,
    Int64 Int64Type i64,
    UInt8 UInt8Type u8,
    UInt16 UInt16Type u16,
    UInt32 UInt32Type u32,
    UInt64 UInt64Type u64,
    Float16 Float16Type f16,
    Float32 Float32Type f32,
    Float64 Float64Type f64,
}

//! Dictionary and run-end encoding: types that store repeated values once. In memory, every row has its value; values
//! are encoded here if a field is written in such a type again.

use super::leaf::{leaf_type, stored};
use crate::error::{Error, Result};
use crate::schema::nested::{fields_of, replaced, with_fields};
use crate::tensor::gather::take;
use crate::tensor::interner::Strings;
use crate::tensor::ints;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, LargeBinaryArray, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};
use std::sync::Arc;

/// Which encodings of the source file are preserved on output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encodings {
    /// None: plain values.
    #[default]
    None,
    /// Dictionaries.
    Dictionaries,
    /// Dictionaries and run ends.
    All,
}

impl Encodings {
    /// Whether a dictionary or run-end encoded type is written unchanged, which holds for those of scalars.
    pub fn keep(self, ty: &DataType) -> bool {
        let single = |values: &DataType| !matches!(values, DataType::Null) && !values.is_nested() && !is_encoded(values);
        match ty {
            DataType::Dictionary(_, values) => self != Encodings::None && single(values),
            DataType::RunEndEncoded(_, values) => self == Encodings::All && single(values.data_type()),
            _ => false,
        }
    }

    /// The first encoding inside a type that is not preserved. Unions are carried unchanged.
    pub fn first_lost(self, ty: &DataType) -> Option<&DataType> {
        if is_encoded(ty) {
            return (!self.keep(ty)).then_some(ty);
        }
        fields_of(ty).into_iter().find_map(|field| self.first_lost(field.data_type()))
    }
}

fn is_encoded(ty: &DataType) -> bool {
    matches!(ty, DataType::Dictionary(..) | DataType::RunEndEncoded(..))
}

/// The fields that are dictionaries of scalars: the field itself or those inside it, depth first.
pub fn dictionaries(field: &Field) -> Vec<&Field> {
    if Encodings::Dictionaries.keep(field.data_type()) {
        return vec![field];
    }
    fields_of(field.data_type()).into_iter().flat_map(|field| dictionaries(field)).collect()
}

/// The field with unordered dictionaries.
pub fn unordered(field: &Field) -> Field {
    let ty = with_fields(field.data_type(), |f| Arc::new(unordered(f)));
    field.clone().with_data_type(ty).with_dict_is_ordered(false)
}

/// The type with the keys of dictionaries of scalars, without their values.
pub fn keys_only(ty: &DataType) -> DataType {
    replaced(ty, &|ty| match ty {
        DataType::Dictionary(key, _) if Encodings::Dictionaries.keep(ty) => Some(key.as_ref().clone()),
        _ => None,
    })
}

/// Scalars of type `ty`, encoded or not.
///
/// # Errors
/// See [`encode`]; also if there are more bytes than 32-bit offsets can address.
pub fn leaf(array: &ArrayRef, ty: &DataType) -> Result<ArrayRef> {
    if is_encoded(ty) && array.data_type() != ty { encode(array, ty) } else { stored(array, ty) }
}

/// Encodes values as a dictionary, in order of first occurrence, or as run ends. Expected O(values).
///
/// # Errors
/// There are more distinct values or longer runs than the integer type can count.
pub fn encode(array: &ArrayRef, ty: &DataType) -> Result<ArrayRef> {
    match ty {
        DataType::Dictionary(_, values) => {
            let (mut strings, mut firsts, bytes) = (Strings::new(), Vec::new(), ByteRows::of(array)?);
            let number = |row: usize| {
                let number = bytes.intern(row, &mut strings);
                if strings.count() > firsts.len() {
                    firsts.push(row);
                }
                i64::from(number)
            };
            let keys: Vec<i64> = (0..array.len()).map(number_of_valid(array, number)).collect();
            let distinct = leaf(&take(array, &firsts)?, values)?;
            dictionary(keys, array.nulls().cloned(), &distinct, ty)
        }
        DataType::RunEndEncoded(ends, values) => {
            let bytes = ByteRows::of(array)?;
            let same = |a: usize, b: usize| array.is_null(a) == array.is_null(b) && (array.is_null(a) || bytes.get(a) == bytes.get(b));
            let lasts: Vec<usize> = (0..array.len()).filter(|row| row + 1 == array.len() || !same(*row, row + 1)).collect();
            let run_ends: Vec<i64> = lasts.iter().map(|row| *row as i64 + 1).collect();
            let run_ends = integers(&run_ends, None, ends.data_type(), "rows")?;
            let values = leaf(&take(array, &lasts)?, values.data_type())?;
            let children = vec![run_ends.to_data(), values.to_data()];
            built(ArrayData::builder(ty.clone()).len(array.len()).child_data(children))
        }
        other => Err(Error::internal(format!("{other} is not an encoding"))),
    }
}

/// The index of a row's value; 0 for a null.
fn number_of_valid<'a>(array: &'a ArrayRef, mut number: impl FnMut(usize) -> i64 + 'a) -> impl FnMut(usize) -> i64 + 'a {
    move |row| if array.is_null(row) { 0 } else { number(row) }
}

/// An array of a dictionary type: `[keys.len()]`. O(keys).
///
/// # Errors
/// There are more values than the index type can count.
pub fn dictionary(keys: Vec<i64>, nulls: Option<NullBuffer>, values: &ArrayRef, ty: &DataType) -> Result<ArrayRef> {
    let keys = self::keys(keys, nulls, ty)?.to_data();
    let data = ArrayData::builder(ty.clone()).len(keys.len()).nulls(keys.nulls().cloned());
    built(data.buffers(keys.buffers().to_vec()).offset(keys.offset()).child_data(vec![values.to_data()]))
}

/// The keys of an array of a dictionary type: integers of its key type. O(keys).
///
/// # Errors
/// A key is greater than the index type can count.
pub fn keys(keys: Vec<i64>, nulls: Option<NullBuffer>, ty: &DataType) -> Result<ArrayRef> {
    let DataType::Dictionary(index, _) = ty else { return Err(Error::internal(format!("{ty} is not a dictionary"))) };
    integers(&keys, nulls, index, "different values")
}

fn built(data: arrow_data::ArrayDataBuilder) -> Result<ArrayRef> {
    data.build().map(make_array).map_err(|e| Error::internal(e.to_string()))
}

fn integers(numbers: &[i64], nulls: Option<NullBuffer>, ty: &DataType, what: &str) -> Result<ArrayRef> {
    ints::of_type(numbers, nulls, ty).map_err(|_| {
        let most = numbers.iter().max().unwrap_or(&0) + 1;
        Error::data(format!("a batch has {most} {what}, more than {} can count", ty.to_string().to_lowercase()))
    })
}

/// The values of an array as bytes. Equal values have equal bytes, and -0.0 differs from 0.0.
pub enum ByteRows {
    /// Strings and bytes.
    Texts(LargeBinaryArray),
    /// Values of fixed width.
    Fixed {
        /// The concatenated values.
        bytes: Buffer,
        /// Bytes per value.
        width: usize,
    },
    /// Bools.
    Bits(BooleanArray),
}

impl ByteRows {
    /// # Errors
    /// The type is nested.
    pub fn of(array: &ArrayRef) -> Result<ByteRows> {
        let cast = |array: &ArrayRef, ty: &DataType| arrow_cast::cast(array, ty).map_err(|e| Error::data(e.to_string()));
        let memory = leaf_type(array.data_type());
        match &memory {
            DataType::LargeUtf8 | DataType::LargeBinary => {
                Ok(ByteRows::Texts(cast(&cast(array, &memory)?, &DataType::LargeBinary)?.as_binary().clone()))
            }
            DataType::Boolean => Ok(ByteRows::Bits(array.as_boolean().clone())),
            ty => {
                let width = match ty {
                    DataType::FixedSizeBinary(width) => usize::try_from(*width).ok(),
                    other => other.primitive_width(),
                };
                let (Some(width), data) = (width, array.to_data()) else { return Err(Error::internal(format!("{ty} has no bytes"))) };
                let bytes = data.buffers().first().map_or_else(Buffer::default, |values| values.slice(data.offset() * width));
                Ok(ByteRows::Fixed { bytes, width })
            }
        }
    }

    /// The bytes of a row; unspecified for a null.
    pub fn get(&self, row: usize) -> &[u8] {
        let (bytes, start, end) = self.range(row);
        bytes.get(start..end).unwrap_or(&[])
    }

    /// The index of a row's value among distinct values.
    pub fn intern(&self, row: usize, strings: &mut Strings) -> u32 {
        let (bytes, start, end) = self.range(row);
        strings.intern(bytes, start, end)
    }

    fn range(&self, row: usize) -> (&[u8], usize, usize) {
        match self {
            ByteRows::Texts(texts) => {
                let offsets = texts.value_offsets();
                (texts.value_data(), offsets[row] as usize, offsets[row + 1] as usize)
            }
            ByteRows::Fixed { bytes, width } => (bytes.as_slice(), row * width, (row + 1) * width),
            ByteRows::Bits(bits) => (&[[0], [1]][usize::from(bits.value(row))], 0, 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int8Type;
    use arrow_array::{BooleanArray, Float64Array, Int64Array, LargeStringArray};

    fn dictionary_of(values: DataType) -> DataType {
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(values))
    }

    #[test]
    fn values_are_encoded_and_read_back() {
        let arrays: [ArrayRef; 4] = [
            Arc::new(LargeStringArray::from(vec![Some("a"), None, Some("b"), Some("b"), Some("")])),
            Arc::new(Float64Array::from(vec![Some(0.0), Some(-0.0), Some(-0.0), None, Some(f64::NAN)])),
            Arc::new(BooleanArray::from(vec![Some(true), None, None, Some(false), Some(true)]).slice(1, 4)),
            Arc::new(Int64Array::from(Vec::<i64>::new())),
        ];
        for array in arrays {
            let values = if *array.data_type() == DataType::LargeUtf8 { DataType::Utf8View } else { array.data_type().clone() };
            let ends = Arc::new(Field::new("run_ends", DataType::Int16, false));
            let runs = DataType::RunEndEncoded(ends, Arc::new(Field::new("values", values.clone(), true)));
            for ty in [dictionary_of(values), runs] {
                let encoded = encode(&array, &ty).unwrap();
                assert_eq!(*encoded.data_type(), ty);
                let field = Field::new("x", ty, true);
                let back = super::super::from_arrow(&encoded, &field).unwrap();
                assert_eq!(back.as_leaf().unwrap(), &array);
            }
        }
    }

    #[test]
    fn indices_that_do_not_reach_are_an_error() {
        let array: ArrayRef = Arc::new(Int64Array::from_iter_values(0..200));
        let error = encode(&array, &dictionary_of(DataType::Int64)).unwrap_err();
        assert_eq!(error.message(), "a batch has 200 different values, more than int8 can count");
        let array: ArrayRef = Arc::new(Int64Array::from_iter_values((0..200).map(|i| i % 128)));
        assert_eq!(encode(&array, &dictionary_of(DataType::Int64)).unwrap().as_dictionary::<Int8Type>().values().len(), 128);
    }

    #[test]
    fn encodings_of_nested_values_are_not_kept() {
        let list = DataType::new_list(DataType::Int8, true);
        assert!(!Encodings::All.keep(&dictionary_of(list.clone())));
        let inside = DataType::new_list(dictionary_of(DataType::Utf8), true);
        assert_eq!(Encodings::All.first_lost(&inside), None);
        assert_eq!(Encodings::None.first_lost(&inside), Some(&dictionary_of(DataType::Utf8)));
        assert_eq!(Encodings::All.first_lost(&dictionary_of(list.clone())), Some(&dictionary_of(list)));
        assert_eq!(dictionaries(&Field::new("x", inside, true)).len(), 1);
    }
}

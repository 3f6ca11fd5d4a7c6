//! The dictionaries of an output: those of its sources, extended by missing values.
//!
//! Batches are encoded on any thread, each with its own dictionaries. Here, in order, their keys are mapped to the
//! dictionaries of the output.

use crate::error::{Error, Result};
use crate::path::{in_expression, quoted};
use crate::printable::shell_word;
use crate::schema::Field;
use crate::tensor::arrow::encoded::{self, ByteRows};
use crate::tensor::arrow::{ArrowForm, stored};
use crate::tensor::concat::concat_leaves;
use crate::tensor::gather::take;
use crate::tensor::interner::Strings;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array, new_empty_array};
use arrow_schema::{DataType, Field as ArrowField, SchemaRef};

/// Maximum number of values in a dictionary that grows from batch to batch and is resent as a whole each time.
const MAX_RESENT: u64 = 1 << 16;

/// The dictionaries of the columns, depth first.
#[derive(Clone, Default)]
pub struct Dictionaries {
    all: Vec<Dictionary>,
    /// Whether a dictionary can be replaced between batches, as in a stream.
    replaceable: bool,
}

#[derive(Clone)]
struct Dictionary {
    /// The name of the column, for messages.
    column: String,
    ty: DataType,
    is_ordered: bool,
    /// The values, initially those of the source, in parts.
    values: Vec<ArrayRef>,
    /// The number of values.
    count: usize,
    /// The distinct values.
    strings: Strings,
    /// The index of each of them among the values; of equal values, the first.
    indices: Vec<i64>,
    /// Whether the source declares its values.
    is_known: bool,
    /// Whether values have been added.
    grown: bool,
}

impl Dictionaries {
    /// The dictionaries of `fields`, which are written as `arrow`.
    ///
    /// # Errors
    /// None for dictionaries created by a reader.
    pub fn new(fields: &[Field], arrow: &[ArrowField], form: ArrowForm, replaceable: bool) -> Result<Dictionaries> {
        let mut all = Vec::new();
        for (field, arrow) in fields.iter().zip(arrow) {
            let known = stored::dictionaries(field, arrow, form);
            for (dictionary, known) in encoded::dictionaries(arrow).into_iter().zip(known) {
                all.push(Dictionary::new(arrow.name(), dictionary, known)?);
            }
        }
        Ok(Dictionaries { all, replaceable })
    }

    /// Whether there are no dictionaries.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether the sources declare the values of all dictionaries.
    pub fn are_known(&self) -> bool {
        self.all.iter().all(|d| d.is_known)
    }

    /// Whether values have been added to any dictionary.
    pub fn have_grown(&self) -> bool {
        self.all.iter().any(|d| d.grown)
    }

    /// Columns whose ordered dictionary has been extended.
    pub fn reordered(&self) -> impl Iterator<Item = &str> {
        self.all.iter().filter(|d| d.is_ordered && d.grown).map(|d| d.column.as_str())
    }

    /// Maps arrays with their own dictionaries to the dictionaries of the output. In a file, whose dictionaries are
    /// only complete at its end, they have only the keys.
    ///
    /// # Errors
    /// More values than the key type of a dictionary can index.
    pub fn joined(&mut self, arrays: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        self.with_dictionaries(arrays, self.replaceable)
    }

    fn with_dictionaries(&mut self, arrays: &[ArrayRef], with_values: bool) -> Result<Vec<ArrayRef>> {
        let mut next = 0;
        arrays.iter().map(|array| self.join(array, with_values, &mut next)).collect()
    }

    fn join(&mut self, array: &ArrayRef, with_values: bool, next: &mut usize) -> Result<ArrayRef> {
        let field = ArrowField::new("", array.data_type().clone(), true);
        if encoded::dictionaries(&field).is_empty() {
            return Ok(array.clone());
        }
        if let DataType::Dictionary(..) = array.data_type() {
            let dictionary = self.all.get_mut(*next).ok_or_else(|| Error::internal("a dictionary too many"))?;
            *next += 1;
            return dictionary.join(array, with_values).map_err(|e| in_column(e, &dictionary.column));
        }
        let data = array.to_data();
        let children = data.child_data().iter().map(|child| Ok(self.join(&make_array(child.clone()), with_values, next)?.to_data()));
        let children = children.collect::<Result<Vec<_>>>()?;
        let ty = if with_values { array.data_type().clone() } else { encoded::keys_only(array.data_type()) };
        data.into_builder().data_type(ty).child_data(children).build().map(make_array).map_err(|e| Error::internal(e.to_string()))
    }

    /// An empty batch with all dictionaries.
    ///
    /// # Errors
    /// None for the schema of these dictionaries.
    pub fn empty_batch(&mut self, schema: &SchemaRef) -> Result<RecordBatch> {
        let arrays: Vec<ArrayRef> = schema.fields().iter().map(|f| new_empty_array(f.data_type())).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(0));
        let arrays = self.with_dictionaries(&arrays, true)?;
        RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(|e| Error::internal(e.to_string()))
    }
}

impl Dictionary {
    fn new(column: &str, field: &ArrowField, known: Option<ArrayRef>) -> Result<Dictionary> {
        let DataType::Dictionary(_, value) = field.data_type() else { return Err(Error::internal("a dictionary")) };
        let known = known.filter(|values| values.data_type() == value.as_ref());
        let mut dictionary = Dictionary {
            column: column.to_owned(),
            ty: field.data_type().clone(),
            is_ordered: field.dict_is_ordered() == Some(true),
            is_known: known.is_some(),
            grown: false,
            values: vec![new_empty_array(value)],
            count: 0,
            strings: Strings::new(),
            indices: Vec::new(),
        };
        if let Some(values) = known {
            dictionary.replace(values)?;
        }
        Ok(dictionary)
    }

    fn replace(&mut self, values: ArrayRef) -> Result<()> {
        let bytes = ByteRows::of(&values)?;
        (self.strings, self.indices) = (Strings::new(), Vec::new());
        for row in (0..values.len()).filter(|row| values.is_valid(*row)) {
            self.index_of(&bytes, row, row as i64);
        }
        (self.count, self.values) = (values.len(), vec![values]);
        Ok(())
    }

    /// The index of a row's value among the values, which is `free` if it is new.
    fn index_of(&mut self, bytes: &ByteRows, row: usize, free: i64) -> i64 {
        let number = bytes.intern(row, &mut self.strings) as usize;
        if number == self.indices.len() {
            self.indices.push(free);
        }
        self.indices[number]
    }

    /// Without values, the dictionary cannot be replaced.
    fn join(&mut self, array: &ArrayRef, with_values: bool) -> Result<ArrayRef> {
        let own = array.as_any_dictionary();
        let (bytes, before) = (ByteRows::of(own.values())?, self.count);
        let (mut numbers, mut added) = (Vec::with_capacity(own.values().len()), Vec::new());
        for row in 0..own.values().len() {
            let free = (before + added.len()) as i64;
            let number = self.index_of(&bytes, row, free);
            if number == free {
                added.push(row);
            }
            numbers.push(number);
        }
        if !added.is_empty() {
            let total = (before + added.len()) as u64;
            self.grown = true;
            if with_values && (total > most(&self.ty) || total > MAX_RESENT && !self.is_known) {
                // The values of earlier batches are no longer needed.
                self.replace(own.values().clone())?;
                return Ok(array.clone());
            }
            self.count += added.len();
            self.values.push(take(own.values(), &added)?);
        }
        let numbers = match own.values().is_empty() {
            true => vec![0; array.len()],
            false => own.normalized_keys().into_iter().map(|key| numbers[key]).collect(),
        };
        if !with_values {
            return encoded::keys(numbers, own.keys().nulls().cloned(), &self.ty);
        }
        let values = self.values()?;
        encoded::dictionary(numbers, own.keys().nulls().cloned(), &values, &self.ty)
    }

    /// All values.
    fn values(&mut self) -> Result<ArrayRef> {
        if self.values.len() > 1 {
            self.values = vec![concat_leaves(&self.values.iter().collect::<Vec<_>>())?];
        }
        self.values.first().cloned().ok_or_else(|| Error::internal("a dictionary has a part"))
    }
}

/// An error of encoding a column.
pub fn in_column(error: Error, column: &str) -> Error {
    let name = quoted(column);
    let has_help = !error.helps().is_empty();
    let error = error.in_field(&name);
    let map = || shell_word(&format!("{0} = {0}", in_expression(column)));
    if has_help { error } else { error.help(format!("write its values instead of an encoding: map {}", map())) }
}

/// The number of values that the key type of a dictionary can index.
fn most(ty: &DataType) -> u64 {
    match ty {
        DataType::Dictionary(key, _) => match key.as_ref() {
            DataType::Int8 => 1 << 7,
            DataType::UInt8 => 1 << 8,
            DataType::Int16 => 1 << 15,
            DataType::UInt16 => 1 << 16,
            _ => 1 << 31,
        },
        _ => 0,
    }
}

/// Converts an Arrow error about batches or dictionaries.
pub fn unexpected(error: arrow_schema::ArrowError) -> Error {
    Error::data(error.to_string())
}

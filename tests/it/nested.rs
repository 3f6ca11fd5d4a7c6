//! Nested lists of numbers: the simplest representation of tensors, for slow but reliable references.

use Nested::{List, Number};
use proptest::prelude::*;
use std::sync::Arc;
use tatter::chunk::{Chunk, Origin};
use tatter::expr::Program;
use tatter::options::Options;
use tatter::schema::{DType, Dim, Field, Schema, Size, Type};
use tatter::tensor::{RowPartition, Tensor};

/// A nested list of numbers, or a number.
#[derive(Clone, Debug, PartialEq)]
pub enum Nested {
    Number(i64),
    List(Vec<Nested>),
}

impl Nested {
    /// The items of a list.
    pub fn items(&self) -> &[Nested] {
        match self {
            List(items) => items,
            Number(_) => panic!("a number has no items"),
        }
    }

    /// A number.
    pub fn number(&self) -> i64 {
        match self {
            Number(n) => *n,
            List(_) => panic!("a list is no number"),
        }
    }

    /// Applies a function to the values below `depth` lists.
    pub fn at_depth(&self, depth: usize, f: &dyn Fn(&Nested) -> Nested) -> Nested {
        if depth == 0 { f(self) } else { List(self.items().iter().map(|i| i.at_depth(depth - 1, f)).collect()) }
    }
}

/// A list of these.
pub fn list(items: impl IntoIterator<Item = Nested>) -> Nested {
    List(items.into_iter().collect())
}

/// Records of rank `rank`, with inner axes of any lengths.
pub fn records(rank: usize) -> impl Strategy<Value = Vec<Nested>> {
    let mut nested: BoxedStrategy<Nested> = (-20i64..20).prop_map(Number).boxed();
    for _ in 0..rank {
        nested = prop::collection::vec(nested, 0..4).prop_map(List).boxed();
    }
    prop::collection::vec(nested, 0..5)
}

/// A column of these records.
fn column(records: &[Nested], dims: &[Dim]) -> Tensor {
    let [dim, inner @ ..] = dims else {
        let values: Vec<i64> = records.iter().map(Nested::number).collect();
        return Tensor::Leaf(Arc::new(arrow_array::Int64Array::from(values)));
    };
    let below: Vec<Nested> = records.iter().flat_map(|r| r.items().iter().cloned()).collect();
    let partition = match dim.size {
        Size::Known(n) => RowPartition::uniform(n as usize, records.len()),
        _ => RowPartition::from_row_lengths(records.iter().map(|r| r.items().len() as i64)),
    };
    Tensor::list(partition.unwrap(), column(&below, inner), None).unwrap()
}

/// The nested list in one row of a column.
fn nested(tensor: &Tensor, row: usize) -> Nested {
    match tensor {
        Tensor::List(list) => List(list.partition().range(row).map(|i| nested(list.values(), i)).collect()),
        Tensor::Leaf(array) => {
            let wide = arrow_cast::cast(array, &arrow_schema::DataType::Int64).unwrap();
            Number(arrow_array::cast::AsArray::as_primitive::<arrow_array::types::Int64Type>(&wide).value(row))
        }
        _ => panic!("no tensor of numbers"),
    }
}

/// int64 of that rank, with all axes after the first ragged.
pub fn ragged(rank: usize) -> Type {
    let dims = (0..rank).map(|i| if i == 0 { Dim::UNIFORM } else { Dim::RAGGED }).collect();
    Type::tensor(DType::Int64, dims)
}

/// Evaluates an expression over fields `x` and `y`: the value for each record, or the message.
pub fn run(text: &str, fields: &[(&str, &[Nested], Type)]) -> Result<Vec<Nested>, String> {
    let nrows = fields.first().map_or(1, |f| f.1.len());
    let schema = Schema::new(fields.iter().map(|(name, _, ty)| Field::new(*name, ty.clone())).collect());
    let columns = fields.iter().map(|(_, records, ty)| column(records, &ty.dims)).collect();
    let program = Program::bind(&format!("out = {text}"), &schema, &Options::default()).map_err(|e| e.to_string())?;
    let chunk = Chunk::try_new(nrows, columns, Origin::default()).unwrap();
    let out = program.apply(chunk).map_err(|e| e.to_string())?;
    out.check(program.schema()).unwrap();
    let tensor = out.columns.last().unwrap();
    Ok((0..nrows).map(|row| nested(tensor, row)).collect())
}

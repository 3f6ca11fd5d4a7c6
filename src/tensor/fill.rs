//! Literals as rows of a tensor, and null rows filled with them.

use super::literal::literal_array;
use super::{RowPartition, Tensor};
use crate::error::{Error, Result};
use crate::printable::counted;
use crate::schema::{Element, Literal, Size, Type};

impl Tensor {
    /// One row of this type with the literal. A scalar fills axes of known size and yields no items along others; a
    /// list holds the items along the axis.
    ///
    /// # Errors
    /// The literal does not fit the type.
    pub fn of_literal(ty: &Type, literal: &Literal) -> Result<Tensor> {
        if *literal == Literal::None {
            return Tensor::nulls(ty, 1);
        }
        build(ty, literal)
    }

    /// The same rows, with null rows replaced by the literal. `ty` is the type of the result. O(values), or O(1) without
    /// nulls.
    ///
    /// ```
    /// use tatter::schema::{Literal, notation};
    /// use tatter::tensor::Tensor;
    /// let ty = notation::parse_type("int64[2]")?;
    /// let rows = Tensor::nulls(&notation::parse_type("optional int64[2]")?, 1)?;
    /// let filled = rows.fill_null_rows(&ty, &Literal::Int(7))?;
    /// assert_eq!(filled.first_difference(&Tensor::of_literal(&ty, &Literal::Int(7))?), None);
    /// # Ok::<(), tatter::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// The literal does not fit the type.
    pub fn fill_null_rows(&self, ty: &Type, literal: &Literal) -> Result<Tensor> {
        let Some(validity) = self.validity() else { return Ok(self.clone()) };
        let nrows = self.nrows();
        let filler = Tensor::of_literal(ty, literal)?;
        let places: Vec<usize> = (0..nrows).map(|row| if validity.is_null(row) { nrows } else { row }).collect();
        Tensor::concat(&[self, &filler])?.gather(&places)
    }
}

fn build(ty: &Type, literal: &Literal) -> Result<Tensor> {
    let Some(dim) = ty.list_dims().first() else {
        return match &ty.element {
            Element::Value(dtype) => Ok(Tensor::Leaf(literal_array(literal, dtype)?)),
            _ => Err(Error::usage(format!("{literal} for values of type {ty}"))),
        };
    };
    let item = ty.item();
    let known = |size: u64| usize::try_from(size).map_err(|_| Error::usage("the size is too large for this machine"));
    match (literal, dim.size) {
        (Literal::List(items), size) => {
            let items = items.iter().map(|i| Tensor::of_literal(&item, i)).collect::<Result<Vec<_>>>()?;
            let partition = match size {
                Size::Known(size) if known(size)? != items.len() => {
                    return Err(Error::usage(format!("{literal} has {}; expected {size}", counted(items.len() as u64, "item"))));
                }
                Size::Known(size) => RowPartition::uniform(known(size)?, 1)?,
                _ => RowPartition::from_row_lengths([items.len() as i64])?,
            };
            let values = if items.is_empty() { Tensor::empty(&item)? } else { Tensor::concat(&items.iter().collect::<Vec<_>>())? };
            Tensor::list(partition, values, None)
        }
        (scalar, Size::Known(size)) => {
            let size = known(size)?;
            let values = build(&item, scalar)?.gather(&vec![0; size])?;
            Tensor::list(RowPartition::uniform(size, 1)?, values, None)
        }
        _ => Tensor::list(RowPartition::from_row_lengths([0])?, Tensor::empty(&item)?, None),
    }
}

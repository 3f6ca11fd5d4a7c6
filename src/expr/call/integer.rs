//! Integers that are either known before the first record or computed for each record.

use super::binding::{Arg, Call};
use super::coerce::strict;
use super::known::{static_int, static_ints};
use super::pack::nth;
use crate::error::{Error, Result, mismatch};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Args;
use crate::expr::kernels::cast::i64s;
use crate::expr::operand::{Operand, OperandKind};
use crate::schema::{Dim, Size};

/// An integer argument.
#[derive(Clone, Debug)]
pub enum Integer {
    Known(i64),
    Of(Arg),
}

impl Integer {
    /// The integer, if it is known.
    pub fn known(&self) -> Option<i64> {
        match self {
            Integer::Known(n) => Some(*n),
            Integer::Of(_) => None,
        }
    }

    /// The axis of this size, or an axis of unknown size if the integer is not known.
    pub fn dim(&self) -> Dim {
        self.known().and_then(|n| u64::try_from(n).ok()).map_or(Dim::UNIFORM, Dim::known)
    }

    /// The integer of every record.
    ///
    /// # Errors
    /// Only if memory runs out.
    pub fn of(&self, args: &Args) -> Result<Integers> {
        Ok(match self {
            Integer::Known(n) => Integers { known: Some(*n), column: Vec::new() },
            Integer::Of(arg) => Integers { known: None, column: i64s(arg.of(args)?.as_leaf()?)?.to_vec() },
        })
    }
}

/// The integers of all records.
#[derive(Clone, Debug)]
pub struct Integers {
    known: Option<i64>,
    column: Vec<i64>,
}

impl Integers {
    /// The integer of a record.
    pub fn at(&self, record: usize) -> i64 {
        self.known.or_else(|| self.column.get(record).copied()).unwrap_or(0)
    }

    /// The integer of a record, if it must not be negative.
    ///
    /// # Errors
    /// The integer is negative; the error gives its meaning and the row.
    pub fn size(&self, record: usize, what: &str) -> Result<usize> {
        let n = self.at(record);
        usize::try_from(n).map_err(|_| Error::data(format!("{what} {n} is negative")).at_row(record))
    }
}

impl Call {
    /// Argument `i` as an integer.
    ///
    /// # Errors
    /// The argument is not an integer, or has axes.
    pub fn integer(&mut self, i: usize) -> ExprResult<Integer> {
        let item = self.operand(i)?.clone();
        self.integer_of(&item)
    }

    /// Like [`Call::integer`], for an item.
    ///
    /// # Errors
    /// See [`Call::integer`].
    pub fn integer_of(&mut self, item: &Operand) -> ExprResult<Integer> {
        if let Some(n) = static_int(item) {
            return Ok(Integer::Known(n));
        }
        let arg = self.integers_of(item)?;
        if arg.rank() > 0 {
            return Err(ExprError::at(item.span.clone(), mismatch("a single integer", &arg.ty).prefixed(&self.name)));
        }
        Ok(Integer::Of(arg))
    }

    /// Argument `i` as a known number of integers: a list of integers and None, a vector of known size, or one integer.
    /// `None` if it was not given.
    ///
    /// # Errors
    /// Other items, or a vector of unknown size.
    pub fn integer_list(&mut self, i: usize) -> ExprResult<Option<Vec<Option<Integer>>>> {
        let Some(item) = self.given(i).cloned() else {
            return Ok(None);
        };
        let items = match (item.elements(), &item.kind) {
            (Some(items), _) => items,
            (None, OperandKind::Tensor(node)) if node.ty.rank() == 1 => {
                if let Some(known) = static_ints(&item) {
                    return Ok(Some(known.into_iter().map(|n| Some(Integer::Known(n))).collect()));
                }
                let Size::Known(n) = node.ty.dims[0].size else {
                    return Err(ExprError::at(
                        item.span.clone(),
                        format!("{}: the length of {} must be known before the first record is processed", self.name, self.param(i)),
                    )
                    .help("write it as a list: [n, 2]"));
                };
                (0..n)
                    .map(|k| {
                        let node = nth(&strict(node.clone())?, k as i64, self.text())?;
                        Ok(Operand { kind: OperandKind::Tensor(node), span: item.span.clone() })
                    })
                    .collect::<ExprResult<Vec<_>>>()?
            }
            _ => vec![item.clone()],
        };
        items
            .iter()
            .map(|item| if item.is_none() { Ok(None) } else { self.integer_of(item).map(Some) })
            .collect::<ExprResult<Vec<_>>>()
            .map(Some)
    }

    /// Like [`Call::integer_list`], but without None.
    ///
    /// # Errors
    /// See [`Call::integer_list`]; also if the argument was not given.
    pub fn all_integers(&mut self, i: usize) -> ExprResult<Vec<Integer>> {
        let item = self.operand(i)?.clone();
        let numbers = self.integer_list(i)?.unwrap_or_default();
        let all: Option<Vec<Integer>> = numbers.into_iter().collect();
        all.ok_or_else(|| ExprError::at(item.span.clone(), format!("{}: {} cannot contain None", self.name, self.param(i))))
    }
}

//! The arguments of a call, in the forms that functions need.

use super::binding::{Arg, Call};
use super::coerce::{
    as_node, as_they_are, cast_node, common, index_node, is_of_times, kept_node, moved_node, not_null, present, strict, strict_node,
};
use super::known::{constant_values, dtype_named, dtype_near, positive_axis, static_int, static_ints, static_text};
use crate::error::mismatch;
use crate::expr::error::{ExprError, ExprResult, conversion, float_of, text_at};
use crate::expr::eval::NodeKind;
use crate::expr::operand::{FunctionValue, Operand, OperandKind, describe};
use crate::expr::types::promote;
use crate::printable::counted_axes;
use crate::schema::notation::parse_time;
use crate::schema::{DType, Element, Literal, Type};

/// The dtypes of most indices and sizes in TensorFlow.
pub const INDEX_DTYPES: &[DType] = &[DType::Int32, DType::Int64];

impl Call {
    fn wrong(&self, i: usize, expected: &str) -> ExprError {
        match self.given(i) {
            Some(item) => {
                ExprError::at(item.span.clone(), format!("{}: {} must be {expected}, not {}", self.name, self.param(i), item.describe()))
            }
            None => self.error(format!("{}: {} must be {expected}", self.name, self.param(i))),
        }
    }

    /// The error for an argument that is not of the kind expected, or else not known before the first record.
    fn not_known(&self, i: usize, expected: &str) -> ExprError {
        match self.given(i).map(|item| (&item.kind, &item.span)) {
            Some((OperandKind::Tensor(node), span)) if !matches!(node.kind, NodeKind::Constant(_)) => {
                let name = format!("{}: {} must be {expected}", self.name, self.param(i));
                ExprError::at(span.clone(), format!("{name} known before the first record is processed, not a value of the record"))
            }
            _ => self.wrong(i, expected),
        }
    }

    /// Argument `i` as a tensor of any kind, including structures, times and sparse tensors. A literal has its default dtype.
    ///
    /// # Errors
    /// The argument is not a tensor.
    pub fn any(&mut self, i: usize) -> ExprResult<Arg> {
        let node = self.beside_bytes(kept_node(self.operand(i)?)?)?;
        Ok(self.push(node))
    }

    /// Argument `i` as a ragged or dense tensor whose values, which may be times, are moved.
    ///
    /// # Errors
    /// The argument is a structure, a sparse tensor, or not a tensor.
    pub fn kept(&mut self, i: usize) -> ExprResult<Arg> {
        let arg = self.any(i)?;
        self.plain(&arg)?;
        Ok(arg)
    }

    /// Argument `i` as a ragged or dense tensor of any elements, including structures.
    ///
    /// # Errors
    /// The argument is a sparse tensor, or not a tensor.
    pub fn nested(&mut self, i: usize) -> ExprResult<Arg> {
        let arg = self.any(i)?;
        self.not_sparse(&arg)?;
        Ok(arg)
    }

    /// Argument `i` for functions that select or move whole values: like [`Call::any`], but rows and items may be null. See
    /// [`Call::carry`].
    ///
    /// # Errors
    /// The argument is not a tensor.
    pub fn moved(&mut self, i: usize) -> ExprResult<Arg> {
        let node = self.beside_bytes(moved_node(self.operand(i)?)?)?;
        Ok(self.carry(node))
    }

    /// The same for a ragged or dense tensor.
    ///
    /// # Errors
    /// The argument is a sparse tensor, or not a tensor.
    pub fn moved_nested(&mut self, i: usize) -> ExprResult<Arg> {
        let arg = self.moved(i)?;
        self.not_sparse(&arg)?;
        Ok(arg)
    }

    /// Argument `i` for functions that use only its rows; its values may have any dtype or none.
    ///
    /// # Errors
    /// The argument is not a tensor.
    pub fn sized(&mut self, i: usize) -> ExprResult<Arg> {
        let item = self.operand(i)?.clone();
        let node = not_null(as_node(&item, None)?);
        Ok(self.push(node))
    }

    /// Argument `i` for functions that use only axis 0; the contents of its rows may be null.
    ///
    /// # Errors
    /// The argument is not a tensor.
    pub fn rows_of(&mut self, i: usize) -> ExprResult<Arg> {
        let node = present(as_node(self.operand(i)?, None)?);
        Ok(self.push(node))
    }

    /// Argument `i` as a ragged or dense tensor. A literal has its default dtype.
    ///
    /// # Errors
    /// The argument is a structure, a sparse tensor, or not a tensor.
    pub fn tensor(&mut self, i: usize) -> ExprResult<Arg> {
        let node = self.beside_bytes(strict_node(self.operand(i)?)?)?;
        let arg = self.push(node);
        self.plain(&arg)?;
        Ok(arg)
    }

    /// Like [`Call::tensor`], if argument `i` was given.
    ///
    /// # Errors
    /// See [`Call::tensor`].
    pub fn optional_tensor(&mut self, i: usize) -> ExprResult<Option<Arg>> {
        if self.given(i).is_some() { self.tensor(i).map(Some) } else { Ok(None) }
    }

    /// Argument `i` as a tensor of that dtype. A literal is converted to it; a tensor of another dtype is rejected.
    ///
    /// # Errors
    /// The tensor has another dtype.
    pub fn tensor_of(&mut self, i: usize, dtype: &DType) -> ExprResult<Arg> {
        let item = self.operand(i)?.clone();
        let node = as_node(&item, Some(dtype))?;
        let node = if is_of_times(&node) && dtype.time().is_some() { not_null(node) } else { strict(node)? };
        if node.ty.dtype() != Some(dtype) {
            let both_text = |d: &DType| matches!(d, DType::String | DType::Bytes);
            if node.ty.dtype().is_some_and(both_text) && both_text(dtype) {
                let node = cast_node(node, dtype, self.text())?;
                return Ok(self.push(node));
            }
            let message = format!("{}: {} must be {dtype}, not {}", self.name, self.param(i), item.describe());
            let from = node.ty.dtype().filter(|_| !item.is_literal());
            let advice = from.and_then(|from| conversion(self.text(), &item.span, from, dtype));
            return Err(ExprError::at(item.span.clone(), message).help_if(advice));
        }
        let arg = self.push(node);
        self.plain(&arg)?;
        Ok(arg)
    }

    /// Argument `i` as int64, with any rank. Narrower integers are widened.
    ///
    /// # Errors
    /// The argument does not hold integers.
    pub fn integers(&mut self, i: usize) -> ExprResult<Arg> {
        let item = self.operand(i)?.clone();
        let node = strict_node(&item)?;
        let node = match node.ty.dtype() {
            // An empty list has no dtype.
            Some(d) if d.is_integer() || (item.is_literal() && constant_values(&node) == Some(0)) => index_node(node, self.text())?,
            _ => return Err(self.wrong(i, "of an integer dtype")),
        };
        let arg = self.push(node);
        self.plain(&arg)?;
        Ok(arg)
    }

    /// Like [`Call::integers`], for an item.
    ///
    /// # Errors
    /// The item does not hold integers.
    pub fn integers_of(&mut self, item: &Operand) -> ExprResult<Arg> {
        let node = strict_node(item)?;
        let empty = item.is_literal() && constant_values(&node) == Some(0);
        if !(empty || node.ty.dtype().is_some_and(DType::is_integer)) {
            return Err(ExprError::at(item.span.clone(), mismatch("integers", item.describe()).prefixed(&self.name)));
        }
        let node = index_node(node, self.text())?;
        let arg = self.push(node);
        self.plain(&arg)?;
        Ok(arg)
    }

    /// Argument `i` as one integer per record, which may be known before the first record.
    ///
    /// # Errors
    /// The argument is not an integer, or has axes.
    pub fn scalar_integer(&mut self, i: usize) -> ExprResult<Arg> {
        let arg = self.integers(i)?;
        if arg.rank() == 0 { Ok(arg) } else { Err(self.wrong(i, "a single integer")) }
    }

    /// Arguments with one common dtype. Literals take the dtype of the tensors if it holds them exactly; otherwise all
    /// are promoted as in NumPy.
    ///
    /// # Errors
    /// Strings mixed with numbers, or structures.
    pub fn promoted(&mut self, which: &[usize]) -> ExprResult<Vec<Arg>> {
        let items = which.iter().map(|i| self.operand(*i).cloned()).collect::<ExprResult<Vec<_>>>()?;
        self.promoted_items(&items)
    }

    /// Like [`Call::promoted`], for items.
    ///
    /// # Errors
    /// See [`Call::promoted`].
    pub fn promoted_items(&mut self, items: &[Operand]) -> ExprResult<Vec<Arg>> {
        let nodes = common(items, &self.name, self.text())?;
        nodes
            .into_iter()
            .map(|node| {
                let node = self.beside_bytes(node)?;
                let arg = self.push(node);
                self.plain(&arg)?;
                Ok(arg)
            })
            .collect()
    }

    /// Two arguments as they are, if they are numbers and the dtype to which they would be promoted, float64, does not
    /// hold the 64-bit integers of one of them. A literal takes the dtype of the other argument if that holds it.
    ///
    /// # Errors
    /// An argument was not given.
    pub fn exact_pair(&mut self, i: usize, j: usize) -> ExprResult<Option<[Arg; 2]>> {
        let Some(nodes) = as_they_are([self.operand(i)?, self.operand(j)?]) else { return Ok(None) };
        let [Some(a), Some(b)] = [&nodes[0], &nodes[1]].map(|node| node.ty.dtype().filter(|_| !node.ty.is_sparse())) else {
            return Ok(None);
        };
        let is_wide = |dtype: &DType| matches!(dtype, DType::Int64 | DType::UInt64);
        if a == b || !(is_wide(a) || is_wide(b)) || promote(a, b) != Some(DType::Float64) {
            return Ok(None);
        }
        Ok(Some(nodes.map(|node| self.push(not_null(node)))))
    }

    /// The items of argument `i`: a list, a tuple or several results. A tensor is unstacked if the size of its first
    /// axis is known.
    ///
    /// # Errors
    /// The argument is not a list.
    pub fn list(&self, i: usize) -> ExprResult<Vec<Operand>> {
        self.operand(i)?.elements().ok_or_else(|| self.wrong(i, "a list"))
    }

    /// Argument `i` as an integer known before the first record.
    ///
    /// # Errors
    /// The argument is not such an integer.
    pub fn int(&self, i: usize) -> ExprResult<i64> {
        static_int(self.operand(i)?).ok_or_else(|| self.not_known(i, "an integer"))
    }

    /// Argument `i` as an integer; `None` if it was not given.
    ///
    /// # Errors
    /// The argument is not an integer known before the first record.
    pub fn optional_int(&self, i: usize) -> ExprResult<Option<i64>> {
        if self.given(i).is_some() { self.int(i).map(Some) } else { Ok(None) }
    }

    /// Argument `i` as True or False.
    ///
    /// # Errors
    /// The argument is not a bool.
    pub fn flag(&self, i: usize, default: bool) -> ExprResult<bool> {
        match self.given(i).map(|item| &item.kind) {
            None => Ok(default),
            Some(OperandKind::Literal(Literal::Bool(b))) => Ok(*b),
            Some(_) => Err(self.wrong(i, "True or False")),
        }
    }

    /// Argument `i` as a string, which may be written as bytes.
    ///
    /// # Errors
    /// The argument is not a string, or bytes that are not valid UTF-8.
    pub fn string(&self, i: usize) -> ExprResult<Option<String>> {
        let Some(bytes) = self.bytes(i)? else {
            return Ok(None);
        };
        String::from_utf8(bytes).map(Some).map_err(|_| self.wrong(i, "valid UTF-8"))
    }

    /// Argument `i` as a string or bytes, known before the first record.
    ///
    /// # Errors
    /// The argument is not a known string or bytes.
    pub fn bytes(&self, i: usize) -> ExprResult<Option<Vec<u8>>> {
        let Some(item) = self.given(i) else {
            return Ok(None);
        };
        static_text(item).map(Some).ok_or_else(|| self.no_text(i))
    }

    fn no_text(&self, i: usize) -> ExprError {
        self.not_known(i, "a string")
    }

    /// Argument `i` as one or more integers known before the first record.
    ///
    /// # Errors
    /// The argument is neither an integer nor a list of integers.
    pub fn ints(&self, i: usize) -> ExprResult<Option<Vec<i64>>> {
        let Some(item) = self.given(i) else {
            return Ok(None);
        };
        static_ints(item).map(Some).ok_or_else(|| self.not_known(i, "an integer or a list of integers"))
    }

    /// Argument `i` as a shape: a list of sizes, with `None` for unknown ones.
    ///
    /// # Errors
    /// The argument is not a shape.
    pub fn shape(&self, i: usize) -> ExprResult<Option<Vec<Option<i64>>>> {
        let Some(item) = self.given(i) else {
            return Ok(None);
        };
        if let Some(sizes) = item.elements() {
            return sizes
                .iter()
                .map(|size| if size.is_none() { Some(None) } else { static_int(size).map(Some) })
                .collect::<Option<Vec<_>>>()
                .map(Some)
                .ok_or_else(|| self.wrong(i, "a list of sizes known before the first record is processed"));
        }
        static_ints(item).map(|sizes| Some(sizes.into_iter().map(Some).collect())).ok_or_else(|| self.not_known(i, "a list of sizes"))
    }

    /// Argument `i` as a function: a lambda, or the name of a function.
    ///
    /// # Errors
    /// The argument is not a function.
    pub fn function(&self, i: usize) -> ExprResult<FunctionValue> {
        match &self.operand(i)?.kind {
            OperandKind::Function(function) => Ok(function.clone()),
            _ => Err(self.wrong(i, "a function: a lambda or the name of a function")),
        }
    }

    /// Argument `i` as a dtype, written as a bare name or a string.
    ///
    /// # Errors
    /// The argument is not a dtype of tensors.
    pub fn dtype(&self, i: usize) -> ExprResult<Option<DType>> {
        match self.any_dtype(i)? {
            Some(dtype) if !dtype.is_tensor() => Err(self.wrong(i, "a dtype of tensors, such as int32 or \"int32\"")),
            found => Ok(found),
        }
    }

    /// Like [`Call::dtype`]; also accepts a dtype of times, such as date32 or "timestamp[us]".
    ///
    /// # Errors
    /// The argument is not a dtype.
    pub fn any_dtype(&self, i: usize) -> ExprResult<Option<DType>> {
        let Some(item) = self.given(i) else {
            return Ok(None);
        };
        let found = match &item.kind {
            OperandKind::DType(dtype) => Some(dtype.clone()),
            OperandKind::Literal(Literal::String(name)) => dtype_named(name).or_else(|| parse_time(name)),
            OperandKind::Spec(spec) => Some(spec.dtype.clone()),
            _ => None,
        };
        found.map(Some).ok_or_else(|| {
            if let OperandKind::Literal(Literal::String(name)) = &item.kind
                && let Some(near) = dtype_near(name)
            {
                let error = ExprError::at(item.span.clone(), format!("{}: unknown dtype `{name}`", self.name));
                return error.help(format!("did you mean {near}?"));
            }
            let error = self.wrong(i, "a dtype, such as int32 or \"int32\"");
            let is_time = match &item.kind {
                OperandKind::Function(function) => function.name == "timestamp",
                OperandKind::Literal(Literal::String(name)) => {
                    ["timestamp", "date", "time", "duration"].iter().any(|start| name.starts_with(start))
                }
                _ => false,
            };
            error
                .help_if(is_time.then_some("the dtypes of times are date32, \"timestamp[us]\", \"time64[us]\", \"duration[s]\" and others"))
        })
    }

    /// Argument `i` as the dtype of numbers that count or index: one of `accepted`, or `default` if it is not given.
    ///
    /// # Errors
    /// Another dtype, which could be too small.
    pub fn index_dtype(&self, i: usize, default: DType, accepted: &[DType]) -> ExprResult<DType> {
        let Some(dtype) = self.dtype(i)? else { return Ok(default) };
        if accepted.contains(&dtype) {
            return Ok(dtype);
        }
        let names: Vec<String> = accepted.iter().map(DType::to_string).collect();
        let names = match names.split_last() {
            Some((last, names)) if !names.is_empty() => format!("{} or {last}", names.join(", ")),
            _ => names.concat(),
        };
        Err(self.error(format!("{}: {} must be {names}, not {dtype}", self.name, self.param(i))))
    }

    /// Converts an axis of a tensor of that rank to a nonnegative one.
    ///
    /// # Errors
    /// The axis is out of range.
    pub fn axis(&self, i: usize, axis: i64, rank: usize) -> ExprResult<usize> {
        positive_axis(axis, rank).ok_or_else(|| {
            let place = self.given(i).map_or(self.span.clone(), |item| item.span.clone());
            let error = ExprError::at(
                place,
                format!("{}: {} {axis} is out of range for a tensor with {}", self.name, self.param(i), counted_axes(rank)),
            );
            if rank == 0 {
                error.help("a scalar has no axes")
            } else {
                match rank {
                    1 => error.help("its only axis is 0"),
                    _ => error.help(format!("axes are numbered from 0 to {}; negative ones count from the last", rank - 1)),
                }
            }
        })
    }

    /// Rejects structures and sparse tensors.
    ///
    /// # Errors
    /// The argument is a structure or a sparse tensor.
    pub fn plain(&self, arg: &Arg) -> ExprResult<()> {
        match &arg.ty.element {
            Element::Value(_) => Ok(()),
            Element::Struct(_) => Err(ExprError::at(arg.span.clone(), format!("{} expects a tensor, found a structure", self.name))
                .help("take one of its fields: st.name, st[\"name\"]")),
            Element::Sparse(_) => self.not_sparse(arg),
        }
    }

    /// Rejects sparse tensors.
    ///
    /// # Errors
    /// The argument is a sparse tensor.
    pub fn not_sparse(&self, arg: &Arg) -> ExprResult<()> {
        if !arg.ty.is_sparse() {
            return Ok(());
        }
        let error = ExprError::at(arg.span.clone(), format!("{} expects a ragged or dense tensor, found a sparse one", self.name));
        Err(error.help(format!("to convert it: sparse.to_dense({0}) or RaggedTensor.from_sparse({0})", text_at(self.text(), &arg.span))))
    }

    /// The type of an item that must be a dense tensor; `advice` says what to do with any other item.
    ///
    /// # Errors
    /// The item is ragged, sparse, a structure, or not a tensor.
    pub fn dense(&self, item: &Operand, advice: &str) -> ExprResult<Type> {
        let ty = as_node(item, None)?.ty;
        if ty.is_sparse() || ty.is_ragged() || ty.fields().is_some() {
            return Err(
                ExprError::at(item.span.clone(), format!("{} expects a dense tensor, found {}", self.name, describe(&ty))).help(advice)
            );
        }
        Ok(ty)
    }

    /// Rejects dtypes for which `fits` is false.
    ///
    /// # Errors
    /// The dtype does not fit.
    pub fn check_dtype(&self, arg: &Arg, expected: &str, fits: impl Fn(&DType) -> bool) -> ExprResult<()> {
        let dtype = arg.dtype()?;
        if fits(dtype) {
            return Ok(());
        }
        let integers = Some(DType::Int64).filter(|_| *dtype == DType::Bool);
        let to = integers.into_iter().chain([float_of(dtype), DType::Float32, DType::String]).find(|to| fits(to));
        let advice = to.and_then(|to| conversion(self.text(), &arg.span, dtype, &to));
        Err(ExprError::at(arg.span.clone(), format!("{} expects {expected}, found {dtype}", self.name)).help_if(advice))
    }
}

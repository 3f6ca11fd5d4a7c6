//! Plans which fields `to-dense`, `padded-batch` and `bucket` pad, and how.

use super::edit::{Edits, Kernel, Scope, outer_rank};
use super::padding::AxisSize;
use crate::error::Result;
use crate::path::FieldPath;
use crate::schema::{DType, Dim, Element, Field, Schema, Size, Type};
use crate::tensor::Tensor;
use crate::tensor::pad::{Padding, Side, Target, dense_of_sparse};
use arrow_array::ArrayRef;
use arrow_schema::DataType;

/// The padding of all fields.
pub struct PaddingPlan {
    /// The fields to pad.
    pub fields: Vec<PaddedField>,
    /// Dense fields, which are only checked for nulls.
    pub checked: Vec<FieldPath>,
    /// The side on which rows are padded.
    pub side: Side,
    /// Sizes are rounded up to a multiple of this.
    pub multiple_of: Option<usize>,
    /// Whether to add fields with the original lengths.
    pub lengths: bool,
    /// Whether to add masks.
    pub mask: bool,
    /// Maximum size of a padded tensor.
    pub max_nbytes: u64,
}

/// A field to pad.
#[derive(Clone)]
pub struct PaddedField {
    /// The field.
    pub path: FieldPath,
    /// The target sizes of its own axes.
    pub sizes: Vec<AxisSize>,
    /// `[1]`: the padding value. Bytes for a field of strings turn it into bytes.
    pub filling: ArrayRef,
}

impl PaddingPlan {
    /// Whether a size is known only after all records have been read.
    pub fn needs_maxima(&self) -> bool {
        self.fields.iter().any(|f| f.sizes.contains(&AxisSize::Max))
    }

    /// The changes to all fields. `maxima` are the sizes for `max`; without them, the types are right. In types `max` is
    /// always `?`, because it is known only at the end.
    ///
    /// # Errors
    /// A new field has the name of an existing one.
    pub fn edits(&self, schema: &Schema, maxima: Option<&[Vec<usize>]>) -> Result<Edits> {
        let mut edits = Edits::new(schema);
        for path in &self.checked {
            edits.change(path, |ty| {
                let path = path.clone();
                Ok((ty.clone(), move |tensor: &Tensor, scope: &Scope| scope.refuse_nulls(tensor, &path).map(|()| tensor.clone())))
            })?;
        }
        for (number, field) in self.fields.iter().enumerate() {
            let maxima = maxima.and_then(|m| m.get(number));
            let targets = field.sizes.iter().enumerate().map(|(axis, size)| match size {
                AxisSize::Longest => Target::Longest,
                AxisSize::AtMost(n) => Target::AtMost(*n),
                AxisSize::Exact(n) => Target::Exact(*n),
                AxisSize::Max => Target::Max(maxima.and_then(|m| m.get(axis)).copied().unwrap_or(0)),
            });
            self.edit(&mut edits, field, targets.collect())?;
        }
        Ok(edits)
    }

    fn edit(&self, edits: &mut Edits, field: &PaddedField, mut targets: Vec<Target>) -> Result<()> {
        let outer = outer_rank(edits.schema(), &field.path);
        let path = field.path.clone();
        edits.expand(&field.path, |padded, position| {
            let widen = widen(padded, &field.filling);
            let ty = padded.ty.clone();
            for (target, dim) in targets.iter_mut().zip(&ty.dims) {
                if let Size::Known(size) = dim.size {
                    *target = known_target(*target, usize::try_from(size).unwrap_or(usize::MAX));
                }
            }
            let sized = |axis: usize| match targets[axis] {
                Target::Exact(n) => Dim::known(n as u64),
                Target::Max(_) => Dim::UNIFORM,
                _ => Dim { size: Size::Uniform, label: ty.dims[axis].label.clone() },
            };
            let dims: Vec<Dim> = (0..ty.rank()).map(sized).collect();
            let is_same =
                |axis: &usize| matches!((ty.dims[*axis].size, targets[*axis]), (Size::Known(n), Target::Exact(m)) if n == m as u64);
            let mut padding = Padding {
                targets: Vec::new(),
                multiple_of: self.multiple_of,
                side: self.side,
                filling: field.filling.clone(),
                max_nbytes: self.max_nbytes,
            };
            if ty.is_sparse() {
                padding.targets = targets;
                padded.ty = Type { element: Element::Value(ty.dtype().cloned().unwrap_or(DType::Null)), dims, ..ty };
                let kernel: Kernel = Box::new(move |mut tensors, scope| {
                    scope.refuse_nulls(&tensors[position], &path)?;
                    widen(&mut tensors[position])?;
                    if let Tensor::Sparse(sparse) = &tensors[position] {
                        tensors[position] = dense_of_sparse(sparse, &padding, &scope.records)?;
                    }
                    Ok(tensors)
                });
                return Ok((Vec::new(), kernel));
            }
            let depth = (0..ty.rank()).rev().find(|axis| !is_same(axis)).map_or(0, |axis| axis + 1);
            padding.targets = targets[..depth].to_vec();
            let is_changed = |axis: &usize| match (ty.dims[*axis].size, targets[*axis]) {
                (Size::Ragged, _) => true,
                (Size::Known(_), _) => !is_same(axis),
                (Size::Uniform, Target::Longest) => outer > 0 || (self.multiple_of.is_some() && (*axis > 0 || depth == 1)),
                (Size::Uniform, _) => true,
            };
            let changed: Vec<usize> = (0..depth).filter(is_changed).collect();
            let changed = if self.lengths { changed } else { Vec::new() };
            let with_mask = self.mask && depth > 0;
            let mask_rank = if with_mask { Some(depth) } else { None };
            let added = lengths_and_mask(padded, &dims, &changed, outer, mask_rank);
            padded.ty.dims = dims;
            let kernel: Kernel = Box::new(move |mut tensors, scope| {
                scope.refuse_nulls(&tensors[position], &path)?;
                widen(&mut tensors[position])?;
                if depth == 0 {
                    return Ok(tensors);
                }
                let padded = padding.apply(&tensors[position], &scope.records, !changed.is_empty(), with_mask)?;
                let lengths = changed.iter().filter_map(|axis| padded.lengths.get(*axis).cloned());
                let added: Vec<Tensor> = lengths.chain(padded.mask).collect();
                tensors[position] = padded.tensor;
                tensors.splice(position + 1..position + 1, added);
                Ok(tensors)
            });
            Ok((added, kernel))
        })
    }
}

/// Makes a field of strings bytes if it is padded with bytes that are not valid UTF-8. Returns what does the same to its values.
fn widen(field: &mut Field, filling: &ArrayRef) -> impl Fn(&mut Tensor) -> Result<()> + use<> {
    let own = field.ty.clone();
    let is_wide = own.dtype() == Some(&DType::String) && *filling.data_type() == DataType::LargeBinary;
    if is_wide {
        field.ty.element = if own.is_sparse() { Element::Sparse(DType::Bytes) } else { Element::Value(DType::Bytes) };
    }
    let wide = field.ty.clone();
    move |tensor: &mut Tensor| {
        if is_wide {
            *tensor = tensor.widen(&own, &wide)?;
        }
        Ok(())
    }
}

/// The fields for the original lengths of the `changed` axes of a field that has `outer` axes around its own, and for the
/// mask. `dims`: those of the padded field.
fn lengths_and_mask(field: &Field, dims: &[Dim], changed: &[usize], outer: usize, mask_rank: Option<usize>) -> Vec<Field> {
    let name = &field.name;
    let beside = |name: String, dtype: DType, rank: usize| {
        Field::new(name, Type { optional: field.ty.optional, ..Type::tensor(dtype, dims[..rank].to_vec()) })
    };
    let lengths = changed.iter().map(|axis| {
        let name = if changed.len() == 1 { format!("{name}/lengths") } else { format!("{name}/lengths_{}", outer + axis) };
        beside(name, DType::Int64, *axis)
    });
    lengths.chain(mask_rank.map(|rank| beside(format!("{name}/mask"), DType::Bool, rank))).collect()
}

/// The target for an axis of known size.
fn known_target(target: Target, size: usize) -> Target {
    match target {
        Target::Longest | Target::Max(_) => Target::Exact(size),
        Target::AtMost(most) => Target::Exact(size.min(most)),
        exact => exact,
    }
}

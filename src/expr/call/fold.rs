//! Constant folding of calls.

use crate::error::Result;
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::{Args, CallNode, Frame, Kernel, Node, NodeKind};
use crate::expr::kernels::level::bounding_known;
use crate::expr::span::Span;
use crate::schema::{Dim, Size, Type};
use crate::tensor::Tensor;
use std::sync::Arc;

/// Evaluates a tensor of constants immediately, so that unknown sizes become known.
///
/// # Errors
/// The call fails.
pub fn fold(node: Node) -> ExprResult<Node> {
    if !node.is_constant() || matches!(node.kind, NodeKind::Constant(_)) {
        return Ok(node);
    }
    let frame = Frame { nrows: 1, slots: Vec::new(), keys: None, params: Vec::new(), most_nbytes: None };
    let value = node.eval(&frame).map_err(|e| ExprError::from(e).or_at(node.span.clone()))?;
    let ty = known(&node.ty, &value.tensor)?;
    Ok(Node { ty, span: node.span, kind: NodeKind::Constant(value.tensor) })
}

/// The result of the kernel for these tensors, of type `ty`; for constants, computed immediately. `text`: the expression, for messages.
///
/// # Errors
/// See [`fold`].
pub fn computed(
    args: Vec<Node>,
    ty: Type,
    span: Span,
    text: Arc<str>,
    kernel: impl Fn(&Args) -> Result<Tensor> + Send + Sync + 'static,
) -> ExprResult<Node> {
    let (outputs, kernel) = (vec![ty.clone()], Kernel::One(Box::new(kernel)));
    let name = String::new();
    let call = CallNode { name, span: span.clone(), text, args, outputs, names: Vec::new(), maps: false, carried: Vec::new(), kernel };
    fold(Node { ty, span, kind: NodeKind::Call(Arc::new(call), 0) })
}

/// The type of a constant, in which every uniform axis has a known size.
fn known(ty: &Type, tensor: &Tensor) -> ExprResult<Type> {
    let mut ty = ty.clone();
    if let Tensor::Sparse(s) = tensor
        && s.nrows() == 1
    {
        ty.dims.iter_mut().zip(s.shape_of(0)).for_each(|(dim, n)| *dim = u64::try_from(*n).map_or(Dim::UNIFORM, Dim::known));
    }
    if ty.is_sparse() {
        return Ok(ty);
    }
    let sizes = bounding_known(tensor, &ty.dims)?;
    for (dim, sizes) in ty.dims.iter_mut().zip(sizes) {
        if dim.size == Size::Uniform {
            *dim = Dim::known(sizes.first().map_or(0, |size| *size as u64));
        }
    }
    Ok(ty)
}

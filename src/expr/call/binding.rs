//! A call while it is being bound.

use super::coerce::{NULLS, cast_node, common_compared, take_dtype};
use super::fold::fold;
use super::signature::{Param, ParamKind, Signature};
use crate::error::{Message, Result, mismatch, nearest};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::{Args, CallNode, Kernel, Node, NodeKind};
use crate::expr::operand::{Operand, OperandKind};
use crate::expr::span::Span;
use crate::schema::{DType, Literal, Type};
use crate::tensor::Tensor;
use std::borrow::Cow;
use std::sync::Arc;

/// A call as written.
pub struct Written<'a> {
    /// The function's name.
    pub name: &'a str,
    pub span: Span,
    pub text: Arc<str>,
    pub positional: Vec<Operand>,
    pub keywords: Vec<(String, Span, Operand)>,
}

/// A call while it is being bound.
pub struct Call {
    /// The name as written.
    pub name: String,
    pub span: Span,
    text: Arc<str>,
    params: Vec<Param>,
    given: Vec<Option<Operand>>,
    /// The names of the results, if they are named.
    results: Vec<&'static str>,
    nodes: Vec<Node>,
    /// See [`CallNode::carried`].
    carried: Vec<usize>,
    /// Whether items of the carried arguments become rows of the result.
    takes_items: bool,
    /// Whether rows of the carried arguments become items of the result.
    makes_items: bool,
    /// Whether values of the result may be null even if none of the arguments is.
    makes_nulls: bool,
    /// Whether an argument is bytes that may not be valid UTF-8.
    has_bytes: bool,
}

/// A tensor argument for the kernel: its type, and its index among the kernel's arguments.
#[derive(Clone, Debug)]
pub struct Arg {
    pub ty: Type,
    pub index: usize,
    pub span: Span,
}

impl Arg {
    /// The tensor with one row per record.
    ///
    /// # Errors
    /// Only if memory runs out.
    pub fn of<'a>(&self, args: &'a Args) -> Result<Cow<'a, Tensor>> {
        args.tensor(self.index)
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.ty.rank()
    }

    /// The dtype, which structures do not have.
    ///
    /// # Errors
    /// The argument is a structure.
    pub fn dtype(&self) -> ExprResult<&DType> {
        self.ty.dtype().ok_or_else(|| ExprError::at(self.span.clone(), mismatch("a tensor", "a structure")))
    }
}

/// Functions whose Python namesakes take other arguments, with advice for a call that uses those.
const NAMESAKES: [(&str, &str); 2] =
    [("round", "round(x * 100) / 100 rounds to two decimals"), ("split", "to split text: strings.split(x, sep=\"-\")")];

/// Advice for a call of this function with too many or too few arguments.
fn namesake(name: &str) -> Option<&'static str> {
    NAMESAKES.iter().find(|(known, _)| *known == name).map(|(_, advice)| *advice)
}

/// Whether TensorFlow accepts the name for a node of a graph.
fn is_node_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.\\-/>".contains(c))
}

impl Call {
    /// Matches the arguments to the parameters.
    ///
    /// # Errors
    /// Too many arguments, an unknown keyword, a repeated argument, or a missing one.
    pub fn new(signature: Signature, written: Written) -> ExprResult<Call> {
        let Written { name, span, text, positional, keywords } = written;
        let params = &signature.params;
        let (mut positional, keywords, rest) = variadic(params, span.clone(), positional, keywords);
        // Every TensorFlow function takes a `name` for its graph node, which is ignored here. A separator is not such a
        // name.
        let is_name = |item: &Operand| match &item.kind {
            OperandKind::Literal(Literal::String(name)) => is_node_name(name),
            other => matches!(other, OperandKind::Literal(Literal::None)),
        };
        if positional.get(signature.before_name).is_some_and(is_name) {
            positional.remove(signature.before_name);
        }
        let mut given: Vec<Option<Operand>> = vec![None; params.len()];
        let usage = || signature.usage(name);
        let most = params.iter().filter(|p| p.kind == ParamKind::Single).count();
        if positional.len() > most {
            let error = ExprError::at(
                positional[most].span.clone(),
                format!("{name} takes {most} argument{}, not {}", if most == 1 { "" } else { "s" }, positional.len()),
            );
            return Err(error.help(namesake(name).map_or_else(usage, str::to_owned)));
        }
        for (slot, item) in given.iter_mut().zip(positional) {
            *slot = Some(item);
        }
        for (keyword, at, item) in keywords {
            let Some(i) = signature.params.iter().position(|p| p.kind == ParamKind::Single && p.names.contains(&keyword.as_str())) else {
                if keyword == "name" {
                    continue;
                }
                let near = nearest(&keyword, params.iter().flat_map(|p| p.names.iter().copied()));
                let error = ExprError::at(at, format!("{name} has no argument `{keyword}`"));
                return Err(match near {
                    // Python's and pandas' words.
                    None if ["reverse", "descending"].contains(&keyword.as_str())
                        && params.iter().any(|p| p.names.contains(&"direction")) =>
                    {
                        error.help("for descending order: direction=\"DESCENDING\"")
                    }
                    Some(near) => error.help(format!("did you mean {near}=?")),
                    None => error.help(usage()),
                });
            };
            if given[i].is_some() {
                return Err(ExprError::at(at, format!("{name} got multiple values for the argument `{keyword}`")).help(usage()));
            }
            given[i] = Some(item);
        }
        for (i, operand) in rest {
            given[i] = Some(operand);
        }
        if let Some(missing) = params.iter().zip(&given).find(|(p, g)| p.default.is_none() && g.is_none() && p.kind == ParamKind::Single) {
            let error = ExprError::at(span, format!("{name} is missing the argument `{}`", missing.0.names[0]));
            return Err(error.help(namesake(name).map_or_else(usage, str::to_owned)));
        }
        let has_bytes = given.iter().flatten().any(Operand::holds_bytes);
        let (params, results) = (signature.params, signature.results);
        Ok(Call { params, given, results, has_bytes, ..Call::operator(name, span, text) })
    }

    /// A call without parameters, for operators and subscripts.
    pub fn operator(name: &str, span: Span, text: Arc<str>) -> Call {
        let (params, given, results, nodes, carried) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let name = name.to_owned();
        let (takes_items, makes_items, makes_nulls, has_bytes) = (false, false, false, false);
        Call { name, span, text, params, given, results, nodes, carried, takes_items, makes_items, makes_nulls, has_bytes }
    }

    /// An error at the whole call.
    pub fn error(&self, message: impl Into<Message>) -> ExprError {
        ExprError::at(self.span.clone(), message)
    }

    /// An internal error at the call.
    pub fn internal(&self, message: impl Into<Message>) -> ExprError {
        ExprError::internal(message).or_at(self.span.clone())
    }

    /// The name of parameter `i`, for messages.
    pub fn param(&self, i: usize) -> &'static str {
        self.params.get(i).map_or("", |p| p.names[0])
    }

    /// Argument `i`, if it was given and is not None.
    pub fn given(&self, i: usize) -> Option<&Operand> {
        self.given.get(i)?.as_ref().filter(|item| !item.is_none())
    }

    /// Whether argument `i` was given as None.
    pub fn is_none(&self, i: usize) -> bool {
        self.given.get(i).is_some_and(|given| given.as_ref().is_some_and(Operand::is_none))
    }

    /// Argument `i`.
    ///
    /// # Errors
    /// The argument was not given.
    pub fn operand(&self, i: usize) -> ExprResult<&Operand> {
        self.given(i).ok_or_else(|| match self.given.get(i) {
            Some(Some(none)) => ExprError::at(none.span.clone(), format!("{}: {} cannot be None", self.name, self.param(i))).help(NULLS),
            _ => self.error(format!("{} is missing the argument `{}`", self.name, self.param(i))),
        })
    }

    /// Gives numbers written beside tensors the dtype of these, if it holds them.
    ///
    /// # Errors
    /// A list whose rows differ in depth.
    pub fn make_alike(&mut self, which: &[usize]) -> ExprResult<()> {
        let mut items: Vec<&mut Operand> = Vec::new();
        for (_, given) in self.given.iter_mut().enumerate().filter(|(i, _)| which.contains(i)) {
            let Some(given) = given else { continue };
            if given.is_literal() || given.node().is_some() {
                items.push(given);
            } else if let OperandKind::List(inner) | OperandKind::Tuple(inner) = &mut given.kind {
                items.extend(inner);
            }
        }
        take_dtype(items)
    }

    /// If one of these arguments holds times, replaces them all by the counts of the finest unit of these, and returns the dtype of
    /// that unit.
    ///
    /// # Errors
    /// Times beside other values, or times of different kinds.
    pub fn count_times(&mut self, which: &[usize]) -> ExprResult<Option<DType>> {
        let which: Vec<usize> = which.iter().copied().filter(|i| self.given(*i).is_some()).collect();
        let items: Vec<Operand> = which.iter().filter_map(|i| self.given(*i).cloned()).collect();
        if !items.iter().any(Operand::holds_times) {
            return Ok(None);
        }
        let nodes = common_compared(&items, &self.name, &self.text)?;
        let dtype = nodes.first().and_then(|node| node.ty.dtype().cloned());
        for ((i, node), item) in which.into_iter().zip(nodes).zip(items) {
            let kind = OperandKind::Tensor(cast_node(node, &DType::Int64, &self.text)?);
            self.given[i] = Some(Operand { kind, span: item.span });
        }
        Ok(dtype)
    }

    /// The parameter names, each with its argument, or else with its default as written in the signature.
    pub fn arguments(&self) -> impl Iterator<Item = (&'static str, Option<&Operand>, &'static str)> {
        self.params.iter().zip(&self.given).map(|(param, given)| (param.names[0], given.as_ref(), param.default.unwrap_or("None")))
    }

    /// Adds the record keys, one uint64 per record, to the kernel's arguments.
    pub fn record_keys(&mut self) -> Arg {
        self.push(Node { ty: Type::tensor(DType::UInt64, Vec::new()), span: self.span.clone(), kind: NodeKind::Keys })
    }

    /// Adds a tensor to the kernel's arguments.
    pub fn push(&mut self, node: Node) -> Arg {
        let arg = Arg { ty: node.ty.clone(), index: self.nodes.len(), span: node.span.clone() };
        self.nodes.push(node);
        arg
    }

    /// Adds a tensor whose values are selected or moved to the kernel's arguments. Where its row is null, so is the result, and
    /// the kernel is not called; null items reach the kernel and the result.
    pub fn carry(&mut self, node: Node) -> Arg {
        let arg = self.push(node);
        self.carried.push(arg.index);
        Arg { ty: Type { optional: false, ..arg.ty }, ..arg }
    }

    /// A carried tensor of which the function takes apart only the first `axes` axes, so that lists below them may be null.
    pub fn moves_below(&mut self, arg: &Arg, axes: usize) {
        let node = self.node(arg);
        self.nodes[arg.index] = node.moved_below(axes);
    }

    /// Items of carried tensors become rows of the result.
    pub fn takes_items(&mut self) {
        self.takes_items = true;
    }

    /// Rows of carried tensors become items of the result; null ones reach the kernel.
    pub fn makes_items(&mut self) {
        self.makes_items = true;
    }

    /// Values of the result may be null even if none of the arguments is.
    pub fn makes_nulls(&mut self) {
        self.makes_nulls = true;
    }

    /// The type of a result, which may have the nulls of the carried tensors.
    fn with_carried(&self, mut ty: Type) -> Type {
        let carried = || self.carried.iter().filter_map(|i| self.nodes.get(*i));
        let has_null_rows = carried().any(|node| node.ty.optional);
        let has_null_items = carried().any(|node| node.ty.with_nulls) || (has_null_rows && self.makes_items) || self.makes_nulls;
        ty.optional |= (has_null_rows && !self.makes_items) || (has_null_items && (self.takes_items || ty.rank() == 0));
        ty.with_nulls = (ty.with_nulls || has_null_items) && ty.rank() > 0;
        ty
    }

    /// The tensor as an argument of this call. If one of the arguments is bytes, so is all text: TensorFlow has a single
    /// dtype for both, and what is combined with bytes need not be valid UTF-8.
    ///
    /// # Errors
    /// None.
    pub fn beside_bytes(&self, node: Node) -> ExprResult<Node> {
        if self.has_bytes && node.ty.dtype() == Some(&DType::String) { cast_node(node, &DType::Bytes, &self.text) } else { Ok(node) }
    }

    /// The node of a kernel argument.
    pub fn node(&self, arg: &Arg) -> Node {
        self.nodes[arg.index].clone()
    }

    /// Completes a call with one result.
    ///
    /// # Errors
    /// A call with constant arguments is evaluated immediately and may fail.
    pub fn one(&mut self, ty: Type, kernel: impl Fn(&Args) -> Result<Tensor> + Send + Sync + 'static) -> ExprResult<OperandKind> {
        self.single(ty, Kernel::One(Box::new(kernel)))
    }

    // Separate from `one`, so that it is compiled once for all kernels.
    fn single(&mut self, ty: Type, kernel: Kernel) -> ExprResult<OperandKind> {
        let call = self.bound(vec![ty], kernel);
        let node = Node { ty: call.outputs[0].clone(), span: self.span.clone(), kind: NodeKind::Call(Arc::new(call), 0) };
        Ok(OperandKind::Tensor(fold(node)?))
    }

    /// Completes a call with several results.
    ///
    /// # Errors
    /// See [`Call::one`].
    pub fn several(
        &mut self,
        types: Vec<Type>,
        kernel: impl Fn(&Args) -> Result<Vec<Tensor>> + Send + Sync + 'static,
    ) -> ExprResult<OperandKind> {
        Ok(OperandKind::Results(Arc::new(self.bound(types, Kernel::Several(Box::new(kernel))))))
    }

    fn bound(&mut self, outputs: Vec<Type>, kernel: Kernel) -> CallNode {
        let outputs = outputs.into_iter().map(|ty| self.with_carried(ty)).collect();
        CallNode {
            name: self.name.clone(),
            span: self.span.clone(),
            text: self.text.clone(),
            args: std::mem::take(&mut self.nodes),
            outputs,
            names: self.results.clone(),
            maps: false,
            carried: if self.makes_items { Vec::new() } else { std::mem::take(&mut self.carried) },
            kernel,
        }
    }

    /// The tensor of a call with one result.
    ///
    /// # Errors
    /// The result is something else, which is a bug.
    pub fn result(&self, kind: OperandKind) -> ExprResult<Node> {
        match kind {
            OperandKind::Tensor(node) => Ok(node),
            _ => Err(self.internal("the call gives no tensor")),
        }
    }

    /// The text of the expression.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
}

type Keywords = Vec<(String, Span, Operand)>;

/// Collects the arguments of `*args` and `**kwargs`: positional arguments beyond the parameters before `*args` become a
/// tuple, and unknown keywords a dict.
fn variadic(
    params: &[Param],
    span: Span,
    mut positional: Vec<Operand>,
    keywords: Keywords,
) -> (Vec<Operand>, Keywords, Vec<(usize, Operand)>) {
    let mut rest = Vec::new();
    if let Some(at) = params.iter().position(|p| p.kind == ParamKind::Args) {
        let extra = positional.split_off(at.min(positional.len()));
        rest.push((at, Operand { kind: OperandKind::Tuple(extra), span: span.clone() }));
    }
    let Some(at) = params.iter().position(|p| p.kind == ParamKind::Keywords) else {
        return (positional, keywords, rest);
    };
    let known = |name: &str| params.iter().any(|p| p.kind == ParamKind::Single && p.names.contains(&name));
    let (own, extra): (Keywords, Keywords) = keywords.into_iter().partition(|(name, ..)| known(name));
    let entries = extra
        .into_iter()
        .map(|(name, at, operand)| (Operand { kind: OperandKind::Literal(Literal::String(name)), span: at }, operand))
        .collect();
    rest.push((at, Operand { kind: OperandKind::Dict(entries, None), span }));
    (positional, own, rest)
}

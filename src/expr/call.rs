//! A call while it is bound: its arguments by position or keyword, checked and put in order for the kernel.

use super::constant;
use super::eval::{Args, CallNode, Kernel, Node, NodeKind};
use super::item::{Item, ItemKind};
use super::kernels::cast;
use super::problem::{Bind, Problem};
use super::syntax::Span;
use super::types::{may_hold_nulls, promote, without_nulls};
use crate::error::{Result, nearest};
use crate::schema::{DType, Dim, Element, Literal, Size, Type};
use crate::tensor::Tensor;
use std::borrow::Cow;
use std::sync::Arc;

/// A function: one row of a family's table.
pub struct Function {
    /// The name that is shown, then its aliases.
    pub names: &'static [&'static str],
    /// Parameters with their defaults as TensorFlow has them: `params, indices, axis=None`. `a|b` are two names of one.
    pub signature: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Expressions without fields and what they give: shown in the manual, run by a test.
    pub examples: &'static [(&'static str, &'static str)],
    /// Checks the arguments, and gives the type of the result with the kernel that computes it.
    pub bind: fn(&mut Call) -> Bind<ItemKind>,
}

/// One parameter of a signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub names: Vec<&'static str>,
    pub default: Option<&'static str>,
}

impl Function {
    /// The parameters, parsed from the signature.
    pub fn params(&self) -> Vec<Param> {
        let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
        for (i, c) in self.signature.char_indices() {
            match c {
                '[' | '(' => depth += 1,
                ']' | ')' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(&self.signature[start..i]);
                    start = i + 1;
                }
                _ => {}
            }
        }
        parts.push(&self.signature[start..]);
        parts
            .into_iter()
            .map(str::trim)
            .filter(|p| !p.is_empty())
            .map(|p| {
                let (names, default) = p.split_once('=').map_or((p, None), |(n, d)| (n, Some(d)));
                Param { names: names.split('|').collect(), default }
            })
            .collect()
    }

    /// `name(params, indices, axis=None)`, as it is shown.
    pub fn usage(&self) -> String {
        let params: Vec<String> = self
            .params()
            .iter()
            .map(|p| match p.default {
                Some(default) => format!("{}={default}", p.names[0]),
                None => p.names[0].to_owned(),
            })
            .collect();
        format!("{}({})", self.names[0], params.join(", "))
    }
}

/// A call that is being bound.
pub struct Call {
    /// As it was written.
    pub name: String,
    pub span: Span,
    text: Arc<str>,
    params: Vec<Param>,
    given: Vec<Option<Item>>,
    nodes: Vec<Node>,
}

/// A tensor argument that the kernel will get: its type, and its number among the kernel's arguments.
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
    /// A failure of memory only.
    pub fn of<'a>(&self, args: &'a Args) -> Result<Cow<'a, Tensor>> {
        args.tensor(self.index)
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.ty.rank()
    }

    /// The dtype; structures have none.
    ///
    /// # Errors
    /// It is a structure.
    pub fn dtype(&self) -> Bind<&DType> {
        self.ty.dtype().ok_or_else(|| Problem::at(self.span.clone(), "expected a tensor, found a structure"))
    }
}

impl Call {
    /// Puts the arguments in the order of the parameters.
    ///
    /// # Errors
    /// Too many, an unknown keyword, one given twice, one that is missing.
    pub fn new(
        function: &Function,
        name: &str,
        span: Span,
        text: Arc<str>,
        positional: Vec<Item>,
        keywords: Vec<(String, Span, Item)>,
    ) -> Bind<Call> {
        let params = function.params();
        let mut given: Vec<Option<Item>> = vec![None; params.len()];
        let usage = || format!("{}{}", name, function.usage().trim_start_matches(function.names[0]));
        if positional.len() > params.len() {
            return Err(Problem::at(
                positional[params.len()].span.clone(),
                format!("{name} takes {} argument{}, not {}", params.len(), if params.len() == 1 { "" } else { "s" }, positional.len()),
            )
            .help(usage()));
        }
        for (slot, item) in given.iter_mut().zip(positional) {
            *slot = Some(item);
        }
        for (keyword, at, item) in keywords {
            let Some(i) = params.iter().position(|p| p.names.contains(&keyword.as_str())) else {
                // Every function of TensorFlow takes a name for its graph node, and has no use for it here.
                if keyword == "name" {
                    continue;
                }
                let near = nearest(&keyword, params.iter().flat_map(|p| p.names.iter().copied()));
                let problem = Problem::at(at, format!("{name} has no argument `{keyword}`"));
                return Err(match near {
                    Some(near) => problem.help(format!("did you mean {near}=?")),
                    None => problem.help(usage()),
                });
            };
            if given[i].is_some() {
                return Err(Problem::at(at, format!("{name} got its argument `{keyword}` twice")));
            }
            given[i] = Some(item);
        }
        if let Some(missing) = params.iter().zip(&given).find(|(p, g)| p.default.is_none() && g.is_none()) {
            return Err(Problem::at(span, format!("{name} lacks its argument `{}`", missing.0.names[0])).help(usage()));
        }
        Ok(Call { name: name.to_owned(), span, text, params, given, nodes: Vec::new() })
    }

    /// A problem with the call as a whole.
    pub fn problem(&self, message: impl Into<String>) -> Problem {
        Problem::at(self.span.clone(), message)
    }

    /// The name of parameter `i`, for messages.
    pub fn param(&self, i: usize) -> &'static str {
        self.params.get(i).map_or("", |p| p.names[0])
    }

    /// Argument `i` if it was given and is not None.
    pub fn given(&self, i: usize) -> Option<&Item> {
        self.given.get(i)?.as_ref().filter(|item| !item.is_none())
    }

    /// Argument `i`.
    ///
    /// # Errors
    /// It was not given.
    pub fn item(&self, i: usize) -> Bind<&Item> {
        self.given(i).ok_or_else(|| match self.given.get(i) {
            Some(Some(none)) => Problem::at(none.span.clone(), format!("{}: {} can't be None", self.name, self.param(i))),
            _ => self.problem(format!("{} lacks its argument `{}`", self.name, self.param(i))),
        })
    }

    fn wrong(&self, i: usize, expected: &str) -> Problem {
        match self.given(i) {
            Some(item) => {
                Problem::at(item.span.clone(), format!("{}: {} must be {expected}, not {}", self.name, self.param(i), item.describe()))
            }
            None => self.problem(format!("{}: {} must be {expected}", self.name, self.param(i))),
        }
    }

    /// Argument `i` as a tensor of any kind, structures and sparse tensors included; a literal has its own dtype.
    ///
    /// # Errors
    /// It is no tensor.
    pub fn any(&mut self, i: usize) -> Bind<Arg> {
        let node = strict(as_node(self.item(i)?, None).map_err(|e| match self.item(i) {
            Ok(item) => e.or_at(item.span.clone()),
            Err(missing) => missing,
        })?)?;
        Ok(self.push(node))
    }

    /// Argument `i` for functions that look at its rows alone: its values may be of any dtype, even of none.
    ///
    /// # Errors
    /// It is no tensor.
    pub fn sized(&mut self, i: usize) -> Bind<Arg> {
        let item = self.item(i)?.clone();
        let node = not_null(as_node(&item, None).map_err(|e| e.or_at(item.span.clone()))?);
        Ok(self.push(node))
    }

    /// Argument `i` as a ragged or dense tensor; a literal has its own dtype.
    ///
    /// # Errors
    /// It is a structure, a sparse tensor or no tensor.
    pub fn tensor(&mut self, i: usize) -> Bind<Arg> {
        let arg = self.any(i)?;
        self.plain(&arg)?;
        Ok(arg)
    }

    /// Argument `i` as [`Call::tensor`], if it was given.
    ///
    /// # Errors
    /// As [`Call::tensor`].
    pub fn optional_tensor(&mut self, i: usize) -> Bind<Option<Arg>> {
        if self.given(i).is_some() { self.tensor(i).map(Some) } else { Ok(None) }
    }

    /// Argument `i` as a tensor of that dtype: a literal takes it, a tensor of another dtype is refused.
    ///
    /// # Errors
    /// Another dtype.
    pub fn tensor_of(&mut self, i: usize, dtype: &DType) -> Bind<Arg> {
        let item = self.item(i)?.clone();
        let node = strict(as_node(&item, Some(dtype)).map_err(|e| e.or_at(item.span.clone()))?)?;
        if node.ty.dtype() != Some(dtype) {
            let both_text = |d: &DType| matches!(d, DType::String | DType::Bytes);
            if node.ty.dtype().is_some_and(both_text) && both_text(dtype) {
                let node = cast_node(node, dtype, &self.text)?;
                return Ok(self.push(node));
            }
            return Err(Problem::at(
                item.span.clone(),
                format!("{}: {} must be {dtype}, not {}", self.name, self.param(i), item.describe()),
            )
            .help(format!("cast(x, {dtype}) converts")));
        }
        let arg = self.push(node);
        self.plain(&arg)?;
        Ok(arg)
    }

    /// Argument `i` as int64 of any rank; other integers are widened.
    ///
    /// # Errors
    /// It holds no integers.
    pub fn integers(&mut self, i: usize) -> Bind<Arg> {
        let item = self.item(i)?.clone();
        let node = strict(as_node(&item, None).map_err(|e| e.or_at(item.span.clone()))?)?;
        let node = match node.ty.dtype() {
            // An empty list has no dtype of its own.
            Some(d) if d.is_integer() || (item.is_literal() && constant_values(&node) == Some(0)) => {
                cast_node(node, &DType::Int64, &self.text)?
            }
            _ => return Err(self.wrong(i, "of an integer dtype")),
        };
        let arg = self.push(node);
        self.plain(&arg)?;
        Ok(arg)
    }

    /// An item as int64, as [`Call::integers`] takes an argument.
    ///
    /// # Errors
    /// It holds no integers.
    pub fn integers_of(&mut self, item: &Item) -> Bind<Arg> {
        let node = strict(as_node(item, None).map_err(|e| e.or_at(item.span.clone()))?)?;
        let empty = item.is_literal() && constant_values(&node) == Some(0);
        if !(empty || node.ty.dtype().is_some_and(DType::is_integer)) {
            return Err(Problem::at(item.span.clone(), format!("{}: expected integers, found {}", self.name, item.describe())));
        }
        let node = cast_node(node, &DType::Int64, &self.text)?;
        let arg = self.push(node);
        self.plain(&arg)?;
        Ok(arg)
    }

    /// Argument `i` as one integer per record, known before the first record or not.
    ///
    /// # Errors
    /// It is none, or has axes.
    pub fn scalar_integer(&mut self, i: usize) -> Bind<Arg> {
        let arg = self.integers(i)?;
        if arg.rank() == 0 { Ok(arg) } else { Err(self.wrong(i, "a single integer")) }
    }

    /// These arguments with one dtype: literals take the tensors' where that holds them exactly, else all are promoted as NumPy does.
    ///
    /// # Errors
    /// Strings beside numbers, structures.
    pub fn promoted(&mut self, which: &[usize]) -> Bind<Vec<Arg>> {
        let items = which.iter().map(|i| self.item(*i).cloned()).collect::<Bind<Vec<_>>>()?;
        self.promoted_items(&items)
    }

    /// Items with one dtype, as [`Call::promoted`].
    ///
    /// # Errors
    /// As [`Call::promoted`].
    pub fn promoted_items(&mut self, items: &[Item]) -> Bind<Vec<Arg>> {
        let nodes = common(items, &self.name, &self.text)?;
        nodes
            .into_iter()
            .map(|node| {
                let arg = self.push(node);
                self.plain(&arg)?;
                Ok(arg)
            })
            .collect()
    }

    /// The items of argument `i`: a list, a tuple, several results; a tensor is unstacked where its first axis is known.
    ///
    /// # Errors
    /// It is no list.
    pub fn list(&self, i: usize) -> Bind<Vec<Item>> {
        self.item(i)?.elements().ok_or_else(|| self.wrong(i, "a list"))
    }

    /// Argument `i` as an integer known before the first record.
    ///
    /// # Errors
    /// It is none.
    pub fn int(&self, i: usize) -> Bind<i64> {
        static_int(self.item(i)?).ok_or_else(|| self.wrong(i, "an integer that is known before the first record"))
    }

    /// Argument `i` as an integer, `None` if it was not given.
    ///
    /// # Errors
    /// It is none.
    pub fn optional_int(&self, i: usize) -> Bind<Option<i64>> {
        if self.given(i).is_some() { self.int(i).map(Some) } else { Ok(None) }
    }

    /// Argument `i` as True or False.
    ///
    /// # Errors
    /// It is something else.
    pub fn flag(&self, i: usize, default: bool) -> Bind<bool> {
        match self.given(i).map(|item| &item.kind) {
            None => Ok(default),
            Some(ItemKind::Literal(Literal::Bool(b))) => Ok(*b),
            Some(_) => Err(self.wrong(i, "True or False")),
        }
    }

    /// Argument `i` as a string.
    ///
    /// # Errors
    /// It is something else.
    pub fn string(&self, i: usize) -> Bind<Option<String>> {
        match self.given(i).map(|item| &item.kind) {
            None => Ok(None),
            Some(ItemKind::Literal(Literal::String(s))) => Ok(Some(s.clone())),
            Some(_) => Err(self.wrong(i, "a string")),
        }
    }

    /// Argument `i` as integers known before the first record: one, or a list.
    ///
    /// # Errors
    /// It is something else.
    pub fn ints(&self, i: usize) -> Bind<Option<Vec<i64>>> {
        let Some(item) = self.given(i) else {
            return Ok(None);
        };
        static_ints(item).map(Some).ok_or_else(|| self.wrong(i, "an integer or a list of integers, known before the first record"))
    }

    /// Argument `i` as a shape: sizes, `None` where the size is open.
    ///
    /// # Errors
    /// It is something else.
    pub fn shape(&self, i: usize) -> Bind<Option<Vec<Option<i64>>>> {
        let Some(item) = self.given(i) else {
            return Ok(None);
        };
        if let Some(sizes) = item.elements() {
            return sizes
                .iter()
                .map(|size| if size.is_none() { Some(None) } else { static_int(size).map(Some) })
                .collect::<Option<Vec<_>>>()
                .map(Some)
                .ok_or_else(|| self.wrong(i, "a list of sizes, known before the first record"));
        }
        static_ints(item).map(|sizes| Some(sizes.into_iter().map(Some).collect())).ok_or_else(|| self.wrong(i, "a list of sizes"))
    }

    /// Argument `i` as a dtype: a bare name or a string.
    ///
    /// # Errors
    /// No dtype of tensors.
    pub fn dtype(&self, i: usize) -> Bind<Option<DType>> {
        let Some(item) = self.given(i) else {
            return Ok(None);
        };
        let found = match &item.kind {
            ItemKind::DType(dtype) => Some(dtype.clone()),
            ItemKind::Literal(Literal::String(name)) => dtype_named(name),
            _ => None,
        };
        found.map(Some).ok_or_else(|| self.wrong(i, "a dtype, as int32 or \"int32\""))
    }

    /// An axis counted from the front, of a tensor of that rank.
    ///
    /// # Errors
    /// Out of range.
    pub fn axis(&self, i: usize, axis: i64, rank: usize) -> Bind<usize> {
        positive_axis(axis, rank).ok_or_else(|| {
            let place = self.given(i).map_or(self.span.clone(), |item| item.span.clone());
            let problem = Problem::at(
                place,
                format!(
                    "{}: {} {axis} is out of range for a tensor with {rank} ax{}",
                    self.name,
                    self.param(i),
                    if rank == 1 { "is" } else { "es" }
                ),
            );
            if rank == 0 {
                problem.help("a scalar has no axes")
            } else {
                problem.help(format!("axes go from 0 to {}; negative ones count from the last", rank - 1))
            }
        })
    }

    /// Adds a tensor to the kernel's arguments.
    pub fn push(&mut self, node: Node) -> Arg {
        let arg = Arg { ty: node.ty.clone(), index: self.nodes.len(), span: node.span.clone() };
        self.nodes.push(node);
        arg
    }

    /// Refuses structures and sparse tensors.
    ///
    /// # Errors
    /// It is one.
    pub fn plain(&self, arg: &Arg) -> Bind<()> {
        match &arg.ty.element {
            Element::Value(_) => Ok(()),
            Element::Struct(_) => Err(Problem::at(arg.span.clone(), format!("{} works on tensors; this is a structure", self.name))
                .help("take one of its fields: st.name, st[\"name\"]")),
            Element::Sparse(_) => {
                Err(Problem::at(arg.span.clone(), format!("{} works on ragged and dense tensors; this is a sparse one", self.name))
                    .help("sparse.to_dense(x) and RaggedTensor.from_sparse(x) convert"))
            }
        }
    }

    /// Refuses dtypes that `fits` is not true of.
    ///
    /// # Errors
    /// It is not.
    pub fn check_dtype(&self, arg: &Arg, expected: &str, fits: impl Fn(&DType) -> bool) -> Bind<()> {
        let dtype = arg.dtype()?;
        if fits(dtype) {
            return Ok(());
        }
        Err(Problem::at(arg.span.clone(), format!("{} works on {expected}; this is {dtype}", self.name)))
    }

    /// The call with one result.
    ///
    /// # Errors
    /// A call of constants is made at once, and may fail.
    pub fn one(&mut self, ty: Type, kernel: impl Fn(&Args) -> Result<Tensor> + Send + Sync + 'static) -> Bind<ItemKind> {
        let call = self.bound(vec![ty.clone()], Box::new(move |args| Ok(vec![kernel(args)?])));
        let node = Node { ty, span: self.span.clone(), kind: NodeKind::Call(Arc::new(call), 0) };
        Ok(ItemKind::Tensor(fold(node)?))
    }

    /// The call with several results.
    ///
    /// # Errors
    /// As [`Call::one`].
    pub fn several(&mut self, types: Vec<Type>, kernel: impl Fn(&Args) -> Result<Vec<Tensor>> + Send + Sync + 'static) -> Bind<ItemKind> {
        Ok(ItemKind::Results(Arc::new(self.bound(types, Box::new(kernel)))))
    }

    fn bound(&mut self, outputs: Vec<Type>, kernel: Kernel) -> CallNode {
        CallNode { span: self.span.clone(), text: self.text.clone(), args: std::mem::take(&mut self.nodes), outputs, kernel }
    }

    /// The text of the expression.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
}

/// The dtype of that name; `half`, `double` and the like as TensorFlow and NumPy have them.
pub fn dtype_named(name: &str) -> Option<DType> {
    match name {
        "half" => Some(DType::Float16),
        "float" => Some(DType::Float32),
        "double" => Some(DType::Float64),
        "str" => Some(DType::String),
        _ => DType::from_name(name).filter(DType::is_tensor),
    }
}

/// `axis` counted from the front.
pub fn positive_axis(axis: i64, rank: usize) -> Option<usize> {
    let rank_i = i64::try_from(rank).ok()?;
    usize::try_from(if axis < 0 { axis.checked_add(rank_i)? } else { axis }).ok().filter(|a| *a < rank)
}

/// An integer known before the first record.
pub fn static_int(item: &Item) -> Option<i64> {
    match &item.kind {
        ItemKind::Literal(Literal::Int(n)) => i64::try_from(*n).ok(),
        ItemKind::Tensor(node) if node.ty.rank() == 0 => static_values(node)?.first().copied(),
        _ => None,
    }
}

/// Integers known before the first record: one, or a list.
pub fn static_ints(item: &Item) -> Option<Vec<i64>> {
    match &item.kind {
        ItemKind::List(items) | ItemKind::Tuple(items) => items.iter().map(static_int).collect(),
        ItemKind::Tensor(node) if node.ty.rank() == 1 => static_values(node),
        _ => static_int(item).map(|n| vec![n]),
    }
}

fn static_values(node: &Node) -> Option<Vec<i64>> {
    let NodeKind::Constant(tensor) = &node.kind else {
        return None;
    };
    if !node.ty.dtype()?.is_integer() {
        return None;
    }
    let (_, below) = tensor.levels(node.ty.rank()).ok()?;
    let values = cast::cast(below.as_leaf().ok()?, &DType::Int64).ok()?;
    Some(cast::i64s(&values).ok()?.to_vec())
}

fn constant_values(node: &Node) -> Option<usize> {
    match &node.kind {
        NodeKind::Constant(tensor) => tensor.levels(node.ty.rank()).ok().map(|(_, below)| below.nrows()),
        _ => None,
    }
}

/// The tensor that an item is: literals become constants, of `dtype` if it holds them.
///
/// # Errors
/// No tensor: None, a dict, a dtype ...
pub fn as_node(item: &Item, dtype: Option<&DType>) -> Bind<Node> {
    if let ItemKind::Tensor(node) = &item.kind {
        return Ok(node.clone());
    }
    if let Some(literal) = item.literal().filter(|l| *l != Literal::None) {
        let dtype = dtype.filter(|d| constant::holds(d, &literal));
        let (ty, tensor) = constant::plain(&literal, dtype).map_err(|e| e.or_at(item.span.clone()))?;
        return Ok(super::item::constant(tensor, ty, item.span.clone()));
    }
    match &item.kind {
        ItemKind::List(items) | ItemKind::Tuple(items) if !items.is_empty() => super::functions::pack(item, items, dtype),
        ItemKind::Results(_) => match item.elements() {
            Some(items) if !items.is_empty() => super::functions::pack(item, &items, dtype),
            _ => Err(Problem::at(item.span.clone(), "expected a tensor, found an empty list")),
        },
        _ => Err(Problem::at(item.span.clone(), format!("expected a tensor, found {}", item.describe()))),
    }
}

/// Items as tensors of one dtype; see [`Call::promoted`].
///
/// # Errors
/// Strings beside numbers, structures, no tensors.
pub fn common(items: &[Item], name: &str, text: &Arc<str>) -> Bind<Vec<Node>> {
    let mut dtype: Option<DType> = None;
    let mut nodes: Vec<Option<Node>> = Vec::with_capacity(items.len());
    let clash = |span: &Span, a: &DType, b: &DType| {
        Problem::at(span.clone(), format!("{name} can't work on {a} and {b} together")).help("cast(x, dtype) converts numbers")
    };
    // Tensors decide first, then the literals that they do not hold.
    for item in items {
        if item.is_literal() {
            nodes.push(None);
            continue;
        }
        let node = strict(as_node(item, None).map_err(|e| e.or_at(item.span.clone()))?)?;
        let found = node.ty.dtype().cloned().filter(|_| !node.ty.is_sparse());
        let Some(found) = found else {
            return Err(Problem::at(item.span.clone(), format!("{name} works on tensors; this is {}", item.describe())));
        };
        dtype = Some(match dtype {
            None => found,
            Some(before) => promote(&before, &found).ok_or_else(|| clash(&item.span, &before, &found))?,
        });
        nodes.push(Some(node));
    }
    for item in items.iter().filter(|item| item.is_literal()) {
        let Some(literal) = item.literal().filter(|l| *l != Literal::None) else {
            return Err(Problem::at(item.span.clone(), "None is no tensor"));
        };
        if let Some(before) = &dtype
            && constant::holds(before, &literal)
        {
            continue;
        }
        let own = constant::plain(&literal, None).map_err(|e| e.or_at(item.span.clone()))?.0.dtype().cloned().unwrap_or(DType::Float32);
        dtype = Some(match dtype {
            None => own,
            Some(before) => {
                let wide = promote(&before, &own).ok_or_else(|| clash(&item.span, &before, &own))?;
                // A fraction beyond the range of the narrow float that was chosen.
                if wide.is_float() && !constant::holds(&wide, &literal) { DType::Float64 } else { wide }
            }
        });
    }
    let dtype = dtype.unwrap_or(DType::Float32);
    items
        .iter()
        .zip(nodes)
        .map(|(item, node)| match node {
            Some(node) => cast_node(node, &dtype, text),
            None => {
                let literal = item.literal().unwrap_or(Literal::None);
                let (ty, tensor) = constant::plain(&literal, Some(&dtype)).map_err(|e| e.or_at(item.span.clone()))?;
                Ok(super::item::constant(tensor, ty, item.span.clone()))
            }
        })
        .collect()
}

/// The tensor with another dtype.
///
/// # Errors
/// No conversion exists.
pub fn cast_node(node: Node, dtype: &DType, text: &Arc<str>) -> Bind<Node> {
    if node.ty.dtype() == Some(dtype) {
        return Ok(node);
    }
    let from = node.ty.dtype().cloned().unwrap_or(DType::Null);
    if !cast::can_cast(&from, dtype) {
        return Err(Problem::at(node.span.clone(), format!("{from} can't be converted to {dtype}")));
    }
    let ty = Type { element: Element::Value(dtype.clone()), ..node.ty.clone() };
    let (span, levels, to) = (node.span.clone(), node.ty.rank(), dtype.clone());
    let call = CallNode {
        span: span.clone(),
        text: text.clone(),
        args: vec![node],
        outputs: vec![ty.clone()],
        kernel: Box::new(move |args| {
            Ok(vec![args.tensor(0)?.map_below(levels, &mut |t| Ok(Tensor::Leaf(cast::cast(t.as_leaf()?, &to)?)))?])
        }),
    };
    fold(Node { ty, span, kind: NodeKind::Call(Arc::new(call), 0) })
}

/// The tensor without nulls, and of a dtype that functions work on.
///
/// # Errors
/// A foreign dtype.
pub fn strict(node: Node) -> Bind<Node> {
    if let Some(dtype) = node.ty.dtype()
        && !dtype.is_tensor()
    {
        let problem = Problem::at(node.span.clone(), format!("functions work on tensors; this is of dtype {dtype}"));
        return Err(match dtype {
            DType::Null => problem.help("no record has a value here; give its dtype with --schema, as 'x: int64[?]'"),
            DType::Json => problem.help("it is kept as text; give its type with --schema"),
            _ => problem.help("cast it on the way in, or leave it unchanged"),
        });
    }
    Ok(not_null(node))
}

/// The tensor without nulls, of whatever dtype.
fn not_null(node: Node) -> Node {
    if !may_hold_nulls(&node.ty) {
        return node;
    }
    let name = match &node.kind {
        NodeKind::Slot { name, .. } | NodeKind::Field { name, .. } => name.clone(),
        _ => "the value".into(),
    };
    let ty = without_nulls(&node.ty);
    let span = node.span.clone();
    Node { ty, span, kind: NodeKind::NotNull { of: Box::new(node), name } }
}

/// Computes a tensor of constants at once; open sizes become known ones.
///
/// # Errors
/// The call fails.
pub fn fold(node: Node) -> Bind<Node> {
    if !node.is_constant() || matches!(node.kind, NodeKind::Constant(_)) {
        return Ok(node);
    }
    let frame = super::eval::Frame { nrows: 1, slots: Vec::new() };
    let value = node.eval(&frame).map_err(|e| Problem::from(e).or_at(node.span.clone()))?;
    let ty = known(&node.ty, &value.tensor)?;
    Ok(Node { ty, span: node.span, kind: NodeKind::Constant(value.tensor) })
}

/// The type of a constant: every axis that is uniform has a known size.
fn known(ty: &Type, tensor: &Tensor) -> Bind<Type> {
    let mut ty = ty.clone();
    if ty.is_sparse() {
        return Ok(ty);
    }
    let levels = ty.dims.len();
    let (partitions, _) = tensor.levels(levels)?;
    for (dim, partition) in ty.dims.iter_mut().zip(partitions) {
        if dim.size == Size::Uniform {
            *dim = match partition.common_row_length() {
                Some(length) => Dim::known(length as u64),
                None => Dim::known(0),
            };
        }
    }
    Ok(ty)
}

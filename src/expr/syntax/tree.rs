//! The syntax tree of expressions, built by the parser and read by the binder.

use crate::expr::span::Span;

/// Maximum nesting depth of expressions. It bounds the recursion of every later pass.
pub const MAX_DEPTH: usize = 128;

/// An expression and its span in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
    /// The height of the tree below, at most [`MAX_DEPTH`].
    pub depth: usize,
}

/// The kind of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(String),
    Bytes(Vec<u8>),
    Ellipsis,
    /// A bare or backquoted name: a field or a dtype. Backquoted names are always fields.
    Name {
        name: String,
        quoted: bool,
    },
    /// `of.name`
    Attribute {
        of: Box<Expr>,
        name: String,
    },
    /// `callee(args)`
    Call {
        callee: Box<Expr>,
        args: Vec<Argument>,
    },
    /// `of[keys]`
    Subscript {
        of: Box<Expr>,
        keys: Vec<Expr>,
    },
    /// `start:stop:step`, in a subscript only
    Slice {
        start: Option<Box<Expr>>,
        stop: Option<Box<Expr>>,
        step: Option<Box<Expr>>,
    },
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `first < second <= third`
    Compare(Box<Expr>, Vec<(Compare, Expr)>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    /// `lambda params: body`
    Lambda {
        params: Vec<String>,
        body: Box<Expr>,
    },
}

/// One argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    pub keyword: Option<(String, Span)>,
    pub value: Expr,
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Minus,
    Plus,
    Invert,
    Not,
}

/// Binary operators, except comparisons, `and` and `or`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
    And,
    Or,
    Xor,
    MatMul,
    ShiftLeft,
    ShiftRight,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Compare {
    /// The operator for operands in the other order.
    pub fn swapped(self) -> Compare {
        match self {
            Compare::Equal | Compare::NotEqual => self,
            Compare::Less => Compare::Greater,
            Compare::LessEqual => Compare::GreaterEqual,
            Compare::Greater => Compare::Less,
            Compare::GreaterEqual => Compare::LessEqual,
        }
    }
}

impl Unary {
    /// The name of the corresponding function.
    pub fn function(self) -> &'static str {
        match self {
            Unary::Minus => "negative",
            Unary::Plus => "identity",
            Unary::Invert => "invert",
            Unary::Not => "logical_not",
        }
    }

    /// The operator in messages.
    pub fn symbol(self) -> &'static str {
        match self {
            Unary::Minus => "`-x`",
            Unary::Plus => "`+x`",
            Unary::Invert => "`~x`",
            Unary::Not => "not",
        }
    }
}

impl Binary {
    /// The name of the corresponding function.
    pub fn function(self) -> &'static str {
        match self {
            Binary::Add => "add",
            Binary::Subtract => "subtract",
            Binary::Multiply => "multiply",
            Binary::Divide => "truediv",
            Binary::FloorDivide => "floordiv",
            Binary::Modulo => "floormod",
            Binary::Power => "pow",
            Binary::And => "logical_and",
            Binary::Or => "logical_or",
            Binary::Xor => "logical_xor",
            Binary::MatMul => "matmul",
            Binary::ShiftLeft => "bitwise.left_shift",
            Binary::ShiftRight => "bitwise.right_shift",
        }
    }

    /// The operator in messages.
    pub fn symbol(self) -> &'static str {
        match self {
            Binary::Add => "`+`",
            Binary::Subtract => "`-`",
            Binary::Multiply => "`*`",
            Binary::Divide => "`/`",
            Binary::FloorDivide => "`//`",
            Binary::Modulo => "`%`",
            Binary::Power => "`**`",
            Binary::And => "`&`",
            Binary::Or => "`|`",
            Binary::Xor => "`^`",
            Binary::MatMul => "`@`",
            Binary::ShiftLeft => "`<<`",
            Binary::ShiftRight => "`>>`",
        }
    }
}

impl Compare {
    /// The name of the corresponding function.
    pub fn function(self) -> &'static str {
        match self {
            Compare::Equal => "equal",
            Compare::NotEqual => "not_equal",
            Compare::Less => "less",
            Compare::LessEqual => "less_equal",
            Compare::Greater => "greater",
            Compare::GreaterEqual => "greater_equal",
        }
    }

    /// The operator in messages.
    pub fn symbol(self) -> &'static str {
        match self {
            Compare::Equal => "`==`",
            Compare::NotEqual => "`!=`",
            Compare::Less => "`<`",
            Compare::LessEqual => "`<=`",
            Compare::Greater => "`>`",
            Compare::GreaterEqual => "`>=`",
        }
    }
}

/// `targets = value`: one statement of `map`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub targets: Vec<Target>,
    /// Whether each target takes one item of the value, as in `a, b = x` and `a, = x`.
    pub unpacks: bool,
    pub value: Expr,
    pub span: Span,
}

/// The target of an assignment: a field, or a field inside structures.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub path: Vec<String>,
    pub span: Span,
}

impl Expr {
    pub(crate) fn leaf(kind: ExprKind, span: Span) -> Expr {
        Expr { kind, span, depth: 1 }
    }

    /// The names in a chain `a.b.c` of plain names, outermost first, and whether the first is backquoted.
    pub fn dotted(&self) -> Option<(Vec<&str>, bool)> {
        match &self.kind {
            ExprKind::Name { name, quoted } => Some((vec![name], *quoted)),
            ExprKind::Attribute { of, name } => {
                let (mut names, quoted) = of.dotted()?;
                names.push(name);
                Some((names, quoted))
            }
            _ => None,
        }
    }

    /// Whether it contains the name, other than as a parameter of a lambda.
    pub fn mentions(&self, name: &str) -> bool {
        if matches!(&self.kind, ExprKind::Lambda { params, .. } if params.iter().any(|param| param == name)) {
            return false;
        }
        let mut found = matches!(&self.kind, ExprKind::Name { name: own, .. } if own == name);
        self.children(&mut |child| found |= child.mentions(name));
        found
    }

    /// Calls `visit` for the direct subexpressions.
    pub fn children<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        match &self.kind {
            ExprKind::None
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Str(_)
            | ExprKind::Bytes(_)
            | ExprKind::Ellipsis
            | ExprKind::Name { .. } => {}
            ExprKind::Attribute { of, .. } | ExprKind::Unary(_, of) | ExprKind::Lambda { body: of, .. } => visit(of),
            ExprKind::Call { callee, args } => {
                visit(callee);
                args.iter().for_each(|a| visit(&a.value));
            }
            ExprKind::Subscript { of, keys } => {
                visit(of);
                keys.iter().for_each(visit);
            }
            ExprKind::Slice { start, stop, step } => [start, stop, step].into_iter().flatten().for_each(|e| visit(e)),
            ExprKind::List(items) | ExprKind::Tuple(items) => items.iter().for_each(visit),
            ExprKind::Dict(items) => items.iter().for_each(|(k, v)| {
                visit(k);
                visit(v);
            }),
            ExprKind::Binary(_, a, b) | ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                visit(a);
                visit(b);
            }
            ExprKind::Compare(first, rest) => {
                visit(first);
                rest.iter().for_each(|(_, e)| visit(e));
            }
        }
    }
}

//! `--as numpy`, `--as torch`: the lines that load an npz.
//!
//! In an npz all records are stacked, the record axis first: a dense field `x` is one array; a ragged one is
//! `x/values` and `x/row_splits_0` (records), `x/row_splits_1`, ..., down to the last axis whose size is not
//! known; a sparse one its three components. Strings are ragged rows of bytes: one more row_splits.

use super::leaves::{Leaf, leaves};
use crate::schema::literal::quote;
use crate::schema::{DType, Schema, Size};

/// Lines that load an npz with NumPy.
pub fn numpy(schema: &Schema) -> String {
    code(schema, "import numpy as np\n", &|stored| match stored {
        Stored::Dense(name) => part(name, ""),
        Stored::Sparse(name) => format!("({}, {}, {})", part(name, "/indices"), part(name, "/values"), part(name, "/dense_shape")),
        Stored::Ragged { name, levels, values } => nested(part(name, "/values"), name, *levels, *values),
    })
}

/// Lines that load an npz with PyTorch. Vectors become jagged nested tensors; what is ragged more than once
/// stays lists of tensors, strings stay lists of strings.
pub fn torch(schema: &Schema) -> String {
    let tensor = |array: String| format!("torch.from_numpy({array})");
    code(schema, "import numpy as np\nimport torch\n", &|stored| match stored {
        Stored::Dense(name) => tensor(part(name, "")),
        Stored::Sparse(name) => format!(
            "torch.sparse_coo_tensor({}.T, {}, tuple({}))",
            tensor(part(name, "/indices")),
            tensor(part(name, "/values")),
            part(name, "/dense_shape")
        ),
        Stored::Ragged { name, levels: 1, values: Values::Numbers } => {
            format!("torch.nested.nested_tensor_from_jagged({}, {})", tensor(part(name, "/values")), tensor(part(name, "/row_splits_0")))
        }
        Stored::Ragged { name, levels, values: Values::Numbers } => nested(tensor(part(name, "/values")), name, *levels, Values::Numbers),
        Stored::Ragged { name, levels, values } => nested(part(name, "/values"), name, *levels, *values),
    })
}

/// How a leaf stands in an npz.
enum Stored<'a> {
    Dense(&'a str),
    Sparse(&'a str),
    Ragged { name: &'a str, levels: usize, values: Values },
}

#[derive(Clone, Copy, PartialEq)]
enum Values {
    Numbers,
    Text,
    Bytes,
}

fn stored<'a>(leaf: &'a Leaf) -> Result<Stored<'a>, String> {
    let (name, ty) = (leaf.name.as_str(), &leaf.field.ty);
    let values = match ty.dtype() {
        Some(DType::Null) => return Err("has no values, so that nothing is written".to_owned()),
        Some(DType::Arrow(foreign)) => return Err(format!("NumPy has no arrow<{}>", crate::schema::notation::arrow_type_text(foreign))),
        _ if leaf.optional || leaf.with_nulls => return Err("may hold nulls, which NumPy has not: see fill-null".to_owned()),
        Some(DType::String | DType::Json) => Values::Text,
        Some(DType::Bytes) => Values::Bytes,
        _ => Values::Numbers,
    };
    if ty.is_sparse() {
        return if values == Values::Numbers { Ok(Stored::Sparse(name)) } else { Err("sparse strings cannot be written".to_owned()) };
    }
    let levels = match values {
        Values::Numbers => leaf.dims.iter().rposition(|d| !matches!(d.size, Size::Known(_))).map_or(0, |last| last + 1),
        _ => leaf.dims.len() + 1,
    };
    Ok(if levels == 0 { Stored::Dense(name) } else { Stored::Ragged { name, levels, values } })
}

fn code(schema: &Schema, imports: &str, load: &dyn Fn(&Stored) -> String) -> String {
    let (mut lines, mut helpers) = (String::new(), [false; 3]);
    for leaf in leaves(schema) {
        let key = quote(&leaf.name);
        match stored(&leaf) {
            Ok(stored) => {
                let line = load(&stored);
                for (used, call) in helpers.iter_mut().zip(["rows(", "text(", "raw("]) {
                    *used |= line.contains(call);
                }
                lines.push_str(&format!("    {key}: {line},  # {}\n", leaf.field.ty));
            }
            Err(reason) => lines.push_str(&format!("    # {key}: {reason}\n")),
        }
    }
    let [rows, text, raw] = helpers;
    let mut out = format!("{imports}\ndata = np.load(\"data.npz\")\n");
    for (used, lines) in [
        (rows, "def rows(values, splits):\n    return [values[a:b] for a, b in zip(splits, splits[1:])]\n"),
        (text, "def text(values, splits):\n    return [values[a:b].tobytes().decode() for a, b in zip(splits, splits[1:])]\n"),
        (raw, "def raw(values, splits):\n    return [values[a:b].tobytes() for a, b in zip(splits, splits[1:])]\n"),
    ] {
        if used {
            out.push_str(&format!("\n\n{lines}"));
        }
    }
    out + if rows || text || raw { "\n\n" } else { "\n" } + "records = {\n" + &lines + "}\n"
}

/// `data["x/values"]`.
fn part(name: &str, component: &str) -> String {
    format!("data[{}]", quote(&format!("{name}{component}")))
}

/// The rows of all levels, innermost first.
fn nested(values: String, name: &str, levels: usize, kind: Values) -> String {
    (0..levels).rev().fold(values, |inner, level| {
        let call = match kind {
            Values::Text if level + 1 == levels => "text",
            Values::Bytes if level + 1 == levels => "raw",
            _ => "rows",
        };
        format!("{call}({inner}, {})", part(name, &format!("/row_splits_{level}")))
    })
}

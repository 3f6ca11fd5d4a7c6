//! `--as numpy`, `--as torch`: code that loads an npz or a safetensors file. [`crate::schema::arrays`] defines its arrays.

use crate::schema::Schema;
use crate::schema::arrays::{ArrayForm, Contents, Stacking, dense_shape_name, indices_name, row_splits_name, stored, values_name};
use crate::schema::leaves::{Leaf, leaves};
use crate::schema::literal::quote;

/// The kind of file that the code loads.
#[derive(Clone, Copy)]
pub enum File {
    Npz,
    Safetensors,
}

impl File {
    /// The import and the line that load the arrays.
    fn loader(self) -> [&'static str; 2] {
        match self {
            Self::Npz => ["import numpy as np\n", "data = np.load(\"data.npz\")\n"],
            Self::Safetensors => ["from safetensors.numpy import load_file\n", "data = load_file(\"data.safetensors\")\n"],
        }
    }
}

/// Code that loads a file with NumPy.
pub fn numpy(schema: &Schema, file: File) -> String {
    code(schema, file, false)
}

/// Code that loads a file with PyTorch. Vectors become jagged nested tensors; fields with several ragged axes stay
/// lists of tensors, and strings stay lists of strings.
pub fn torch(schema: &Schema, file: File) -> String {
    code(schema, file, true)
}

/// The expression that loads a leaf; `tensor` converts an array of numbers.
fn loaded(leaf: &Leaf, file: File, torch: bool, tensor: &dyn Fn(String) -> String) -> Result<String, String> {
    let stored = stored(leaf, Stacking::Records).map_err(|e| e.message().to_owned())?;
    if stored.contents == Contents::Times && (torch || matches!(file, File::Safetensors)) {
        let library = if torch { "PyTorch" } else { "safetensors" };
        return Err(format!("{library} has no {}", leaf.field.ty.dtype().map_or_else(String::new, ToString::to_string)));
    }
    // A time that is null is NaT.
    let is_nat = stored.contents == Contents::Times && leaf.dims.is_empty();
    if (leaf.optional || leaf.with_nulls) && !is_nat {
        return Err("may contain nulls, which NumPy does not support; see fill-null".to_owned());
    }
    let name = &leaf.name;
    let values = part(&values_name(name));
    Ok(match (&stored.form, stored.contents) {
        (ArrayForm::Dense, _) => tensor(part(name)),
        (ArrayForm::Sparse { .. }, _) if torch => format!(
            "torch.sparse_coo_tensor({}.T, {}, tuple({}))",
            tensor(part(&indices_name(name))),
            tensor(values),
            part(&dense_shape_name(name))
        ),
        (ArrayForm::Sparse { .. }, _) => format!("({}, {values}, {})", part(&indices_name(name)), part(&dense_shape_name(name))),
        (ArrayForm::Ragged { levels: 1 }, Contents::Numbers) if torch => {
            format!("torch.nested.nested_tensor_from_jagged({}, {})", tensor(values), tensor(part(&row_splits_name(name, 0))))
        }
        (ArrayForm::Ragged { levels }, Contents::Numbers | Contents::Times) => nested(tensor(values), name, *levels, "rows"),
        (ArrayForm::Ragged { levels }, Contents::Text) => nested(values, name, *levels, "text"),
        (ArrayForm::Ragged { levels }, Contents::Bytes) => nested(values, name, *levels, "raw"),
    })
}

fn code(schema: &Schema, file: File, torch: bool) -> String {
    let tensor = |array: String| if torch { format!("torch.from_numpy({array})") } else { array };
    let (mut lines, mut helpers) = (String::new(), [false; 3]);
    for leaf in leaves(schema) {
        let key = quote(&leaf.name);
        match loaded(&leaf, file, torch, &tensor) {
            Ok(line) => {
                for (used, call) in helpers.iter_mut().zip(["rows(", "text(", "raw("]) {
                    *used |= line.contains(call);
                }
                lines.push_str(&format!("    {key}: {line},  # {}\n", leaf.field.ty));
            }
            Err(reason) => lines.push_str(&format!("    # {key}: {reason}\n")),
        }
    }
    let [rows, text, raw] = helpers;
    let [import, load] = file.loader();
    let imports = match (file, torch) {
        (_, false) => import.to_owned(),
        (File::Npz, true) => format!("{import}import torch\n"),
        (File::Safetensors, true) => format!("import torch\n{import}"),
    };
    let mut out = format!("{imports}\n{load}");
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
fn part(name: &str) -> String {
    format!("data[{}]", quote(name))
}

/// The rows of all levels, innermost first; `innermost` is the function that builds the innermost rows.
fn nested(values: String, name: &str, levels: usize, innermost: &str) -> String {
    (0..levels).rev().fold(values, |inner, level| {
        let call = if level + 1 == levels { innermost } else { "rows" };
        format!("{call}({inner}, {})", part(&row_splits_name(name, level)))
    })
}

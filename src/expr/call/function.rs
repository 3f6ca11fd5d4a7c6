//! A function: one row of a family's table, and the parameters that its signature says.

use super::Call;
use crate::expr::item::ItemKind;
use crate::expr::problem::Bind;

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

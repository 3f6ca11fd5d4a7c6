//! The parameters of a function, as its signature lists them.

/// A function's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    pub params: Vec<Param>,
}

/// One parameter of a signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub names: Vec<&'static str>,
    pub default: Option<&'static str>,
}

impl Signature {
    /// Parses `params, indices, axis=None`.
    pub fn parse(text: &'static str) -> Signature {
        let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
        for (i, c) in text.char_indices() {
            match c {
                '[' | '(' => depth += 1,
                ']' | ')' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(&text[start..i]);
                    start = i + 1;
                }
                _ => {}
            }
        }
        parts.push(&text[start..]);
        let params = parts
            .into_iter()
            .map(str::trim)
            .filter(|p| !p.is_empty())
            .map(|p| {
                let (names, default) = p.split_once('=').map_or((p, None), |(n, d)| (n, Some(d)));
                Param { names: names.split('|').collect(), default }
            })
            .collect();
        Signature { params }
    }

    /// `name(params, indices, axis=None)`, as it is shown.
    pub fn usage(&self, name: &str) -> String {
        let params: Vec<String> = self
            .params
            .iter()
            .map(|p| match p.default {
                Some(default) => format!("{}={default}", p.names[0]),
                None => p.names[0].to_owned(),
            })
            .collect();
        format!("{name}({})", params.join(", "))
    }
}

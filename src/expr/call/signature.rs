//! The parameters of a function, parsed from its signature.

/// A function's parameters and the names of its results.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    pub params: Vec<Param>,
    /// The names of several results; empty if they are not named.
    pub results: Vec<&'static str>,
    /// The number of positional arguments before TensorFlow's `name` for the node of the graph.
    pub before_name: usize,
}

/// One parameter of a signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub names: Vec<&'static str>,
    pub default: Option<&'static str>,
    pub kind: ParamKind,
}

/// How many arguments a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    Single,
    /// `*args`: all other positional arguments, as a tuple.
    Args,
    /// `**kwargs`: all other keyword arguments, as a dict.
    Keywords,
}

impl Signature {
    /// Parses `params, indices, axis=None -> values, indices`. A parameter `name` marks the
    /// position of TensorFlow's, which is ignored, unless it is the last one.
    pub fn parse(text: &'static str) -> Signature {
        let (text, results) = text.split_once(" -> ").map_or((text, Vec::new()), |(text, results)| (text, results.split(", ").collect()));
        let (mut parts, mut depth, mut start, mut in_string) = (Vec::new(), 0, 0, false);
        for (i, c) in text.char_indices() {
            match c {
                '"' => in_string = !in_string,
                _ if in_string => {}
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
        let mut params: Vec<Param> = parts.into_iter().map(str::trim).filter(|p| !p.is_empty()).map(Param::parse).collect();
        let place = params.iter().position(|param| param.names == ["name"] && param.default.is_none());
        if let Some(i) = place {
            params.remove(i);
        }
        let before_name = place.unwrap_or(params.len());
        Signature { params, results, before_name }
    }

    /// The displayed signature, `name(params, indices, axis=None)`.
    pub fn usage(&self, name: &str) -> String {
        let params: Vec<String> = self.params.iter().map(Param::usage).collect();
        let results = if self.results.is_empty() { String::new() } else { format!(" -> {}", self.results.join(", ")) };
        format!("{name}({}){results}", params.join(", "))
    }
}

impl Param {
    fn parse(text: &'static str) -> Param {
        let (text, kind) = match (text.strip_prefix("**"), text.strip_prefix('*')) {
            (Some(rest), _) => (rest, ParamKind::Keywords),
            (None, Some(rest)) => (rest, ParamKind::Args),
            (None, None) => (text, ParamKind::Single),
        };
        let (names, default) = text.split_once('=').map_or((text, None), |(n, d)| (n, Some(d)));
        Param { names: names.split('|').collect(), default, kind }
    }

    fn usage(&self) -> String {
        let stars = match self.kind {
            ParamKind::Single => "",
            ParamKind::Args => "*",
            ParamKind::Keywords => "**",
        };
        match self.default {
            Some(default) => format!("{}={default}", self.names[0]),
            None => format!("{stars}{}", self.names[0]),
        }
    }
}

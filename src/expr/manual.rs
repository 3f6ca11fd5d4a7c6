//! Documentation of the functions: a man page for all, and a help text for each.

use super::call::Function;
use super::functions::{FAMILIES, LEFT_OUT, find, reason};
use std::fmt::Write;

/// The man page `tatter-functions.7`.
pub fn manual() -> String {
    let mut out = String::from(
        ".TH tatter-functions 7\n.SH NAME\ntatter-functions \\- functions available in expressions\n.SH DESCRIPTION\n\
Expressions of\n.BR tatter-map (1)\nand\n.BR tatter-filter (1)\nare written in Python's syntax and use TensorFlow's functions, with or \
without the prefix \\(lqtf.\\(rq, and Paddle's sequence functions. A name followed by a parenthesis is a function; any other name is a \
field of the record. Arguments can be positional or keyword arguments. Axes are numbered within a record.\n",
    );
    for family in FAMILIES {
        let _ = writeln!(out, ".SH {}", roff(&family.title.to_uppercase()));
        for function in family.functions {
            let _ = writeln!(out, ".TP\n.B {}\n{}", roff(&function.usage()), roff(function.summary));
            if function.names.len() > 1 {
                let _ = writeln!(out, "Also: {}.", roff(&function.names[1..].join(", ")));
            }
            for (expression, result) in function.examples {
                let _ = writeln!(out, ".br\n{} \\(-> {}", roff(expression), roff(result));
            }
        }
    }
    out.push_str(
        ".SH NOT SUPPORTED\nTensorFlow operations on ragged tensors, and operations for training, that tatter does not support.\n",
    );
    for (names, why) in LEFT_OUT {
        let _ = writeln!(out, ".TP\n{}\n{}", roff(&names.join(", ")), roff(why));
    }
    out.push_str(".SH SEE ALSO\n.BR tatter (1),\n.BR tatter-map (1),\n.BR tatter-filter (1)\n");
    out
}

fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('"', "\\(dq");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

/// The output of `tatter help NAME` for a function.
pub fn function_help(name: &str) -> Option<String> {
    find(name).map(described).or_else(|| reason(name).map(|why| format!("`{name}` is not supported: {why}\n")))
}

fn described(function: &Function) -> String {
    let mut out = format!("{}\n  {}\n", function.usage(), function.summary);
    if function.names.len() > 1 {
        let _ = writeln!(out, "  Also: {}", function.names[1..].join(", "));
    }
    for (expression, result) in function.examples {
        let _ = writeln!(out, "\n  {expression}\n  {result}");
    }
    out
}

/// The output of `tatter help functions`: a line for each function.
pub fn function_list() -> String {
    let mut out = listed(|_| true);
    out.push_str("\nNot supported:\n");
    for (names, why) in LEFT_OUT {
        let _ = writeln!(out, "  {}\n    {why}", names.join(", "));
    }
    out
}

/// The output of `tatter help strings` or `tatter help reduce`: the functions whose names start with that word.
pub fn functions_of(module: &str) -> Option<String> {
    let inside = |name: &&str| name.strip_prefix(module).is_some_and(|rest| rest.starts_with(['.', '_']));
    Some(listed(|function| function.names.iter().any(inside))).filter(|list| !list.is_empty())
}

/// The functions of the family with that title, for a topic of the help.
pub fn family_list(title: &str) -> String {
    let family = FAMILIES.iter().find(|family| family.title == title);
    listed(|function| family.is_some_and(|family| family.functions.iter().any(|own| own.names == function.names)))
}

fn listed(wanted: impl Fn(&Function) -> bool) -> String {
    let mut out = String::new();
    for family in FAMILIES {
        let mut functions = family.functions.iter().filter(|f| wanted(f)).peekable();
        if functions.peek().is_some() {
            let _ = writeln!(out, "{}{}:", if out.is_empty() { "" } else { "\n" }, family.title);
        }
        for function in functions {
            let _ = writeln!(out, "  {:<44} {}", function.names[0], function.summary);
        }
    }
    out
}

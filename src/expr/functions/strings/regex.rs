//! Regular expressions, in the syntax of RE2.
//!
//! Semantics: `tf.strings.regex_replace`, `regex_full_match`.

use super::shared::{each, flat, text};
use crate::expr::call::{Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::re2::{Pattern, Rewrite};
use crate::expr::operand::OperandKind;
use crate::schema::DType;
use arrow_array::BooleanArray;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["strings.regex_replace", "regex_replace"],
        "input|x, pattern, rewrite, replace_global=True",
        "Replace matches of a regular expression; in rewrite, r\"\\0\" is the match and r\"\\1\" its first group.",
        [
            (
                "strings.regex_replace(\"Text with tags.<br /><b>contains html</b>\", \"<[^>]+>\", \" \")",
                "\"Text with tags.  contains html \""
            ),
            ("strings.regex_replace(\"a1b22\", \"([a-z])(\\\\d+)\", \"\\\\2\\\\1\")", "\"1a22b\"")
        ],
        replace
    ),
    function!(
        ["strings.regex_full_match"],
        "input|x, pattern",
        "Whether a regular expression matches the whole string.",
        [("strings.regex_full_match([\"TF lib\", \"lib TF\"], \".*lib$\")", "[true, false]")],
        |c| {
            let x = text(c, 0)?;
            let pattern = pattern(c, 1, true)?;
            flat(c, x, DType::Bool, move |texts| {
                Ok(Arc::new(BooleanArray::from(texts.iter().map(|t| pattern.is_match(t)).collect::<Vec<_>>())))
            })
        }
    ),
];

fn pattern(call: &Call, i: usize, whole: bool) -> ExprResult<Pattern> {
    let item = call.operand(i)?;
    let text = call.string(i)?.unwrap_or_default();
    if text.contains('\u{8}') {
        let error = ExprError::at(item.span.clone(), format!("{}: \"\\b\" is a backspace", call.name));
        return Err(error.help("write a word boundary as \\\\b, or r\"\\b\"; a backspace in a pattern is \\\\x08"));
    }
    Pattern::new(&text, whole).map_err(|e| ExprError::at(item.span.clone(), format!("{}: invalid pattern {text:?}: {e}", call.name)))
}

fn replace(call: &mut Call) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    let pattern = pattern(call, 1, false)?;
    let rewrite = call.bytes(2)?.unwrap_or_default();
    let rewrite = Rewrite::new(&rewrite, &pattern).map_err(|e| match call.operand(2) {
        Ok(item) => ExprError::at(item.span.clone(), format!("{}: invalid rewrite: {e}", call.name)),
        Err(missing) => missing,
    })?;
    let global = call.flag(3, true)?;
    let dtype = if pattern.cuts { DType::Bytes } else { x.dtype()?.clone() };
    each(call, x, dtype, move |text, out| {
        pattern.replace(text, &rewrite, global, out);
        Ok(())
    })
}

//! Shares of the records, such as `train=0.9,test=0.1`, and the text of a key that shares can be given for.

use crate::error::{Error, Result, mismatch};
use crate::expr::bind_scalar;
use crate::numerals::fraction;
use crate::options::Options;
use crate::path::{split, unquote};
use crate::printable::shell_word;
use crate::schema::{DType, Schema};

/// Parses `NAME=SHARE,..`: distinct names, in backquotes if they contain a comma, and positive shares (or zeros, if `zero`
/// is allowed) that add up to 1.
///
/// # Errors
/// Any other text; the error names `option`.
pub fn parse_shares(text: &str, option: &str, zero: bool) -> Result<Vec<(String, f64)>> {
    let mut shares: Vec<(String, f64)> = Vec::new();
    for word in split(text, ',')? {
        let parsed = word.trim().rsplit_once('=').and_then(|(name, share)| Some((name.trim(), share.trim().parse::<f64>().ok()?)));
        let Some((name, share)) = parsed.filter(|(name, share)| !name.is_empty() && share.is_finite()) else {
            let example = if zero { "a=0.5,b=0.5" } else { "train=0.9,test=0.1" };
            let error = Error::usage(mismatch("NAME=SHARE", format_args!("`{word}`")).prefixed(option))
                .help(format!("for example: {option} {example}"));
            if let Some((name, percent)) = word.rsplit_once('=')
                && let Some(share) = fraction(percent)
            {
                return Err(error.help(format!("write shares as fractions: {name}={share}")));
            }
            return Err(if text.contains(',') && zero && word.trim().parse::<f64>().is_err() {
                error.help(format!("write a name that contains a comma in backquotes: {option} '`a,b`=0.5,c=0.5'"))
            } else {
                error
            });
        };
        let name = if name.starts_with('`') { &unquote(name, text)? } else { name };
        if share < 0.0 || (share == 0.0 && !zero) {
            let least = if zero { "of at least 0" } else { "greater than 0" };
            return Err(Error::usage(mismatch(format_args!("a share {least} for `{name}`"), share).prefixed(option)));
        }
        if shares.iter().any(|(other, _)| other == name) {
            return Err(Error::usage(format!("{option}: `{name}` appears twice")));
        }
        shares.push((name.to_owned(), share));
    }
    let sum: f64 = shares.iter().map(|(_, share)| share).sum();
    if (sum - 1.0).abs() > 1e-6 {
        // Without the digits of a binary fraction.
        let rounded = |share: f64| (share * 1e6).round() / 1e6;
        let shown = if rounded(sum) == 1.0 { sum } else { rounded(sum) };
        let error = Error::usage(format!("{option}: the shares must add up to 1, not {shown}"));
        if let ([(name, share)], true) = (&shares[..], sum < 1.0) {
            let rest = if name == "test" { "train" } else { "test" };
            let left = rounded(1.0 - share);
            let both = shell_word(&format!("{name}={share},{rest}={left}"));
            return Err(error.help(format!("add a part for the remaining records: {option} {both}")));
        }
        // Counts or percentages.
        let fractions: Vec<String> = shares.iter().map(|(name, share)| format!("{name}={}", share / sum)).collect();
        let is_short = fractions.iter().zip(&shares).all(|(text, (name, _))| text.len() < name.len() + 8);
        return Err(if is_short {
            error.help(format!("write them as fractions: {option} {}", shell_word(&fractions.join(","))))
        } else {
            error
        });
    }
    Ok(shares)
}

/// A key as text, as an expression: a string unchanged, an integer in decimal, a bool as `true` or `false`.
///
/// # Errors
/// `by` is not a scalar expression, or its values are of another type.
pub fn key_text(by: &str, schema: &Schema, options: &Options) -> Result<String> {
    let key = bind_scalar(by, schema, options)?;
    match key.ty().dtype() {
        Some(DType::String | DType::Bytes) => Ok(format!("({by})")),
        Some(dtype) if dtype.is_integer() || *dtype == DType::Bool => Ok(format!("strings.as_string({by})")),
        Some(DType::Null) => {
            let name = by.trim();
            let error = Error::usage(format!("--by {by}: the value is null in every record"));
            let fill = format!("{name}=\"none\"");
            Err(error.help(format!("fill it first: fill-null {}", shell_word(&fill))))
        }
        _ => {
            let error = Error::usage(mismatch("a string, an integer or a bool", key.ty()).prefixed(format_args!("--by {by}")));
            let text = text_of(by, key.ty().dtype());
            Err(error.help(format!("convert it to a string: --by {}", shell_word(&text))))
        }
    }
}

/// An expression for the text of a value that is different for different values.
pub fn text_of(value: &str, dtype: Option<&DType>) -> String {
    match dtype {
        Some(dtype) if dtype.time().is_some() => format!("cast({value}, string)"),
        // Digits that tell all float64 apart; without them, there are six after the point.
        Some(dtype) if dtype.is_float() => format!("strings.as_string({value}, precision=17, shortest=True)"),
        _ => format!("strings.as_string({value})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_one() {
        assert_eq!(parse_shares("a=0.5, b=c=0.5", "--into", false).unwrap(), [("a".to_owned(), 0.5), ("b=c".to_owned(), 0.5)]);
        assert!(parse_shares("a=1,b=0", "--target", true).is_ok());
        for (wrong, expected) in [
            ("a=1,b=0", "expected a share greater than 0 for `b`, found 0"),
            ("a", "expected NAME=SHARE, found `a`"),
            ("a=0.5", "the shares must add up to 1, not 0.5"),
            ("a=0.5,a=0.5", "`a` appears twice"),
            ("=1", "expected NAME=SHARE, found `=1`"),
            ("a=-1,b=2", "expected a share greater than 0 for `a`, found -1"),
            ("a=nan,b=1", "expected NAME=SHARE, found `a=nan`"),
            ("", "expected NAME=SHARE, found ``"),
        ] {
            assert_eq!(parse_shares(wrong, "--into", false).unwrap_err().message(), format!("--into: {expected}"));
        }
    }
}

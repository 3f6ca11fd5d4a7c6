//! Compares tatter's output with the oracle's results. Each function returns a description of the difference.
//!
//! Integers, strings, structure and sizes are compared exactly, and floats with a relative tolerance, because the
//! oracle's vectorized kernels are not correctly rounded. NaN equals NaN, and -0.0 equals 0.0. Strings are compared as
//! bytes: `"a"` and `{"b64": "YQ=="}` are equal.

use serde_json::Value;
use std::collections::BTreeSet;

fn tolerance(dtype: &str) -> Option<f64> {
    match dtype {
        "float16" => Some(2e-3),
        "float32" => Some(2e-6),
        "float64" => Some(1e-12),
        _ => None,
    }
}

fn text<'a>(t: &'a Value, key: &str) -> &'a str {
    t[key].as_str().unwrap_or_default()
}

/// The bytes of a JSON string or of `{"b64": ...}`.
pub fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Object(object) if object.len() == 1 => base64(object.get("b64")?.as_str()?),
        _ => None,
    }
}

fn base64(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut held, mut bytes) = (0u32, 0, Vec::new());
    for letter in text.bytes().filter(|b| *b != b'=') {
        bits = bits << 6 | u32::try_from(ALPHABET.iter().position(|a| *a == letter)?).ok()?;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(bytes)
}

fn float_of(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        other => other.as_f64(),
    }
}

fn place(at: &str) -> &str {
    if at.is_empty() { "it" } else { at }
}

fn differs(want: &Value, got: &Value, dtype: &str, at: &str) -> Option<String> {
    if let Value::Array(want) = want {
        let Value::Array(got) = got else {
            return Some(format!("{} is not a list: {got}", place(at)));
        };
        if want.len() != got.len() {
            return Some(format!("{} has {} items instead of {}", place(at), got.len(), want.len()));
        }
        return want.iter().zip(got).enumerate().find_map(|(i, (want, got))| differs(want, got, dtype, &format!("{at}[{i}]")));
    }
    let same = if dtype == "string" || dtype == "bytes" {
        bytes_of(got).is_some() && bytes_of(got) == bytes_of(want)
    } else if let Some(tolerance) = tolerance(dtype) {
        match (float_of(want), float_of(got)) {
            (Some(w), Some(g)) => w == g || (w.is_nan() && g.is_nan()) || (w - g).abs() <= tolerance * w.abs().max(g.abs()),
            _ => false,
        }
    } else {
        want == got
    };
    (!same).then(|| format!("{} is {got} instead of {want}", place(at)))
}

/// A structure, item by item: the value itself shows the nesting, its fields the dtypes.
fn struct_differs(t: &Value, want: &Value, got: &Value, at: &str) -> Option<String> {
    if let Value::Array(want) = want {
        let Some(got) = got.as_array().filter(|got| got.len() == want.len()) else {
            return Some(format!("{} is not a list of {}", place(at), want.len()));
        };
        return want.iter().zip(got).enumerate().find_map(|(i, (want, got))| struct_differs(t, want, got, &format!("{at}[{i}]")));
    }
    let (Some(want), Some(got)) = (want.as_object(), got.as_object()) else {
        return Some(format!("{} is no structure: {got}", place(at)));
    };
    if want.keys().collect::<BTreeSet<_>>() != got.keys().collect::<BTreeSet<_>>() {
        return Some(format!("{} has fields {:?} instead of {:?}", place(at), got.keys(), want.keys()));
    }
    t["fields"].as_object()?.iter().find_map(|(name, field)| {
        let at = format!("{at}.{name}");
        if text(field, "kind") == "struct" {
            struct_differs(field, &want[name], &got[name], &at)
        } else {
            differs(&want[name], &got[name], text(field, "dtype"), &at)
        }
    })
}

/// The printed value of one field, compared with the oracle's tensor.
pub fn value_differs(t: &Value, got: &Value) -> Option<String> {
    match text(t, "kind") {
        "sparse" => {
            let parts = got.as_object().map(|o| o.keys().map(String::as_str).collect::<BTreeSet<_>>());
            if parts != Some(BTreeSet::from(["indices", "values", "dense_shape"])) {
                return Some(format!("it is not a sparse tensor: {got}"));
            }
            let part = |name: &str, dtype: &str| differs(&t[name], &got[name], dtype, name);
            part("dense_shape", "int64").or_else(|| part("indices", "int64")).or_else(|| part("values", text(t, "dtype")))
        }
        "struct" => struct_differs(t, &t["value"], got, ""),
        "pyval" => python_differs(&t["value"], got, ""),
        _ => differs(&t["value"], got, text(t, "dtype"), ""),
    }
}

/// A value computed by Python, whose dtypes are unknown.
fn python_differs(want: &Value, got: &Value, at: &str) -> Option<String> {
    match want {
        Value::Object(fields) if !fields.contains_key("b64") => {
            let same = got.as_object().is_some_and(|g| g.keys().collect::<BTreeSet<_>>() == fields.keys().collect::<BTreeSet<_>>());
            if !same {
                return Some(format!("{} has other fields: {got}", place(at)));
            }
            fields.iter().find_map(|(name, want)| python_differs(want, &got[name], &format!("{at}.{name}")))
        }
        Value::Array(want) => {
            let Some(got) = got.as_array().filter(|g| g.len() == want.len()) else {
                return Some(format!("{} is not a list of {}", place(at), want.len()));
            };
            want.iter().zip(got).enumerate().find_map(|(i, (want, got))| python_differs(want, got, &format!("{at}[{i}]")))
        }
        Value::Number(n) if n.is_f64() => differs(want, got, "float32", at),
        Value::String(_) | Value::Object(_) => differs(want, got, "string", at),
        _ => differs(want, got, "", at),
    }
}

/// The sizes along an axis of a nested list.
fn sizes(value: &Value, axis: usize) -> BTreeSet<u64> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    if axis == 0 { BTreeSet::from([items.len() as u64]) } else { items.iter().flat_map(|v| sizes(v, axis - 1)).collect() }
}

/// The entry of `schema --as json`, compared with the oracle's tensor, below `outer` axes of a structure.
pub fn type_differs(t: &Value, got: &Value, exact: bool, outer: usize) -> Option<String> {
    const INTEGERS: &[&str] = &["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"];
    let wanted_kind = text(t, "kind");
    let dtype = text(got, "dtype");
    if wanted_kind == "pyval" {
        let wrong = (t["value"].is_i64() || t["value"].is_boolean()) && !INTEGERS.contains(&dtype);
        return wrong.then(|| format!("dtype is {dtype}, not an integer's"));
    }
    let kind = if wanted_kind == "dense" || wanted_kind == "ragged" { "tensor" } else { wanted_kind };
    if text(got, "kind") != kind {
        return Some(format!("kind is {} instead of {kind}", got["kind"]));
    }
    let shape = if kind == "sparse" { &t["dense_shape"] } else { &t["shape"] };
    let shape = shape.as_array()?.get(if kind == "sparse" { 0 } else { outer }..)?;
    let Some(found) = got["shape"].as_array().filter(|found| found.len() == shape.len()) else {
        return Some(format!("shape is {} instead of {shape:?}", got["shape"]));
    };
    if kind != "struct" && dtype != text(t, "dtype") && !(text(t, "dtype") == "string" && dtype == "bytes") {
        return Some(format!("dtype is {dtype} instead of {}", text(t, "dtype")));
    }
    if kind == "struct" {
        let fields = t["fields"].as_object()?;
        let inner: Vec<&Value> = got["fields"].as_array().map(|f| f.iter().collect()).unwrap_or_default();
        if inner.iter().map(|f| text(f, "name")).collect::<BTreeSet<_>>() != fields.keys().map(String::as_str).collect() {
            return Some(format!("fields are {} instead of {:?}", got["fields"], fields.keys()));
        }
        let below = t["shape"].as_array()?.len();
        let wrong = fields.iter().find_map(|(name, field)| {
            let entry = inner.iter().find(|f| text(f, "name") == name)?;
            type_differs(field, entry, exact, below).map(|why| format!("{name}: {why}"))
        });
        if wrong.is_some() {
            return wrong;
        }
    }
    if !exact {
        return None;
    }
    let ragged: Vec<bool> = match got["ragged"].as_array() {
        Some(flags) => flags.iter().map(|f| f.as_bool() == Some(true)).collect(),
        None => vec![false; shape.len()],
    };
    if ragged.len() != shape.len() {
        return Some(format!("ragged has {} entries instead of {}", ragged.len(), shape.len()));
    }
    shape.iter().zip(found).zip(ragged).enumerate().find_map(|(i, ((want, got), ragged))| {
        if ragged && !want.is_null() {
            return Some(format!("axis {i} is called ragged; it is uniform"));
        }
        if !got.is_null() && !want.is_null() && got != want {
            return Some(format!("axis {i} has size {got} instead of {want}"));
        }
        if want.is_null() && !ragged && kind != "sparse" && (i > 0 || outer == 0) {
            let found = sizes(&t["value"], i + outer);
            if found.len() > 1 || got.as_u64().is_some_and(|g| found.iter().any(|f| *f != g)) {
                return Some(format!("axis {i} is called uniform; its sizes are {found:?}"));
            }
        }
        None
    })
}

/// The entry of the input's own schema, compared with a shape or a list of field names.
pub fn shape_differs(want: &Value, got: Option<&Value>) -> Option<String> {
    let Some(got) = got else {
        return Some("no such field in the schema".to_owned());
    };
    if text(want, "kind") == "pyval" {
        let mut names: Vec<&str> = got["fields"].as_array().map(|f| f.iter().map(|f| text(f, "name")).collect()).unwrap_or_default();
        names.sort_unstable();
        return (Value::from(names.clone()) != want["value"]).then(|| format!("fields are {names:?}"));
    }
    (got["shape"] != want["value"]).then(|| format!("shape is {} instead of {}", got["shape"], want["value"]))
}

//! The options `--default` and `--shape` of verbs that pad.

use crate::error::{Error, Result, mismatch};
use crate::path::{self, FieldPath};
use crate::printable::{counted, counted_axes};
use crate::schema::literal::{parse_literal, parse_literal_for};
use crate::schema::notation::{declaration, schema_option};
use crate::schema::search::LastFound;
use crate::schema::{DType, Dim, Literal, Schema, Type};
use crate::tensor::literal::{literal_array, zero};
use arrow_array::ArrayRef;
use std::collections::HashSet;

/// `--default` and `--shape`, each for one field or for all.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct PaddingArgs {
    /// Padding value, such as x=-1, or -1 for all fields it fits; may be repeated [default: 0, "", False]
    #[arg(long = "default", value_name = "FIELD=VALUE", allow_hyphen_values = true, value_parser = parse_default)]
    defaults: Vec<FieldValue>,
    /// Size of each axis, such as 'x=[?, 512]': `?` is the length of the longest row, `<=512` the same but at most 512, and `512` exactly 512
    #[arg(long = "shape", value_name = "FIELD=[..]", value_parser = parse_shape)]
    shapes: Vec<Shape>,
    #[arg(skip)]
    last_default: LastFound,
    #[arg(skip)]
    last_shape: LastFound,
}

/// A value for one field, or for all fields it fits.
#[derive(Clone, Debug)]
pub struct FieldValue {
    /// `None`: all fields the literal fits.
    path: Option<FieldPath>,
    text: String,
}

/// The sizes given by one `--shape`.
#[derive(Clone, Debug)]
pub struct Shape {
    /// `None`: all fields.
    path: Option<FieldPath>,
    sizes: Vec<AxisSize>,
}

/// The size of one axis in a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisSize {
    /// `?`: the longest within the record.
    Longest,
    /// `<=512`.
    AtMost(usize),
    /// `512`.
    Exact(usize),
    /// `max`: the longest over the whole input.
    Max,
}

/// Parses `x=-1`, or `-1` for all fields it fits.
///
/// # Errors
/// A name that is not a path.
pub fn parse_default(text: &str) -> Result<FieldValue, Error> {
    let parts = path::split(text, '=')?;
    let is_quoted = text.starts_with(['"', '\'']) || text.starts_with("b\"") || text.starts_with("b'");
    match parts.as_slice() {
        [name, _, ..] if !is_quoted => Ok(FieldValue { path: Some(FieldPath::parse(name)?), text: text[name.len() + 1..].to_owned() }),
        _ => Ok(FieldValue { path: None, text: text.to_owned() }),
    }
}

/// Parses `x=[?, <=512, 4, max]`; without a name it applies to all fields.
///
/// # Errors
/// Any other text.
pub fn parse_shape(text: &str) -> Result<Shape, Error> {
    let expected = || Error::usage(mismatch("a shape such as 'x=[?, <=512, 4, max]'", format_args!("`{text}`")));
    let (name, sizes) = match text.trim_start().starts_with('[') {
        true => (None, text),
        false => {
            let (name, sizes) = super::fields::split_assignment(text, "a shape such as 'x=[?, 512]'")?;
            (Some(FieldPath::parse(name)?), sizes)
        }
    };
    let without_brackets = || match &name {
        Some(name) if !sizes.contains(['[', ']']) => {
            expected().help(format!("put the sizes in brackets: '{}=[{}]'", crate::path::in_expression(&name.to_string()), sizes.trim()))
        }
        _ => expected(),
    };
    let inner = sizes.trim().strip_prefix('[').and_then(|s| s.strip_suffix(']')).ok_or_else(without_brackets)?;
    let size = |part: &str| -> Result<AxisSize> {
        let number = |digits: &str| digits.trim().parse::<usize>().ok().filter(|n| i64::try_from(*n).is_ok());
        match part.trim() {
            "?" => Ok(AxisSize::Longest),
            "max" => Ok(AxisSize::Max),
            limit if limit.starts_with("<=") => number(&limit[2..]).map(AxisSize::AtMost).ok_or_else(expected),
            exact => number(exact).map(AxisSize::Exact).ok_or_else(expected),
        }
    };
    let sizes = if inner.trim().is_empty() { Vec::new() } else { inner.split(',').map(size).collect::<Result<_>>()? };
    Ok(Shape { path: name, sizes })
}

impl FieldValue {
    /// The value for all fields it fits.
    fn of_all(&self) -> Result<Literal> {
        match parse_literal(&self.text).unwrap_or_else(|_| Literal::String(self.text.clone())) {
            literal @ (Literal::None | Literal::List(_)) => {
                Err(Error::usage(format!("cannot pad with {literal}: expected a number, a string or a bool")))
            }
            literal => Ok(literal),
        }
    }
}

/// Whether the literal pads fields of this dtype; its range does not matter.
fn fits(literal: &Literal, dtype: &DType) -> bool {
    match literal {
        Literal::Int(_) | Literal::Float(_) => dtype.is_number(),
        Literal::Bool(_) => *dtype == DType::Bool,
        Literal::String(_) => matches!(dtype, DType::String | DType::Bytes),
        Literal::Bytes(_) => matches!(dtype, DType::String | DType::Bytes),
        Literal::None | Literal::List(_) => false,
    }
}

impl PaddingArgs {
    /// Creates arguments with shapes only.
    pub fn of_shapes(shapes: &[Shape]) -> PaddingArgs {
        PaddingArgs { shapes: shapes.to_vec(), ..PaddingArgs::default() }
    }

    /// Creates arguments with defaults only.
    pub fn of_defaults(defaults: &[FieldValue]) -> PaddingArgs {
        PaddingArgs { defaults: defaults.to_vec(), ..PaddingArgs::default() }
    }

    /// Whether neither option is given.
    pub fn is_empty(&self) -> bool {
        self.defaults.is_empty() && self.shapes.is_empty()
    }

    /// Whether a shape contains `max`.
    pub fn has_max(&self) -> bool {
        self.shapes.iter().any(|s| s.sizes.contains(&AxisSize::Max))
    }

    /// Whether an option names this field.
    pub fn names(&self, path: &FieldPath) -> bool {
        self.default_of(path).is_some() || self.shape_of(path).is_some()
    }

    /// The default that names this field.
    fn default_of(&self, path: &FieldPath) -> Option<&FieldValue> {
        let position = self.last_default.position(&self.defaults, |default| default.path.as_ref() == Some(path))?;
        self.defaults.get(position)
    }

    /// The shape that names this field.
    fn shape_of(&self, path: &FieldPath) -> Option<&Shape> {
        let position = self.last_shape.position(&self.shapes, |shape| shape.path.as_ref() == Some(path))?;
        self.shapes.get(position)
    }

    /// Checks that the named fields exist and are among those the verb works on.
    ///
    /// # Errors
    /// A field that does not exist, that the verb does not work on, or that is named twice.
    pub fn check(&self, schema: &Schema, worked: &[FieldPath]) -> Result<()> {
        self.check_values(("--default", "padded"), schema, worked)?;
        check(("--shape", "padded"), self.shapes.iter().map(|s| &s.path).collect(), schema, worked)
    }

    /// Checks only the values; messages name `option` and what is done to the fields.
    ///
    /// # Errors
    /// See [`PaddingArgs::check`].
    pub fn check_values(&self, (option, done): (&str, &str), schema: &Schema, worked: &[FieldPath]) -> Result<()> {
        check((option, done), self.defaults.iter().map(|d| &d.path).collect(), schema, worked)?;
        let Some(all) = self.defaults.iter().find(|default| default.path.is_none()) else { return Ok(()) };
        let literal = all.of_all()?;
        let fields = worked.iter().map(|path| schema.find(path).map(|(_, field)| (path, &field.ty))).collect::<Result<Vec<_>>>()?;
        if fields.iter().any(|(_, ty)| ty.dtype().is_none_or(|dtype| *dtype == DType::Null || fits(&literal, dtype))) {
            return Ok(());
        }
        match fields.first() {
            Some((path, ty)) => Err(Error::usage(format!("{option} {literal} fits no field that is {done}; {path} is {ty}"))),
            None => Ok(()),
        }
    }

    /// The shape given for a field with `rank` own axes.
    ///
    /// # Errors
    /// The shape has a different number of axes.
    pub fn shape(&self, path: &FieldPath, rank: usize) -> Result<Option<&[AxisSize]>> {
        let Some(shape) = self.shape_of(path).or_else(|| self.shapes.iter().find(|s| s.path.is_none())) else { return Ok(None) };
        if shape.sizes.len() != rank {
            let question = vec!["?"; rank].join(", ");
            let sizes = counted(shape.sizes.len() as u64, "size");
            let error = Error::usage(format!("--shape has {sizes}, but the field has {}", counted_axes(rank))).in_field(path);
            return Err(error.help(format!("write one size per axis, such as --shape '{path}=[{question}]'")));
        }
        Ok(Some(&shape.sizes))
    }

    /// The padding value of a field as an array of length 1: the given value, or else zero.
    ///
    /// # Errors
    /// A default that does not fit the field's dtype, or a dtype that tensors do not have.
    pub fn filling(&self, path: &FieldPath, dtype: &DType) -> Result<ArrayRef> {
        let zero = zero(dtype).ok_or_else(|| not_padded(path, dtype, &[]))?;
        match self.given(path, dtype)? {
            Some(given) => Ok(given),
            None => literal_array(&zero, dtype),
        }
    }

    /// The padding value of a field as in [`PaddingArgs::filling`], but bytes for strings too: what is padded with bytes
    /// that are not valid UTF-8 becomes bytes.
    ///
    /// # Errors
    /// See [`PaddingArgs::filling`].
    pub fn wide_filling(&self, path: &FieldPath, dtype: &DType) -> Result<ArrayRef> {
        let is_wide = *dtype == DType::String && matches!(self.literal(path, dtype)?, Some(Literal::Bytes(_)));
        self.filling(path, if is_wide { &DType::Bytes } else { dtype })
    }

    /// The literal given for a field by name or for all fields it fits.
    fn literal(&self, path: &FieldPath, dtype: &DType) -> Result<Option<Literal>> {
        let literal = if let Some(default) = self.default_of(path) {
            let unreadable =
                |_| Error::usage(mismatch(format_args!("a value of {dtype}"), format_args!("`{}`", default.text))).in_field(path);
            Some(parse_literal_for(&default.text, Some(dtype)).map_err(unreadable)?)
        } else {
            let all = self.defaults.iter().find(|d| d.path.is_none());
            all.map(FieldValue::of_all).transpose()?.filter(|literal| fits(literal, dtype))
        };
        Ok(match literal {
            Some(Literal::Bytes(bytes)) if *dtype == DType::String => {
                Some(String::from_utf8(bytes).map_or_else(|e| Literal::Bytes(e.into_bytes()), Literal::String))
            }
            literal => literal,
        })
    }

    /// The value given for a field by name or for all fields it fits, as an array of length 1.
    ///
    /// # Errors
    /// A value that does not fit the field's dtype.
    pub fn given(&self, path: &FieldPath, dtype: &DType) -> Result<Option<ArrayRef>> {
        let Some(literal) = self.literal(path, dtype)? else { return Ok(None) };
        let is_named = self.default_of(path).is_some();
        let array = literal_array(&literal, dtype).map_err(|e| {
            let e = e.in_field(path);
            if is_named {
                e.help("use a value of the field's dtype")
            } else {
                e.help(format!("add a value of its dtype for this field: '{path}=VALUE'"))
            }
        })?;
        Ok(Some(array))
    }
}

fn check((option, done): (&str, &str), paths: Vec<&Option<FieldPath>>, schema: &Schema, worked: &[FieldPath]) -> Result<()> {
    let (mut seen, worked) = (HashSet::new(), worked.iter().collect::<HashSet<_>>());
    for path in paths {
        if !seen.insert(path) {
            let of = path.as_ref().map_or_else(|| "all fields".to_owned(), ToString::to_string);
            return Err(Error::usage(format!("{option} appears twice for {of}")));
        }
        let Some(path) = path else { continue };
        let (_, field) = schema.find(path).map_err(|e| e.prefixed(option))?;
        let is_scalar_default = option == "--default" && field.ty.dims.is_empty();
        if !is_scalar_default && !worked.contains(path) {
            return Err(Error::usage(format!("{option} names a field that is not {done}; it is {}", field.ty)).in_field(path));
        }
    }
    Ok(())
}

/// The error for values whose dtype tensors do not support. `dims`: the axes of the field, if known.
pub fn not_padded(path: &FieldPath, dtype: &DType, dims: &[Dim]) -> Error {
    if *dtype == DType::Null {
        let error = Error::usage("has no value in any record, so its dtype is unknown").in_field(path);
        if !dims.is_empty() {
            let declared = declaration(path, Type::tensor(DType::Int64, dims.to_vec()));
            return error.help(format!("declare its type, for example {}", schema_option(&declared)));
        }
        return error.help(format!(
            "declare its type, for example {}; int64[?, (?)] for lists of lists",
            schema_option(&declaration(path, "int64[?]"))
        ));
    }
    Error::usage(format!("{dtype} values cannot be padded")).in_field(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::DataType;

    #[test]
    fn shapes_are_read() {
        use AxisSize::*;
        for (text, path, want) in [
            ("x=[?, <=512, 4, max]", Some("x"), vec![Longest, AtMost(512), Exact(4), Max]),
            ("a.b=[]", Some("a.b"), vec![]),
            ("[0]", None, vec![Exact(0)]),
        ] {
            let shape = parse_shape(text).expect(text);
            assert_eq!((shape.path.map(|p| p.to_string()).as_deref(), shape.sizes), (path, want));
        }
        for text in ["x", "x=5", "x=[-1]", "x=[a]", "x=[1,]", "=[1]", "x=[<=]"] {
            assert!(parse_shape(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_default_is_for_one_field_or_for_those_it_fits() {
        let args = PaddingArgs::of_defaults(&[parse_default("s=<pad>").unwrap(), parse_default("-1").unwrap()]);
        let text = |name: &str, dtype: DType| {
            let array = args.filling(&FieldPath::name(name), &dtype).map_err(|e| e.to_string())?;
            arrow_cast::display::array_value_to_string(&array, 0).map_err(|e| e.to_string())
        };
        assert_eq!(text("s", DType::String), Ok("<pad>".to_owned()));
        assert_eq!(text("t", DType::String), Ok(String::new()));
        assert_eq!(text("i", DType::Int64), Ok("-1".to_owned()));
        assert_eq!(text("f", DType::Float32), Ok("-1.0".to_owned()));
        assert!(text("u", DType::UInt8).unwrap_err().contains("-1 is out of range for uint8"));
    }

    #[test]
    fn bytes_pad_strings() {
        for (default, dtype) in
            [("s=b\"\\xff\"", DataType::LargeBinary), ("b\"\\xff\"", DataType::LargeBinary), ("s=b\"a\"", DataType::LargeUtf8)]
        {
            let args = PaddingArgs::of_defaults(&[parse_default(default).unwrap()]);
            assert_eq!(*args.wide_filling(&FieldPath::name("s"), &DType::String).unwrap().data_type(), dtype, "{default}");
        }
    }
}

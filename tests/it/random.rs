//! Random schemas with matching records, for the property tests.

use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use serde_json::{Map, Value, json};

/// So many cases in every run; `PROPTEST_CASES=2000 cargo test --test it laws` runs as many of each property.
pub fn cases(cases: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 1000, ..ProptestConfig::default() }
}

/// A type with the size of each list.
#[derive(Clone, Debug)]
pub enum Type {
    Leaf(&'static str),
    List(Size, Box<Type>),
    Struct(Vec<(String, Field)>),
}

/// The size of a list: fixed or arbitrary.
#[derive(Clone, Copy, Debug)]
pub enum Size {
    Known(usize),
    Any,
}

/// The type of a field.
#[derive(Clone, Debug)]
pub struct Field {
    pub ty: Type,
    pub optional: bool,
}

/// A dataset: `--schema` and JSON lines.
#[derive(Clone, Debug)]
pub struct Dataset {
    pub fields: Vec<(String, Field)>,
    pub schema: String,
    pub records: Vec<Value>,
}

impl Dataset {
    pub fn jsonl(&self) -> Vec<u8> {
        self.records.iter().flat_map(|r| format!("{r}\n").into_bytes()).collect()
    }
}

/// Any dataset; `nulls`: whether fields can be null.
pub fn dataset(nulls: bool) -> impl Strategy<Value = Dataset> {
    fields(nulls, ty(nulls), 1..4).prop_flat_map(|fields| {
        let record = Type::Struct(fields.clone());
        prop::collection::vec(value(&record), 0..9).prop_map(move |records| Dataset {
            fields: fields.clone(),
            schema: fields.iter().map(|(name, field)| format!("{name}: {}", written(field))).collect::<Vec<_>>().join("; "),
            records,
        })
    })
}

fn ty(nulls: bool) -> BoxedStrategy<Type> {
    let leaf = prop::sample::select(vec!["int64", "int32", "uint8", "float64", "float32", "bool", "string"]).prop_map(Type::Leaf);
    leaf.prop_recursive(4, 16, 3, move |inner| {
        let size = prop_oneof![1 => (1usize..4).prop_map(Size::Known), 3 => Just(Size::Any)];
        prop_oneof![
            3 => (size, inner.clone()).prop_map(|(size, ty)| Type::List(size, Box::new(ty))),
            1 => fields(nulls, inner.boxed(), 1..3).prop_map(Type::Struct),
        ]
    })
    .boxed()
}

fn fields(nulls: bool, ty: BoxedStrategy<Type>, count: std::ops::Range<usize>) -> BoxedStrategy<Vec<(String, Field)>> {
    let optional = if nulls { prop::bool::weighted(0.3).boxed() } else { Just(false).boxed() };
    let field = (ty, optional).prop_map(|(ty, optional)| Field { ty, optional });
    prop::collection::vec(field, count)
        .prop_map(|fields| fields.into_iter().enumerate().map(|(i, field)| (["a", "b", "c", "d"][i].to_owned(), field)).collect())
        .boxed()
}

/// The type in the notation of `--schema`.
fn written(field: &Field) -> String {
    format!("{}{}", if field.optional { "optional " } else { "" }, type_text(&field.ty))
}

fn type_text(mut ty: &Type) -> String {
    let mut sizes = Vec::new();
    while let Type::List(size, inner) = ty {
        sizes.push(match size {
            Size::Known(n) => n.to_string(),
            Size::Any if sizes.is_empty() => "?".to_owned(),
            Size::Any => "(?)".to_owned(),
        });
        ty = inner;
    }
    let element = match ty {
        Type::Leaf(dtype) => (*dtype).to_owned(),
        Type::Struct(fields) => {
            let fields: Vec<String> = fields.iter().map(|(name, field)| format!("{name}: {}", written(field))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Type::List(..) => unreachable!("taken off above"),
    };
    if sizes.is_empty() { element } else { format!("{element}[{}]", sizes.join(", ")) }
}

fn value(ty: &Type) -> BoxedStrategy<Value> {
    match ty {
        Type::Leaf("int64") => prop_oneof![any::<i64>(), -9i64..10].prop_map(Value::from).boxed(),
        Type::Leaf("int32") => any::<i32>().prop_map(Value::from).boxed(),
        Type::Leaf("uint8") => any::<u8>().prop_map(Value::from).boxed(),
        Type::Leaf("float64") => prop_oneof![
            4 => prop::num::f64::NORMAL.prop_map(Value::from),
            2 => (-9i32..10).prop_map(|n| Value::from(f64::from(n) / 2.0)),
            1 => prop::sample::select(vec!["NaN", "Infinity", "-Infinity"]).prop_map(Value::from),
        ]
        .boxed(),
        Type::Leaf("float32") => (-900i16..900).prop_map(|n| Value::from(f64::from(n) / 4.0)).boxed(),
        Type::Leaf("bool") => any::<bool>().prop_map(Value::from).boxed(),
        Type::Leaf(_) => prop_oneof!["[a-c]{0,3}", "\\PC{0,4}", Just("\u{0}\"\\\n".to_owned())].prop_map(Value::from).boxed(),
        Type::List(Size::Known(n), inner) => prop::collection::vec(value(inner), *n).prop_map(Value::from).boxed(),
        Type::List(Size::Any, inner) => prop::collection::vec(value(inner), 0..4).prop_map(Value::from).boxed(),
        Type::Struct(fields) => {
            let names: Vec<String> = fields.iter().map(|(name, _)| name.clone()).collect();
            let values: Vec<BoxedStrategy<Value>> = fields
                .iter()
                .map(|(_, field)| {
                    let value = value(&field.ty);
                    if field.optional { prop_oneof![1 => Just(json!(null)), 3 => value].boxed() } else { value }
                })
                .collect();
            values.prop_map(move |values| Value::Object(names.iter().cloned().zip(values).collect::<Map<_, _>>())).boxed()
        }
    }
}

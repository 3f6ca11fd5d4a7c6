//! A second implementation of the verbs: slow, over JSON values, one record at a time. The chains of `chains` run
//! through both tatter and this reference.

use crate::random::{Field, Size, Type};
use serde_json::{Map, Value, json};

type Record = Map<String, Value>;

/// Records with their types, between two verbs.
#[derive(Clone, Debug)]
pub struct State {
    pub fields: Vec<(String, Field)>,
    pub records: Vec<Record>,
}

/// Numbers that drive decisions; zeros after they run out.
pub struct Dice<'a> {
    numbers: &'a [u16],
}

impl<'a> Dice<'a> {
    pub fn new(numbers: &'a [u16]) -> Dice<'a> {
        Dice { numbers }
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        let Some((first, rest)) = self.numbers.split_first() else { return 0 };
        self.numbers = rest;
        usize::from(*first) % n.max(1)
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    fn pick<'t, T>(&mut self, items: &'t [T]) -> Option<&'t T> {
        if items.is_empty() { None } else { items.get(self.below(items.len())) }
    }
}

/// A verb with arguments that suit the records, and its output; none if the verb does not apply.
type Step = fn(&mut Dice, &State) -> Option<(String, State)>;

pub const STEPS: &[Step] = &[
    head,
    tail,
    skip,
    shard,
    repeat,
    select,
    drop_field,
    rename,
    batch,
    batch_all,
    batch_by_content,
    unbatch,
    window,
    explode,
    explode,
    implode,
    enumerate,
    sort,
    unique,
    unique,
    cumsum,
    filter,
    take_while,
    skip_while,
    merge_dims,
    to_dense,
    padded_batch,
    promote,
    bucket,
    fill_null,
    map_length,
    map_reverse,
    through_sparse,
    through_partitions,
];

fn leaf(dtype: &'static str) -> Field {
    Field { ty: Type::Leaf(dtype), optional: false }
}

fn list(inner: Type) -> Type {
    Type::List(Size::Any, Box::new(inner))
}

/// The type of the items of a list.
fn item(ty: &Type) -> Option<&Type> {
    match ty {
        Type::List(_, inner) => Some(inner),
        _ => None,
    }
}

/// The number of lists around an item, and the item.
fn nesting(ty: &Type) -> (usize, &Type) {
    match ty {
        Type::List(_, inner) => {
            let (depth, end) = nesting(inner);
            (depth + 1, end)
        }
        _ => (0, ty),
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

impl State {
    /// The names of the fields for which a condition holds.
    fn names(&self, suits: impl Fn(&Type) -> bool) -> Vec<String> {
        self.fields.iter().filter(|(_, field)| suits(&field.ty)).map(|(name, _)| name.clone()).collect()
    }

    /// The same, without nulls at any level.
    fn full(&self, suits: impl Fn(&Type) -> bool) -> Vec<String> {
        let full = |name: &String| !self.records.iter().any(|record| has_null(&record[name]));
        self.names(suits).into_iter().filter(full).collect()
    }

    fn field(&self, name: &str) -> &Field {
        &self.fields.iter().find(|(other, _)| other == name).unwrap().1
    }

    fn with_records(&self, records: Vec<Record>) -> State {
        State { fields: self.fields.clone(), records }
    }

    fn kept(&self, keep: impl Fn(usize, &Record) -> bool) -> State {
        self.with_records(self.records.iter().enumerate().filter(|(i, record)| keep(*i, record)).map(|(_, r)| r.clone()).collect())
    }

    /// A field with another type and other values.
    fn edited(&self, name: &str, ty: Type, edit: impl Fn(&Value) -> Value) -> State {
        let mut state = self.clone();
        state.fields.iter_mut().find(|(other, _)| other == name).unwrap().1.ty = ty;
        for record in &mut state.records {
            let value = edit(&record[name]);
            record.insert(name.to_owned(), value);
        }
        state
    }

    /// Appends a new field.
    fn added(&self, name: &str, field: Field, value: impl Fn(&Record) -> Value) -> State {
        let mut state = self.clone();
        state.fields.push((name.to_owned(), field));
        for record in &mut state.records {
            let value = value(record);
            record.insert(name.to_owned(), value);
        }
        state
    }

    /// An unused field name.
    fn free(&self) -> String {
        (0..).map(|i| format!("n{i}")).find(|name| self.fields.iter().all(|(other, _)| other != name)).unwrap()
    }

    /// Groups records into records of lists.
    fn batched(&self, groups: &[Vec<Record>], size: Size) -> State {
        let batch = |field: &Field| Field { ty: Type::List(size, Box::new(field.ty.clone())), optional: false };
        let fields = self.fields.iter().map(|(name, field)| (name.clone(), batch(field)));
        let stack = |group: &Vec<Record>| {
            let column = |name: &String| Value::Array(group.iter().map(|record| record[name].clone()).collect());
            self.fields.iter().map(|(name, _)| (name.clone(), column(name))).collect()
        };
        State { fields: fields.collect(), records: groups.iter().map(stack).collect() }
    }
}

fn head(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let n = dice.below(12);
    Some((format!("head {n}"), state.kept(|i, _| i < n)))
}

fn tail(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let n = dice.below(12);
    let len = state.records.len();
    Some((format!("tail {n}"), state.kept(|i, _| i + n >= len)))
}

fn skip(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let n = dice.below(4);
    Some((format!("skip {n}"), state.kept(|i, _| i >= n)))
}

fn shard(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let n = dice.below(3) + 1;
    let index = dice.below(n);
    Some((format!("shard {index}/{n}"), state.kept(|i, _| i % n == index)))
}

fn repeat(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let n = dice.below(3) + 1;
    let all = state.records.iter().cycle().take(n * state.records.len()).cloned();
    Some((format!("repeat {n}"), state.with_records(all.collect())))
}

fn select(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let mut left: Vec<String> = state.names(|_| true);
    let mut chosen = Vec::new();
    for _ in 0..=dice.below(left.len()) {
        chosen.push(left.remove(dice.below(left.len())));
    }
    let only = |record: &Record| chosen.iter().map(|name| (name.clone(), record[name].clone())).collect();
    let fields = chosen.iter().map(|name| (name.clone(), state.field(name).clone())).collect();
    Some((format!("select {}", chosen.join(",")), State { fields, records: state.records.iter().map(only).collect() }))
}

fn drop_field(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    if state.fields.len() < 2 {
        return None;
    }
    let name = dice.pick(&state.names(|_| true))?.clone();
    let mut after = state.clone();
    after.fields.retain(|(other, _)| *other != name);
    for record in &mut after.records {
        record.shift_remove(&name);
    }
    Some((format!("drop {name}"), after))
}

fn rename(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let old = dice.pick(&state.names(|_| true))?.clone();
    let new = state.free();
    let renamed = |name: &String| if *name == old { new.clone() } else { name.clone() };
    let fields = state.fields.iter().map(|(name, field)| (renamed(name), field.clone())).collect();
    let records = state.records.iter().map(|record| record.iter().map(|(name, value)| (renamed(name), value.clone())).collect());
    Some((format!("rename {old}={new}"), State { fields, records: records.collect() }))
}

fn batch(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let n = dice.below(4) + 1;
    let full = dice.coin();
    let groups: Vec<Vec<Record>> = state.records.chunks(n).filter(|group| !full || group.len() == n).map(<[Record]>::to_vec).collect();
    Some((format!("batch {n}{}", if full { " --drop-remainder" } else { "" }), state.batched(&groups, known_if(full, n))))
}

/// A batch size that leaves no incomplete batch.
fn known_if(full: bool, n: usize) -> Size {
    if full { Size::Known(n) } else { Size::Any }
}

fn batch_all(_: &mut Dice, state: &State) -> Option<(String, State)> {
    let groups = if state.records.is_empty() { vec![] } else { vec![state.records.clone()] };
    Some(("batch all".to_owned(), state.batched(&groups, Size::Any)))
}

/// A batch closes before it would exceed a number of values of a field.
fn batch_by_content(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let name = dice.pick(&state.full(|ty| nesting(ty).0 == 1))?.clone();
    let most = dice.below(6) + 1;
    let size = |record: &Record| items(&record[&name]).len();
    let mut groups: Vec<Vec<Record>> = Vec::new();
    for record in &state.records {
        match groups.last_mut() {
            Some(group) if group.iter().map(size).sum::<usize>() + size(record) <= most => group.push(record.clone()),
            _ => groups.push(vec![record.clone()]),
        }
    }
    Some((format!("batch all --max-values {name}={most}"), state.batched(&groups, Size::Any)))
}

/// If all fields are lists of equal length in each record.
fn unbatch(_: &mut Dice, state: &State) -> Option<(String, State)> {
    let names = state.names(|_| true);
    let fields: Option<Vec<_>> =
        state.fields.iter().map(|(name, field)| Some((name.clone(), Field { ty: item(&field.ty)?.clone(), optional: true }))).collect();
    let fields = fields?;
    let known = state.fields.iter().filter_map(|(_, field)| match field.ty {
        Type::List(Size::Known(n), _) => Some(n),
        _ => None,
    });
    if known.collect::<std::collections::HashSet<_>>().len() > 1 {
        return None;
    }
    let mut records = Vec::new();
    for record in &state.records {
        let first = record[names.first()?].as_array()?.len();
        if names.iter().any(|name| record[name].as_array().is_none_or(|items| items.len() != first)) {
            return None;
        }
        records.extend((0..first).map(|i| names.iter().map(|name| (name.clone(), record[name][i].clone())).collect::<Record>()));
    }
    Some(("unbatch".to_owned(), State { fields, records }))
}

fn window(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let (size, shift, stride) = (dice.below(3) + 1, dice.below(3) + 1, dice.below(3) + 1);
    let full = dice.coin();
    let of = |start: usize| state.records[start..].iter().step_by(stride).take(size).cloned().collect::<Vec<_>>();
    let groups: Vec<_> = (0..state.records.len()).step_by(shift).map(of).filter(|group| !full || group.len() == size).collect();
    let words = format!("window --size {size} --shift {shift} --stride {stride}{}", if full { " --drop-remainder" } else { "" });
    Some((words, state.batched(&groups, known_if(full, size))))
}

fn explode(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let name = dice.pick(&state.names(|ty| item(ty).is_some()))?.clone();
    let keep = dice.coin();
    let mut records = Vec::new();
    for record in &state.records {
        let mut push = |value: &Value| {
            let mut one = record.clone();
            one.insert(name.clone(), value.clone());
            records.push(one);
        };
        items(&record[&name]).iter().for_each(&mut push);
        if keep && items(&record[&name]).is_empty() {
            push(&Value::Null);
        }
    }
    let mut after = state.with_records(records);
    let field = &mut after.fields.iter_mut().find(|(other, _)| *other == name)?.1;
    *field = Field { ty: item(&field.ty)?.clone(), optional: true };
    Some((format!("explode {name}{}", if keep { " --keep-empty" } else { "" }), after))
}

fn implode(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let name = dice.pick(&state.names(|ty| nesting(ty).0 == 0 && !matches!(ty, Type::Struct(_))))?.clone();
    let mut groups: Vec<Vec<Record>> = Vec::new();
    for record in &state.records {
        match groups.last_mut() {
            Some(group) if group[0][&name] == record[&name] => group.push(record.clone()),
            _ => groups.push(vec![record.clone()]),
        }
    }
    let mut after = state.batched(&groups, Size::Any);
    for (record, group) in after.records.iter_mut().zip(&groups) {
        record.insert(name.clone(), group[0][&name].clone());
    }
    after.fields.iter_mut().find(|(other, _)| *other == name)?.1 = state.field(&name).clone();
    Some((format!("implode --by {name}"), after))
}

fn enumerate(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let (start, name) = (dice.below(5), state.free());
    let mut fields = vec![(name.clone(), leaf("int64"))];
    fields.extend(state.fields.clone());
    let numbered = |(i, record): (usize, &Record)| {
        let mut one = Record::new();
        one.insert(name.clone(), json!(start + i));
        one.extend(record.clone());
        one
    };
    let records = state.records.iter().enumerate().map(numbered).collect();
    Some((format!("enumerate --start {start} --as {name}"), State { fields, records }))
}

const ORDERED: [&str; 5] = ["int64", "int32", "uint8", "string", "bool"];

fn is_ordered(ty: &Type) -> bool {
    matches!(ty, Type::Leaf(dtype) if ORDERED.contains(dtype))
}

/// A stable sort, nulls last.
fn sort(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let name = dice.pick(&state.names(is_ordered))?.clone();
    let descending = dice.coin();
    let mut records = state.records.clone();
    records.sort_by(|a, b| {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let order = match (&a[&name], &b[&name]) {
            (Value::Null, Value::Null) => return Equal,
            (Value::Null, _) => return Greater,
            (_, Value::Null) => return Less,
            (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (a, b) => a.as_i64().cmp(&b.as_i64()),
        };
        if descending { order.reverse() } else { order }
    });
    Some((format!("sort --by {name}{}", if descending { " --descending" } else { "" }), state.with_records(records)))
}

fn unique(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let name = if dice.coin() { Some(dice.pick(&state.names(|_| true))?.clone()) } else { None };
    let key = |record: &Record| match &name {
        Some(name) => record[name].to_string(),
        None => Value::Object(record.clone()).to_string(),
    };
    let mut seen = std::collections::HashSet::new();
    let records = state.records.iter().filter(|record| seen.insert(key(record))).cloned().collect();
    let words = name.as_ref().map_or_else(|| "unique".to_owned(), |name| format!("unique --by {name}"));
    Some((words, state.with_records(records)))
}

fn cumsum(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let name = dice.pick(&state.full(|ty| matches!(ty, Type::Leaf("int32" | "uint8"))))?.clone();
    let by = if dice.coin() { dice.pick(&state.names(is_ordered)).cloned() } else { None };
    let exclusive = dice.coin();
    let new = state.free();
    let mut totals = std::collections::HashMap::<String, i64>::new();
    let mut after = state.clone();
    after.fields.push((new.clone(), leaf("int64")));
    for record in &mut after.records {
        let total = totals.entry(by.as_ref().map(|by| record[by].to_string()).unwrap_or_default()).or_default();
        let before = *total;
        *total += record[&name].as_i64()?;
        let value = if exclusive { before } else { *total };
        record.insert(new.clone(), json!(value));
    }
    let by = by.map(|by| format!(" --by {by}")).unwrap_or_default();
    Some((format!("cumsum {name}{by}{} --as {new}", if exclusive { " --exclusive" } else { "" }), after))
}

/// The text of a condition, and its result for a record.
type Condition = (String, Box<dyn Fn(&Record) -> bool>);

/// A condition as an expression, and as a function.
fn condition(dice: &mut Dice, state: &State) -> Option<Condition> {
    let lists = state.full(|ty| item(ty).is_some());
    let numbers = state.full(|ty| matches!(ty, Type::Leaf("int64" | "int32" | "uint8")));
    let n = i64::try_from(dice.below(4)).ok()?;
    if dice.coin() {
        let name = dice.pick(&lists)?.clone();
        Some((format!("len({name})>={n}"), Box::new(move |record| items(&record[&name]).len() as i64 >= n)))
    } else {
        let name = dice.pick(&numbers)?.clone();
        Some((format!("{name}>{n}"), Box::new(move |record| record[&name].as_i64().is_some_and(|value| value > n))))
    }
}

fn filter(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let (words, holds) = condition(dice, state)?;
    Some((format!("filter {words}"), state.kept(|_, record| holds(record))))
}

fn take_while(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let (words, holds) = condition(dice, state)?;
    Some((format!("take-while {words}"), state.with_records(state.records.iter().take_while(|r| holds(r)).cloned().collect())))
}

fn skip_while(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let (words, holds) = condition(dice, state)?;
    Some((format!("skip-while {words}"), state.with_records(state.records.iter().skip_while(|r| holds(r)).cloned().collect())))
}

fn merge_dims(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let name = dice.pick(&state.full(|ty| nesting(ty).0 >= 2))?.clone();
    let depth = nesting(&state.field(&name).ty).0;
    let outer = dice.below(depth - 1);
    fn merged(value: &Value, axis: usize) -> Value {
        if axis == 0 {
            items(value).iter().flat_map(items).cloned().collect()
        } else {
            items(value).iter().map(|value| merged(value, axis - 1)).collect()
        }
    }
    fn without(ty: &Type, axis: usize) -> Option<Type> {
        match axis {
            0 => match ty {
                Type::List(Size::Known(n), inner) => match &**inner {
                    Type::List(Size::Known(m), items) => Some(Type::List(Size::Known(n * m), items.clone())),
                    _ => Some(list(item(inner)?.clone())),
                },
                _ => Some(list(item(item(ty)?)?.clone())),
            },
            _ => Some(list(without(item(ty)?, axis - 1)?)),
        }
    }
    let ty = without(&state.field(&name).ty, outer)?;
    Some((format!("merge-dims {name} {outer} {}", outer + 1), state.edited(&name, ty, |value| merged(value, outer))))
}

/// The size of each axis below the outermost: the length of its longest row.
fn longest(value: &Value, axis: usize, sizes: &mut Vec<usize>) {
    if let Value::Array(items) = value {
        if sizes.len() <= axis {
            sizes.push(0);
        }
        sizes[axis] = sizes[axis].max(items.len());
        items.iter().for_each(|item| longest(item, axis + 1, sizes));
    }
}

fn zero(dtype: &str) -> Value {
    match dtype {
        "string" => json!(""),
        "bool" => json!(false),
        "float32" | "float64" => json!(0.0),
        _ => json!(0),
    }
}

fn padded(value: Option<&Value>, sizes: &[usize], default: &Value) -> Value {
    match sizes.split_first() {
        None => value.unwrap_or(default).clone(),
        Some((size, rest)) => (0..*size).map(|i| padded(value.and_then(|value| value.get(i)), rest, default)).collect(),
    }
}

/// Pads every axis of `[?, (?)]` to its longest row. A size known from the type applies even without rows.
fn dense(value: &Value, ty: &Type) -> Value {
    let (depth, end) = nesting(ty);
    let Type::Leaf(dtype) = end else { unreachable!("leaves only") };
    let mut sizes = Vec::new();
    longest(value, 0, &mut sizes);
    sizes.resize(depth, 0);
    let mut below = Some(ty);
    for size in &mut sizes {
        if let Some(Type::List(Size::Known(known), _)) = below {
            *size = *known;
        }
        below = below.and_then(item);
    }
    padded(Some(value), &sizes, &zero(dtype))
}

fn is_nested_leaf(ty: &Type) -> bool {
    matches!(nesting(ty), (2.., Type::Leaf(_)))
}

fn to_dense(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let name = dice.pick(&state.full(is_nested_leaf))?.clone();
    let ty = state.field(&name).ty.clone();
    Some((format!("to-dense -f {name}"), state.edited(&name, ty.clone(), |value| dense(value, &ty))))
}

/// If all fields are leaves or lists of leaves: a batch, then padding.
fn padded_batch(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    if state.full(|ty| matches!(nesting(ty).1, Type::Leaf(_))).len() < state.fields.len() {
        return None;
    }
    let n = dice.below(4) + 1;
    let groups: Vec<Vec<Record>> = state.records.chunks(n).map(<[Record]>::to_vec).collect();
    let mut after = state.batched(&groups, Size::Any);
    for (name, field) in &after.fields {
        for record in &mut after.records {
            let value = dense(&record[name], &field.ty);
            record.insert(name.clone(), value);
        }
    }
    Some((format!("padded-batch {n}"), after))
}

/// Flattens a list of structures that each contain a list.
fn promote(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let mut paths = Vec::new();
    for name in state.full(|ty| nesting(ty).0 == 1) {
        if let Some(Type::Struct(fields)) = item(&state.field(&name).ty) {
            paths
                .extend(fields.iter().filter(|(_, f)| nesting(&f.ty).0 >= 1).map(|(inner, f)| (name.clone(), inner.clone(), f.ty.clone())));
        }
    }
    let (outer, inner, ty) = dice.pick(&paths)?.clone();
    let new = state.free();
    let merged = |record: &Record| items(&record[&outer]).iter().flat_map(|one| items(&one[&inner])).cloned().collect();
    let after = state.added(&new, Field { ty: list(item(&ty)?.clone()), optional: false }, merged);
    Some((format!("promote {outer}.{inner} --as {new}"), after))
}

fn bucket(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let name = dice.pick(&state.full(|ty| item(ty).is_some()))?.clone();
    let bound = dice.below(3) + 1;
    let sizes = [dice.below(3) + 1, dice.below(3) + 1];
    let mut open = [vec![], vec![]];
    let mut groups = Vec::new();
    for record in &state.records {
        let which = usize::from(items(&record[&name]).len() >= bound);
        open[which].push(record.clone());
        if open[which].len() == sizes[which] {
            groups.push(std::mem::take(&mut open[which]));
        }
    }
    groups.extend(open.into_iter().filter(|group| !group.is_empty()));
    let words = format!("bucket --by len({name}) --boundaries {bound} --batch-sizes {},{}", sizes[0], sizes[1]);
    Some((words, state.batched(&groups, Size::Any)))
}

fn fill_null(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let name = dice.pick(&state.names(|ty| matches!(ty, Type::Leaf(_))))?.clone();
    let Type::Leaf(dtype) = state.field(&name).ty else { return None };
    let value = zero(dtype);
    let word = match dtype {
        "string" => "''".to_owned(),
        "bool" => "False".to_owned(),
        _ => value.to_string(),
    };
    let ty = state.field(&name).ty.clone();
    Some((format!("fill-null {name}={word}"), state.edited(&name, ty, |old| if old.is_null() { value.clone() } else { old.clone() })))
}

fn map_length(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let name = dice.pick(&state.full(|ty| item(ty).is_some()))?.clone();
    let new = state.free();
    Some((format!("map {new}=len({name})"), state.added(&new, leaf("int64"), |record| json!(items(&record[&name]).len()))))
}

fn map_reverse(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let name = dice.pick(&state.full(|ty| matches!(nesting(ty), (1.., Type::Leaf(_)))))?.clone();
    let ty = state.field(&name).ty.clone();
    Some((format!("map {name}={name}[::-1]"), state.edited(&name, ty, |value| items(value).iter().rev().cloned().collect())))
}

/// The type without sizes.
fn ragged(ty: &Type) -> Type {
    match ty {
        Type::List(_, inner) => list(ragged(inner)),
        _ => ty.clone(),
    }
}

/// A round trip.
fn through_sparse(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let name = dice.pick(&state.full(|ty| matches!(nesting(ty), (2, Type::Leaf(dtype)) if *dtype != "bool")))?.clone();
    let ty = ragged(&state.field(&name).ty);
    Some((format!("to-sparse -f {name} then from-sparse -f {name}"), state.edited(&name, ty, Value::clone)))
}

fn through_partitions(dice: &mut Dice, state: &State) -> Option<(String, State)> {
    let name = dice.pick(&state.full(is_nested_leaf))?.clone();
    let encoding = ["row_splits", "row_lengths", "row_limits", "value_rowids", "row_starts"][dice.below(5)];
    let after = state.edited(&name, ragged(&state.field(&name).ty), Value::clone);
    Some((format!("decompose {name} --encoding {encoding} then compose {name} --encoding {encoding}"), after))
}

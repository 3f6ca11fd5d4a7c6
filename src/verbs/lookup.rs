//! `lookup FIELD in FILE`: fields of another file, by key.

use super::shared::divided::by_nbytes;
use super::shared::fields::copied_first;
use super::shared::key_table::KeyTable;
use super::shared::keys::KeyField;
use super::verb::{Bound, ChunkParts, Example, Map, Operator, Verb};
use crate::chunk::{Chunk, Origin};
use crate::demand::Demand;
use crate::error::{Error, Kind, Result, mismatch};
use crate::expr;
use crate::io::{self, in_command};
use crate::options::{Options, Table};
use crate::path::{self, FieldPath, in_expression, new_name, quoted};
use crate::printable::shell_word;
use crate::schema::notation::{declaration, name_text, schema_option};
use crate::schema::unify::unify_dtypes;
use crate::schema::{DType, Field, Schema, Type};
use crate::tensor::time::converts;
use crate::tensor::{Tensor, row_of};
use arrow_array::Array;
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;
use std::ffi::OsString;
use std::sync::Arc;

/// Adds fields of another file, by key.
#[derive(clap::Args, Clone, Debug)]
pub struct Lookup {
    /// Field whose value is looked up; also inside structures, such as a.b
    #[arg(value_name = "FIELD", value_parser = one_field)]
    field: FieldPath,
    /// The literal word `in`
    #[arg(value_name = "in", value_parser = ["in"])]
    word: String,
    /// File with one record for each key
    #[arg(value_name = "TABLE", value_hint = clap::ValueHint::FilePath)]
    table: OsString,
    /// Key field of the table [default: the name of FIELD]
    #[arg(long, value_name = "KEY", value_parser = FieldPath::parse)]
    key: Option<FieldPath>,
    /// Fields of the table to add; name=other adds `name` as `other`, and '*' adds all fields except KEY
    #[arg(long, value_name = "NAMES", required = true, value_parser = parse_taken)]
    take: Vec<Taken>,
    /// What to do with a record whose value is not in the table
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Missing::Error)]
    missing: Missing,
}

fn one_field(text: &str) -> Result<FieldPath, Error> {
    match FieldPath::parse_list(text)?.len() {
        0 | 1 => FieldPath::parse(text),
        n => Err(Error::usage(mismatch("one field", format_args!("{n}: {text}")))
            .help("combine them into one key with map, in the records and in the table")),
    }
}

/// In `--take`, all other fields of the table except its key.
const ALL: &str = "*";

/// Fields of the table, and their new names.
#[derive(Clone, Debug)]
struct Taken(Vec<(String, String)>);

fn parse_taken(text: &str) -> Result<Taken, Error> {
    let one = |part: &str| match path::split(part.trim(), '=')?.as_slice() {
        [ALL] => Ok((ALL.to_owned(), ALL.to_owned())),
        [name] => of_table(name).map(|name| (name.clone(), name)),
        [name, new] => Ok((of_table(name)?, new_name(new)?)),
        _ => Err(Error::usage(mismatch("NAME or NAME=NEW", part))),
    };
    path::split(text, ',')?.into_iter().map(one).collect::<Result<_>>().map(Taken)
}

fn of_table(name: &str) -> Result<String, Error> {
    new_name(name).map_err(|e| e.help(format!("move a field out of its structure first: tatter promote {} TABLE -o OUT", name.trim())))
}

/// What to do with a record whose value is not in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Missing {
    /// Fail
    Error,
    /// Set its new fields to null
    Null,
    /// Omit it
    Skip,
}

impl Verb for Lookup {
    const NAME: &'static str = "lookup";
    const SUMMARY: &'static str = "Add fields from a small table by key";
    const ABOUT: &'static str = "\
Finds the record of TABLE whose KEY equals FIELD, and appends the fields NAMES of that record. If FIELD is a list or a tensor, each of its \
values is looked up, and the new fields have its shape; they must be scalars in TABLE. Keys are scalars and must be unique in TABLE; null \
matches no key. TABLE is a file or a pipe in any format. Its key and the fields taken are held in memory and must fit in --max-memory. The \
records of FILE are streamed. --on-error does not apply to TABLE. To join two large files, use DuckDB on Parquet files.";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "the name of each user",
            args: "lookup user in users.jsonl --key id --take name events.jsonl",
            input: "==> events.jsonl <==\n{\"user\": 2, \"t\": 5}\n{\"user\": 1, \"t\": 7}\n==> users.jsonl <==\n{\"id\": 1, \"name\": \"Ada\"}\n{\"id\": 2, \"name\": \"Bob\"}\n",
            output: "{\"user\":2,\"t\":5,\"name\":\"Bob\"}\n{\"user\":1,\"t\":7,\"name\":\"Ada\"}\n",
        },
        Example {
            about: "use null for missing keys; rename the added field",
            args: "lookup w in ids.jsonl --take id=token --missing null words.jsonl",
            input: "==> words.jsonl <==\n{\"w\": \"a\"}\n{\"w\": \"z\"}\n==> ids.jsonl <==\n{\"w\": \"a\", \"id\": 7}\n",
            output: "{\"w\":\"a\",\"token\":7}\n{\"w\":\"z\",\"token\":null}\n",
        },
        Example {
            about: "omit records whose value is not in the table",
            args: "lookup user in users.jsonl --take name --missing skip events.jsonl",
            input: "==> events.jsonl <==\n{\"user\": 2, \"t\": 5}\n{\"user\": 3, \"t\": 7}\n==> users.jsonl <==\n{\"user\": 2, \"name\": \"Bob\"}\n",
            output: "{\"user\":2,\"t\":5,\"name\":\"Bob\"}\n",
        },
        Example {
            about: "the ids of words; 1 for those that are not in the table",
            args: "lookup words in ids.jsonl --key w --take id --missing null then fill-null id=1 texts.jsonl",
            input: "==> texts.jsonl <==\n{\"words\": [\"b\", \"z\", \"a\"]}\n{\"words\": []}\n==> ids.jsonl <==\n{\"w\": \"a\", \"id\": 7}\n{\"w\": \"b\", \"id\": 8}\n",
            output: "{\"words\":[\"b\",\"z\",\"a\"],\"id\":[8,1,7]}\n{\"words\":[],\"id\":[]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let Some(source) = KeyField::outside_lists(&self.field, schema)? else {
            let error = Error::usage("is inside a list of structures; expected a list of values").in_field(&self.field);
            return Err(error.help(copied_first(&self.field, "lookup", schema)));
        };
        let field = &source.field;
        if self.missing == Missing::Skip && !field.ty.dims.is_empty() {
            let error = Error::usage(format!("--missing skip needs a single value in each record, but {} is {}", self.field, field.ty));
            let one = format!("explode {0} then lookup {0}", shell_word(&self.field.to_string()));
            return Err(error.help(format!("to get null instead: --missing null; to look up one value at a time: {one}")));
        }
        let request = (self.table.clone(), self.wanted());
        let table = options.tables.get(&request).ok_or_else(|| Error::usage("the table was not read").in_input(self.shown()))?;
        let key = table.schema.index_of(&self.key_name()).ok_or_else(|| Error::internal("a table without its key"))?;
        let key_type = self.key_type(&field.ty, &table.schema.fields[key])?;
        let mut fields = schema.fields.clone();
        let mut taken = Vec::new();
        for (name, new) in self.taken().flat_map(|pair| self.expanded(pair, &table.schema)) {
            let at = table.schema.index_of(&name).ok_or_else(|| Error::internal("a table without a field"))?;
            if fields.iter().any(|field| field.name == new) {
                let error = Error::usage(format!("the records already have a field named {}", quoted(&new)));
                let all = if self.taken().any(|(name, _)| name == ALL) { "*," } else { "" };
                let renamed = shell_word(&format!("{all}{0}={0}2", quoted(&name)));
                return Err(error.help(format!("choose another name for the new field: --take {renamed}")));
            }
            let source = &table.schema.fields[at];
            let ty = self.taken_type(&field.ty, source)?;
            let storage = source.storage_under(&field.ty.dims).copied();
            let storage = if ty.optional { storage.or_null() } else { storage };
            taken.push((at, if field.ty.dims.is_empty() { ty.clone() } else { value_of(&ty) }));
            fields.push(Field { storage, ..Field::new(new, ty) });
        }
        let empty = TableRows {
            field: source.clone(),
            levels: field.ty.dims.len(),
            from: value_of(&field.ty),
            table: self.shown(),
            missing: self.missing,
            keys: KeyTable::new(Self::NAME, "use a smaller table", options),
            key_type,
            columns: Vec::new(),
            nrows: 0,
        };
        let rows = empty.filled(table, key, &table.schema.fields[key], &taken)?;
        Ok(Bound { schema: Arc::new(Schema::with_facts(fields, schema.facts.clone())), operator: Operator::Map(Arc::new(rows)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let own = self.field.names().first().cloned();
        // If records are omitted, the number to read is unknown in advance.
        let records = after.records.filter(|_| self.missing != Missing::Skip);
        let after = Demand { records, ..after };
        // Read existing fields with the new names too, so that clashes are reported.
        after.and_fields(own.into_iter().chain(self.taken().map(|(_, new)| new)))
    }

    fn tables(&self) -> Vec<(OsString, Vec<String>)> {
        vec![(self.table.clone(), self.wanted())]
    }
}

impl Lookup {
    fn shown(&self) -> String {
        io::shown(&self.table)
    }

    /// The field of the table that is the key. For a key inside a structure, its path, which no table has as a field.
    fn key_name(&self) -> String {
        match &self.key {
            Some(key) if key.names().len() > 1 => key.to_string(),
            key => key.as_ref().unwrap_or(&self.field).last().to_owned(),
        }
    }

    /// The fields of the table to add, and their new names.
    fn taken(&self) -> impl Iterator<Item = (String, String)> {
        self.take.iter().flat_map(|taken| taken.0.iter().cloned())
    }

    /// Replaces `*` with all fields of the table except its key and those that are named.
    fn expanded(&self, (name, new): (String, String), table: &Schema) -> Vec<(String, String)> {
        if name != ALL {
            return vec![(name, new)];
        }
        let named: Vec<String> = self.taken().map(|(name, _)| name).chain([self.key_name()]).collect();
        let others = table.fields.iter().filter(|field| !named.contains(&field.name));
        others.map(|field| (field.name.clone(), field.name.clone())).collect()
    }

    /// The fields of the table to read.
    fn wanted(&self) -> Vec<String> {
        std::iter::once(self.key_name()).chain(self.taken().map(|(name, _)| name)).collect()
    }

    /// The type of a new field: that of the table, with the shape of the keys.
    fn taken_type(&self, keys: &Type, field: &Field) -> Result<Type> {
        let is_missing = self.missing == Missing::Null;
        if keys.dims.is_empty() {
            return Ok(Type { optional: field.ty.optional || is_missing, ..field.ty.clone() });
        }
        let Some(dtype) = scalar(&field.ty) else {
            let error = format!("{} in {} is {}; expected a scalar, because {} is {keys}", field.name, self.shown(), field.ty, self.field);
            return Err(Error::usage(error).help(format!("look up one value at a time: explode {} first", self.field)));
        };
        let with_nulls = keys.with_nulls || field.ty.optional || is_missing;
        Ok(Type { optional: keys.optional, with_nulls, ..Type::tensor(dtype.clone(), keys.dims.clone()) })
    }

    /// The common type of the values of both fields.
    fn key_type(&self, ours: &Type, theirs: &Field) -> Result<Type> {
        let (Some(a), Some(b)) = (ours.dtype().filter(|_| !ours.is_sparse()), scalar(&theirs.ty)) else {
            let (theirs, key) = (&theirs.ty, quoted(&theirs.name));
            let text =
                format!("{} is {ours}, and {key} in {} is {theirs}; expected values to look up and scalar keys", self.field, self.shown());
            let advice = match ours.is_sparse() {
                true => format!("convert it first: from-sparse -f {}", self.field),
                false if theirs.dims.is_empty() => "choose one of its fields with map".to_owned(),
                false => "choose one value of each key of the table with map".to_owned(),
            };
            return Err(Error::usage(text).help(advice));
        };
        let both = match unify_dtypes(a, b) {
            // Nulls match no key, so any dtype will do.
            Some(DType::Null) => DType::Bool,
            Some(both) => both,
            // Integers of both signs: what int64 does not hold matches no signed key.
            None if a.is_integer() && b.is_integer() => DType::Int64,
            None => return Err(self.no_common_type(a, b, &theirs.name)),
        };
        Ok(Type { optional: true, ..Type::tensor(both, Vec::new()) })
    }

    fn no_common_type(&self, a: &DType, b: &DType, key: &str) -> Error {
        let error = Error::usage(format!("{} is {a}, but {} in {} is {b}", self.field, quoted(key), self.shown()));
        let table = in_command(&self.shown());
        let name = self.field.in_expression();
        let cast = |to: &DType| format!("cast {}", shell_word(&format!("{}={to}", self.field)));
        let is_decimal = |dtype: &DType| matches!(dtype, DType::Arrow(ty) if ty.is_decimal());
        // The types of a table are those of its file.
        let rewrite = match b {
            DType::Json => Some(format!("convert {}", schema_option(&format!("{}: {a}", name_text(key))))),
            _ if is_decimal(b) => Some(format!("cast {}", shell_word(&format!("{}=float64", quoted(key))))),
            // Cast to bool, every number except 0 is the same.
            DType::Bool if a.is_number() => Some(format!("cast {}", shell_word(&format!("{}={a}", quoted(key))))),
            // The text of a float can have other digits than the table's.
            DType::String if a.is_float() => {
                let key = in_expression(key);
                Some(format!("map {}", shell_word(&format!("{key} = strings.to_number({key}, float64)"))))
            }
            _ => None,
        };
        if let Some(rewrite) = rewrite {
            return error.help(format!("convert the key of the table first: tatter {rewrite} {table} -o OUT"));
        }
        if *a == DType::Json {
            return error.help(format!("declare its type: {}", schema_option(&declaration(&self.field, b))));
        }
        if *a == DType::String && b.is_integer() {
            let is_csv = self.shown().split('.').skip(1).any(|part| ["csv", "tsv"].contains(&part));
            let text = match is_csv {
                true => format!("convert {table} {}", schema_option(&format!("{}: string", name_text(key)))),
                false => {
                    let key = in_expression(key);
                    format!("map {} {table}", shell_word(&format!("{key} = strings.as_string({key})")))
                }
            };
            let on = if quoted(key) == self.field.to_string() { String::new() } else { format!(" --key {}", shell_word(&quoted(key))) };
            return error.help(format!("read the key of the table as text: lookup {} in <(tatter {text} --to arrow){on}", self.field));
        }
        let like = match (a, b) {
            (DType::String, DType::Arrow(_)) if b.time().is_some() => cast(b),
            (DType::Arrow(_), DType::String) if a.time().is_some() => cast(b),
            (DType::Arrow(_), _) if is_decimal(a) && b.is_number() => cast(&DType::Float64),
            (DType::Arrow(_), _) if a.time().is_some() && b.is_number() => cast(&DType::Int64),
            (_, DType::Arrow(_)) if b.time().is_some() && a.is_integer() => format!("{} then {}", cast(&DType::Int64), cast(b)),
            (DType::String, _) if b.is_number() => format!("map {}", shell_word(&format!("{name} = strings.to_number({name}, {b})"))),
            (_, DType::String) if a.is_number() || *a == DType::Bool => {
                format!("map {}", shell_word(&format!("{name} = strings.as_string({name})")))
            }
            _ => match (a.time(), b.time()) {
                (Some(from), Some(to)) if converts(&from, &to) => cast(b),
                (None, None) if a.is_tensor() && b.is_tensor() && expr::can_cast(a, b) => cast(b),
                _ => return error,
            },
        };
        error.help(format!("convert one of them first: {like} then lookup {} in {table}", self.field))
    }
}

/// The dtype of a field with one value in each record.
fn scalar(ty: &Type) -> Option<&DType> {
    ty.dtype().filter(|_| ty.dims.is_empty())
}

/// The type of a single value of a field.
fn value_of(ty: &Type) -> Type {
    let optional = if ty.dims.is_empty() { ty.optional } else { ty.with_nulls };
    Type { optional, ..Type::tensor(ty.dtype().cloned().unwrap_or(DType::Null), Vec::new()) }
}

/// The row that contains an item below `levels` list levels, and whether it is below a null, where nothing was stored.
fn row_of_item(tensor: &Tensor, levels: usize, item: usize) -> Result<(usize, bool)> {
    if levels == 0 {
        return Ok((item, false));
    }
    let list = tensor.as_list()?;
    let (row, is_hidden) = row_of_item(list.values(), levels - 1, item)?;
    let row = row_of(list.partition(), row);
    Ok((row, is_hidden || list.validity().is_some_and(|validity| validity.is_null(row))))
}

/// Converts keys to the common type. A value that it does not hold, such as 9007199254740993 in float64, equals no value of the other
/// field and becomes null.
fn comparable(keys: &Tensor, from: &Type, to: &Type) -> Result<Tensor> {
    if (scalar(from), scalar(to)) == (Some(&DType::UInt64), Some(&DType::Int64)) {
        return Ok(Tensor::Leaf(cast(keys.as_leaf()?, &DataType::Int64).map_err(|e| Error::internal(e.to_string()))?));
    }
    match keys.widen(from, to) {
        Err(error) if error.kind() == Kind::Data => match keys.nrows() {
            nrows @ (0 | 1) => Tensor::nulls(to, nrows),
            nrows => {
                let (first, second) = (keys.slice(0, nrows / 2), keys.slice(nrows / 2, nrows - nrows / 2));
                Tensor::concat(&[&comparable(&first, from, to)?, &comparable(&second, from, to)?])
            }
        },
        result => result,
    }
}

/// A key for a message.
fn shown(keys: &Tensor, row: usize) -> String {
    const MOST: usize = 60;
    let Some(array) = keys.as_leaf().ok().filter(|array| array.is_valid(row)) else { return "null".to_owned() };
    let text = array_value_to_string(array, row).unwrap_or_default();
    let short: String = text.chars().take(MOST).collect();
    let dots = if short.len() < text.len() { "..." } else { "" };
    match array.data_type() {
        DataType::LargeUtf8 => format!("\"{short}{dots}\""),
        _ => format!("{short}{dots}"),
    }
}

/// The rows of a table, indexed by key.
struct TableRows {
    field: KeyField,
    /// The number of its axes.
    levels: usize,
    /// The type of its values.
    from: Type,
    /// The name of the table.
    table: String,
    missing: Missing,
    keys: KeyTable,
    key_type: Type,
    /// The fields taken, in key order. If values may have no key, a row for them follows.
    columns: Vec<Tensor>,
    nrows: usize,
}

impl TableRows {
    /// Indexes the rows of the table. Rows without a key are omitted.
    fn filled(mut self, table: &Table, key: usize, field: &Field, taken: &[(usize, Type)]) -> Result<TableRows> {
        let keys = comparable(&table.columns[key], &field.ty, &self.key_type);
        let keys = keys.map_err(|e| e.in_field(quoted(&field.name)).in_input(self.table.as_str()))?;
        let validity = keys.validity();
        let rows: Vec<usize> = (0..table.nrows).filter(|row| validity.as_ref().is_none_or(|v| v.is_valid(*row))).collect();
        let found = self.keys.insert(&Chunk::try_new(rows.len(), vec![keys.gather(&rows)?], Origin::default())?)?;
        // Keys are numbered in the order of their first occurrence.
        if let Some((at, first)) = found.numbers.iter().enumerate().find(|(at, number)| **number as usize != *at) {
            let (first, second) = (rows[*first as usize] + 1, rows[at] + 1);
            let error = Error::data(format!("records {first} and {second} have the same key")).in_field(quoted(&field.name));
            let help =
                format!("keep the first of each: tatter unique --by {} {}", shell_word(&quoted(&field.name)), in_command(&self.table));
            let exchange = "or, if another FILE has one record for each key, use that as the table, and this as the FILE";
            return Err(error.in_input(self.table).help(help).help(exchange));
        }
        self.nrows = rows.len();
        self.columns = taken.iter().map(|(at, _)| table.columns[*at].gather(&rows)).collect::<Result<_>>()?;
        if self.missing == Missing::Null || self.levels > 0 {
            let filled = |(column, (_, ty)): (&Tensor, &(usize, Type))| Tensor::concat(&[column, &Tensor::fillers(ty, 1)?]);
            self.columns = self.columns.iter().zip(taken).map(filled).collect::<Result<_>>()?;
        }
        Ok(self)
    }
}

impl Map for TableRows {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let field = &self.field.of(&chunk)?;
        let (_, values) = field.levels(self.levels)?;
        let keys = comparable(values, &self.from, &self.key_type)?;
        let found = self.keys.find(&Chunk::try_new(values.nrows(), vec![keys], Origin::default())?);
        let mut rows = Vec::with_capacity(values.nrows());
        let is_found = |item: &usize| found.get(*item).is_some_and(Option::is_some);
        let kept: Option<Vec<usize>> = (self.missing == Missing::Skip).then(|| (0..found.len()).filter(is_found).collect());
        for (item, number) in found.into_iter().enumerate() {
            match (number, self.missing) {
                (Some(number), _) => rows.push(number as usize),
                (None, Missing::Null) => rows.push(self.nrows),
                (None, Missing::Skip) => {}
                (None, Missing::Error) => {
                    let (row, is_hidden) = row_of_item(field, self.levels, item)?;
                    if is_hidden {
                        rows.push(self.nrows);
                        continue;
                    }
                    let value = shown(values, item);
                    let error = Error::data(format!("{value} is not in {}", self.table)).in_field(&self.field.path).at_row(row);
                    let omit = if self.levels == 0 { "; to omit such records: --missing skip" } else { "" };
                    return Err(error.help(format!("to get null instead: --missing null{omit}")));
                }
            }
        }
        let taken = self.columns.iter().map(|taken| field.map_below(self.levels, &mut |_| taken.gather(&rows)));
        let taken = taken.collect::<Result<Vec<_>>>()?;
        let chunk = match kept {
            Some(kept) if kept.len() < chunk.nrows => chunk.gather(&kept)?,
            _ => chunk,
        };
        let columns = chunk.columns.iter().cloned().chain(taken).collect();
        chunk.with_columns(columns)
    }

    /// Rows of scalars are hardly larger than the records that they are added to.
    fn grows(&self) -> bool {
        self.row_nbytes() > if self.levels > 0 { 16 } else { 256 }
    }

    fn keeps_count(&self) -> bool {
        self.missing != Missing::Skip
    }

    fn divided(&self, chunk: Chunk) -> Result<ChunkParts> {
        let field = self.field.of(&chunk)?;
        let (_, values) = field.levels(self.levels)?;
        let nbytes = values.nrows().saturating_mul(self.row_nbytes()) / chunk.nrows.max(1);
        Ok(Box::new(by_nbytes(chunk, nbytes).map(Ok)))
    }
}

impl TableRows {
    /// The average size of a row of the table.
    fn row_nbytes(&self) -> usize {
        self.columns.iter().map(Tensor::nbytes).sum::<usize>() / self.nrows.max(1)
    }
}

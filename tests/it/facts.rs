//! Metadata that files declare in addition to types: preserved between Arrow and Parquet, and dropped if a verb
//! invalidates it.

use crate::tatter::{Outcome, shell};
use arrow_array::{
    Array, ArrayRef, Date32Array, DictionaryArray, Int8Array, Int16Array, Int32Array, Int64Array, ListArray, RecordBatch, RunArray,
    StringArray, StructArray, TimestampNanosecondArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Metadata, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

fn metadata(pairs: &[(&str, &str)]) -> Metadata {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

/// Columns with everything that is preserved in addition to values.
fn batch() -> RecordBatch {
    let described = Field::new("id", DataType::Int64, true).with_metadata(metadata(&[("comment", "a key"), ("PARQUET:field_id", "7")]));
    let uuid = Field::new("opaque", DataType::Utf8, false)
        .with_metadata(metadata(&[("ARROW:extension:name", "example.tag"), ("ARROW:extension:metadata", "v1")]));
    let zoned = Field::new("at", DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, Some("Europe/Berlin".into())), true);
    let item = Arc::new(Field::new("element", DataType::Int32, true).with_metadata(metadata(&[("PARQUET:field_id", "9")])));
    let inner = Field::new("n", DataType::Int32, false).with_metadata(metadata(&[("unit", "m")]));
    let fields = vec![
        described,
        uuid,
        zoned,
        Field::new("list", DataType::List(item.clone()), false),
        Field::new_struct("s", vec![inner.clone()], true),
    ];
    let schema = Schema::new_with_metadata(fields, metadata(&[("owner", "me"), ("huggingface", "{}")]));
    let list = ListArray::new(item, OffsetBuffer::new(vec![0, 2, 2].into()), Arc::new(Int32Array::from(vec![1, 2])), None);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![1, 2])),
        Arc::new(StringArray::from(vec!["x", "y"])),
        Arc::new(TimestampNanosecondArray::from(vec![Some(1_700_000_000_000_000_000), None]).with_timezone("Europe/Berlin")),
        Arc::new(list),
        Arc::new(StructArray::from(vec![(Arc::new(inner), Arc::new(Int32Array::from(vec![3, 4])) as ArrayRef)])),
    ];
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

fn write_arrow(path: &Path, batch: &RecordBatch) {
    let mut writer = arrow_ipc::writer::FileWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

fn read_arrow(path: &Path) -> (Arc<Schema>, Vec<RecordBatch>) {
    let reader = arrow_ipc::reader::FileReader::try_new(File::open(path).unwrap(), None).unwrap();
    (reader.schema(), reader.map(Result::unwrap).collect())
}

fn done(outcome: Outcome) -> Outcome {
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    outcome
}

#[test]
fn arrow_to_arrow_keeps_every_fact() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let batch = batch();
    write_arrow(&here.join("a.arrow"), &batch);
    for line in ["convert a.arrow", "filter 'id > 0' a.arrow", "head 5 a.arrow", "map 'id = id; list = list' a.arrow"] {
        let outcome = done(shell(&format!("tatter {line} -o b.arrow"), here, b""));
        let (schema, batches) = read_arrow(&here.join("b.arrow"));
        assert_eq!(schema, batch.schema(), "{line}");
        assert_eq!(batches, std::slice::from_ref(&batch), "{line}");
        assert_eq!(outcome.stderr, "", "{line}");
    }
}

#[test]
fn parquet_keeps_every_fact() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let batch = batch();
    write_arrow(&here.join("a.arrow"), &batch);
    done(shell(
        "tatter convert a.arrow -o b.parquet && tatter convert b.parquet -o c.parquet && tatter convert c.parquet -o d.arrow",
        here,
        b"",
    ));
    for name in ["b.parquet", "c.parquet"] {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(here.join(name)).unwrap()).unwrap();
        assert_eq!(reader.schema(), &batch.schema(), "{name}");
        let ids: Vec<i32> = reader.parquet_schema().root_schema().get_fields().iter().take(1).map(|f| f.get_basic_info().id()).collect();
        assert_eq!(ids, [7], "{name}");
    }
    let (schema, batches) = read_arrow(&here.join("d.arrow"));
    assert_eq!((schema, batches), (batch.schema(), vec![batch]));
}

#[test]
fn what_a_verb_makes_untrue_is_dropped_with_a_notice() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write_arrow(&here.join("a.arrow"), &batch());
    let outcome = done(shell("tatter map 'opaque = 1' then rename id=key a.arrow -o b.arrow", here, b""));
    let (schema, _) = read_arrow(&here.join("b.arrow"));
    assert_eq!(schema.metadata(), &metadata(&[("owner", "me")]));
    assert_eq!(schema.field(0).name(), "key");
    assert_eq!(schema.field(0).metadata().get("comment"), Some(&"a key".to_owned()));
    assert!(schema.field(1).metadata().is_empty());
    assert!(outcome.stderr.contains("the metadata `huggingface` was dropped"), "{}", outcome.stderr);
    let strict = shell("tatter rename id=key a.arrow -o b.arrow --strict", here, b"");
    assert_eq!(strict.status, 1, "{}", strict.stderr);
    let outcome = done(shell("tatter select id a.arrow -o c.safetensors", here, b""));
    assert!(outcome.stderr.contains("the metadata `huggingface` was dropped"), "{}", outcome.stderr);
    let stored = String::from_utf8_lossy(&std::fs::read(here.join("c.safetensors")).unwrap()).into_owned();
    assert!(stored.contains("\"owner\":\"me\"") && !stored.contains("huggingface"), "{stored}");
}

/// The statistics of a file show which columns have no nulls, but parts of one dataset must have one schema.
#[test]
fn the_fields_of_a_changed_list_of_structures_stay_as_declared() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let inner = vec![
        (Arc::new(Field::new("a", DataType::Int32, true)), Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef),
        (Arc::new(Field::new("m", DataType::Utf8, true)), Arc::new(StringArray::from(vec!["x", "y"])) as ArrayRef),
    ];
    let inner = StructArray::from(inner);
    let item = Arc::new(Field::new("element", inner.data_type().clone(), true));
    let list = ListArray::new(item.clone(), OffsetBuffer::new(vec![0, 2].into()), Arc::new(inner), None);
    let schema = Arc::new(Schema::new(vec![Field::new("l", DataType::List(item), true)]));
    let batch = RecordBatch::try_new(schema, vec![Arc::new(list)]).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(here.join("a.parquet")).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    for line in ["explode l", "rename l.a=b", "drop l.a", "batch 2", "window --size 2"] {
        done(shell(&format!("tatter {line} a.parquet -o b.parquet"), here, b""));
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(here.join("b.parquet")).unwrap()).unwrap();
        let mut ty = reader.schema().field(0).data_type();
        while let DataType::List(item) = ty {
            ty = item.data_type();
        }
        let DataType::Struct(fields) = ty else { panic!("{line}: {ty}") };
        assert!(fields.iter().all(|field| field.is_nullable()), "{line}: {ty}");
        assert!(fields.iter().all(|field| matches!(field.data_type(), DataType::Int32 | DataType::Utf8)), "{line}: {ty}");
    }
}

#[test]
fn a_time_zone_survives_another_unit_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let seconds = DataType::Timestamp(arrow_schema::TimeUnit::Second, Some("Asia/Tokyo".into()));
    let schema = Arc::new(Schema::new(vec![Field::new("t", seconds.clone(), true)]));
    let values = arrow_array::TimestampSecondArray::from(vec![Some(1), None]).with_timezone("Asia/Tokyo");
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(values)]).unwrap();
    // The written schema says seconds, and the file stores milliseconds.
    let milliseconds = DataType::Timestamp(arrow_schema::TimeUnit::Millisecond, Some("Asia/Tokyo".into()));
    let stored = Arc::new(Schema::new(vec![Field::new("t", milliseconds.clone(), true)]));
    let array = arrow_cast::cast(batch.column(0), &milliseconds).unwrap();
    let mut properties = parquet::file::properties::WriterProperties::builder().build();
    parquet::arrow::add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
    let options = parquet::arrow::arrow_writer::ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let file = File::create(here.join("a.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new_with_options(file, stored.clone(), options).unwrap();
    writer.write(&RecordBatch::try_new(stored, vec![array]).unwrap()).unwrap();
    writer.close().unwrap();
    done(shell("tatter convert a.parquet -o b.arrow", here, b""));
    assert_eq!(read_arrow(&here.join("b.arrow")).0.field(0).data_type(), &milliseconds);
}

#[test]
fn dictionaries_and_runs_of_lists_are_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let item = Arc::new(Field::new("item", DataType::Int32, true));
    let lists: ArrayRef =
        Arc::new(ListArray::new(item, OffsetBuffer::new(vec![0, 2, 3].into()), Arc::new(Int32Array::from(vec![1, 2, 3])), None));
    let keys = Int32Array::from(vec![Some(1), None, Some(0)]);
    let dictionary = arrow_array::DictionaryArray::new(keys, lists.clone());
    let runs = arrow_array::RunArray::<arrow_array::types::Int32Type>::try_new(&Int32Array::from(vec![2, 3]), lists.as_ref()).unwrap();
    let schema = Schema::new(vec![Field::new("d", dictionary.data_type().clone(), true), Field::new("r", runs.data_type().clone(), true)]);
    use arrow_array::Array;
    let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(dictionary), Arc::new(runs)]).unwrap();
    write_arrow(&here.join("a.arrow"), &batch);
    let outcome = done(shell("tatter convert a.arrow", here, b""));
    assert_eq!(outcome.text(), "{\"d\":[3],\"r\":[1,2]}\n{\"d\":null,\"r\":[1,2]}\n{\"d\":[1,2],\"r\":[3]}\n");
}

/// A column with an ordered dictionary that has an unused category, one inside a list, and one with run ends.
fn encoded() -> RecordBatch {
    let keys = Int8Array::from(vec![Some(2), Some(0), None, Some(0)]);
    let sizes: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(StringArray::from(vec!["low", "middle", "high"]))));
    let days: ArrayRef = Arc::new(DictionaryArray::new(Int16Array::from(vec![1, 1, 0]), Arc::new(Date32Array::from(vec![9, 5]))));
    let item = Arc::new(Field::new("item", days.data_type().clone(), true));
    let lists: ArrayRef = Arc::new(ListArray::new(item, OffsetBuffer::new(vec![0, 2, 2, 2, 3].into()), days, None));
    let runs: ArrayRef = Arc::new(RunArray::try_new(&Int32Array::from(vec![3, 4]), &StringArray::from(vec![Some("x"), None])).unwrap());
    let field = |name: &str, array: &ArrayRef| Field::new(name, array.data_type().clone(), true);
    let fields = vec![field("size", &sizes).with_dict_is_ordered(true), field("days", &lists), field("runs", &runs)];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![sizes, lists, runs]).unwrap()
}

#[test]
fn dictionaries_and_runs_stay_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let batch = encoded();
    write_arrow(&here.join("a.arrow"), &batch);
    for line in ["convert a.arrow", "filter 'len(days) >= 0' a.arrow", "convert a.arrow -o b.arrows && tatter convert b.arrows"] {
        let outcome = done(shell(&format!("tatter {line} -o b.arrow"), here, b""));
        let (schema, batches) = read_arrow(&here.join("b.arrow"));
        assert_eq!((&schema, outcome.stderr.as_str()), (&batch.schema(), ""), "{line}");
        assert_eq!(schema.field(0).dict_is_ordered(), Some(true), "{line}");
        let (found, expected) = (batches[0].column(0).to_data(), batch.column(0).to_data());
        assert_eq!(found.child_data(), expected.child_data(), "the categories and their order, {line}");
        assert_eq!(batches, std::slice::from_ref(&batch), "{line}");
    }
    // Parquet keeps the order of a dictionary whose values are known, also of several row groups.
    let outcome = done(shell("tatter convert a.arrow -o b.parquet --row-group-rows 1", here, b""));
    let runs = "note: runs: arrow<run_end_encoded<run_ends: int32 not null, values: string>> is written as plain values\n";
    assert_eq!(outcome.stderr, runs);
    let outcome = done(shell("tatter convert b.parquet -o c.parquet && tatter convert c.parquet -o c.arrow", here, b""));
    assert_eq!(outcome.stderr, "");
    let (schema, batches) = read_arrow(&here.join("c.arrow"));
    assert_eq!(schema.field(0).dict_is_ordered(), Some(true));
    assert_eq!(batches[0].column(0).to_data().child_data(), batch.column(0).to_data().child_data());
    // A value that is added comes after them.
    let outcome = done(shell("tatter fill-null size=tiny a.arrow -o d.parquet --row-group-rows 1", here, b""));
    assert!(outcome.stderr.contains("note: size: values were appended to an ordered dictionary"), "{}", outcome.stderr);
}

#[test]
fn dictionaries_grow_with_the_values_of_further_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let dictionary = |words: &[&str]| -> ArrayRef {
        let keys = Int8Array::from_iter_values(0..words.len() as i8);
        Arc::new(DictionaryArray::new(keys, Arc::new(StringArray::from(words.to_vec()))))
    };
    for (name, words) in [("a.arrow", ["b", "a"]), ("b.arrow", ["a", "c"])] {
        write_arrow(&here.join(name), &RecordBatch::try_from_iter([("x", dictionary(&words))]).unwrap());
    }
    done(shell("tatter convert a.arrow b.arrow -o c.arrow --row-group-rows 2 && tatter convert a.arrow b.arrow -o c.arrows", here, b""));
    let (_, batches) = read_arrow(&here.join("c.arrow"));
    let values = |batch: &RecordBatch| batch.column(0).to_data().child_data()[0].clone();
    assert_eq!(batches.iter().map(values).collect::<Vec<_>>(), vec![StringArray::from(vec!["b", "a", "c"]).to_data(); 2]);
    let lines = done(shell("tatter convert c.arrow && tatter diff c.arrow c.arrows", here, b""));
    assert_eq!(lines.stdout, b"{\"x\":\"b\"}\n{\"x\":\"a\"}\n{\"x\":\"a\"}\n{\"x\":\"c\"}\n");
    let many: Vec<String> = (0..200).map(|i| i.to_string()).collect();
    for (name, half) in [("a.arrow", &many[..100]), ("b.arrow", &many[100..])] {
        let words: Vec<&str> = half.iter().map(String::as_str).collect();
        write_arrow(&here.join(name), &RecordBatch::try_from_iter([("x", dictionary(&words))]).unwrap());
    }
    // Together they have more values than int8 keys can index.
    done(shell("tatter convert a.arrow b.arrow -o c.arrow && tatter convert a.arrow b.arrow -o c.parquet", here, b""));
    let keys = |field: &Field| match field.data_type() {
        DataType::Dictionary(keys, _) => keys.as_ref().clone(),
        other => other.clone(),
    };
    assert_eq!(keys(read_arrow(&here.join("c.arrow")).0.field(0)), DataType::Int32);
    let parquet = ParquetRecordBatchReaderBuilder::try_new(File::open(here.join("c.parquet")).unwrap()).unwrap();
    assert_eq!(keys(parquet.schema().field(0)), DataType::Int32);
    assert_eq!(parquet.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 200);
    let missing: ArrayRef = Arc::new(DictionaryArray::new(Int8Array::from(vec![Some(0), None]), Arc::new(StringArray::from(vec!["a"]))));
    write_arrow(&here.join("d.arrow"), &RecordBatch::try_from_iter([("x", missing)]).unwrap());
    // The dictionary at the start of the file is replaced by one at its end.
    let filled = done(shell("tatter fill-null x=b d.arrow -o e.arrow --chunk-rows 1 && tatter convert e.arrow", here, b""));
    assert_eq!(filled.stdout, b"{\"x\":\"a\"}\n{\"x\":\"b\"}\n");
    // Each batch of a stream can have a different dictionary.
    let stream = "tatter convert a.arrow b.arrow --row-group-rows 100 -o c.arrows && tatter convert c.arrows";
    assert_eq!(done(shell(stream, here, b"")).stdout.split(|byte| *byte == b'\n').count(), 201);
}

#[test]
fn metadata_of_several_inputs_is_kept_or_a_notice_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let write = |name: &str, values: ArrayRef, pairs: &[(&str, &str)]| {
        let field = Field::new("x", values.data_type().clone(), true).with_metadata(metadata(pairs));
        write_arrow(&here.join(name), &RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![values]).unwrap());
    };
    let int64 = || -> ArrayRef { Arc::new(Int64Array::from(vec![1])) };
    write("a.arrow", int64(), &[("unit", "cm"), ("id", "1")]);
    write("plain.arrow", int64(), &[]);
    write("other.arrow", int64(), &[("unit", "m")]);
    write("narrow.arrow", Arc::new(Int32Array::from(vec![1])), &[("unit", "cm")]);
    write("null.arrow", Arc::new(arrow_array::NullArray::new(1)), &[]);
    for (inputs, kept, notice) in [
        ("a.arrow plain.arrow", &[("id", "1"), ("unit", "cm")][..], ""),
        ("null.arrow a.arrow", &[("id", "1"), ("unit", "cm")], ""),
        ("a.arrow other.arrow", &[("id", "1")], "note: x: the metadata `unit` was dropped: it differs between the inputs\n"),
        ("narrow.arrow plain.arrow", &[], "note: x: the metadata `unit` was dropped: it describes the type in one of the inputs\n"),
    ] {
        let outcome = done(shell(&format!("tatter convert {inputs} -o out.arrow"), here, b""));
        assert_eq!(
            (read_arrow(&here.join("out.arrow")).0.field(0).metadata(), outcome.stderr.as_str()),
            (&metadata(kept), notice),
            "{inputs}"
        );
    }
}

#[test]
fn zip_keeps_the_metadata_of_its_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (name, key) in [("a", "version"), ("b", "licence")] {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let schema = Schema::new_with_metadata(vec![Field::new(name, DataType::Int64, true)], metadata(&[(key, name)]));
        write_arrow(&here.join(format!("{name}.arrow")), &RecordBatch::try_new(Arc::new(schema), vec![values]).unwrap());
    }
    for names in ["", "--as x,y"] {
        done(shell(&format!("tatter zip a.arrow b.arrow {names} -o out.arrow"), here, b""));
        assert_eq!(read_arrow(&here.join("out.arrow")).0.metadata(), &metadata(&[("version", "a"), ("licence", "b")]), "{names}");
    }
}

#[test]
fn a_date64_with_a_time_of_day_is_refused_by_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let schema = Arc::new(Schema::new(vec![Field::new("d", DataType::Date64, true)]));
    let batch = RecordBatch::try_new(schema, vec![Arc::new(arrow_array::Date64Array::from(vec![86_400_000, 5]))]).unwrap();
    write_arrow(&here.join("a.arrow"), &batch);
    let outcome = shell("tatter convert a.arrow -o b.parquet", here, b"");
    assert_eq!(outcome.status, 1, "{outcome:?}");
    assert!(outcome.stderr.contains("not a whole number of days"), "{}", outcome.stderr);
}

#[test]
fn columns_of_one_name_are_renamed() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, true), Field::new("x", DataType::Int64, true)]));
    let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(vec![1])), Arc::new(Int64Array::from(vec![2]))];
    write_arrow(&here.join("a.arrow"), &RecordBatch::try_new(schema, columns).unwrap());
    let outcome = done(shell("tatter convert a.arrow", here, b""));
    assert_eq!(outcome.text(), "{\"x\":1,\"x_2\":2}\n");
    assert_eq!(outcome.stderr, "note: a.arrow: two columns are named x; the later one is read as x_2\n");
    assert_eq!(shell("tatter convert --strict a.arrow", here, b"").status, 1);
}

#[test]
fn times_of_several_units_are_read_in_the_finest() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (name, unit) in [("a.arrow", arrow_schema::TimeUnit::Millisecond), ("b.arrow", arrow_schema::TimeUnit::Nanosecond)] {
        let ty = DataType::Timestamp(unit, None);
        let column = arrow_cast::cast(&Int64Array::from(vec![1_700_000_000_123]), &ty).unwrap();
        let schema = Arc::new(Schema::new(vec![Field::new("t", ty, true)]));
        write_arrow(&here.join(name), &RecordBatch::try_new(schema, vec![column]).unwrap());
    }
    done(shell("tatter convert a.arrow b.arrow -o c.arrow", here, b""));
    let (schema, batches) = read_arrow(&here.join("c.arrow"));
    assert_eq!(schema.field(0).data_type(), &DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, None));
    let values = arrow_cast::cast(batches[0].column(0), &DataType::Int64).unwrap();
    assert_eq!(values.as_any().downcast_ref::<Int64Array>().unwrap().values(), &[1_700_000_000_123_000_000, 1_700_000_000_123]);
}

/// A row group divided into many tasks and read by several threads: each row once, in order.
#[test]
fn large_row_groups_are_read_once_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let rows = 1_500_000i64;
    let fields =
        vec![Field::new("i", DataType::Int64, false), Field::new("j", DataType::Int64, true), Field::new("k", DataType::Int64, true)];
    let schema = Arc::new(Schema::new(fields));
    let column = |step: i64| Arc::new(Int64Array::from_iter_values((0..rows).map(|i| i * step))) as ArrayRef;
    let batch = RecordBatch::try_new(schema.clone(), vec![column(1), column(3), column(7)]).unwrap();
    let properties = parquet::file::properties::WriterProperties::builder().set_max_row_group_row_count(None).build();
    let mut writer = ArrowWriter::try_new(File::create(here.join("a.parquet")).unwrap(), schema, Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    for threads in [1, 5] {
        let wrong = done(shell(&format!("tatter filter 'j != 3 * i or k != 7 * i' then count --threads {threads} a.parquet"), here, b""));
        assert_eq!(wrong.text(), "0\n");
        let part = done(shell(&format!("tatter skip 1234567 then head 2 then select k,i --threads {threads} a.parquet"), here, b""));
        assert_eq!(part.text(), "{\"k\":8641969,\"i\":1234567}\n{\"k\":8641976,\"i\":1234568}\n");
    }
    // Some rows of one or many ranges; all rows of the last ranges, and none of the earlier ones.
    for (numbers, n) in [("3,700000-700002,1499999-", 6), ("400001-1300000", 900_000), ("1400000-", 100_001), ("1,9-1000000", 999_993)] {
        for threads in ["1", "5 --chunk-rows 1000"] {
            let command = format!("tatter get {numbers} then filter 'j == 3 * i and k == 7 * i' then count --threads {threads} a.parquet");
            assert_eq!(done(shell(&command, here, b"")).text(), format!("{n}\n"), "{numbers}");
        }
    }
    let found = done(shell("tatter get 3,700000-700002,1499999- then select i a.parquet | tr '\\n' ' '", here, b"")).text();
    assert_eq!(found, "{\"i\":2} {\"i\":699999} {\"i\":700000} {\"i\":700001} {\"i\":1499998} {\"i\":1499999} ");
}

#[test]
fn logical_types_of_parquet_are_kept() {
    const SCHEMA: &str = "message schema {
        optional binary enum (ENUM);
        optional binary bson (BSON);
        optional binary json (JSON);
        optional fixed_len_byte_array(12) interval (INTERVAL);
        optional int32 time (TIME(MILLIS,true));
        optional group inside { optional fixed_len_byte_array(12) interval (INTERVAL); }
    }";
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let schema = Arc::new(parquet::schema::parser::parse_message_type(SCHEMA).unwrap());
    let file = File::create(here.join("a.parquet")).unwrap();
    let mut writer = parquet::file::writer::SerializedFileWriter::new(file, schema.clone(), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    // A month, two days and three milliseconds.
    let interval = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0].to_vec();
    for level in [1, 1, 1, 1, 1, 2] {
        use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int32Type};
        let mut column = group.next_column().unwrap().unwrap();
        match column.untyped() {
            parquet::column::writer::ColumnWriter::ByteArrayColumnWriter(_) => {
                column.typed::<ByteArrayType>().write_batch(&[ByteArray::from("{}")], Some(&[level]), None).unwrap();
            }
            parquet::column::writer::ColumnWriter::Int32ColumnWriter(_) => {
                column.typed::<Int32Type>().write_batch(&[5], Some(&[level]), None).unwrap();
            }
            _ => {
                let values = [FixedLenByteArray::from(ByteArray::from(interval.clone()))];
                column.typed::<FixedLenByteArrayType>().write_batch(&values, Some(&[level]), None).unwrap();
            }
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    done(shell(
        "tatter convert a.parquet -o b.arrow && tatter convert b.arrow -o c.parquet && tatter convert c.parquet -o d.parquet",
        here,
        b"",
    ));
    for name in ["c.parquet", "d.parquet"] {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(here.join(name)).unwrap()).unwrap();
        let types = |schema: &parquet::schema::types::SchemaDescriptor| -> Vec<_> {
            schema.columns().iter().map(|c| (c.path().string(), c.converted_type(), c.physical_type())).collect()
        };
        let expected = parquet::schema::types::SchemaDescriptor::new(schema.clone());
        let mut found = types(reader.parquet_schema());
        assert!(
            matches!(reader.parquet_schema().column(4).logical_type_ref(), Some(parquet::basic::LogicalType::Time(time)) if time.is_adjusted_to_u_t_c)
        );
        found[4].1 = expected.column(4).converted_type();
        assert_eq!(found, types(&expected), "{name}");
    }
    let lines = done(shell("tatter select interval,inside d.parquet", here, b"")).stdout;
    assert_eq!(lines, b"{\"interval\":\"AQAAAAIAAAADAAAA\",\"inside\":{\"interval\":\"AQAAAAIAAAADAAAA\"}}\n");
}

#[test]
fn nested_lists_as_parquet_avro_writes_them_are_read() {
    use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
    const SCHEMA: &str = "message m {
        required group x (LIST) { repeated group array (LIST) { repeated group array (LIST) { repeated int32 array; } } }
        optional group y (LIST) { repeated group array (LIST) { repeated int32 array; } }
        required group z (LIST) { repeated group array (MAP) {
            repeated group map (MAP_KEY_VALUE) { required binary key (UTF8); required int32 value; }
        } }
    }";
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let schema = Arc::new(parquet::schema::parser::parse_message_type(SCHEMA).unwrap());
    let file = File::create(here.join("a.parquet")).unwrap();
    let mut writer = parquet::file::writer::SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    // Values, definition levels and repetition levels of each column, for two records.
    let columns: [(&[i32], &[i16], &[i16]); 4] = [
        (&[0, 1], &[3, 3, 2, 1, 0], &[0, 3, 2, 1, 0]),
        (&[5], &[0, 3, 2], &[0, 0, 1]),
        (&[], &[2, 1, 0], &[0, 1, 0]),
        (&[7], &[2, 1, 0], &[0, 1, 0]),
    ];
    for (values, definition, repetition) in columns {
        let mut column = group.next_column().unwrap().unwrap();
        match values {
            [] => column.typed::<ByteArrayType>().write_batch(&[ByteArray::from("k")], Some(definition), Some(repetition)),
            values => column.typed::<Int32Type>().write_batch(values, Some(definition), Some(repetition)),
        }
        .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    let types = done(shell("tatter schema a.parquet", here, b"")).text();
    assert_eq!(types, "x: int32[?, (?), (?)]\ny: optional int32[?, (?)]\nz: map<string, int32>[?]\n");
    let expected = "{\"x\":[[[0,1],[]],[]],\"y\":null,\"z\":[{\"k\":7},{}]}\n{\"x\":[],\"y\":[[5],[]],\"z\":[]}\n";
    assert_eq!(done(shell("tatter convert a.parquet", here, b"")).text(), expected);
    assert_eq!(done(shell("tatter convert a.parquet -o b.parquet && tatter convert b.parquet", here, b"")).text(), expected);
}

#[test]
fn json_that_is_not_text_is_refused() {
    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let schema = Arc::new(parquet::schema::parser::parse_message_type("message m { required binary j (JSON); }").unwrap());
    for (name, text, status) in [("good.parquet", &b"{\"a\":1}"[..], 0), ("bad.parquet", b"\xff", 1)] {
        let file = File::create(here.join(name)).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema.clone(), Arc::new(WriterProperties::builder().build())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&[ByteArray::from(text.to_vec())], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        let outcome = shell(&format!("tatter convert {name} -o out.arrow"), here, b"");
        assert_eq!(outcome.status, status, "{}", outcome.stderr);
    }
}

#[test]
fn timestamps_that_no_unit_holds_are_cut_with_a_notice() {
    use parquet::data_type::{Int96, Int96Type};
    const EPOCH: u32 = 2_440_588;
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let schema = Arc::new(parquet::schema::parser::parse_message_type("message m { required int96 t; required int96 u; }").unwrap());
    let at = |day: u32, nanos: u32| {
        let mut value = Int96::new();
        value.set_data(nanos, 0, day);
        value
    };
    let columns = [[at(EPOCH, 1_000), at(EPOCH + 2_932_896, 1)], [at(EPOCH, 1), at(EPOCH, 2)]];
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(File::create(here.join("a.parquet")).unwrap(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for values in columns {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int96Type>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    for (command, status, notice) in [
        (
            "convert a.parquet",
            0,
            "note: a.parquet: t: INT96 timestamps are truncated to microseconds: their range does not fit finer units\n",
        ),
        ("select u a.parquet", 0, ""),
        ("convert --strict a.parquet", 1, ""),
    ] {
        let outcome = shell(&format!("tatter {command}"), here, b"");
        assert_eq!(outcome.status, status, "{command}: {}", outcome.stderr);
        assert!(status != 0 || outcome.stderr == notice, "{command}: {}", outcome.stderr);
    }
}

#[test]
fn values_of_dictionaries_that_do_not_occur_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let words: ArrayRef = Arc::new(StringArray::from(vec!["z", "b", "a"]));
    let sizes: ArrayRef = Arc::new(Int64Array::from(vec![900, 7, -5]));
    let dictionary =
        |values: &ArrayRef, keys: Vec<Option<i8>>| Arc::new(DictionaryArray::new(Int8Array::from(keys), values.clone())) as ArrayRef;
    let inside = dictionary(&words, vec![Some(1), Some(1), None]);
    let item = Arc::new(Field::new("element", inside.data_type().clone(), true));
    let lists: ArrayRef = Arc::new(ListArray::new(item, OffsetBuffer::new(vec![0, 2, 2, 3].into()), inside, None));
    let flat = dictionary(&words, vec![Some(2), None, Some(1)]);
    let fields = vec![Field::new("d", flat.data_type().clone(), true)];
    let structure: ArrayRef = Arc::new(StructArray::new(fields.into(), vec![flat.clone()], None));
    let numbers = dictionary(&sizes, vec![Some(1), Some(1), Some(1)]);
    let columns = [("flat", flat), ("lists", lists), ("structure", structure), ("numbers", numbers)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    write_arrow(&here.join("a.arrow"), &batch);
    for line in [
        "convert a.arrow -o b.parquet && tatter convert b.parquet -o c.arrow",
        "convert a.arrow -o b.parquet --row-group-rows 1 && tatter convert b.parquet -o c.parquet && tatter convert c.parquet -o c.arrow",
        "repeat 2 a.arrow -o b.parquet && tatter head 3 b.parquet -o c.arrow",
    ] {
        let outcome = done(shell(&format!("tatter {line}"), here, b""));
        assert_eq!(outcome.stderr, "", "{line}");
        let (_, batches) = read_arrow(&here.join("c.arrow"));
        let found = |batch: &RecordBatch| {
            let data: Vec<_> = batch.columns().iter().map(|column| column.to_data()).collect();
            let [flat, lists, structure, numbers] = &data[..] else { panic!("{line}") };
            [flat, &lists.child_data()[0], &structure.child_data()[0], numbers].map(|data| data.child_data()[0].clone())
        };
        assert_eq!(found(&batches[0]), found(&batch), "{line}");
        assert_eq!(arrow_select::concat::concat_batches(&batch.schema(), &batches).unwrap(), batch, "{line}");
    }
    // Statistics are those of the values that occur.
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(here.join("b.parquet")).unwrap()).unwrap();
    let column = |index: usize| reader.metadata().row_group(0).column(index).statistics().unwrap().clone();
    assert_eq!((column(0).min_bytes_opt(), column(0).max_bytes_opt()), (Some(b"a".as_slice()), Some(b"b".as_slice())));
    assert_eq!(column(3).min_bytes_opt(), column(3).max_bytes_opt());
    let filled = done(shell("tatter fill-null flat=new b.parquet -o d.parquet && tatter select flat d.parquet | sort -u", here, b""));
    assert_eq!(filled.text(), "{\"flat\":\"a\"}\n{\"flat\":\"b\"}\n{\"flat\":\"new\"}\n");
}

#[test]
fn each_field_id_is_that_of_one_field() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (name, field) in [("a.arrow", "a"), ("b.arrow", "b")] {
        let inner = Arc::new(Field::new("c", DataType::Int32, true).with_metadata(metadata(&[("PARQUET:field_id", "2")])));
        let structure = StructArray::new(vec![inner].into(), vec![Arc::new(Int32Array::from(vec![1]))], None);
        let ty = structure.data_type().clone();
        let fields = vec![Field::new(field, ty, true).with_metadata(metadata(&[("PARQUET:field_id", "1"), ("unit", "m")]))];
        write_arrow(&here.join(name), &RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![Arc::new(structure)]).unwrap());
    }
    let notes = "note: b.c: the metadata `PARQUET:field_id` was dropped: it belongs to another field\n\
                 note: b: the metadata `PARQUET:field_id` was dropped: it belongs to another field\n";
    for output in ["c.arrow", "c.parquet"] {
        let outcome = done(shell(&format!("tatter zip a.arrow b.arrow -o {output}"), here, b""));
        assert_eq!(outcome.stderr, notes);
    }
    let (schema, _) = read_arrow(&here.join("c.arrow"));
    assert_eq!(schema.field(1).metadata(), &metadata(&[("unit", "m")]));
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(here.join("c.parquet")).unwrap()).unwrap();
    let has_ids: Vec<bool> = reader.parquet_schema().root_schema().get_fields().iter().map(|f| f.get_basic_info().has_id()).collect();
    assert_eq!(has_ids, [true, false]);
    assert_eq!(reader.schema().field(0).metadata().get("PARQUET:field_id"), Some(&"1".to_owned()));
    assert_eq!(reader.schema().field(1).metadata(), &metadata(&[("unit", "m")]));
}

/// A Parquet file with one required column and one row.
fn write_column<T: parquet::data_type::DataType>(path: &Path, column: &str, values: &[T::T]) {
    let schema = Arc::new(parquet::schema::parser::parse_message_type(&format!("message m {{ required {column}; }}")).unwrap());
    let mut writer = parquet::file::writer::SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn logical_types_of_later_versions_are_read_as_physical_types() {
    use parquet::data_type::{ByteArray, FixedLenByteArray, FixedLenByteArrayType, Int64Type};
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    // The field of the union of logical types, which begins with its number, becomes one that is not defined.
    let rename = |name: &str, from: &[u8]| {
        let mut bytes = std::fs::read(here.join(name)).unwrap();
        let at = memchr::memmem::rfind(&bytes, from).unwrap();
        bytes[at] = 0x9c;
        std::fs::write(here.join(name), bytes).unwrap();
    };
    write_column::<Int64Type>(&here.join("a.parquet"), "int64 t (TIMESTAMP(NANOS,true))", &[5]);
    rename("a.parquet", &[0x8c, 0x11, 0x1c, 0x3c, 0]);
    write_column::<FixedLenByteArrayType>(
        &here.join("b.parquet"),
        "fixed_len_byte_array(16) u (UUID)",
        &[FixedLenByteArray::from(ByteArray::from(vec![7; 16]))],
    );
    rename("b.parquet", &[0xec, 0, 0]);
    for (name, line, physical) in
        [("a.parquet", "{\"t\":5}\n", "INT64"), ("b.parquet", "{\"u\":\"BwcHBwcHBwcHBwcHBwcHBw==\"}\n", "FIXED_LEN_BYTE_ARRAY")]
    {
        let outcome = done(shell(&format!("tatter convert {name}"), here, b""));
        assert_eq!(outcome.text(), line);
        let column = &line[2..3];
        assert_eq!(outcome.stderr, format!("note: {name}: {column}: its logical type is unknown: it is read as {physical}\n"));
        done(shell(&format!("tatter convert {name} -o c.parquet && tatter convert c.parquet -o c.arrow"), here, b""));
    }
}

#[test]
fn decimals_longer_than_their_digits_are_read() {
    use parquet::data_type::{ByteArray, ByteArrayType};
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let bytes = |sign: u8, value: i64, length: usize| ByteArray::from([vec![sign; length - 8], value.to_be_bytes().to_vec()].concat());
    let values = [bytes(0, 12345, 20), bytes(0xff, -1, 17), bytes(0, 7, 8)];
    write_column::<ByteArrayType>(&here.join("a.parquet"), "binary d (DECIMAL(38,2))", &values);
    let outcome = done(shell("tatter schema a.parquet && tatter convert a.parquet -o b.parquet && tatter convert b.parquet", here, b""));
    assert_eq!(outcome.text(), "d: arrow<decimal128(38, 2)>\n{\"d\":\"123.45\"}\n{\"d\":\"-0.01\"}\n{\"d\":\"0.07\"}\n");
    let large = ByteArray::from([vec![1u8; 20]].concat());
    write_column::<ByteArrayType>(&here.join("a.parquet"), "binary d (DECIMAL(38,2))", &[large]);
    assert_eq!(shell("tatter convert a.parquet", here, b"").status, 1);
}

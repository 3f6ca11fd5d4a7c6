//! Peak memory: of Arrow and Parquet files that stand for more bytes than they have (and the messages of those refused), and of
//! verbs whose results grow.

use crate::inputs::peak_memory;
use crate::tatter::{BINARY, shell};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeListArray, Int8Array, Int32Array, Int64Array, ListArray, ListViewArray, NullArray,
    RecordBatch, RunArray, StringArray, StringViewArray,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

const MIB: u64 = 1 << 20;

/// Writes an Arrow file, or a stream if its name says so, with one batch of the column `r`.
fn arrow(to: &Path, column: ArrayRef, codec: Option<CompressionType>) {
    let batch = RecordBatch::try_from_iter_with_nullable([("r", column, true)]).unwrap();
    let (file, options) = (File::create(to).unwrap(), IpcWriteOptions::default().try_with_compression(codec).unwrap());
    if to.extension().is_some_and(|extension| extension == "arrows") {
        let mut writer = StreamWriter::try_new_with_options(file, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    } else {
        let mut writer = FileWriter::try_new_with_options(file, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    }
}

/// Writes a Parquet file with one row group for each array of the column `r`.
fn parquet(to: &Path, groups: &[ArrayRef], with: impl Fn(WriterPropertiesBuilder) -> WriterPropertiesBuilder) {
    let batches: Vec<_> = groups.iter().map(|r| RecordBatch::try_from_iter_with_nullable([("r", r.clone(), true)]).unwrap()).collect();
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).set_dictionary_enabled(false);
    let mut writer = ArrowWriter::try_new(File::create(to).unwrap(), batches[0].schema(), Some(with(properties).build())).unwrap();
    for batch in &batches {
        writer.write(batch).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
}

/// The peak memory of a run in bytes, and its standard error.
fn run(directory: &Path, line: &str) -> (u64, String) {
    let mut command = Command::new(BINARY);
    command.args(line.split(' ')).current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    peak_memory(command.spawn().unwrap())
}

/// One record.
fn list_of(values: ArrayRef) -> ArrayRef {
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([values.len()]), values, None))
}

fn empty_lists(n: usize) -> ArrayRef {
    let none: ArrayRef = Arc::new(Int8Array::from(Vec::<i8>::new()));
    let item = Arc::new(Field::new_list_field(DataType::Int8, true));
    Arc::new(ListArray::new(item, OffsetBuffer::new_zeroed(n), none, None))
}

fn views_of_one_string(n: usize, nbytes: usize) -> ArrayRef {
    let one = StringViewArray::from_iter_values(["x".repeat(nbytes)]);
    let (view, buffers) = (one.views()[0], one.data_buffers().to_vec());
    Arc::new(StringViewArray::try_new(vec![view; n].into(), buffers, None).unwrap())
}

#[test]
fn record_batches_of_many_rows_in_few_bytes_take_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    const ROWS: usize = 12_000_000;
    let zeros = || -> ArrayRef { Arc::new(Int8Array::from(vec![0; ROWS])) };
    let (zstd, lz4) = (Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME));
    arrow(&here.join("nulls.arrow"), Arc::new(NullArray::new(ROWS)), None);
    arrow(&here.join("nulls.arrows"), Arc::new(NullArray::new(ROWS)), None);
    arrow(&here.join("zeros.arrow"), zeros(), None);
    arrow(&here.join("zstd.arrow"), zeros(), zstd);
    arrow(&here.join("zstd.arrows"), zeros(), zstd);
    arrow(&here.join("lz4.arrow"), zeros(), lz4);
    let null = Arc::new(Field::new_list_field(DataType::Null, true));
    let lists = FixedSizeListArray::try_new(null.clone(), 1000, Arc::new(NullArray::new(ROWS)), None).unwrap();
    arrow(&here.join("lists.arrow"), Arc::new(lists), None);
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![ROWS as i32]), &Int64Array::from(vec![7])).unwrap();
    arrow(&here.join("runs.arrow"), Arc::new(runs), None);
    let long = StringArray::from_iter_values(["x".repeat(1_000_000)]);
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![500]), &long).unwrap();
    arrow(&here.join("long-runs.arrow"), Arc::new(runs), None);
    arrow(&here.join("views.arrow"), views_of_one_string(500, 1_000_000), None);
    arrow(&here.join("zstd-views.arrow"), views_of_one_string(500_000, 1000), zstd);
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let (offsets, sizes): (ScalarBuffer<i32>, ScalarBuffer<i32>) = (vec![0; 600].into(), vec![100_000; 600].into());
    let views = ListViewArray::try_new(item, offsets, sizes, Arc::new(Int64Array::from(vec![0; 100_000])), None).unwrap();
    arrow(&here.join("list-views.arrow"), Arc::new(views), None);
    let mut names: Vec<_> = std::fs::read_dir(here).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names.len(), 12);
    for name in names {
        // What a run of many threads has in memory grows with them.
        let (peak, message) = run(here, &format!("convert {name} --to jsonl --threads 2"));
        let limit = if ["long-runs.arrow", "views.arrow", "zstd-views.arrow"].contains(&name.as_str()) { 300 } else { 170 };
        assert!(message.is_empty() && peak < limit * MIB, "{name}: {} MiB: {message}", peak / MIB);
    }
    for (name, threads) in [("zstd.arrow", 1), ("zstd.arrows", 2)] {
        let (peak, message) = run(here, &format!("convert {name} --to tfrecord -o /dev/null --threads {threads}"));
        assert!(message.is_empty() && peak < 250 * MIB, "{name}: {} MiB: {message}", peak / MIB);
    }
    for chain in ["count", "enumerate then tail 1"] {
        let (peak, message) = run(here, &format!("{chain} nulls.arrow"));
        assert!(message.is_empty() && peak < 250 * MIB, "{chain}: {} MiB: {message}", peak / MIB);
    }
}

#[test]
fn a_record_batch_that_exceeds_memory_is_refused_before_it_is_decompressed() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let zeros = |n: usize| -> ArrayRef { Arc::new(Int8Array::from(vec![0; n])) };
    for name in ["zeros.arrow", "zeros.arrows"] {
        arrow(&here.join(name), zeros(300_000_000), Some(CompressionType::ZSTD));
        assert!(std::fs::metadata(here.join(name)).unwrap().len() < 100_000);
        let (peak, message) = run(here, &format!("convert {name} --to jsonl --max-memory 200MB"));
        let start = format!("error: {name}: records 1 to 300000000: a record batch takes 3000");
        assert!(message.starts_with(&start) && message.contains("--max-memory is 200000000"), "{message}");
        assert!(message.contains("max_chunksize"), "{message}");
        assert!(peak < 100 * MIB, "{} MiB", peak / MIB);
    }
    // The second one does not fit beside the first.
    let batch = RecordBatch::try_from_iter([("r", zeros(60_000_000))]).unwrap();
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD)).unwrap();
    let mut writer = FileWriter::try_new_with_options(File::create(here.join("two.arrow")).unwrap(), &batch.schema(), options).unwrap();
    (0..2).for_each(|_| writer.write(&batch).unwrap());
    writer.finish().unwrap();
    let (_, message) = run(here, "get 59999999,60000001 two.arrow --max-memory 100MB");
    assert!(message.starts_with("error: two.arrow: records 60000001 to 120000000: a record batch takes 600"), "{message}");
    assert!(message.contains("in addition to 600"), "{message}");
    // A dictionary.
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(["x".repeat(150_000_000)]));
    let keys = DictionaryArray::<Int8Type>::new(Int8Array::from(vec![0]), texts);
    arrow(&here.join("dictionary.arrow"), Arc::new(keys), Some(CompressionType::ZSTD));
    let (peak, message) = run(here, "convert dictionary.arrow --to jsonl --max-memory 100MB");
    assert!(message.starts_with("error: dictionary.arrow: a dictionary takes 1500000"), "{message}");
    assert!(peak < 100 * MIB, "{} MiB", peak / MIB);
}

/// Additions to a dictionary count together with what it has.
#[test]
fn dictionaries_that_grow_beyond_memory_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let ty = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let schema = Arc::new(Schema::new(vec![Field::new("r", ty, true)]));
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD)).unwrap();
    let options = options.with_dictionary_handling(DictionaryHandling::Delta);
    let mut writer = StreamWriter::try_new_with_options(File::create(here.join("in.arrows")).unwrap(), &schema, options).unwrap();
    let mut texts: Vec<String> = Vec::new();
    for n in 0..4 {
        texts.push(n.to_string().repeat(20_000_000));
        let keys = DictionaryArray::<Int8Type>::new(Int8Array::from(vec![n]), Arc::new(StringArray::from(texts.clone())));
        writer.write(&RecordBatch::try_new(schema.clone(), vec![Arc::new(keys)]).unwrap()).unwrap();
    }
    writer.finish().unwrap();
    let (_, message) = run(here, "map n=strings.length(r) then drop r in.arrows --max-memory 150MB");
    assert_eq!(message, "");
    let (peak, message) = run(here, "convert in.arrows --to jsonl --max-memory 70MB");
    assert!(message.starts_with("error: in.arrows: a dictionary takes 200000") && message.contains("in addition to 800000"), "{message}");
    assert!(peak < 350 * MIB, "{} MiB", peak / MIB);
}

#[test]
fn records_of_nulls_and_empty_lists_have_a_size() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let null = Arc::new(Field::new_list_field(DataType::Null, true));
    let nulls = FixedSizeListArray::try_new(null, 2_000_000_000, Arc::new(NullArray::new(2_000_000_000)), None).unwrap();
    arrow(&here.join("nulls.arrow"), Arc::new(nulls), None);
    let (peak, message) = run(here, "convert nulls.arrow --to jsonl");
    let start = "error: nulls.arrow: record 1: r: the values of the record take 8000000000 bytes, more than the --max-record-bytes limit of 268435456";
    assert!(message.starts_with(start) && peak < 100 * MIB, "{} MiB: {message}", peak / MIB);
    let (_, message) = run(here, "convert nulls.arrow --to jsonl --on-error skip");
    assert!(message.starts_with("note: 1 bad record was skipped: nulls.arrow: record 1, field r"), "{message}");

    let lists = list_of(empty_lists(10_000_000));
    arrow(&here.join("lists.arrow"), lists.clone(), Some(CompressionType::ZSTD));
    parquet(&here.join("lists.parquet"), &[lists], |properties| properties);
    for (name, what, limit) in [("lists.arrow", "the record take", 120), ("lists.parquet", "a record take at least", 100)] {
        assert!(std::fs::metadata(here.join(name)).unwrap().len() < 20_000);
        let (peak, message) = run(here, &format!("convert {name} --to jsonl --max-record-bytes 39999999"));
        let start =
            format!("error: {name}: record 1: r: the values of {what} 40000000 bytes, more than the --max-record-bytes limit of 39999999");
        assert!(message.starts_with(&start) && peak < limit * MIB, "{name}: {} MiB: {message}", peak / MIB);
        let (_, message) = run(here, &format!("convert {name} --to jsonl --max-record-bytes 40000000"));
        assert_eq!(message, "", "{name}");
    }
}

#[test]
fn pages_whose_values_exceed_the_limit_are_not_decompressed() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let long: ArrayRef = Arc::new(StringArray::from_iter_values(["x".repeat(280_000_000)]));
    let short: ArrayRef = Arc::new(StringArray::from_iter_values(["x"]));
    let message_of = |name: &str, records: &str| {
        let (peak, message) = run(here, &format!("convert {name} --to jsonl"));
        let start = format!("error: {name}: {records}: r: the values of a record take at least 2799");
        assert!(message.starts_with(&start) && message.contains("more than the --max-record-bytes limit of 268435456"), "{message}");
        assert!(peak < 100 * MIB, "{name}: {} MiB", peak / MIB);
    };
    parquet(&here.join("flat.parquet"), &[short.clone(), long.clone()], |properties| properties);
    assert!(std::fs::metadata(here.join("flat.parquet")).unwrap().len() < 100_000);
    message_of("flat.parquet", "record 2");
    parquet(&here.join("entry.parquet"), &[short.clone(), long.clone()], |properties| properties.set_dictionary_enabled(true));
    message_of("entry.parquet", "record 2");
    parquet(&here.join("list.parquet"), &[list_of(long.clone())], |properties| properties);
    message_of("list.parquet", "record 1");
    let (_, message) = run(here, "head 1 flat.parquet");
    assert_eq!(message, "");

    // The pages of the columns are in memory together.
    let text: ArrayRef = Arc::new(StringArray::from_iter_values(["x".repeat(10_000_000), "y".repeat(10_000_000)]));
    let columns = (0..8).map(|n| (format!("c{n}"), text.clone()));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).set_dictionary_enabled(false);
    let file = File::create(here.join("wide.parquet")).unwrap();
    let properties = properties.set_data_page_size_limit(100 << 20).set_write_batch_size(1 << 20).build();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let (peak, message) = run(here, "convert wide.parquet --to jsonl --max-memory 200MB");
    let start = "error: wide.parquet: records 1 to 2: the largest pages of the columns take 1600";
    assert!(message.starts_with(start) && peak < 100 * MIB, "{} MiB: {message}", peak / MIB);
    let (_, message) = run(here, "select c1 then convert wide.parquet --to jsonl --max-memory 200MB");
    assert_eq!(message, "");
}

#[test]
fn thousands_of_compressed_columns_take_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..1500).map(|n| n % 50)));
    let batch = RecordBatch::try_from_iter((0..3000).map(|n| (format!("c{n}"), numbers.clone()))).unwrap();
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
    let mut writer = ArrowWriter::try_new(File::create(here.join("wide.parquet")).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let (peak, message) = run(here, "convert wide.parquet --to csv --threads 1");
    assert!(message.is_empty() && peak < 200 * MIB, "{} MiB: {message}", peak / MIB);
}

#[test]
fn counts_of_many_keys_take_memory_in_proportion_to_the_keys() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let lines: String = (0..200_000).map(|n| format!("{{\"key\":{n}}}\n")).collect();
    std::fs::write(here.join("keys.jsonl"), lines).unwrap();
    let (peak, message) = run(here, "count --by key keys.jsonl --chunk-rows 500");
    assert!(message.is_empty() && peak < 150 * MIB, "{} MiB: {message}", peak / MIB);
}

#[test]
fn padding_to_the_longest_row_of_the_input_takes_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let long = "1,".repeat(1999) + "1";
    let lines: String = (0..20_000).map(|n| format!("{{\"x\":[{}]}}\n", if n == 9_000 { &long } else { "1" })).collect();
    std::fs::write(here.join("x.jsonl"), lines).unwrap();
    for size in ["max", "2000"] {
        let (peak, message) = run(here, &format!("to-dense --shape x=[{size}] x.jsonl --max-memory 2MiB"));
        assert!(message.is_empty() && peak < 150 * MIB, "{size}: {} MiB: {message}", peak / MIB);
    }
}

/// In `DELTA_BYTE_ARRAY`, a value may consist of the start of the value before.
#[test]
fn strings_that_repeat_the_one_before_take_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let shared = |properties: WriterPropertiesBuilder| properties.set_encoding(Encoding::DELTA_BYTE_ARRAY);
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..600).map(|_| "x".repeat(1_000_000))));
    parquet(&here.join("flat.parquet"), std::slice::from_ref(&texts), shared);
    assert!(std::fs::metadata(here.join("flat.parquet")).unwrap().len() < 5000);
    let (peak, message) = run(here, "convert flat.parquet --to jsonl --threads 2");
    assert!(message.is_empty() && peak < 300 * MIB, "{} MiB: {message}", peak / MIB);
    parquet(&here.join("list.parquet"), &[list_of(texts)], shared);
    let (peak, message) = run(here, "convert list.parquet --to jsonl");
    let start = "error: list.parquet: record 1: r: the values of a record take at least 600000000 bytes, more than the --max-record-bytes limit of 268435456";
    assert!(message.starts_with(start) && peak < 100 * MIB, "{} MiB: {message}", peak / MIB);
    let words = StringArray::from_iter((0..300_000).map(|n| (n % 7 > 0).then(|| format!("https://example.org/{}/{n}", n % 1000))));
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let with = |properties: WriterPropertiesBuilder| shared(properties).set_writer_version(version);
        parquet(&here.join("words.parquet"), &[Arc::new(words.clone())], with);
        let outcome = shell(
            "tatter map 'n = strings.length(fill_null(r, \"\"))' then batch all then map 's = reduce_sum(n)' then select s words.parquet",
            here,
            b"",
        );
        let total: usize = words.iter().flatten().map(str::len).sum();
        assert_eq!((outcome.stderr.as_str(), outcome.text()), ("", format!("{{\"s\":{total}}}\n")));
    }
}

/// The parts of a batch are the records of the same numbers, in order, whatever divides them.
#[test]
fn records_of_a_divided_batch_keep_their_order_and_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    const ROWS: i64 = 2_500_000;
    let numbers = Int64Array::from_iter((0..ROWS).map(|n| if n % 1_000_000 == 777_777 { Some(1000) } else { Some(n % 100) }));
    let batch = RecordBatch::try_from_iter([
        ("n", Arc::new(numbers) as ArrayRef),
        ("m", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|n| n * 7 % 1009))) as ArrayRef),
    ])
    .unwrap();
    for (name, codec, rows) in
        [("small.arrow", None, 10_000), ("zstd.arrow", Some(CompressionType::ZSTD), ROWS), ("plain.arrow", None, ROWS)]
    {
        let options = IpcWriteOptions::default().try_with_compression(codec).unwrap();
        let mut writer = FileWriter::try_new_with_options(File::create(here.join(name)).unwrap(), &batch.schema(), options).unwrap();
        (0..ROWS).step_by(rows as usize).for_each(|at| writer.write(&batch.slice(at as usize, rows as usize)).unwrap());
        writer.finish().unwrap();
    }
    let chains = [
        "filter n==1000 then enumerate --source record",
        "get 1,777778,1777778,2499999 then map k=n+m",
        "convert --on-error skip --schema 'n: int8' then map k=n+m then batch 100000 then map s=reduce_sum(k) then select s",
        "convert --schema 'n: int8'",
    ];
    for chain in chains {
        let expected = shell(&format!("tatter {chain} small.arrow"), here, b"");
        for (name, threads) in [("zstd.arrow", 1), ("zstd.arrow", 2), ("plain.arrow", 2)] {
            let found = shell(&format!("tatter {chain} {name} --threads {threads}"), here, b"");
            let error = |outcome: &crate::tatter::Outcome, own: &str| outcome.stderr.replace(own, "FILE");
            assert_eq!(error(&found, name), error(&expected, "small.arrow"), "{chain}: {name}");
            let (found, expected) = (found.text(), expected.text());
            // Before an error, more or fewer records are written.
            let n = if chain.ends_with("'n: int8'") { found.len().min(expected.len()) } else { usize::MAX };
            assert!(found.get(..n.min(found.len())) == expected.get(..n.min(expected.len())), "{chain}: {name}");
        }
    }
}

/// The dictionary pages of the seeds claim hundreds of millions of entries; all would be allocated before any is read.
#[test]
fn entries_that_a_dictionary_cannot_have_take_no_memory() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/columnar");
    let directory = tempfile::tempdir().unwrap();
    for name in ["dictionary-entries.parquet", "int96-dictionary.parquet"] {
        std::fs::copy(format!("{seeds}/{name}"), directory.path().join(name)).unwrap();
        let (peak, message) = run(directory.path(), &format!("convert {name} --to jsonl"));
        let text = "a Parquet page is damaged: its dictionary of ";
        assert!(message.contains(text) && peak < 100 * MIB, "{} MiB: {message}", peak / MIB);
    }
}

"""Reading, writing, schemas: values, laziness, and libraries that accept the records as an Arrow stream."""

import pyarrow as pa
import pytest
import tatter_data as td

pytestmark = pytest.mark.usefixtures("no_process_left")


def test_a_chain_gives_what_the_program_gives(docs):
    records = td.read(docs, "promote docs.tokens --as toks then select id,toks", threads=2)
    assert records.to_arrow().to_pylist()[:2] == [
        {"id": 1, "toks": ["hello", "world", "rain", "later", "today"]},
        {"id": 2, "toks": ["who", "is", "Dan", "Smith"]},
    ]


def test_a_chain_may_be_words(docs):
    assert td.read(docs, ["filter", "id > 4", "then", "select", "id"]).to_arrow().to_pylist() == [{"id": 5}]


def test_reading_is_lazy_and_can_be_repeated(lines):
    records = td.read("missing.jsonl")
    path = lines("x.jsonl", [{"x": 1}])
    with pytest.raises(td.TatterError, match="missing.jsonl"):
        records.to_arrow()
    records = td.read(path)
    assert records.to_arrow() == records.to_arrow()


def test_every_library_with_arrow_streams_takes_the_records(docs):
    pl = pytest.importorskip("polars")
    records = td.read(docs, "select id")
    assert pa.table(records).column("id").to_pylist() == [1, 2, 3, 4, 5]
    assert pl.DataFrame(records)["id"].to_list() == [1, 2, 3, 4, 5]
    assert pa.RecordBatchReader.from_stream(records).read_all().num_rows == 5


def test_the_schema_is_known_before_the_records(docs):
    schema = td.schema(docs)
    assert schema.names == ["id", "docs"]
    assert schema == td.read(docs).to_arrow().schema
    assert td.schema(docs, "batch 2").field("id").type == pa.list_(pa.field("element", pa.int64()))


def test_an_empty_result_has_its_schema(docs):
    table = td.read(docs, "filter 'id > 100'").to_arrow()
    assert table.num_rows == 0 and table.schema.names == ["id", "docs"]


@pytest.mark.parametrize("name", ["out.tfrecord", "out.parquet", "out.arrow", "out.jsonl", "out.tfrecord.gz", "out@3.jsonl"])
def test_what_is_written_reads_back(tmp_path, name):
    data = {"x": [[1, 2], [], [3]], "s": [["a"], ["b", "c"], ["d"]]}
    td.write(data, tmp_path / name)
    back = td.read(str(tmp_path / name), "sort --by 'reduce_sum(x)'").to_arrow().to_pylist()
    assert back == [{"x": [], "s": ["b", "c"]}, {"x": [1, 2], "s": ["a"]}, {"x": [3], "s": ["d"]}]


@pytest.mark.parametrize(
    "data",
    [
        pa.table({"x": [1, 2, 3]}),
        pa.record_batch({"x": [1, 2, 3]}),
        {"x": [1, 2, 3]},
        [{"x": 1}, {"x": 2}, {"x": 3}],
        [pa.record_batch({"x": [1]}), pa.table({"x": [2, 3]})],
    ],
)
def test_data_of_many_kinds_goes_through_a_chain(data):
    assert td.pipe(data, "map 'y = x + 1'").to_arrow().column("y").to_pylist() == [2, 3, 4]


def test_frames_go_through_a_chain():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for frame in (pd.DataFrame({"x": [1, 2]}), pl.DataFrame({"x": [1, 2]})):
        assert td.pipe(frame, "map 'x = x * 2'").to_arrow().column("x").to_pylist() == [2, 4]


def test_records_are_written_without_a_way_through_python(docs, tmp_path):
    td.write(td.read(docs, "select id"), tmp_path / "ids.jsonl", chain="head 2")
    assert (tmp_path / "ids.jsonl").read_text() == '{"id":1}\n{"id":2}\n'


def test_head_ends_the_feed_early():
    endless = (pa.record_batch({"x": [i]}) for i in range(10**9))
    assert td.pipe(endless, "head 3").to_arrow().num_rows == 3


def test_options_are_those_of_the_program(lines):
    path = lines("x.txt", [{"x": 1}, {"x": 2}])
    records = td.read(path, "map 'y = x + k'", from_="jsonl", arg={"k": 5}, quiet=True)
    assert records.to_arrow().column("y").to_pylist() == [6, 7]


def test_shards_share_the_records(lines):
    path = lines("x.jsonl", [{"x": i} for i in range(10)])
    parts = [td.read(path).shard(i, 3).to_arrow().column("x").to_pylist() for i in range(3)]
    assert parts == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]


@pytest.fixture
def three(lines):
    return [lines(f"{name}.jsonl", [{"x": f"{name}{i}"} for i in range(4)]) for name in "abc"]


@pytest.mark.parametrize("first", ["interleave", "concatenate", "mix --seed 3", "zip --as a,b,c"])
@pytest.mark.parametrize("later", ["", " then map 'y = 1' then skip 1"])
def test_shards_share_combined_inputs(three, first, later):
    for count in (2, 5):
        for i in range(count):
            found = td.read(three, first + later).shard(i, count).to_arrow()
            assert found == td.read(three, f"{first} then shard {i}/{count}{later}").to_arrow()


def test_inputs_with_chains_of_their_own_are_combined_and_sharded(three, monkeypatch, tmp_path):
    records = td.read(three[1], ["mix", "--seed=1", "[", "head", "2", three[0], "]"])
    assert sorted(records.to_arrow()["x"].to_pylist()) == ["a0", "a1", "b0", "b1", "b2", "b3"]
    parts = [records.shard(i, 2).then("map 'y = x'").to_arrow()["y"].to_pylist() for i in range(2)]
    assert sorted(parts[0] + parts[1]) == ["a0", "a1", "b0", "b1", "b2", "b3"]
    monkeypatch.chdir(tmp_path)
    for name in ("then", "-x.jsonl"):
        td.write({"x": ["n"]}, name, to="jsonl")
        records = td.read(name, ["concatenate", "[", "head", "1", three[0], "]", "then", "head", "9"], from_="jsonl")
        assert records.to_arrow()["x"].to_pylist() == ["a0", "n"]


def test_combined_inputs_are_sharded_by_file_where_it_makes_sense(three):
    parts = [td.read(three, "interleave").shard(i, 4, by="file").to_arrow() for i in range(4)]
    assert [part.num_rows for part in parts] == [4, 4, 4, 0]
    assert parts[3].schema.names == ["x"]
    with pytest.raises(ValueError, match="zip needs all of its inputs.*shard by record"):
        td.read(three, "zip").shard(0, 2, by="file")
    with pytest.raises(ValueError, match="3 files are too few for 2 shards; shard by record"):
        td.read(three, "mix").shard(0, 2, by="file")
    assert td.read(three + three[:1], "mix").shard(0, 2, by="file").to_arrow().num_rows == 8


def test_a_notebook_sees_schema_and_first_rows(docs):
    text = td.read(docs)._repr_html_()
    assert text.startswith("<table>") and "int64" in text and "greeting" in text


def test_run_returns_what_is_printed(docs):
    assert td.run(["count", docs]) == "5\n"
    with pytest.raises(td.TatterError) as caught:
        td.run(["select", "titel", docs])
    assert caught.value.code == 2 and "the fields are: id, docs" in caught.value.message

"""Files are found as the program finds them: names, globs, shards and folders."""

import os
import warnings
import zipfile

import pytest
import tatter_data as td
from tatter_data._child import Child
from tatter_data._files import expand, find, input_words, with_records

TREE = [
    "a.jsonl",
    "b.jsonl",
    "c.txt",
    ".hidden.jsonl",
    "_private.jsonl",
    "s/d.jsonl",
    "s/t/e.jsonl",
    "s.jsonl",
    "s/.h/f.jsonl",
    "s/_temporary/g.jsonl",
    "n-00000-of-00002.jsonl",
    "n-00001-of-00002.jsonl",
    "m.bin",
    "m.idx",
    "r.tfrecord",
    "r.tfrecord.idx",
    "lit*.jsonl",
    "[x]-00000-of-00001.jsonl",
    "e=1/i.jsonl",
    "k-00000-of-00001/j.jsonl",
    "log/_delta_log/0.json",
    "log/l.jsonl",
    "q/o.jsonl",
]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Files of one record with the file's name, links to a folder and a file, a pipe, and an empty folder."""
    for name in TREE:
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"f": "{name}"}}\n')
    os.symlink(tmp_path / "tree" / "s", tmp_path / "tree" / "link")
    os.symlink(tmp_path / "tree" / "s" / "d.jsonl", tmp_path / "tree" / "z.jsonl")
    os.mkfifo(tmp_path / "tree" / "q" / "pipe")
    (tmp_path / "tree" / "none").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


JSON = "*.jsonl"


@pytest.mark.parametrize(
    "name",
    [
        "tree/a.jsonl",
        f"tree/{JSON}",
        f"tree/**/{JSON}",
        f"**/{JSON}",
        f"tree/*/{JSON}",
        f"tree/*/*/{JSON}",
        f"./tree/.{JSON}",
        "tree/[ab].jsonl",
        "tree/[!ab].jsonl",
        "tree/?.jsonl",
        f"tree//s//{JSON}",
        "tree/lit*.jsonl",
        "tree/n@2.jsonl",
        "tree/s",
        "tree/s/",
        "tree/link",
        f"tree/link/{JSON}",
        "tree/s/**",
        "tree/[s]/",
        "tree/[s]",
        "tree/[]a-].jsonl",
        "tree/[!]b-z].jsonl",
        "tree/[x]@1.jsonl",
        "tree/k@1",
        "tree/link/../a.jsonl",
        "tree/e=1/*",
        "tree/e*",
        "tree/log",
        "tree/q",
    ],
)
def test_names_are_expanded_as_by_the_program(tree, name):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        wanted = td.read(name, from_="jsonl", source="file").to_arrow().column("file").to_pylist()
        assert wanted
    notices = [str(notice.message) for notice in told]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert expand([name]) == wanted
    assert [str(notice.message) for notice in told] == notices
    assert [os.path.relpath(file.name) for file in find([name], quiet=True)] == [os.path.relpath(path) for path in wanted]


@pytest.mark.parametrize(
    "name",
    ["", "tree/**1.jsonl", "tree/a**", "tree/***", "tree/[a.jsonl", "tree/[!]", "tree/none", "tree/no*", "tree/*/", "tree/*/broken.jsonl"],
)
def test_what_the_program_does_not_read_is_not_read(tree, name):
    os.symlink("nothing", tree / "tree" / "s" / "broken.jsonl")
    with pytest.raises(td.TatterError):
        td.read(name, from_="jsonl", quiet=True).to_arrow()
    with pytest.raises((FileNotFoundError, ValueError)):
        find([name], quiet=True)
    for number in range(2):
        with pytest.raises(td.TatterError):
            td.read(name, from_="jsonl", quiet=True).shard(number, 2, by="file").to_arrow()


def test_files_that_belong_to_another_are_not_inputs(tree):
    assert expand(["tree/[mr].*"]) == ["tree/m.idx", "tree/r.tfrecord"]
    assert expand(["tree/m"]) == ["tree/m.idx"] and expand(["tree/m.bin"]) == ["tree/m.bin"]
    assert expand(["tree/m.idx", "tree/m.bin", "tree/r.tfrecord.idx", "tree/r.tfrecord"]) == ["tree/m.idx", "tree/r.tfrecord"]
    assert [os.path.basename(file.name) for file in find(["tree/m.bin", "tree/m.idx"])] == ["m.idx"]
    assert not [path for path in expand(["tree"], quiet=True) if path.endswith((".bin", ".tfrecord.idx"))]


def test_what_does_not_exist(tree):
    names = ["none.jsonl", "none*.jsonl", "tree/a*/", "tree/n@3.jsonl"]
    assert expand(names) == names
    for name in names:
        with pytest.raises(FileNotFoundError, match=name.replace("*", r"\*")):
            find([name])
        for number in range(2):
            with pytest.raises(td.TatterError):
                td.read(name).shard(number, 2, by="file").to_arrow()
    with pytest.raises(ValueError, match="expected 1 to 99999"):
        expand(["x@100000.jsonl"])


@pytest.mark.parametrize("name", ["tree/s/**/*.jsonl", "tree/s", "tree/n@2.jsonl", ["tree/a.jsonl", "tree/s"]])
def test_shards_of_files_together_are_all_files(tree, name):
    parts = [td.read(name).shard(i, 3, by="file").to_arrow() for i in range(3)]
    assert all(part.schema.names == ["f"] for part in parts)
    everything = td.read(name).to_arrow().column("f").to_pylist()
    assert sorted(f for part in parts for f in part.column("f").to_pylist()) == sorted(everything)
    assert all(part.num_rows < len(everything) for part in parts)


def test_file_urls_are_decoded(tmp_path):
    path = tmp_path / "a b%20é.jsonl"
    td.write({"x": [1]}, path.as_uri())
    assert os.listdir(tmp_path) == [path.name]
    for name in (path.as_uri(), path.as_uri().replace("file://", "file://localhost"), f"{tmp_path.as_uri()}/*.jsonl"):
        assert td.read(name).to_arrow().num_rows == 1
        assert [file.name for file in find([name])] == [str(path)]
    with pytest.raises(ValueError, match="file://elsewhere/a.jsonl: "):
        find(["file://elsewhere/a.jsonl"])
    with pytest.raises(td.TatterError, match="found a URL"):
        td.read("file://elsewhere/a.jsonl").to_arrow()


def test_empty_files_are_told(tmp_path):
    for name, text in (("a", ""), ("b", "{}\n")):
        (tmp_path / f"{name}.jsonl").write_text(text)
    words = "a.jsonl is empty and is treated as having no records$"
    files = find([str(tmp_path)])
    for look in (td.read(tmp_path).to_arrow, lambda: with_records(files, quiet=False)):
        with pytest.warns(td.TatterNotice, match=words):
            look()
    with pytest.raises(td.TatterError, match="a.jsonl is empty and is treated as having no records\n"):
        with_records(files, strict=True, quiet=False)
    assert [os.path.basename(file.name) for file in with_records(files)] == ["b.jsonl"]
    assert with_records(files[:1]) == files[:1]


def test_empty_shards_are_not_told(tmp_path):
    td.write([{"x": 1}], tmp_path / "s@2.jsonl")
    for look in (td.read(tmp_path).to_arrow, lambda: with_records(find([str(tmp_path)]), strict=True, quiet=False)):
        assert len(look()) == 1


def test_a_manifest_is_not_one_of_the_files(tmp_path):
    td.write({"x": [1, 2, 3]}, tmp_path / "a@2.json", manifest=tmp_path / "manifest.json")
    (tmp_path / "manifest.json").rename(tmp_path / "FILES")
    td.write({"x": [1, 2, 3]}, tmp_path / "a@2.json", manifest=tmp_path / "manifest.json")
    assert td.read(tmp_path).to_arrow().num_rows == 3
    names = ["a-00000-of-00002.json", "a-00001-of-00002.json"]
    assert [os.path.basename(name) for name in expand([str(tmp_path)])] == names
    assert [os.path.basename(file.name) for file in find([str(tmp_path)])] == names


def test_values_in_names_of_folders_are_told(tmp_path):
    for value in "xy":
        (tmp_path / f"p={value}").mkdir()
        (tmp_path / f"p={value}" / "a.jsonl").write_text('{"x": 1}\n')
    words = "fields are read from the files only, not from directory names such as p=x"
    for look in (lambda: find([str(tmp_path)]), lambda: td.read(tmp_path).shard(0, 2, by="file")):
        with pytest.warns(td.TatterNotice, match=words):
            look()
    for look in (lambda: find([str(tmp_path)], strict=True), lambda: td.read(tmp_path, strict=True).shard(0, 2, by="file")):
        with pytest.raises(td.TatterError, match=words):
            look()
    assert len(find([str(tmp_path)], quiet=True)) == 2
    parts = [td.read(tmp_path, quiet=True).shard(i, 2, by="file").to_arrow().num_rows for i in range(2)]
    assert parts == [1, 1]


def test_a_dataset_is_one_input(tmp_path):
    (tmp_path / "d").mkdir()
    td.write({"x": [1, 2, 3]}, tmp_path / "d" / "1.0.0", to="tfds", name="d")
    for name in (tmp_path / "d", tmp_path / "d" / "1.0.0"):
        assert expand([str(name)]) == [str(tmp_path / "d" / "1.0.0")]
        parts = [td.read(name).shard(i, 2, by="file").to_arrow() for i in range(2)]
        assert [part.num_rows for part in parts] == [3, 0] and parts[1].schema == parts[0].schema


def test_remote_files():
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for name in TREE:
        memory.pipe(f"/remote/{name}", b"{}\n")
    with pytest.warns(td.TatterNotice, match=r"^memory://remote/.*: .* directory names such as e=1"):
        names = [file.name for file in find(["memory://remote/**/*.jsonl"])]
    local = [name for name in TREE if name.endswith(".jsonl") and "/." not in f"/{name}"]
    assert sorted(name.partition("remote/")[2] for name in names) == sorted(local)
    assert [file.size for file in find(["memory://remote/n@2.jsonl", "memory://remote/s"])] == [3] * 4


def test_a_remote_file_is_opened_where_it_was_found(tmp_path):
    pytest.importorskip("fsspec")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("d/a.jsonl", '{"x": 1}\n')
        archive.writestr("d/b.jsonl", '{"x": 2}\n')
    files = find([f"zip://d/*.jsonl::{(tmp_path / 'x.zip').as_uri()}"])
    assert [file.name for file in files] == ["zip://d/a.jsonl", "zip://d/b.jsonl"]
    for number, file in enumerate(files, 1):
        names, feed = input_words(file)
        assert Child(["convert", *names], feed=feed).finish() == b'{"x":%d}\n' % number

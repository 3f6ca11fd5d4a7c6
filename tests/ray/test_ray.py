"""A chain over files on Ray gives the same results as one process for each file."""

import warnings

import pytest
import tatter_data as td

ray = pytest.importorskip("ray")
import tatter_data.ray  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    paths = []
    for k in range(4):
        rows = [{"id": 100 * k + i, "tokens": list(range(i % 5)), "docs": [{"t": f"{i}", "n": [[i], []]}] * (i % 3)} for i in range(20 + k)]
        paths.append(str(folder / f"{k}.parquet"))
        td.write(rows, paths[-1])
    return paths


@pytest.mark.parametrize(
    "chain",
    ["convert", "filter 'id % 2 == 0' then select id,docs", "select tokens then pack --length 8", "head 2", "select id,tokens then batch 4"],
)
def test_files_equal_one_process(files, chain):
    wanted = [row for path in files for row in td.read(path, chain).to_arrow().to_pylist()]
    dataset = tatter_data.ray.read(files, chain)
    assert [plain(row) for row in dataset.take_all()] == wanted


def plain(value):
    """Ray gives arrays where Arrow gives lists."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [plain(part) for part in value] if isinstance(value, list) else value


def test_a_read_issues_no_warning_of_ray(files):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*use_")  # The settings of Ray's own context.
        tatter_data.ray.read(files[0])


def test_a_list_of_files_is_not_divided(files, tmp_path):
    (tmp_path / "list").write_text(files[1] + "\n")
    with pytest.raises(ValueError, match="files_from names cannot be divided: pass their names as paths"):
        tatter_data.ray.read(files[0], files_from=tmp_path / "list")


def test_a_glob_and_an_error(files, tmp_path):
    glob = files[0].replace("0.parquet", "*.parquet")
    assert tatter_data.ray.read(glob, "select id").count() == 86
    (tmp_path / "bad.jsonl").write_text('{"a": 1}\n{"a": [}\n')
    with pytest.raises(Exception, match="bad.jsonl: record 2"):
        tatter_data.ray.read(str(tmp_path / "*.jsonl"), schema="a: int64").count()

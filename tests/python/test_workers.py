"""The PyTorch dataset across workers and ranks: every record once, and none repeated after resuming."""

import pytest
import tatter_data as td

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader  # noqa: E402

pytestmark = [pytest.mark.usefixtures("no_process_left"), pytest.mark.slow]


@pytest.fixture
def path(lines):
    return lines("x.jsonl", [{"id": i, "v": list(range(i % 5))} for i in range(1000)])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_share_the_records(path, method):
    loader = DataLoader(td.read(path).to_torch_dataset(), batch_size=None, num_workers=2, multiprocessing_context=method)
    got = {element["id"].item(): element["v"].tolist() for element in loader}
    assert got == {i: list(range(i % 5)) for i in range(1000)}


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_breaking_off_workers_leaves_no_process(path, method):
    loader = DataLoader(td.read(path).to_torch_dataset(), batch_size=None, num_workers=2, multiprocessing_context=method)
    for _ in loader:
        break
    del loader, _


@pytest.mark.parametrize("shard", ["record", "file"])
def test_ranks_share_the_records(lines, shard):
    paths = [lines(f"{i}.jsonl", [{"id": 100 * i + k} for k in range(10)]) for i in range(3)]
    records = td.read(paths)
    parts = [[e["id"].item() for e in records.to_torch_dataset(shard, rank, 4)] for rank in range(4)]
    everything = [100 * i + k for i in range(3) for k in range(10)]
    assert sorted(sum(parts, [])) == everything
    if shard == "record":
        assert [len(part) for part in parts] == [8, 8, 7, 7]
    else:
        assert parts == [everything[:10], everything[10:20], everything[20:], []]


def test_a_dataset_resumes(path):
    dataset = td.read(path, "shuffle --buffer 100", seed=3).to_torch_dataset()
    whole = [e["id"].item() for e in dataset]
    iterator = iter(dataset)
    first = [next(iterator)["id"].item() for _ in range(300)]
    state = dataset.state_dict()
    iterator.close()
    again = td.read(path, "shuffle --buffer 100", seed=3).to_torch_dataset()
    again.load_state_dict(state)
    assert first + [e["id"].item() for e in again] == whole
    assert [e["id"].item() for e in again] == whole
    again.set_epoch(1)
    other = [e["id"].item() for e in again]
    assert other != whole and sorted(other) == sorted(whole)


def test_an_iteration_starts_over_and_knows_its_own_state(path):
    dataset = td.read(path, "head 5").to_torch_dataset()

    def rest(iterator):
        return [e["id"].item() for e in iterator]

    next(iter(dataset))
    assert rest(dataset) == [0, 1, 2, 3, 4]
    for _ in dataset:
        break
    first = iter(dataset)
    assert dataset.state_dict()["records"] == 0
    first, second = iter(dataset), iter(dataset)
    assert [(a["id"].item(), b["id"].item()) for a, b in zip(first, second)] == [(i, i) for i in range(5)]
    first, second = iter(dataset), iter(dataset)
    for iterator, count in ((first, 3), (second, 1), (first, 1)):
        for _ in range(count):
            next(iterator)
    assert dataset.state_dict()["records"] == 4
    next(second)
    state = dataset.state_dict()
    assert state["records"] == 2
    dataset.load_state_dict(state)
    assert dataset.state_dict() == state
    first = iter(dataset)
    assert dataset.state_dict() == state
    assert rest(first) == [2, 3, 4]
    assert rest(dataset) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stateful_loader_resumes(path, workers):
    loaders = pytest.importorskip("torchdata.stateful_dataloader")

    def make():
        return loaders.StatefulDataLoader(td.read(path).to_torch_dataset(), batch_size=None, num_workers=workers)

    whole = [e["id"].item() for e in make()]
    loader = make()
    iterator = iter(loader)
    first = [next(iterator)["id"].item() for _ in range(300)]
    state = loader.state_dict()
    del iterator, loader
    again = make()
    again.load_state_dict(state)
    assert first + [e["id"].item() for e in again] == whole

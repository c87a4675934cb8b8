"""No `.npz`, however damaged, does anything but give a graph or one clear error."""

import io

import numpy as np
import pytest
import scipy.sparse as sparse
from strategies import edges_of

import grailbench as gb
from grailbench.errors import InputError, TooLittleMemory
from grailbench.graph.csr import Graph
from grailbench.graph.readers import read, read_graph
from grailbench.util import files, memory

LAYOUTS = ("csr", "csc", "bsr", "coo", "dia")


def packed(**arrays) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def matrix(layout: str, size: int = 12) -> bytes:
    stream = io.BytesIO()
    dense = (np.arange(size * size).reshape(size, size) % 5 == 0).astype(float)
    made = sparse.coo_array(dense)
    sparse.save_npz(stream, made.tobsr((3, 2)) if layout == "bsr" else made.asformat(layout))
    return stream.getvalue()


def of_csr(indptr, indices, shape=(2, 2), data=None, format="csr", **more) -> bytes:
    indices = np.asarray(indices, more.pop("dtype", np.int64))
    data = np.ones(indices.size) if data is None else data
    return packed(indptr=indptr, indices=indices, data=data, shape=shape, format=format.encode(), **more)


@pytest.fixture
def reading(tmp_path):
    def read(content: bytes) -> Graph:
        (tmp_path / "g.npz").write_bytes(content)
        return read_graph(tmp_path / "g.npz")

    return read


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_entries_that_scipy_gives(reading, layout):
    content = matrix(layout)
    wanted, found = sparse.load_npz(io.BytesIO(content)).tocoo(), reading(content)
    entries = list(zip(wanted.row[wanted.data != 0], wanted.col[wanted.data != 0], strict=True))
    assert list(zip(found.sources, found.targets, strict=True)) == entries


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [float, bool, complex])
def test_a_zero_is_no_edge_whether_it_is_stored_or_passed(tmp_path, layout, dtype):
    """Holds the fault that files gave stored zeros, and zeros inside blocks, as edges; matrices in memory did not."""
    made = sparse.csr_array((np.array([0, 1, 1]).astype(dtype), ([0, 0, 3], [1, 2, 0])), shape=(4, 4))
    made = made.tobsr((2, 2)) if layout == "bsr" else made.asformat(layout)
    sparse.save_npz(tmp_path / "g.npz", made)
    found = read(tmp_path / "g.npz")
    for graph in (found.graph, gb.Graph.from_scipy(made).raw):
        assert sorted(edges_of(graph)) == [(0, 2), (3, 0)]
    assert found.notes == {"dia": (), "bsr": ("10 stored zeros left out",)}.get(layout, ("1 stored zero left out",))


def test_a_stored_zero_makes_no_weight_unusable(reading):
    found = reading(of_csr([0, 2, 3], [0, 1, 0], data=np.array([0, 4, 5])))
    assert (edges_of(found), found.weights.tolist()) == ([(0, 1), (1, 0)], [4, 5])


def test_a_coo_matrix_in_coords_is_read(reading):
    found = reading(packed(coords=np.array([[0, 1], [1, 1]]), data=np.ones(2), shape=(2, 2), format=b"coo"))
    assert (found.sources.tolist(), found.targets.tolist()) == ([0, 1], [1, 1])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (of_csr([0, 10**9, 2], [0, 1]), "no csr matrix"),
        (of_csr([0, 10**9, 10**9], [0, 1]), "no csr matrix"),
        (of_csr([0, -5, 2], [0, 1]), "no csr matrix"),
        (of_csr([1, 1, 2], [0, 1]), "no csr matrix"),
        (of_csr([0, 2], [0, 1]), "no csr matrix"),
        (of_csr([0, 1, 2], [0, 2]), "no csr matrix"),
        (of_csr([0, 1, 2], [0, -1], format="csc"), "no csc matrix"),
        (of_csr([0, 1, 2], [0, 2**32]), "no csr matrix"),
        (of_csr([0, 1, 2], [0, 2**63], dtype=np.uint64), "no csr matrix"),
        (of_csr([0.0, 1.0, 2.0], [0, 1]), "indptr: float64"),
        (of_csr([0, 1, 2], [0, 1], data=np.ones(1)), "no csr matrix"),
        (of_csr([0, 1, 2], [0, 1], data=np.array(["a", "b"])), "no csr matrix"),
        (of_csr([0, 1, 2], [0, 1], shape=(-2, -2)), "a matrix of shape (-2, -2) is no graph"),
        (of_csr([0, 1, 2], [0, 1], shape=(2, 2, 2)), "not square"),
        (of_csr([0, 1, 2], [0, 1], shape=(2.0, 2.0)), "its shape is not a row of integers"),
        (of_csr([0, 1, 2], [0, 1], shape=(2**40, 2**40)), "at most 2147483646 fit 32-bit ids"),
        (of_csr([0, 1, 2], [0, 1], format="lil"), "a matrix of format 'lil'"),
        (of_csr([0, 1, 2], [0, 1], format="bsr"), "no bsr matrix"),
        (of_csr([0, 1, 2], [0, 1], data=np.ones((2, 0, 1)), format="bsr"), "no bsr matrix"),
        (of_csr([0, 2], [0, 9], data=np.ones((2, 2, 1)), format="bsr"), "no bsr matrix"),
        (packed(row=[0], col=[0, 1], data=[1], shape=(2, 2), format=b"coo"), "no coo matrix"),
        (packed(row=[0], col=[2], data=[1], shape=(2, 2), format=b"coo"), "no coo matrix"),
        (packed(row=[2**40], col=[1], data=[1], shape=(2, 2), format=b"coo"), "no coo matrix"),
        (packed(row=[0, 1], col=[0, 1], data=np.ones((2, 2)), shape=(2, 2), format=b"coo"), "no coo matrix"),
        (packed(coords=np.zeros((3, 1), int), data=[1], shape=(2, 2), format=b"coo"), "coords of shape (3, 1)"),
        (packed(offsets=[0, 0], data=np.ones((2, 2)), shape=(2, 2), format=b"dia"), "no dia matrix"),
        (packed(offsets=[2**40], data=np.ones((1, 2)), shape=(2, 2), format=b"dia"), "lie outside of 2 rows"),
        (packed(shape=(2, 2), format=b"csr"), "without the array 'indices'"),
        (packed(shape=(2, 2), format=np.arange(3)), "its format is not a word"),
        (packed(offsets=[0, 10**9, 2], targets=[0, 1]), "offsets fall after vertex 1"),
        (packed(offsets=[0, 2], targets=[0]), "do not run from 0 to the 1 targets"),
        (packed(offsets=[], targets=[]), "a row of integers"),
        (packed(offsets=[0, 1], targets=[1]), "target 1 is out of range"),
        (packed(a=[1]), "an .npz that holds a"),
        (b"PK\x03\x04", "a damaged .npz"),
    ],
)
def test_arrays_that_make_no_matrix_are_refused(refused, content, said):
    assert said in str(refused(content, "g.npz"))


def test_a_bare_array_is_told(tmp_path, refused):
    np.save(tmp_path / "a.npy", np.arange(3))
    assert "one bare array" in str(refused((tmp_path / "a.npy").read_bytes(), "a.npz"))


def test_npz_that_would_run_code_is_refused(refused):
    content = packed(offsets=np.array([{}], dtype=object), targets=np.array([0]))
    assert "damaged" in str(refused(content, "g.npz"))


def test_a_damaged_archive_is_refused(refused):
    stream = io.BytesIO()
    np.savez(stream, offsets=np.zeros(100, np.int64), targets=np.zeros(0, np.int64))
    whole = stream.getvalue()
    flipped = bytearray(whole)
    flipped[300] ^= 1
    for content in (bytes(flipped), whole[:-30]):
        assert "damaged" in str(refused(content, "g.npz"))


def test_an_encrypted_array_is_told(refused):
    content = bytearray(packed(offsets=[0, 1], targets=[0]))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.find(mark)
        while place >= 0:
            content[place + at] |= 1
            place = content.find(mark, place + 1)
    assert "offsets.npy is encrypted" in str(refused(bytes(content), "g.npz"))


def test_an_array_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(reading, monkeypatch):
    bomb = packed(offsets=np.zeros(1_000_001, np.int64), targets=np.zeros(0, np.int64))
    with monkeypatch.context() as patch:
        patch.setattr("grailbench.graph.readers.npz.SLACK", 1 << 20)
        with pytest.raises(InputError, match="unpacks to 8,000,008 bytes, too many"):
            reading(bomb)
    assert files.SLACK > 8_000_008
    monkeypatch.setattr(memory, "available", lambda: 1 << 20)
    with pytest.raises(TooLittleMemory, match="array offsets: about 16.0 MB of memory needed"):
        reading(bomb)


def test_a_matrix_of_many_rows_and_one_entry_is_held_against_the_memory(reading, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1 << 30)
    with pytest.raises(TooLittleMemory, match="a graph of 2,000,000,000 vertices"):
        reading(packed(row=[0], col=[1], data=[1], shape=(2 * 10**9, 2 * 10**9), format=b"coo"))

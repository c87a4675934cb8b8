"""Query files and tables of pairs, in numbers and names."""

import csv
import io
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import grailbench as gb
from grailbench.errors import GrailbenchError, InputError
from grailbench.graph.ids import Counted, Named, write_pairs
from grailbench.problems.reachability import pairs
from grailbench.problems.reachability.pairs import UNKNOWN, read_pairs

PEOPLE = Named(["alice", "bob", "New York", "#tag", "a,b", "source", 'say "hi"'])
ON_DISK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def pairs_of(path, text, ids):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = read_pairs(str(path), ids)
    rows = zip(ids.labels_of(found.sources), ids.labels_of(found.targets), found.given, found.lines, strict=True)
    return [tuple(row) for row in rows]


def test_words_and_tabs_separate_names(tmp_path):
    text = "# people\nalice bob 1\nNew York\tbob\t0\r\n\n\talice\t\n#tag alice\n% x\n  bob   alice\n"
    with pytest.raises(InputError, match=r"q, line 5: no query"):
        pairs_of(tmp_path / "q", text, PEOPLE)
    assert pairs_of(tmp_path / "q", text.replace("\talice\t", ""), PEOPLE) == [
        ("alice", "bob", 1, 2), ("New York", "bob", 0, 3), ("#tag", "alice", UNKNOWN, 6), ("bob", "alice", UNKNOWN, 8)
    ]  # fmt: skip


@pytest.mark.parametrize("head", ["", "source,target,answer\n", "FROM,to,Expected\n", "# src_id,dst_id,reachable\n"])
def test_a_table_may_have_a_header(tmp_path, head):
    rows = '"a,b",alice,1\n"say ""hi""",bob,0\n#tag,source,\n'
    line = head.count("\n")
    assert pairs_of(tmp_path / "q.csv", head + rows, PEOPLE) == [
        ("a,b", "alice", 1, line + 1), ('say "hi"', "bob", 0, line + 2), ("#tag", "source", UNKNOWN, line + 3)
    ]  # fmt: skip


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
@pytest.mark.parametrize("name", ["q", "q.csv"])
def test_lines_end_in_any_way(tmp_path, name, end):
    """Holds the fault that '0 1' and '1' on two lines were one pair with an answer."""
    blank = "," if name == "q.csv" else " "
    text = f"0{blank}1{end}1{blank}2{blank}0{end}2{blank}0"
    assert pairs_of(tmp_path / name, text, Counted(3)) == [(0, 1, UNKNOWN, 1), (1, 2, 0, 2), (2, 0, UNKNOWN, 3)]
    with pytest.raises(InputError, match=rf"{name}, line 2: no query"):
        pairs_of(tmp_path / name, f"0{blank}1{end}1\n", Counted(3))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.csv", "target,source\n2,0\n"),
        ("q.csv", "weight,source,target\n1,0,2\n"),
        ("q.csv", "id,source,target\n2,0,2\n"),
        ("q.csv", ",source,target\n1,0,2\n"),
        ("q.csv", "edge_id;from_node;to_node;length\n1;0;2;0.5\n"),
        ("q.tsv", "# head\ttail\n"[:0] + "To\tid\tFrom\n2\t1\t0\n"),
    ],
)
def test_the_columns_of_a_table_are_found_by_their_names(tmp_path, name, text):
    """Holds the fault that pairs were read by place, whatever the header said."""
    assert pairs_of(tmp_path / name, text, Counted(3)) == [(0, 2, UNKNOWN, 2)]


def test_columns_may_be_named(tmp_path):
    (tmp_path / "q.csv").write_text("sold,recalled,from,answer\n2,0,7,1\n")
    found = read_pairs(tmp_path / "q.csv", Counted(3), columns=("recalled", "Sold"))
    assert [each.tolist() for each in found] == [[0], [2], [1], [2]]
    with pytest.raises(InputError, match=r"q\.csv, line 1: no column is named 'recaled' .did you mean recalled"):
        read_pairs(tmp_path / "q.csv", Counted(3), columns=("recaled", "sold"))
    (tmp_path / "q").write_text("0 2\n")
    with pytest.raises(InputError, match="q: columns are named, but it is no table"):
        read_pairs(tmp_path / "q", Counted(3), columns=("a", "b"))


def test_a_parquet_file_of_pairs_goes_by_the_same_names(tmp_path):
    """Holds the fault that the first two columns were asked, whatever their names."""
    pa.parquet.write_table(pa.table({"id": [2], "To": [2], "from_id": [0]}), tmp_path / "q.parquet")
    index = gb.build(gb.Graph.from_edges([0, 1], [1, 2]), "dfs")
    assert [bits.tolist() for bits in index.stream(tmp_path / "q.parquet")] == [[128]]
    pa.parquet.write_table(pa.table({"a": [0], "b": [2]}), tmp_path / "q.parquet")
    with pytest.raises(InputError, match=r"source and target: 'a', 'b' .columns=.SOURCE, TARGET"):
        list(index.stream(tmp_path / "q.parquet"))
    assert [bits.tolist() for bits in index.stream(tmp_path / "q.parquet", columns=("a", "b"))] == [[128]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id,other\n0,2\n", "line 1: no columns that are named as source and target: 'id', 'other' .name the columns"),
        ("who,whom,why\n0,2,1\n", "line 1: no columns that are named as source and target"),
        ("from,source,to\n0,1,2\n", "line 1: its edges may go from 'from' to 'to' or 'source' to 'to'"),
        ("source,target\n0,1,1\n", "line 2: 3 cells, but the header has 2"),
        ("source,target,answer,expected\n0,1,1,1\n", "line 1: 2 columns of answers"),
        ("source,target,answer\n0,1,2\n", "line 2: answer '2': 0 or 1 is expected"),
        ("a,b,c,d\n0,1,1,1\n", "line 1: no columns"),
    ],
)
def test_a_header_that_is_not_clear_is_refused(tmp_path, text, why):
    with pytest.raises(InputError, match=rf"q\.csv, {why}"):
        pairs_of(tmp_path / "q.csv", text, Counted(3))


BLANKS = Named(["b ", "b", " #x", "c", " b"])


def test_blanks_at_the_ends_of_names_count_where_the_graph_has_them(tmp_path):
    """Holds the fault that 'b ' was read as 'b', and ' #x' as a comment, so that answers did not come back."""
    text = "b \tc\n b\tb \n #x\tc\n c \t b\t0\r\n"
    rows = [("b ", "c", UNKNOWN, 1), (" b", "b ", UNKNOWN, 2), (" #x", "c", UNKNOWN, 3), ("c", " b", 0, 4)]
    assert pairs_of(tmp_path / "q", text, BLANKS) == rows
    table = '"b ",c,\n" b","b ",\n" #x",c,\n c ," b",0\n'
    assert pairs_of(tmp_path / "q.csv", table, BLANKS) == rows
    assert pairs_of(tmp_path / "q.csv", ' c, b\n"b ", c\n', BLANKS)[0][:2] == ("c", "b")


@ON_DISK
@given(st.lists(st.text(alphabet=" \t\r\n\u2028\x1c\ufeff#%b,\"'\0", min_size=1, max_size=4), unique=True, min_size=1))
def test_names_that_are_written_are_read_back_or_refused(tmp_path, names):
    ids = Named(names)
    every = np.arange(len(names), dtype=np.int32)
    for answers in (None, every % 2 == 0):
        stream = io.BytesIO()
        try:
            write_pairs(stream, ids, every, every[::-1], answers)
        except InputError:
            assert any(set("\t\r\n") & set(name) or not name.strip() or name[0] == "\ufeff" for name in names)
            continue
        (tmp_path / "q").write_bytes(stream.getvalue())
        found = read_pairs(tmp_path / "q", ids)
        assert (found.sources.tolist(), found.targets.tolist()) == (every.tolist(), every[::-1].tolist())


@ON_DISK
@given(
    st.lists(st.text(min_size=1, max_size=4), unique=True, min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from(["", "0", "1"])), min_size=1, max_size=6),
)
def test_any_names_come_back_from_a_table(tmp_path, names, asked):
    names = [name.encode("utf-8", "ignore").decode() + str(v) for v, name in enumerate(names)]
    asked = [(names[u % len(names)], names[v % len(names)], answer) for u, v, answer in asked]
    stream = io.StringIO(newline="")
    csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([("source", "target", "answer"), *asked])
    found = pairs_of(tmp_path / "q.csv", stream.getvalue(), Named(names))
    assert [row[:3] for row in found] == [(u, v, int(answer or UNKNOWN)) for u, v, answer in asked]


@ON_DISK
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(["", " 0", "\t1 "])), min_size=1, max_size=9
    )
)
def test_numbers_are_read_the_same_by_the_fast_way_and_the_other(tmp_path, asked):
    (tmp_path / "q").write_text("".join(f"{u} \t {v}{answer}\n% x\n" for u, v, answer in asked))
    ids = Counted(10)
    with pytest.MonkeyPatch.context() as patch:
        fast = read_pairs(tmp_path / "q", ids)
        patch.setattr(pairs, "_of_numbers", lambda *_: None)
        (tmp_path / "q").write_text((tmp_path / "q").read_text().replace(" \t ", " ").replace("\t", " "))
        slow = read_pairs(tmp_path / "q", ids)
    for one, other in zip(fast, slow, strict=True):
        assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("q", "alice bob\nalise bob\n", "q, line 2: no vertex is named 'alise' .did you mean 'alice'"),
        ("q", "alice New York\n", "q, line 1: answer 'York': 0 or 1 is expected .names that hold blanks"),
        ("q", "alice\n", "q, line 1: no query"),
        ("q", "", "q: the file is empty"),
        ("q", "# x\n", "q: holds no query"),
        ("q", b"alice b\xffb\n", "q, line 1: no UTF-8 text"),
        ("q.csv", 'alice,bob\n"alice,bob\n', "q.csv, line 2: no row of cells"),
        ("q.csv", "alise,bob\n", "q.csv, line 1: no vertex is named 'alise'"),
        ("q.csv", "alice,bob,2\nalice,bob,2\n", "q.csv, line 1: answer '2'"),
        ("q.csv", "alice,bob\nalice,bob,1,1\n", "q.csv, line 2: no query"),
        ("numbers", "0 1\n0\n", "numbers, line 2: no query"),
        ("numbers", "0 1 1 1\n", "numbers, line 1: no query"),
        ("numbers", "0 1\n# x\n0 -1\n", "numbers, line 3: vertex -1 is out of range"),
        ("numbers", "0 x\n", "numbers, line 1: no query"),
        ("numbers", "0 5\n", "numbers, line 1: .*out of range"),
        ("numbers", "0 1 2\n", "numbers, line 1: .*0 or 1"),
    ],
)
def test_a_line_that_is_no_pair_is_named(tmp_path, name, text, why):
    with pytest.raises(InputError, match=why):
        pairs_of(tmp_path / name, text, Counted(5) if name == "numbers" else PEOPLE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("alice bob\n", ["bob"]), ('source,target\nalice,"New York"\n', ["New York"]), ("alice\ta,b\n", ["a,b"])],
)
def test_pairs_come_from_the_standard_input_in_every_form(tmp_path, text, expected):
    (tmp_path / "in").write_text(text)
    kept = os.dup(0)
    try:
        with open(tmp_path / "in") as stream:
            os.dup2(stream.fileno(), 0)
            assert PEOPLE.labels_of(read_pairs("-", PEOPLE).targets).tolist() == expected
        with open(tmp_path / "in", "w+") as stream:
            os.dup2(stream.fileno(), 0)
            with pytest.raises(InputError, match="standard input: the file is empty"):
                read_pairs("-", PEOPLE)
    finally:
        os.dup2(kept, 0)
        os.close(kept)


@ON_DISK
@given(st.binary(max_size=60), st.sampled_from(["q", "q.csv"]), st.sampled_from([PEOPLE, Counted(3)]))
def test_any_bytes_are_pairs_or_an_error(tmp_path, content, name, ids):
    (tmp_path / name).write_bytes(content)
    try:
        found = read_pairs(tmp_path / name, ids)
    except GrailbenchError:
        return
    assert found.sources.max() < ids.vertices

"""Programs that a TOML file describes, as implementations of reachability."""

import json
import os
import stat
import sys
import time
from collections import Counter

import numpy as np
import pytest
from commands import ROOT, call
from outcomes import as_json, tells
from strategies import dag_of

import grailbench as gb
from grailbench.cli.progress import RunView
from grailbench.errors import InputError, MachineLacks
from grailbench.graph.oracle import closure_answers
from grailbench.graph.readers import read_graph
from grailbench.harness.plugins import source_hash
from grailbench.harness.timing import PhaseTimer
from grailbench.problems import contract
from grailbench.problems.contract import Attempt, implementation
from grailbench.problems.reachability.index import Count, NoTimer, Params
from grailbench.problems.reachability.peers import program as adapter
from grailbench.problems.reachability.peers.description import FORMATS, write_graph
from grailbench.problems.reachability.peers.program import Output, ProgramFailed
from grailbench.problems.reachability.queries import QuerySpec, query_set
from grailbench.problems.reachability.verify import Checker, checksum
from grailbench.util.guard import guarded

pytestmark = pytest.mark.processes

EDGES = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (5, 6)]
FAKE = """#!{python} -IS
import os, signal, subprocess, sys, time

mode, graph, queries, *rest = sys.argv[1:]
if mode == "crash":
    sys.exit("no such luck")
if mode == "abort":
    os.abort()
if mode == "hang":
    asleep = subprocess.Popen([sys.executable, "-ISc", "import time; time.sleep(3600)"])
    with open(rest[0] + "-", "w") as stream:
        stream.write(f"{{asleep.pid}} {{os.getpid()}} {{os.getcwd()}}")
    os.rename(rest[0] + "-", rest[0])
    if rest[1] != "nobody":
        os.kill(os.getppid() if rest[1] == "runner" else os.getpid(), signal.SIGSTOP)
    time.sleep(3600)
edges, pairs = ([tuple(map(int, line.split())) for line in open(name)] for name in (graph, queries))
with open(sys.argv[0] + ".runs", "a") as stream:
    stream.write(f"{{len(pairs)}}\\n")
reach = {{}}


def mark(u):
    if u not in reach:
        reach[u] = {{u}}.union(*[mark(v) for a, v in edges if a == u])
    return reach[u]


answers = [v in mark(u) for u, v, *rest in pairs]
if mode == "wrong":
    answers[-1] = not answers[-1]
if mode == "short":
    answers.pop()
if mode == "timeless":
    sys.exit()
print("progress: 0.5 ms of building", "built in 1.25e+03 us", sep="\\n")
print("answered in fast s" if mode == "wordy" else "answered in 0.007 s", file=sys.stderr)
print(sum(answers), "reachable;", 12, "KiB", *rest)
words = ["maybe" if mode == "strange" else "yes" if answer else "no" for answer in answers]
with open("answers.txt", "w") as stream:
    stream.writelines(f"answer: {{word}}\\n" for word in words)
print(*(words if mode in ("right", "wrong", "short") else ()), sep="\\n")
"""
FILE = """
about = "A fake."
source = "tests"
command = ["{{here}}/fake", "{mode}", "{{graph}}", "{{queries}}"{rest}]
variable = "GRAILBENCH_FAKE"

[graph]
format = "edges"

[times]
build = {{ match = 'built in (\\S+) us', unit = "us" }}
query = {{ match = 'answered in (\\S+) s', unit = "s", where = "stderr" }}

[answers]
{answers}

[index]
match = '; (\\d+) KiB'
unit = "KiB"
"""
LINES = "yes = ['yes']\nno = ['no']"
IN_A_FILE = f"where = 'answers.txt'\nmatch = '^answer: (.*)$'\n{LINES}"
COUNT = "count = { match = '^(\\d+) reachable' }"


@pytest.fixture
def described(tmp_path, monkeypatch):
    """A function that describes the fake program in a file and gives its path."""
    monkeypatch.setattr(contract, "programs", {})
    fake = tmp_path / "fake"
    fake.write_text(FAKE.format(python=sys.executable))
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)

    def describe(mode="right", answers=LINES, rest="", name="reach"):
        path = tmp_path / f"{name}.toml"
        path.write_text(FILE.format(mode=mode, answers=answers, rest=rest))
        return path

    return describe


def asked(path, timer=None, params=None, repeat=1):
    """The answers of a described program to all pairs of `EDGES`, those of the closure, and its index."""
    dag = dag_of(7, EDGES)
    u, v = (np.repeat(grid.ravel(), repeat).astype(np.int32) for grid in np.meshgrid(np.arange(7), np.arange(7)))
    timer = timer or NoTimer()
    with timer.phase("label"):
        index = implementation(str(path)).build(dag, params or Params(), timer)
    with timer.phase("query"):
        answers = index.query_batch(u, v, timer)
    return answers, closure_answers(dag, u, v), index


@pytest.mark.parametrize("answers", [LINES, IN_A_FILE])
def test_a_program_answers_and_its_own_times_are_the_phases(described, answers):
    timer = PhaseTimer()
    found, right, index = asked(described(answers=answers), timer)
    assert found.dtype == np.bool_
    assert found.tolist() == right.tolist()
    assert index.index_bytes == 12 * 1024
    assert 1 << 20 < index.memory["host_peak_bytes"] < 64 << 20  # of a Python that imports nothing, not of this process
    assert timer.phases["", "label"] >= 1.25
    assert timer.phases["", "query"] >= 7
    assert set(timer.phases) == {("", each) for each in ("label", "query", "write", "process", "processor", "read")}


def test_of_a_program_that_counts_the_number_is_checked_and_the_verdict_says_so(described):
    found, right, _ = asked(described("count", COUNT))
    assert found == Count(int(right.sum()))
    dag = dag_of(7, EDGES)
    queries = query_set(QuerySpec("random", 40, 1), dag, "0" * 64)
    checker = Checker(dag, queries)
    good = checker.judge("count", Attempt(Count(queries.positives)))
    assert (good.fault, good.positives, good.method) == (None, queries.positives, "their number, by closure")
    bad = checker.judge("count", Attempt(Count(queries.positives + 1)))
    assert bad.fault == f"{queries.positives + 1} pairs of 40 are said to be reachable: it is {queries.positives}"
    assert checksum(Count(3)) != checksum(Count(4))
    queries.known[0] = False
    with pytest.raises(InputError, match="--sample"):
        checker.judge("count", Attempt(Count(queries.positives or 0)))


@pytest.mark.parametrize(
    ("mode", "answers", "said"),
    [
        ("crash", LINES, "program:reach ended with code 1; its last lines: no such luck"),
        ("abort", LINES, "program:reach died of SIGABRT"),
        ("timeless", LINES, r"program:reach: nothing in stdout fits 'built in (\\S+) us'; stdout is empty"),
        ("wordy", LINES, r"program:reach: 'answered in (\\S+) s' fits 'fast', which is no number"),
        ("short", LINES, "program:reach: 48 answers in stdout, not 49 lines of 'yes' or 'no'; its last lines: "),
        ("count", LINES, "program:reach: 0 answers in stdout, not 49 lines"),
        ("strange", IN_A_FILE, "an answer is 'maybe', not 'yes' or 'no'; its last lines: answer: maybe | answer"),
        ("right", LINES + "\nwhere = 'none.txt'", "program:reach wrote no file 'none.txt' in its working folder"),
    ],
)
def test_a_fault_of_a_program_is_an_error_that_says_what_was_expected(described, mode, answers, said):
    with pytest.raises(ProgramFailed) as caught:
        asked(described(mode, answers))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def gone(pid):
    """Whether a process has ended; nobody may have waited for it."""
    try:
        with open(f"/proc/{pid}/stat") as text:
            return text.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("stopped", ["nobody", "itself", "runner"])
def test_a_program_that_hangs_is_ended_with_all_that_it_started_and_its_files(stopped, described, tmp_path):
    """Where the process that runs it was stopped, neither the limit nor Ctrl-C ended the run."""
    note, seconds = tmp_path / "note", 0.5
    path = described("hang", rest=f', "{note}", "{stopped}"')
    while not note.exists():
        outcome = guarded(lambda: asked(path), seconds)
        assert outcome.status == "timeout"
        seconds *= 2
    *pids, folder = note.read_text().split()
    for _ in range(200):
        if all(map(gone, pids)):
            break
        time.sleep(0.05)
    assert [pid for pid in pids if not gone(pid)] == []
    assert not os.path.exists(folder)
    answers, right, _ = asked(described())  # the next one works
    assert answers.tolist() == right.tolist()


def test_the_parameters_that_the_command_names_are_its_axes(described):
    plain, path = described(), described("count", COUNT, rest=', "{dim}", "{threads}", "{seed}"', name="other")
    assert implementation(str(plain)).axes == frozenset()
    assert implementation(str(path)).axes == {"dim", "threads"}
    path.write_text(path.read_text().replace("; (\\d+) KiB'", "KiB (\\d+) 3 4$'"))
    _, _, index = asked(path, params=Params(dim=5, threads=3, seed=4))
    assert index.index_bytes == 5 * 1024


@pytest.mark.parametrize("name", ["gra", "edges", "mtx"])
def test_a_graph_is_written_as_its_format_is_read(name, tmp_path):
    path = tmp_path / f"graph.{name}"
    sources, targets = (np.array(ends, np.int32) for ends in zip(*EDGES, strict=True))
    write_graph(path, FORMATS[name], 7, sources, targets)
    graph = read_graph(path, name)
    assert graph.vertices == 7
    assert sorted(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)) == EDGES


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("adjacency", "4 3\n0 1 3 \n1 \n2 3 \n3 \n"),
        ("metis", "4 3\n2 4 \n\n4 \n\n"),
        ("dimacs", "p sp 4 3\na 1 2 1\na 1 4 1\na 3 4 1\n"),
    ],
)
def test_a_format_looks_as_the_page_says(name, text, tmp_path):
    write_graph(tmp_path / "graph", FORMATS[name], 4, np.array([0, 0, 2]), np.array([1, 3, 3]))
    assert (tmp_path / "graph").read_text() == text


def test_queries_are_written_as_the_file_says(described, tmp_path):
    path = described()
    how = '[queries]\nline = "{u} {v} -1"\nids = 1\nheader = "{count}\\n"\nlast_newline = false\n\n[times]'
    path.write_text(path.read_text().replace("[times]", how))
    index = implementation(str(path)).build(dag_of(7, EDGES), Params(), NoTimer())
    index.write_queries(tmp_path, np.array([0, 3], np.int32), np.array([6, 4], np.int32))
    assert (tmp_path / "queries").read_text() == "2\n1 7 -1\n4 5 -1"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("command = [", "commands = [", "line 4: key 'commands': unknown key, did you mean 'command'?"),
        ("{queries}", "{pairs}", "{pairs} in '{pairs}': choose among dim, graph, here, queries, seed, threads"),
        ('"{graph}", ', "", "the command line needs a {graph}"),
        ("(\\S+) us", "\\S+ us", "key 'times.build.match': one group in parentheses is needed"),
        ("(\\S+) us", "((\\S+ us", "no regular expression"),
        ('"us"', '"hours"', "key 'times.build.unit'"),
        ('"edges"', '"edgelist"', "key 'graph.format'"),
        ("no = ['no']", "", "key 'answers': either 'count', or both 'yes' and 'no'"),
        ("no = ['no']", "no = ['yes']", "'yes' is both yes and no"),
        ('where = "stderr"', 'where = "/etc/passwd"', "a file in the working folder"),
        ("[graph]", "[[experiment]]", "describes a run, not a program"),
        ('[graph]\nformat = "edges"', "", "key 'graph': missing; a table that says how the graph is written"),
    ],
)
def test_a_wrong_description_is_an_error_that_names_its_place(described, old, new, said):
    path = described()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError) as caught:
        implementation(str(path))
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "how-to/adding-a-program" in str(caught.value) or "--config" in str(caught.value)


def test_two_files_may_not_describe_one_name_and_a_changed_one_is_read_again(described, tmp_path):
    path, other = described(), described(name="other")
    first = implementation(str(path))
    assert implementation("program:REACH") is first is implementation(str(path))
    other.write_text(f'name = "reach"\n{other.read_text()}')
    with pytest.raises(InputError, match="describes a program 'reach' too"):
        implementation(str(other))
    described("count", COUNT)
    assert implementation(str(path)) is not first
    with pytest.raises(InputError, match="there is no such file"):
        implementation(str(tmp_path / "none.toml"))


def test_rows_of_another_program_or_description_are_of_other_code(described, tmp_path):
    path = described()
    hashes = [source_hash(implementation(str(path)))]
    (tmp_path / "fake").write_text((tmp_path / "fake").read_text() + "\n")
    hashes.append(source_hash(implementation(str(path))))
    described(mode="wrong")
    hashes.append(source_hash(implementation(str(path))))
    (tmp_path / "fake").unlink()
    hashes.append(source_hash(implementation(str(path))))
    assert len(set(hashes)) == 4


def test_a_program_that_is_not_installed_is_lacking(described, tmp_path, monkeypatch, diamond, capsys):
    path = described()
    (tmp_path / "fake").rename(tmp_path / "elsewhere")
    with pytest.raises(MachineLacks, match="GRAILBENCH_FAKE"):
        asked(path)
    code, _, err = call(capsys, "verify", "--dataset", diamond, "--impl", path, "--count", "9")
    assert (code, err.count("\n")) == (4, 1)
    monkeypatch.setenv("GRAILBENCH_FAKE", str(tmp_path / "elsewhere"))
    answers, right, _ = asked(path)
    assert answers.tolist() == right.tolist()
    monkeypatch.setenv("GRAILBENCH_FAKE", str(tmp_path / "nowhere"))
    with pytest.raises(MachineLacks, match="GRAILBENCH_FAKE names .*nowhere"):
        asked(path)


def test_wrong_answers_and_faults_are_rows_as_those_of_others(described, diamond, capsys):
    words = ["verify", "--dataset", diamond, "--count", 30, "--process", "shared", "--json", "--impl", "sequential"]
    names = {"wrong": LINES, "crash": LINES, "right": LINES, "count": COUNT}
    paths = [described(mode, answers, name=mode) for mode, answers in names.items()]
    code, out, _ = call(capsys, *words, *(word for path in paths for word in ("--impl", path)))
    rows = {row["impl"]: row for row in map(json.loads, out.splitlines())}
    assert code == 1
    assert {name: row["status"] for name, row in rows.items()} == {
        "sequential": "ok", "program:wrong": "wrong", "program:crash": "failed", "program:right": "ok",
        "program:count": "ok",
    }, [row["reason"] for row in rows.values()]  # fmt: skip
    assert rows["program:wrong"]["reason"].startswith("1 of 30 answers are wrong")
    assert "no such luck" in rows["program:crash"]["reason"]
    assert rows["program:right"]["verified"] == rows["sequential"]["verified"] == "closure"
    assert rows["program:right"]["checksum"] == rows["sequential"]["checksum"]
    assert rows["program:count"]["verified"] == "their number, by closure"
    assert rows["program:count"]["positives"] == rows["sequential"]["positives"]


@pytest.mark.parametrize(("process", "warmup", "runs"), [("shared", 0, 2), ("own", 0, 2), ("own", 1, 4)])
def test_the_verified_run_of_a_program_is_its_first_trial_unless_it_warms_up(
    described, diamond, tmp_path, capsys, process, warmup, runs, monkeypatch
):
    steps = Counter()
    monkeypatch.setattr(RunView, "step", lambda self, cell, doing, done=1: steps.update({cell.impl: done}))
    words = ["--trials", 2, "--warmup", warmup, "--process", process, "--count", 50, "--out", tmp_path / "run"]
    rows = as_json(capsys, "run", "--dataset", diamond, "--impl", "sequential", "--impl", described(), *words)
    theirs = [row for row in rows if row["impl"] == "program:reach" and row["phase"] == "query"]
    assert sorted(row["trial"] for row in theirs) == [0, 1]
    assert all(row["ms"] >= 7 and row["checksum"] == rows[0]["checksum"] for row in theirs)
    assert all(isinstance(row["others"], float) for row in theirs)
    assert (tmp_path / "fake.runs").read_text().split().count("50") == runs
    assert steps["program:reach"] == steps["sequential"] == 1 + warmup + 2


def test_a_cell_of_a_program_is_not_timed_from_edges(described, diamond, capsys):
    words = ("plan", "--from-edges", "--dataset", diamond, "--impl", described())
    assert [cell["from_edges"] for cell in as_json(capsys, *words, "--impl", "sequential")] == [False, True]
    tells(capsys, 2, "program:reach: it does not begin with edges in memory (leave out from_edges)", *words)


def test_the_library_builds_no_index_by_a_command(described):
    graph = gb.Graph.from_edges([0, 1], [1, 2])
    with pytest.raises(InputError, match="program:reach is a command"):
        gb.build(graph, str(described()))


@pytest.mark.slow
def test_a_config_names_a_program_beside_it_and_each_has_its_process(described, diamond, tmp_path, capsys):
    described()
    described("count", COUNT, name="counting")
    config = tmp_path / "mine.toml"
    config.write_text(
        f'[[experiment]]\ndatasets = "{diamond}"\nimplementations = ["sequential", "counting.toml", "reach.toml"]\n'
        "trials = 2\ncount = 50\nprocess = 'own'\n"
    )
    run = tmp_path / "run"
    rows = as_json(capsys, "run", "--config", config, "--out", run)
    theirs = [row for row in rows if row["impl"] == "program:reach"]
    assert {row["status"] for row in rows} == {"ok"}
    assert {row["phase"] for row in theirs} == {"label", "query", "write", "process", "processor", "read"}
    assert all(0 < row["host_peak_bytes"] < 64 << 20 for row in theirs if row["phase"] == "query")
    tells(capsys, 0, "already complete", "run", "--resume", run)


SAID = {
    "grail": ("#construction time:5.673 (ms)\n#total query running time:13.7 (ms)\nCOMPAR: GRAIL*LF2\t5.67\t13.73\t"
              "25319\t2.1436 MB\n2.1436\t0\t1\t0\t20240\t AvgCut:0\n", 5.673, 13.7, 20240, None),
    "bfl": ("read time(graph): 0.001s\nindex time: 0.006s\nindex space: 0.250MB\nread time(query): 0.040s\n"
            "query time: 10.690ms\nreachable: 20240\nanswered only by label: 1 + 2 = 3\n", 6, 10.69, 20240, 262144),
    "ferrari": ("0 -> 1\nassigned bitmaps (1.98 ms)\nassigned 3 intervals\nquery processing time (10.88 ms)\n"
                "5 expanded nodes\n20240/100000 reachable\nIndex Size: 68000 bytes\n", 1.98, 10.88, 20240, 68000),
    "preach": ("levels: 5\n#construction time:1.07 (ms)\n#index size: 1000\nreached: 20240\n"
               "#total query running time:1.48 (ms)\n", 1.07, 1.48, 20240, 4000),
    "oreach": ("input IO took 3 ms\ninit took 11.99 ms\n## number of successful queries: 20240\n"
               "O'Reach with Pruning BiBFS took total (ms) 13\n   total for queries (µs): 1.2e+03\n"
               "   average per query (µs): 0.012\n", 11.99, 1.2, 20240, None),
}  # fmt: skip


def test_every_shipped_description_is_one_of_these():
    assert {path.stem for path in (ROOT / "configs" / "programs").iterdir()} == set(SAID)


@pytest.mark.parametrize("name", SAID)
def test_a_shipped_description_reads_what_its_program_prints(name, tmp_path):
    text, build, query, reachable, size = SAID[name]
    does = implementation(f"program:{name}").does
    (tmp_path / "stdout").write_text(text)
    said = Output(name, tmp_path)
    assert said.ms(does.times.build) == pytest.approx(build)
    assert said.ms(does.times.query) == pytest.approx(query)
    assert said.answers(does.answers, 100_000) == Count(reachable)
    assert (does.index and said.number(does.index) * adapter.BYTES[does.index.unit]) == size


@pytest.mark.parametrize(("printed", "ms"), [("0.000", 0.5), ("0", 500), ("0.001", 1), ("0.0e-3", 0.05), ("1e-3", 1)])
def test_a_time_below_what_a_program_prints_is_the_most_that_it_can_be(printed, ms, tmp_path):
    (tmp_path / "stdout").write_text(f"index time: {printed}s\n")
    build = implementation("program:bfl").does.times.build
    assert Output("program:bfl", tmp_path).ms(build) == pytest.approx(ms)

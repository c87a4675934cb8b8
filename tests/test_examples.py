"""Every example in the `--help` of every command runs, on small graphs and without a network.

An example is run as it stands, but for names: graphs become small look-alikes, runs those made here, sizes small
ones. What cannot run here is named in `SKIPPED`, with its reason.
"""

import gzip
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from commands import PATIENCE, ended

from grailbench.cli.main import COMMANDS, cli
from grailbench.harness import limits
from grailbench.harness.limits import ceilings
from grailbench.util import paths

ROOT = Path(__file__).parents[1]
SMALL = "--dataset kegg-like --no-fetch --count 300"

#: example -> why it is not run
SKIPPED = {
    r"record ": "writes into the repository; tests/test_provenance.py does so in one of its own",
    r"(run|cluster) .*--scheduler": "needs a scheduler; tests/test_cluster.py has one",
    r"warmup": "compiles all for minutes; tests/test_ahead.py does so with small jobs",
    r"ab ": "runs whole worktrees of two commits for minutes; tests/test_ab.py does so with small ones",
}
#: what is put in the place of what, in this order
REPLACED = (
    (r" [|>] .*", ""),  # the shell's part
    (r"^fetch\b(.*)", r"fetch\1 --offline"),
    (r" --mirror \S+", ""),
    (r"^profile kegg$", "profile kegg-like"),
    (r"\b(citeseer|uniprotenc_150)-like\b", "kegg-like"),
    (r"--vertices \d+ --degree \d+", "--vertices 300 --degree 3"),
    (r"^limits$", "limits --quick"),
    (r"^(run|plan|verify) --config \w+", rf"\1 --config quickstart {SMALL}"),
    (r"^(run|verify)( --(dataset|set) \S+)+", rf"\1 {SMALL}"),
    (r"kegg-like(.* --simulate)", r"held\1"),
    (r"^plan --config quickstart.*", "plan --config quickstart"),
    (r"^run (?!--resume)(.*?)( --trials \d+)?$", r"run \1 --trials 1"),
    (r"^advise \S+((?: --(?!impl|budget)\S+ \S+)*).*", r"advise held\1 --impl dfs --budget 1 --process shared"),
    (r"^history (results/runs/\S+|FIRST SECOND THIRD)", "history RUN-A RUN-B"),
    (r"results/runs/\S+", "RUN-A"),
    (r"^plot (?=--)", "plot RUN-A "),
    (r"^compare \S+ \S+", "compare RUN-A RUN-B"),
    (r"results/baselines/(\S+\.(?:toml|json|md))", rf"{ROOT}/results/baselines/\1"),
    (r"docs/results/(\S+\.md)", rf"{ROOT}/docs/results/\1"),
)
COMMIT = b"commit refs/heads/main\ncommitter A <a@b> 1 +0000\ndata 0\n\n"  #: what git fast-import takes
#: exit codes that are right here: no graph is held, nothing is faster twice, no GPU
CODES = {"fetch": {2}, "compare": {0, 1, 3}, "limits --only gpu": {0, 4}, "limits --simulate": {0, 4}}


def examples(name):
    """The lines of a command's help that begin with `grailbench`, without that word."""
    done = CliRunner().invoke(cli, [name, "--help"])
    whole = re.sub(r" \\\n +", " ", done.output.partition("Example")[2])
    return re.findall(r"^\s*grailbench (.+)$", whole, re.MULTILINE)


ALL = [line for name in COMMANDS for line in examples(name)]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with two runs, files to import, and a cache of its own; `RUN-A` and `RUN-B` are paths in it."""
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("GRAILBENCH_CACHE", str(folder / "cache"))
        patch.setattr(paths, "runs_dir", lambda: folder / "results" / "runs")
        patch.setattr(limits, "QUICK", limits.TINY)
        patch.setattr(ceilings, "last_level_bytes", lambda caches: 1 << 16)
        (folder / "my-graph.gra").write_text("graph_for_greach\n3\n0: 1 2 #\n1: 2 #\n2: #\n")
        (folder / "web-Google.txt.gz").write_bytes(gzip.compress(b"# Nodes: 3 Edges: 2\n0\t1\n1\t2\n"))
        (folder / "edges.txt").write_text("0 1\n1 2\n0 3\n")
        (folder / "mine.txt").write_text("0 2\n2 0\n")
        (folder / "people.csv").write_text("follower,followed\nann,bob\n")
        (folder / "needs.csv").write_text("from,to,scope\napp,zlib,runtime\n")
        subprocess.run(["git", "init", "-q", "my-project"], check=True)
        subprocess.run(["git", "-C", "my-project", "fast-import", "--quiet"], input=COMMIT, check=True)
        runs = folder / "results" / "runs"
        for line in (
            "import edges.txt --name held", "import needs.csv --name needs --kind scope",
            "ask kegg-like 17 1500 --impl sequential --save kegg.index",
            *(f"run {SMALL} --impl dfs --impl sequential --trials 2 --out {runs / run}" for run in ("a", "b")),
            f"pack {runs / 'b'} --out mine.pack.zip",
        ):  # fmt: skip
            ended(*shlex.split(line))
        yield folder


def right_codes(line):
    return next((codes for start, codes in CODES.items() if line.startswith(start)), {0})


def shortened(world, line):
    """An example on what is small and in `world`."""
    for pattern, text in REPLACED:
        line = re.sub(pattern, lambda match, text=text: match.expand(text), line)
    for run in ("A", "B"):
        line = line.replace(f"RUN-{run}", str(world / "results" / "runs" / run.lower()))
    return line


@pytest.mark.parametrize("name", COMMANDS)
def test_command_has_examples(name):
    assert examples(name)
    assert all(line.startswith(name) for line in examples(name))


@pytest.mark.parametrize("line", [line for line in ALL if "--simulate" not in line])
def test_example_runs(world, capfd, line):
    for pattern, reason in SKIPPED.items():
        if re.match(pattern, line):
            name, *words = shlex.split(line)
            cli.get_command(None, name).make_context(name, words)  # it is right usage at least
            pytest.skip(reason)
    small = shortened(world, line)
    code = ended(*shlex.split(small))
    out, err = capfd.readouterr()
    assert code in right_codes(line), f"grailbench {small}\n{err[-2000:]}"
    assert "Traceback" not in out + err
    assert out.strip() or err.strip()


SIMULATED = """
import shlex, sys
from grailbench.cli.main import main
for line in sys.argv[1:]:
    try: main(shlex.split(line))
    except SystemExit as end: print("ended:", end.code)
"""


def test_examples_of_the_simulator_run(world):
    """In a process of their own: numba's simulator must be chosen before numba is loaded."""
    lines = [line for line in ALL if "--simulate" in line]
    command = [sys.executable, "-c", SIMULATED, *(shortened(world, line) for line in lines)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE)
    codes = re.findall(r"^ended: (\d+)$", done.stdout, re.MULTILINE)
    assert len(codes) == len(lines) > 2, done.stderr
    assert all(int(code) in right_codes(line) for code, line in zip(codes, lines, strict=True)), done.stderr

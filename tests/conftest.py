"""What every test shares: a cache of its own, the mirror of the real graphs, hypothesis profiles.

`from strategies import digraphs` and `from naive import closure` work in every test file.
`HYPOTHESIS_PROFILE=thorough` draws many more examples.
"""

import gc
import os
import signal
import sys
from pathlib import Path

import pytest
import uses
from crashed import pytest_handlecrashitem, pytest_testnodedown  # noqa: F401 - hooks
from hypothesis import HealthCheck, settings

from grailbench.util import ahead, paths

_SLOW_FIRST_CALL = [HealthCheck.too_slow, HealthCheck.data_too_large]  # numba compiles in the first example

for _name, _examples in (("fast", 25), ("thorough", 1000)):
    settings.register_profile(_name, max_examples=_examples, deadline=None, suppress_health_check=_SLOW_FIRST_CALL)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

MIRROR = os.environ.get("GRAILBENCH_MIRROR")
PUBLISHED = ("small-sparse", "small-dense", "large", "scale-free")  #: sets of the graphs that the papers compare

# A shell has its background jobs ignore SIGINT, and what they start: then nothing that a test interrupts would hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["GRAILBENCH_TESTS"] = str(os.getpid())  # for toys that kill their parent: never this process
os.environ.pop("COLUMNS", None)  # a terminal's width is no test's, but those that set it
# Tests start hundreds of processes, and rewrite the asserts of their modules: compiled modules are kept.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
ahead._helping = True  # a test starts no processes that compile ahead, whatever its cache holds


def pytest_collection_modifyitems(items):
    for item in items:
        for name in sorted(uses.marks(item)):
            item.add_marker(name)


@pytest.fixture(autouse=True)
def _marked(request):
    """No test is slower than its marks say: those without are for every change (`make check`)."""
    uses.seen.clear()
    yield
    missing = uses.seen - {mark.name for mark in request.node.iter_markers()}
    assert not missing, f"mark it with {' and '.join(missing)}: tests/uses.py does not see it"


@pytest.fixture(scope="session", autouse=True)
def unfreeze():
    """The true `gc.unfreeze`. A run calls it and collects garbage before its passes, which here would go through the
    modules and tests of the whole session each time: what one run froze stays frozen for the next."""
    gc.collect()
    gc.freeze()
    with pytest.MonkeyPatch.context() as patch:
        true = gc.unfreeze
        patch.setattr(gc, "unfreeze", lambda: None)
        yield true


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory):
    """Path: the cache of this test session; no test touches the user's, nor a mirror it did not ask for."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAILBENCH_CACHE", str(folder))
        paths.cache_dir()  # marks it
        patch.delenv("GRAILBENCH_MIRROR", raising=False)
        yield folder


@pytest.fixture(scope="module")
def module_cache(tmp_path_factory):
    """Path: a cache for one module, whose imports nobody else sees."""
    with pytest.MonkeyPatch.context() as patch:
        path = tmp_path_factory.mktemp("cache")
        patch.setenv("GRAILBENCH_CACHE", str(path))
        paths.cache_dir()
        yield path


@pytest.fixture
def mirror(monkeypatch):
    """Path of the folder with the real graphs' archives, set as GRAILBENCH_MIRROR; skips when none."""
    if not MIRROR or not Path(MIRROR).is_dir():
        pytest.skip("GRAILBENCH_MIRROR names no folder with the real graphs")
    monkeypatch.setenv("GRAILBENCH_MIRROR", str(Path(MIRROR).resolve()))
    return Path(MIRROR).resolve()


@pytest.fixture
def real_graphs(mirror):
    """Names of the graphs of the GRAIL papers that the mirror has, fetched; 17 at least."""
    from grailbench.data.fetch import fetch
    from grailbench.data.registry import sets

    wanted = [dataset for name in PUBLISHED for dataset in sets()[name]]
    names = [result.dataset.name for result in fetch(wanted, mirror=str(mirror), offline=True) if result.file]
    assert len(names) >= 17
    return names


@pytest.fixture
def toys(monkeypatch):
    """The toy implementations, registered for one test; their log of calls is empty."""
    from toys import CALLS, TOYS

    from grailbench.problems import contract

    contract.implementations()
    for name, toy in TOYS.items():
        monkeypatch.setitem(contract._registry["reachability"], name, toy)
    CALLS.clear()
    return CALLS


@pytest.fixture(scope="session")
def diamond(session_cache):
    """Name of an imported graph of 7 vertices: a diamond with a tail, a cycle, an isolated vertex."""
    from strategies import graph_of

    from grailbench.graph.store import save_graph

    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5), (5, 4)]
    save_graph(session_cache / "imported" / "diamond.npz", graph_of(7, edges), {"name": "diamond"})
    return "diamond"


@pytest.fixture(scope="session")
def large(session_cache):
    """Name of an imported graph of 200,000 vertices: too many for the closure; of its pairs a quarter is reachable."""
    from toys import chains

    from grailbench.graph.csr import Graph
    from grailbench.graph.store import save_graph

    graph = Graph.from_edges(200_000, *chains(200_000))
    save_graph(session_cache / "imported" / "large.npz", graph, {"name": "large"})
    return "large"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Path: an empty cache of this test's own, and no proxy."""
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path / "cache"))
    paths.cache_dir()
    monkeypatch.setenv("NO_PROXY", "*")
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path):
    """Path: an empty folder, to be served."""
    (tmp_path / "served").mkdir()
    return tmp_path / "served"


@pytest.fixture
def refused(tmp_path):
    """A function: write `content` as `name`, read it, give the InputError; its message must name the file."""

    def attempt(content, name, format=None):
        from grailbench.errors import InputError
        from grailbench.graph.readers import read_graph

        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(InputError) as caught:
            read_graph(path, format)
        assert str(path) in str(caught.value)
        return caught.value

    return attempt


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A Chromium (`browser.Browser`), for the tests of a module."""
    from browser import NAMES, Browser, installed

    if installed() is None:
        pytest.skip(f"no Chromium on PATH ({', '.join(NAMES)})")
    found = Browser(installed(), tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture
def device_memory(monkeypatch):
    """A function that has the device say that so many bytes of it are free, and keep none for later arrays."""

    def say(free: int) -> None:
        monkeypatch.setattr("grailbench.cuda.describe.memory", lambda: (free, 1 << 30))
        monkeypatch.setattr("grailbench.cuda.describe.managers", ())

    return say

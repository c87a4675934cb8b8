"""A change in what a kernel is made of must leave the compiled kernel behind."""

import ast
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
from commands import ROOT, call, in_python
from numba.core import config
from numba.core.caching import IndexDataCacheFile

from grailbench.cli.main import cli
from grailbench.util import kernelcache
from grailbench.util.guard import Outcome, guarded

PACKAGE = ROOT / "grailbench"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of a kernel, what it calls through another module, a constant, and what is none of its business."""
    texts = {
        "kernel.py": "from numba import njit\nfrom grailbench.parts import (\n    near,  # by\n    far,\n)\n",
        "parts/near.py": "from grailbench import callee\n", "parts/__init__.py": "", "parts/far.py": "FAR = 1\n",
        "callee.py": "def callee(): return 1\n", "other.py": "from grailbench import kernel\n",
    }  # fmt: skip
    (tmp_path / "parts").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(kernelcache, "_PACKAGE", tmp_path)
    return tmp_path


def digest_now(*files):
    kernelcache.digest.cache_clear()
    kernelcache._read.cache_clear()
    return kernelcache.digest(frozenset(files))


@pytest.mark.parametrize("changed", ["kernel.py", "parts/near.py", "parts/far.py", "parts/__init__.py", "callee.py"])
def test_a_change_in_what_a_kernel_imports_at_any_depth_changes_its_digest_and_no_other_does(package, changed):
    before = digest_now(package / "kernel.py")
    (package / "other.py").write_text("x = 2\n")
    assert digest_now(package / "kernel.py") == before
    (package / changed).write_text((package / changed).read_text() + "# changed\n")
    assert digest_now(package / "kernel.py") != before


def test_a_kernel_that_is_made_of_a_function_depends_on_its_file_too(package):
    def made(name, closed):
        scope = {}
        code = "def make(closed):\n    def kernel(): return closed\n    return kernel\n"
        exec(compile(code, str(package / name), "exec"), scope)  # noqa: S102 - as a file of that package would
        return scope["make"](closed)

    inner = made("callee.py", 1)
    itself = made("kernel.py", None)
    itself.__closure__[0].cell_contents = itself
    assert kernelcache.files_of(itself) == {package / "kernel.py"}
    dispatcher = SimpleNamespace(py_func=inner)
    for closed in (inner, (0, dispatcher), made("parts/far.py", (dispatcher,))):
        assert {package / "kernel.py", package / "callee.py"} <= kernelcache.files_of(made("kernel.py", closed))


@pytest.mark.slow
def test_every_import_of_the_package_is_seen():
    """Imports are found by a pattern, which must miss none that Python finds."""
    for path in PACKAGE.rglob("*.py"):
        wanted = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "grailbench":
                at = PACKAGE.joinpath(*node.module.split(".")[1:])
                wanted |= {each for name in node.names for each in (at.with_suffix(".py"), at / f"{name.name}.py")}
                wanted |= {at / "__init__.py", *(at / name.name / "__init__.py" for name in node.names)}
        assert {each for each in wanted if each.is_file()} <= kernelcache._read(path)[1], path


WHERE = """
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from pkgutil import walk_packages
from numba.core.dispatcher import Dispatcher
import grailbench
for module in walk_packages(grailbench.__path__, "grailbench."):
    if module.name.endswith("__main__"): continue
    found = vars(import_module(module.name)).values()
    for kernel in {kernel for kernel in found if hasattr(getattr(kernel, "_cache", None), "cache_path")}:
        if kernel._cache.cache_path is not None:
            print(kernel._cache.cache_path)
"""


def test_every_kernel_of_the_package_is_kept_in_a_folder_named_after_its_code():
    code, out = in_python(WHERE)
    assert code == 0, out
    found = {Path(path) for path in out.split()}
    assert len(found) > 50
    assert {path.parent for path in found} == {kernelcache.folder()}
    assert all(kernelcache._STATE.fullmatch(path.name) for path in found)


def test_a_folder_that_the_user_chose_holds_kernels(tmp_path):
    code, out = in_python("from grailbench.graph import rows\n"
                          "print(*(each._cache.cache_path for each in vars(rows).values() if hasattr(each, '_cache')))",
                          NUMBA_CACHE_DIR=str(tmp_path))  # fmt: skip
    assert code == 0, out
    assert {Path(path).parent for path in out.split()} == {tmp_path}


def test_two_processes_that_compile_a_kernel_at_once_never_find_each_others_code(tmp_path, monkeypatch):
    """Of two that read the index before either writes, each writes its index and its code; one index remains."""
    kernelcache.adopt()
    monkeypatch.setattr(kernelcache, "folder", lambda: tmp_path)

    def files():
        return IndexDataCacheFile(str(tmp_path), "kernel", "stamp")

    def interleaved():
        one, two = files(), files()
        index, writes = {}, []
        monkeypatch.setattr(one, "_load_index", index.copy)
        monkeypatch.setattr(two, "_load_index", index.copy)
        real = one._save_data
        monkeypatch.setattr(one, "_save_data", lambda *entry: writes.append(entry))
        one.save("int32", "code for int32")
        two.save("int64", "code for int64")
        real(*writes[0])
        return {key: found for key in ("int32", "int64") if (found := files().load(key)) is not None}

    assert interleaved() == {"int64": "code for int64"}
    monkeypatch.setattr(IndexDataCacheFile, "save", IndexDataCacheFile.save.numbered)
    assert interleaved() == {"int64": "code for int32"}, "numba names entries otherwise now: is this still needed?"


def test_kernels_of_others_are_kept_where_numba_keeps_them(tmp_path):
    (tmp_path / "theirs.py").write_text("from numba import njit\n@njit(cache=True)\ndef f(x):\n    return x + 1\n")
    code, out = in_python(
        "import grailbench.problems.reachability.cpu.search, theirs\nprint(theirs.f(1), theirs.f.stats.cache_path)",
        PYTHONPATH=f"{tmp_path}:{ROOT}",
    )
    assert (code, out.split()) == (0, ["2", str(tmp_path / "__pycache__")]), out


def test_a_package_that_cannot_be_written_has_its_kernels_in_the_users_cache(tmp_path, monkeypatch):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__pycache__").write_text("a file, so that there is no folder")
    monkeypatch.setattr(kernelcache, "_PACKAGE", tmp_path / "package")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    kernelcache.folder.cache_clear()
    try:
        assert kernelcache.folder().is_relative_to(tmp_path / "home")
    finally:
        kernelcache.folder.cache_clear()


def test_kernels_made_of_functions_are_found_again_by_another_process_and_told_apart():
    """What numba finds them by is their code and what they close over."""
    code = """
import hashlib
from numba.core.serialize import dumps
from grailbench.problems.reachability.gpu import parents, ranks, search
from grailbench.problems.reachability.gpu.fused import columns, grid, hubs, search as fused_search, small
from grailbench.problems.traversal.gpu import levels
kernels = [grid.kernel(2, grid.REGISTERS), small.kernel(2), hubs.kernel(), fused_search.explore_kernel(256, 4)]
kernels += [columns.planting(2), columns.repairing(2), fused_search.peek_kernel(), fused_search.explore_late_kernel()]
by_edges = ranks._visit_parents, parents._expand, ranks._post, ranks._least, parents._offer_to_children
by_edges += levels._EXPAND, search._kernels(2, 64)[1], search._kernels(2, 32)[1], search._path_kernels(2, 64)[1]
kernels += [trio.thread for trio in (*by_edges, ranks._sum_children, parents._erase)]
for kernel in kernels:
    cells = [cell.cell_contents for cell in kernel.py_func.__closure__ or ()]
    print(kernel.py_func.__name__, hashlib.sha256(dumps(cells)).hexdigest())
"""
    (code_one, one), (code_two, two) = in_python(code), in_python(code)
    assert (code_one, code_two) == (0, 0), one
    assert one == two
    assert len(one.splitlines()) == len(set(one.splitlines())) == 19


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [lambda content: b"", lambda content: content[: len(content) // 2], lambda _: b"no"])
def test_a_damaged_entry_is_compiled_anew(tmp_path, monkeypatch, capsys, ending, damage):
    """Each time the module is run, as by another process; by a cell, and by a command whose imports meet it."""
    program = tmp_path / "twice.py"
    program.write_text("from numba import njit\n@njit(cache=True)\ndef doubled(x):\n    return 2 * x\n")
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "kernels"))

    def answer():
        return runpy.run_path(str(program))["doubled"](21)

    assert answer() == 42
    (entry,) = (tmp_path / "kernels").rglob(f"*doubled*.{ending}")
    entry.write_bytes(damage(entry.read_bytes()))
    assert guarded(answer) == Outcome("ok", value=42)
    assert answer() == 42  # from a whole entry
    for each in (tmp_path / "kernels").rglob(f"*doubled*.{ending}"):
        each.write_bytes(damage(each.read_bytes()))
    monkeypatch.setattr(cli, "main", lambda **named: print(answer()))
    assert call(capsys, "list") == (0, "42\n", "")


def test_other_errors_are_none_of_the_cache():
    with pytest.raises(ZeroDivisionError) as raised:
        1 / 0  # noqa: B018
    assert not kernelcache.forget(raised.value)

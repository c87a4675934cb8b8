"""A change in any module with kernels must leave the old compiled kernels behind."""

import pytest
from commands import in_python

from grailbench import kernelcache


def test_a_change_in_one_kernel_file_changes_the_folder_of_all(tmp_path, monkeypatch):
    (tmp_path / "predicate.py").write_text("from numba import njit\nfrom grailbench.constants import FAR\n")
    (tmp_path / "constants.py").write_text("FAR = 1\n")
    (tmp_path / "plain.py").write_text("x = 1\n")
    monkeypatch.setattr(kernelcache, "_PACKAGE", tmp_path)
    before = kernelcache.digest()
    (tmp_path / "plain.py").write_text("x = 2\n")
    assert kernelcache.digest() == before
    (tmp_path / "constants.py").write_text("FAR = 2\n")
    assert before != (before := kernelcache.digest())
    (tmp_path / "predicate.py").write_text("from numba import njit  # changed\n")
    assert kernelcache.digest() != before


@pytest.mark.parametrize("names", ["far", "near, far", "(\n    near,  # by\n    far,\n)", "far  # how far"])
def test_a_module_that_a_kernel_imports_whole_counts(tmp_path, monkeypatch, names):
    (tmp_path / "kernel.py").write_text(f"from numba import njit\nfrom grailbench.parts import {names}\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "far.py").write_text("FAR = 1\n")
    monkeypatch.setattr(kernelcache, "_PACKAGE", tmp_path)
    before = kernelcache.digest()
    (tmp_path / "parts" / "far.py").write_text("FAR = 2\n")
    assert kernelcache.digest() != before


def test_a_folder_that_the_user_chose_stays(monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/chosen")
    kernelcache.choose()
    assert kernelcache.os.environ["NUMBA_CACHE_DIR"] == "/chosen"


def test_the_folder_is_named_after_the_code(monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    kernelcache.choose()
    assert kernelcache.os.environ["NUMBA_CACHE_DIR"].endswith(f"kernels-{kernelcache.digest()}")


def test_the_kernels_of_gpu_fused_are_found_again_by_another_process():
    code = """
import hashlib
from numba.core.serialize import dumps
from grailbench.reachability.gpu.fused import grid, hubs, search, small
kernels = grid.kernel(2, grid.REGISTERS), small.kernel(2), hubs.kernel(), search.explore_kernel(256, 4)
for kernel in (*kernels, search.peek_kernel(), search.explore_late_kernel()):
    cells = [cell.cell_contents for cell in kernel.py_func.__closure__ or ()]
    print(kernel.py_func.__name__, hashlib.sha256(dumps(cells)).hexdigest())
"""
    (code_one, one), (code_two, two) = in_python(code), in_python(code)
    assert (code_one, code_two) == (0, 0), one
    assert one == two
    assert len(one.split()) == 12

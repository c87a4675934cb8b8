"""A change in any module with kernels must leave the old compiled kernels behind."""

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


def test_a_folder_that_the_user_chose_stays(monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/chosen")
    kernelcache.choose()
    assert kernelcache.os.environ["NUMBA_CACHE_DIR"] == "/chosen"


def test_the_folder_is_named_after_the_code(monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    kernelcache.choose()
    assert kernelcache.os.environ["NUMBA_CACHE_DIR"].endswith(f"kernels-{kernelcache.digest()}")

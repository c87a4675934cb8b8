"""The sdist and the wheel: the same bytes from the same files, what they hold, and what they say of themselves."""

import io
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import PurePosixPath

import pytest
from commands import ROOT
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

pytest.importorskip("hatchling")
pytestmark = pytest.mark.slow

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
#: what no package may hold, as parts of a path or as ends of it
UNWANTED = {"__pycache__", ".git", ".venv", ".pytest_cache", ".ruff_cache", ".hypothesis", ".mypy_cache", "cache"}
_ENDS = (".pyc", ".pyo", ".so", ".tmp", ".orig", "~", ".pack.zip")


def built(folder, kind, out):
    """The bytes of a package that is built of a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    (path,) = out.iterdir()
    return path.read_bytes()


def listed():
    """The files of this checkout that git knows, or would take."""
    words = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("this is not a git checkout")
    return {name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return built(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def unpacked(sdist, tmp_path_factory):
    """The folder in which the sdist was unpacked, and the names of its files."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(fileobj=io.BytesIO(sdist)) as archive:
        if hasattr(tarfile, "data_filter"):  # from Python 3.11.4 on
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(folder)  # noqa: S202 - made here
    (root,) = folder.iterdir()
    return root, {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def names(wheel):
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def shipped(files):
    """Where the wheel has these files of the checkout; those that it leaves out are left out."""
    moved = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    found = {name for name in files if name.startswith("grailbench/")}
    for source, target in moved.items():
        found |= {
            target + name.removeprefix(source) for name in files if name == source or name.startswith(source + "/")
        }
    return found


def test_the_wheel_of_the_sdist_is_that_of_the_checkout_byte_for_byte(unpacked, sdist, wheel, tmp_path):
    root, _ = unpacked
    (tmp_path / "wheel").mkdir()
    (tmp_path / "sdist").mkdir()
    assert built(root, "wheel", tmp_path / "wheel") == wheel
    assert built(root, "sdist", tmp_path / "sdist") == sdist


def test_the_wheel_has_the_package_and_what_it_reads_and_nothing_else(wheel):
    assert names(wheel) == shipped(listed())


def test_the_sdist_is_the_checkout_without_recorded_runs_and_tests(unpacked, sdist):
    rest = {name for name in listed() if not name.startswith(("tests/", "results/baselines/"))}
    assert unpacked[1] - {"PKG-INFO"} == rest
    assert len(sdist) < 3_000_000


def test_no_package_has_what_was_made_here(unpacked, wheel):
    for name in unpacked[1] | names(wheel):
        assert not UNWANTED & set(PurePosixPath(name).parts), name
        assert not name.endswith(_ENDS), name
    assert not any(name.startswith("tests/") for name in names(wheel))


def test_what_a_package_says_of_itself_is_valid_and_that_of_pyproject(wheel, unpacked):
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        text = archive.read(metadata)
        assert any(name.endswith(".dist-info/licenses/LICENSE") for name in archive.namelist())
        entry_points = archive.read(metadata.replace("METADATA", "entry_points.txt")).decode()
    found = Metadata.from_email(text, validate=True)
    assert (unpacked[0] / "PKG-INFO").read_bytes() == text
    project = PROJECT["project"]
    assert (found.name, found.summary, found.license_expression) == ("grailbench", project["description"], "MIT")
    assert found.requires_python == SpecifierSet(project["requires-python"])
    assert set(found.provides_extra) == set(project["optional-dependencies"])
    plain = {str(each) for each in found.requires_dist if each.marker is None}
    assert plain == {str(Requirement(each)) for each in project["dependencies"]}
    assert found.description.startswith("# grailbench")
    assert found.description_content_type == "text/markdown"
    assert "grailbench = grailbench.cli.main:main" in entry_points


def test_every_python_from_the_oldest_on_is_named():
    allowed = SpecifierSet(PROJECT["project"]["requires-python"])
    named = [each.rpartition(" ")[2] for each in PROJECT["project"]["classifiers"] if "Python :: 3." in each]
    assert named == ["3.11", "3.12", "3.13", "3.14"]
    assert all(version in allowed for version in named)
    assert "3.10" not in allowed

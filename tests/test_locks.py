"""The locks name one release, with the hashes of its files, of everything that pyproject.toml asks for."""

import importlib.util
import re
from importlib.metadata import PackageNotFoundError, requires

import pytest
from commands import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SPEC = importlib.util.spec_from_file_location("locks_make", ROOT / "locks" / "make.py")
make = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make)

HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
#: what markers are about: every Python that is supported, on systems of each kind
PLACES = [
    {"python_version": version, "python_full_version": f"{version}.3", "sys_platform": system, "platform_system": name,
     "os_name": "nt" if system == "win32" else "posix", "platform_machine": machine,
     "implementation_name": "cpython", "platform_python_implementation": "CPython"}
    for version in ("3.11", "3.12", "3.13", "3.14")
    for system, name, machine in (("linux", "Linux", "x86_64"), ("linux", "Linux", "aarch64"),
                                  ("darwin", "Darwin", "arm64"), ("win32", "Windows", "AMD64"))
]  # fmt: skip


def lines(text):
    """The requirements of a lock with their hashes, a string each."""
    joined = re.sub(r"\\\n", " ", text)
    return [line.strip() for line in joined.splitlines() if line.strip() and not line.startswith("#")]


def read(text):
    """dict[str, list[tuple[Requirement, int]]]: what a lock names, by name, with the number of its hashes.

    Raises AssertionError for anything but a release and its hashes: an index, an address, a range.
    """
    found = {}
    for line in lines(text):
        stated, *hashes = re.split(r"\s+(?=--)", line)
        assert hashes, f"no hash: {line}"
        assert all(HASH.fullmatch(each) for each in hashes), line
        assert len(set(hashes)) == len(hashes), line
        wanted = Requirement(stated)
        assert [each.operator for each in wanted.specifier] == ["=="], line
        assert wanted.url is None
        assert not str(wanted.specifier).endswith("*"), line
        found.setdefault(canonicalize_name(wanted.name), []).append(wanted)
    return found


def missing(locked, asked):
    """list[str]: requirements that a lock does not fulfil, and where."""
    found = []
    for text in asked:
        wanted = Requirement(text)
        for place in PLACES:
            if wanted.marker and not wanted.marker.evaluate(place | {"extra": ""}):
                continue
            here = [one for one in locked.get(canonicalize_name(wanted.name), ())
                    if not one.marker or one.marker.evaluate(place)]  # fmt: skip
            versions = [next(iter(one.specifier)).version for one in here]
            if len(versions) != 1 or not wanted.specifier.contains(versions[0], prereleases=True):
                found.append(f"{text}: {versions} for {place['python_version']} on {place['sys_platform']}")
    return found


LOCKS = {name: (ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8") for name in make.EXTRAS}


@pytest.mark.parametrize("name", LOCKS)
def test_every_requirement_is_locked_and_within_what_pyproject_allows(name):
    assert missing(read(LOCKS[name]), make.wanted(*make.EXTRAS[name])) == []


def test_a_requirement_that_is_not_locked_or_locked_to_another_release_is_found():
    locked = read(LOCKS["base"])
    assert missing(locked, ["a-new-one>=1"])
    assert missing(locked, ["numpy<2"])
    assert not missing(locked, ["numpy>=2", 'a-new-one>=1; python_version < "3.11"'])
    del locked["click"]
    assert missing(locked, make.wanted())


@pytest.mark.parametrize(
    "line", ["click==8.5.1", "click>=8 --hash=sha256:" + "0" * 64, "--index-url https://example.org/simple",
             "click==8.5.1 --hash=md5:" + "0" * 32, "click @ https://example.org/c.whl --hash=sha256:" + "0" * 64]
)  # fmt: skip
def test_a_line_without_a_hash_or_a_release_is_refused(line):
    with pytest.raises((AssertionError, ValueError)):
        read(f"{LOCKS['base']}\n{line}\n")


def test_a_release_that_two_locks_name_is_the_same_with_the_same_hashes():
    seen = {}
    for text in LOCKS.values():
        for line in lines(text):
            line = re.sub(r" ;.*?(?= --)", "", line)  # where it is needed may differ
            line = re.sub(r"\s+", " ", line)
            assert seen.setdefault(re.split("[= ]", line)[0], line) == line
    base = read(LOCKS["base"])
    assert base.keys() < read(LOCKS["dev"]).keys()
    assert base.keys() < read(LOCKS["peers"]).keys()
    assert base.keys() < read(LOCKS["docs"]).keys()
    assert seen["numba"].count("--hash") > 10, "the files of all platforms"


def test_what_is_needed_by_what_is_needed_is_locked_too():
    """As the releases that are installed here say it."""
    locked = read(LOCKS["dev"])
    asked = {}
    for text in make.wanted(*make.EXTRAS["dev"]):
        asked.setdefault(canonicalize_name(Requirement(text).name), set()).update(Requirement(text).extras)
    todo, done = list(asked.items()), set()
    while todo:
        name, extras = todo.pop()
        if (name, frozenset(extras)) in done:
            continue
        done.add((name, frozenset(extras)))
        assert name in locked, name
        try:
            inner = [Requirement(text) for text in requires(name) or ()]
        except PackageNotFoundError:  # of another platform, or the environment is no longer what pyproject.toml says
            continue
        for one in inner:
            if not one.marker or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                todo.append((canonicalize_name(one.name), one.extras))
    assert len(done) > 60

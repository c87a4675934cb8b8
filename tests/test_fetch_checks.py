"""What was fetched is held against its checksums, and nothing of an archive is trusted."""

import gzip
import hashlib
import tarfile

import pytest
from archives import GRAPH, OTHER, PACKED, dataset, files, one, sha256, tar_of

from grailbench.data import cache as cached
from grailbench.data import library, sources
from grailbench.data.cache import local_file
from grailbench.data.fetch import fetch
from grailbench.errors import InputError

pytestmark = pytest.mark.usefixtures("cache")


def test_a_wrong_checksum_of_the_archive_or_of_the_graph_inside_leaves_nothing_and_names_both(folder, cache):
    (folder / "a.gra.gz").write_bytes(gzip.compress(OTHER))
    right = gzip.compress(GRAPH)
    result = one(fetch([dataset(content=GRAPH, packed=right)], mirror=str(folder)))
    assert result.status == "missing"
    assert sha256(right) in result.reasons[0]
    assert sha256((folder / "a.gra.gz").read_bytes()) in result.reasons[0]
    assert files(cache) == []
    result = one(fetch([dataset(content=GRAPH, packed=(folder / "a.gra.gz").read_bytes())], mirror=str(folder)))
    assert result.status == "missing"
    assert local_file(result.dataset) is None


def test_an_unknown_checksum_and_an_id_in_the_authors_repository_are_never_called_verified(folder, cache):
    (folder / "a.gra.gz").write_bytes(PACKED)
    found = one(fetch([dataset()], mirror=str(folder)))
    assert (found.status, found.file.verified, found.file.checked) == ("fetched", False, "none")
    assert library.describe(found.dataset)["verified"] is False
    (folder / "b.gra.gz").write_bytes(PACKED)
    blob = hashlib.sha1(b"blob %d\0" % len(PACKED) + PACKED).hexdigest()
    result = one(fetch([dataset("b", "b.gra.gz", blob=blob)], mirror=str(folder)))
    assert (result.file.checked, result.file.verified) == ("git-blob", False)


@pytest.mark.parametrize(
    ("what", "content"),
    [
        ("cut off in the gzip", gzip.compress(GRAPH * 50, mtime=0)[:-9]),
        ("no gzip", GRAPH),
        ("cut off in the graph", gzip.compress(b"graph_for_greach\n3\n0: 1 #\n1: 2", mtime=0)),
        ("fewer vertices than announced", gzip.compress(b"graph_for_greach\n3\n0: 1 #\n", mtime=0)),
    ],
)
def test_a_file_without_a_checksum_is_refused_when(what, content, folder, cache):
    (folder / "a.gra.gz").write_bytes(content)
    result = one(fetch([dataset()], mirror=str(folder)))
    assert result.status == "missing"
    assert files(cache) == []


def test_a_graph_without_a_checksum_with_another_number_of_vertices_than_printed_is_refused(folder):
    (folder / "a.gra.gz").write_bytes(gzip.compress(GRAPH))
    row = {"paper": "thesis", "table": "2.3", "edges": 3, "degree": "1"}
    result = one(fetch([dataset(published=[row | {"vertices": 5}])], mirror=str(folder)))
    assert "holds 3 vertices, but thesis, table 2.3 prints 5" in result.reasons[0]
    assert one(fetch([dataset(published=[row | {"vertices": 4}])], mirror=str(folder))).status == "fetched"


def test_an_edited_graph_file_is_refused_and_fetched_anew(folder):
    for wanted in (dataset(content=GRAPH, packed=gzip.compress(GRAPH, mtime=0)), dataset("b", "b.gra.gz")):
        (folder / wanted.archive).write_bytes(gzip.compress(GRAPH, mtime=0))
        path = one(fetch([wanted], mirror=str(folder))).file.path
        path.write_bytes(OTHER)
        with pytest.raises(InputError, match=f"grailbench fetch {wanted.name}"):
            cached.cached_file(wanted)
        assert one(fetch([wanted], mirror=str(folder))).status == "fetched"
        assert path.read_bytes() == GRAPH


# ---------------------------------------------------------------------------------------------- unpacking


def entry(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


REFUSED = {
    "the wanted member as a link": (entry("t/a.gra", tarfile.SYMTYPE, "/etc/passwd"), "is not a plain file"),
    "the wanted member as a pipe": (entry("t/a.gra", tarfile.FIFOTYPE), "is not a plain file"),
    "the wanted member as a folder": (entry("t/a.gra", tarfile.DIRTYPE), "is not a plain file"),
    "no such member": (("t/b.gra", GRAPH), "holds no member 't/a.gra'"),
    "a wrong gzip checksum": (("t/a.gra", GRAPH), "damaged archive: CRC check failed"),
}


@pytest.mark.parametrize("refused", REFUSED)
def test_a_tar_is_refused_for(refused, folder, cache):
    member, why = REFUSED[refused]
    packed = bytearray(tar_of(member))
    packed[-8] ^= "gzip" in refused
    (folder / "t.tar.gz").write_bytes(packed)
    result = one(fetch([dataset("a", "t.tar.gz", "t/a.gra")], mirror=str(folder)))
    assert result.status == "missing"
    assert why in result.reasons[0]
    assert files(cache) == []


def test_nothing_of_a_tar_is_unpacked_but_the_wanted_member(tmp_path, folder, cache):
    evil = [(name, OTHER) for name in ("../evil", "t/../../evil", "/tmp/evil")]
    links = [entry("t/link", tarfile.SYMTYPE, "/etc/passwd"), entry("t/null", tarfile.CHRTYPE)]
    (folder / "t.tar.gz").write_bytes(tar_of(*evil, *links, ("t/a.gra", GRAPH), ("t/a.gra", OTHER)))
    result = one(fetch([dataset("a", "t.tar.gz", "t/a.gra")], mirror=str(folder)))
    assert result.file.path.read_bytes() == GRAPH
    assert {path.name for path in files(cache)} == {"a.gra", "a.gra.json", "t.tar.gz", "t.tar.gz.json"}
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("name", ["bomb.gra.gz", "bomb.tar.gz"])
@pytest.mark.parametrize("limits", [{"SLACK": 1000, "RATIO": 50}, {"UNPACKED": 100_000}])
def test_a_bomb_is_stopped_at_the_limit(name, limits, tmp_path, monkeypatch):
    for limit, value in limits.items():
        monkeypatch.setattr(sources, limit, value)
    bomb = b"0" * 3_000_000
    member = "bomb.gra" if name.endswith(".tar.gz") else None
    (tmp_path / name).write_bytes(tar_of(("bomb.gra", bomb)) if member else gzip.compress(bomb))
    with pytest.raises(sources.SourceFailed, match="unpacks to more than"):
        sources.unpack(tmp_path / name, member, tmp_path / "out")
    assert (tmp_path / "out").stat().st_size <= sources.most_unpacked(tmp_path / name)


def test_the_limits_let_a_plausible_archive_through(tmp_path):
    text = b"graph_for_greach\n90000\n" + b"".join(b"%d: #\n" % v for v in range(90_000))
    (tmp_path / "a.gra.gz").write_bytes(gzip.compress(text))
    sources.unpack(tmp_path / "a.gra.gz", None, tmp_path / "a.gra")
    assert (tmp_path / "a.gra").read_bytes() == text

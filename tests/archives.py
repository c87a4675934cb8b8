"""Archives of small graphs, and datasets that they belong to, for tests of fetching."""

import gzip
import hashlib
import io
import tarfile

from grailbench.data.registry import Archive, Dataset
from grailbench.util import paths

GRAPH = b"graph_for_greach\n3\n0: 1 #\n1: 2 #\n2: #\n"
OTHER = b"graph_for_greach\n3\n0: 2 #\n1: 2 #\n2: #\n"
PACKED = gzip.compress(GRAPH, mtime=0)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def tar_of(*members):
    """A .tar.gz of (name, content) or TarInfo."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))
    return packed.getvalue()


def dataset(name="a", archive="a.gra.gz", member=None, content=None, packed=None, blob=None, from_=(), **more):
    """A dataset; its checksums are known when `content` (graph file) and `packed` (archive) are given."""
    return Dataset(
        name=name,
        title=name,
        archive=archive,
        member=member,
        sha256=content and sha256(content),
        set="toy",
        set_title="Toy",
        archives={
            archive: Archive(
                file=archive, sha256=packed and sha256(packed), git_blob=blob, sources=tuple(map(str, from_))
            )
        },
        **more,
    )


def registry(first="a", second="b", more="", published=""):
    """The file of a set of two datasets, with the checksums of the first alone; `more` is of the set, `published` of
    the first."""
    return f'''set = "toy"
title = "Toy"
position = 99
{more}
[archives."{first}.gra.gz"]
sha256 = "{sha256(PACKED)}"
[archives."{second}.gra.gz"]
[[datasets]]
name = "{first}"
title = "A"
archive = "{first}.gra.gz"
sha256 = "{sha256(GRAPH)}"
{published}
[[datasets]]
name = "{second}"
title = "B"
archive = "{second}.gra.gz"
'''


def leftovers(cache):
    """Names of what lies in the cache's folders but is no finished file."""
    return [path.name for path in cache.rglob("*") if path.name.startswith(".")]


def files(cache):
    """The files of a cache, without its mark."""
    return [path for path in cache.rglob("*") if path.is_file() and path.name != paths.CACHE_MARK]


def one(result):
    (only,) = result
    return only

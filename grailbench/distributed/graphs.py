"""Graphs on workers: which file each has of a graph, by its sha256, and sending the file to those that lack it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from grailbench.data import cache
from grailbench.data.locate import look_up, stored_here
from grailbench.data.registry import registry
from grailbench.distributed import liveness
from grailbench.errors import InputError, MachineLacks
from grailbench.graph.generate import generated_name
from grailbench.graph.store import read_meta, sha256_file
from grailbench.util import paths, temporary

if TYPE_CHECKING:
    from distributed import Client

PIECE = 16 << 20  #: bytes of a file that are sent at once


def digest_here(name: str) -> str | None:
    """The sha256 of a graph as rows have it (`BenchGraph.sha256`); None if it is not stored here."""
    place = look_up(name)
    if place is None or not place.here:
        return None
    return sha256_file(place.path) if place.dataset is not None else read_meta(place.path)["sha256"]


def stored() -> list[str]:
    """The names of the graphs whose files are in the cache here, sorted."""
    real = [dataset.name for dataset in registry().values() if cache.local_file(dataset) is not None]
    return sorted({*real, *stored_here()})


def digests(client: Client, names: Iterable[str], workers: list[str]) -> dict[str, dict[str, str | None]]:
    """What `digest_here` gives on each worker, by worker and name."""
    return liveness.run(client, _digests, list(names), workers=workers)


async def _digests(names: list[str]) -> dict[str, str | None]:
    """In a thread, as a worker that reads a large file must go on answering its scheduler."""
    return await asyncio.to_thread(lambda: {name: digest_here(name) for name in names})


def provide(client: Client, names: Iterable[str], workers: list[str], note=lambda text: None) -> dict[str, str]:
    """Sees to it that each worker has the graphs that this machine has, and returns their sha256 by name.

    A graph that a worker lacks is sent to it, once for all workers that share a folder, unless the worker can generate
    it. Graphs that are not here are left out: whoever opens them says so. So is a worker that is lost meanwhile. Raises
    MachineLacks naming a worker that has another graph of that name.
    """
    known = {name: digest for name in names if (digest := digest_here(name)) is not None}
    for worker in workers:
        try:
            for name, digest in known.items():
                _give(client, name, digest, worker, note)
        except OSError as error:
            note(f"no graph was sent to {worker}: {error}")
    return known


def _give(client: Client, name: str, digest: str, worker: str, note) -> None:
    """Send a graph to a worker that lacks it. Raises MachineLacks if it has another, OSError if it is lost."""
    there = digests(client, [name], [worker])[worker][name]
    if there is None and generated_name(name) is None:
        note(f"sending {name} to {worker}")
        send(client, name, worker)
        there = digests(client, [name], [worker])[worker][name]
    if there not in (None, digest):
        raise MachineLacks(
            f"the worker {worker} has another {name}: its sha256 is {there}, here it is {digest} "
            f"(take {name} out of the cache there, and it is sent)"
        )


def send(client: Client, name: str, worker: str) -> None:
    """Send the file of a graph, and its note, to the cache of a worker; it takes its place there when all has come and
    its sha256 is right. Raises InputError if the graph is not stored here or changed while it was sent."""
    place = look_up(name)
    if place is None or not place.here:
        raise InputError(f"{name} is not stored here, so it cannot be sent")
    path, note = place.path, cache.read_note(place.path)
    where = path.relative_to(paths.cache_dir()).as_posix()
    with open(path, "rb") as stream:
        at = 0
        while piece := stream.read(PIECE):
            liveness.run(client, _take, where, at, piece, workers=[worker])
            at += len(piece)
    liveness.run(client, _publish, where, sha256_file(path), note, workers=[worker])


_arriving: dict[str, temporary.File] = {}  # on a worker: files that are being sent to it, by their place in the cache


def _take(where: str, at: int, piece: bytes) -> None:
    """On a worker: keep a piece of a file that is being sent."""
    path = _place(where)
    if at == 0:
        if (left := _arriving.pop(where, None)) is not None:  # whoever sent it before is gone
            left.close()
        _arriving[where] = temporary.File(path)
    with open(_arriving[where].path, "r+b") as stream:
        stream.seek(at)
        stream.write(piece)


def _publish(where: str, digest: str, note: dict) -> None:
    """On a worker: put a file that has come whole in its place."""
    path, made = _place(where), _arriving.pop(where, None)
    if made is None:
        raise InputError("nothing of it came", path=path)
    try:
        if (found := sha256_file(made.path)) != digest:
            raise InputError(f"what came is not what was sent: sha256 {found}, not {digest}", path=path)
        cache.publish(made, path, note)
    finally:
        made.close()


def _place(where: str) -> Path:
    """The path of a file in the cache. Raises InputError for a place outside."""
    named = PurePosixPath(where)
    if named.is_absolute() or ".." in named.parts:
        raise InputError(f"{where} is outside the cache")
    return paths.cache_dir() / named

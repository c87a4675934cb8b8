"""What makes the inputs of fuzzing: atheris, which keeps those that reach new code, or mutations of our own.

Kernels that numba compiles are no Python code, so atheris sees nothing of them. Therefore what came of an input, which
has the reader's verdict and the kind of fault, counts as reached code too: an input with a new outcome is kept.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import types
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
from judge import Outcome, Place, Target, judge

OUTCOMES = 2_048  #: counters of atheris for outcomes
ROOM = 512 << 20  #: bytes that a process may take more than after its first inputs
KEPT = Path(__file__).parent / "corpus"
Told = Callable[[bytes, Outcome], None]


def kept_inputs(target: Target) -> list[bytes]:
    """The inputs that are kept in the repository for a target; the first is empty."""
    return [b"", *(path.read_bytes() for path in sorted((KEPT / target.name).glob("*")))]


@contextmanager
def limited_memory(most: int = ROOM) -> Iterator[None]:
    """Lets this process take so many bytes more than it has, and tells readers that so many are free."""
    from grailbench.util import memory

    before, available = resource.getrlimit(resource.RLIMIT_AS), memory.available
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + most, before[1]))
    memory.available = lambda: most  # which asks the system otherwise, in 0.1 ms
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        memory.available = available


def warm(target: Target, place: Place, told: Told) -> None:
    """Reads all kept inputs, so that what is loaded or compiled once is there."""
    if target.prepare is not None:
        target.prepare()
    for data in kept_inputs(target):
        told(data, judge(target, data, place))


# ------------------------------------------------------------------ mutations of our own


def mutations(target: Target, seed: int, pool: Sequence[bytes] | None = None) -> Generator[bytes, bool, None]:
    """Endless inputs for a target: always the same of one seed. Whoever takes one may `send` whether it is to be
    mutated further."""
    draw = random.Random(seed)
    pool = list(kept_inputs(target) if pool is None else pool)
    while True:
        data = bytearray(draw.choice(pool))
        for _ in range(1 + int(draw.expovariate(0.6))):
            _mutate(data, draw, target.tokens, pool)
        made = bytes(data[: target.most])
        if (yield made):
            pool.append(made)


def _mutate(data: bytearray, draw: random.Random, tokens: Sequence[bytes], pool: Sequence[bytes]) -> None:
    at, kind = draw.randrange(len(data) + 1), draw.randrange(9)
    size = 1 + int(draw.expovariate(0.2))
    if kind == 0 and tokens:
        data[at:at] = draw.choice(tokens)
    elif kind == 1 and tokens:
        data[at : at + size] = draw.choice(tokens)
    elif kind == 2:
        del data[at : at + size]
    elif kind == 3 and at < len(data):
        data[at] ^= 1 << draw.randrange(8)
    elif kind == 4:
        data[at:at] = bytes([draw.randrange(256)])
    elif kind == 5:
        data[at:at] = data[at : at + size]
    elif kind == 6:
        other = draw.choice(pool)
        begin = draw.randrange(len(other) + 1)
        data[at:] = other[begin:]
    elif kind == 7:
        lines = data.split(b"\n")
        draw.shuffle(lines)
        data[:] = b"\n".join(lines)
    elif digits := [place for place, byte in enumerate(data) if 48 <= byte <= 57]:
        data[draw.choice(digits)] = 48 + draw.randrange(10)


def mutate(target: Target, place: Place, seed: int, executions: int, told: Told) -> int:
    """Reads so many mutated inputs; those with a new outcome are mutated further. Returns the number of outcomes."""
    inputs, seen = mutations(target, seed), set()
    data = next(inputs)
    for number in range(executions):
        outcome = judge(target, data, place)
        told(data, outcome)
        new = outcome.label not in seen
        seen.add(outcome.label)
        if number < executions - 1:
            data = inputs.send(new)
    return len(seen)


# ------------------------------------------------------------------ atheris


def has_atheris() -> bool:
    """Whether atheris can be imported."""
    try:
        import atheris  # noqa: F401
    except ImportError:
        return False
    return True


def instrument() -> int:
    """Has atheris count the branches of all loaded modules of grailbench, and of the parser of TOML; returns the number
    of functions. Functions that numba compiles stay as they are."""
    import atheris

    functions = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in ("grailbench", "tomllib") or name.startswith("grailbench.cuda"):
            continue
        for value in list(vars(module).values()):
            for each in [value] if not isinstance(value, type) else list(vars(value).values()):
                if hasattr(each, "py_func"):
                    continue
                inner = getattr(each, "fget", None) or getattr(each, "func", None) or getattr(each, "__func__", None)
                inner = inner or getattr(each, "__wrapped__", None) or each
                if isinstance(inner, types.FunctionType) and inner.__module__ == name:
                    functions[id(inner)] = inner
    for each in functions.values():
        atheris.instrument_func(each)
    return len(functions)


def fuzz(target: Target, place: Place, seed: int, executions: int, seconds: float, corpus: Path, told: Told) -> None:
    """Has atheris make and read inputs; those that reach new code are kept in the folder `corpus`. The process ends."""
    import atheris

    counters = [atheris._reserve_counter() for _ in range(OUTCOMES)]

    def read(data: bytes) -> None:
        outcome = judge(target, data, place)
        atheris._trace_branch(counters[zlib.crc32(outcome.label.encode("utf-8", "replace")) % OUTCOMES])
        told(data, outcome)

    corpus.mkdir(parents=True, exist_ok=True)
    words = place.folder.parent / f"{target.name}-{os.getpid()}.words"
    words.write_text("".join(f'"{_escaped(token)}"\n' for token in dict.fromkeys(target.tokens)))
    kept = [str(KEPT / target.name)] if (KEPT / target.name).is_dir() else []
    options = {
        "runs": executions, "max_total_time": max(1, int(seconds)), "seed": seed % (1 << 31) or 1,
        "max_len": target.most,
        "dict": words, "timeout": 36_000, "rss_limit_mb": 0, "detect_leaks": 0, "reload": 20, "len_control": 0,
        "print_final_stats": 1, "handle_segv": 0, "handle_abrt": 0, "handle_bus": 0, "handle_fpe": 0, "handle_ill": 0,
        "handle_int": 0, "handle_term": 0,
    }  # fmt: skip
    flags = [f"-{name}={value}" for name, value in options.items()]
    atheris.Setup(["fuzz", str(corpus), *kept, *flags], read, internal_libfuzzer=True)
    atheris.Fuzz()


def _escaped(token: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 and byte not in b'\\"' else f"\\x{byte:02x}" for byte in token)

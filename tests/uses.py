"""What makes a test slow: other processes, numba's simulator, the real graphs.

`marks` tells it from the code of a test, before it runs; `seen` holds what the running one did, so that no mark is
missing.
"""

import functools
import os
import sys
from types import CodeType, FunctionType

HERE = os.path.dirname(__file__)
_STARTING = {"subprocess", "call_apart", "in_python", "Browser"}  #: who names one of these starts a process

seen: set[str] = set()  #: 'processes' and 'simulator', each once it was used


def marks(item) -> set[str]:
    """The marks of a collected test: 'mirror' and 'processes' by itself and its fixtures, 'simulator' by its module."""
    fixtures = item._fixtureinfo.name2fixturedefs.values()
    functions = [item.function, *(each.func for several in fixtures for each in several)]
    return {
        *({"mirror"} & set(item.fixturenames)),
        *(["processes"] if any(_starts(function, set()) for function in functions) else []),
        *(["simulator"] if {"_simulated", "shapes", "SHAPES"} & set(vars(item.module)) else []),
    }


def _starts(function, known: set) -> bool:
    """Whether a function of the tests, or one of theirs that it calls, names what starts a process."""
    function = getattr(function, "__wrapped__", function)
    if not isinstance(function, FunctionType) or function in known:
        return False
    known.add(function)
    names, called = _named(function)
    return bool(names & _STARTING) or any(_starts(other, known) for other in called)


@functools.cache
def _named(function: FunctionType) -> tuple[set[str], list]:
    """The names that a function of the tests uses, and the functions of its module among them; of others, none."""
    if os.path.dirname(function.__code__.co_filename) != HERE:
        return set(), []
    names = _names(function.__code__)
    return names, [found for name in names if callable(found := function.__globals__.get(name))]


def _names(code: CodeType) -> set[str]:
    """The names that code uses, and functions inside it."""
    inside = (const for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*map(_names, inside))


def _hear(event: str, told: tuple) -> None:
    if event == "subprocess.Popen" and str(told[0]) == sys.executable:
        seen.add("processes")


sys.addaudithook(_hear)

"""What was tried to break a promise: one JSON file each under `results/reliability/`, which the page
`explanation/reliability` of the documentation shows.

A program of this folder is a function with the decorator `record.program`, and writes its file when it is given
`--record NAME`; the file is committed as it is.
"""

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from time import monotonic
from typing import NoReturn

import click
from click.core import ParameterSource

ROOT = Path(__file__).parents[2]
sys.path[:0] = [path for path in (str(ROOT / "tests"),) if path not in sys.path]  # what all tests share
FOLDER = ROOT / "results" / "reliability"
#: the sections of docs/explanation/reliability.md, in their order
AREAS = (
    "Kills, power loss and full disks", "Many processes, clocks and folders", "Sources of downloads",
    "Caches and temporary files", "Inputs", "Answers", "Determinism and threads", "Numbers", "Names in outputs", "GPU",
    "Long runs", "Supply and types",
)  # fmt: skip
KEYS = ("area", "promise", "test", "figure", "command", "date", "commit", "machine", "seconds", "details")
#: counts among the details that are 0 where the promise was kept
NONE_OF = ("broken", "crashes", "differences", "failures", "faults", "hangs", "leaks", "lost", "tracebacks", "wrong")


def write(
    name: str, *, area: str, promise: str, test: str, figure: str, command: str, seconds: float, kept: bool,
    details: Mapping[str, object],
) -> Path:  # fmt: skip
    """Write results/reliability/NAME.json and return its path.

    `area` is the section of the page; `promise` one plain sentence of what users can rely on; `test` the file that
    tries it; `figure` what was found, as "2,113 kills, 0 differences", and `details` the counts that it sums up;
    `command` repeats it. The commit is null where the checkout has changes. Raises ValueError if the promise is `kept`
    and a detail of `NONE_OF` is not 0.
    """
    if kept and (counts := broken(details)):
        raise ValueError(f"{name}: the promise was broken ({', '.join(counts)}), so it is not recorded as kept")
    found = {
        "area": area, "promise": promise, "test": test, "figure": figure, "command": command,
        "date": datetime.now(UTC).date().isoformat(), "commit": _commit(), "machine": this_machine(),
        "kept": kept, "seconds": round(seconds, 1), "details": dict(details),
    }  # fmt: skip
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


@dataclass(frozen=True)
class Found:
    """What a program found: `figure` in words, what was `wrong`, and the `details` that the figure sums up; `more` has
    arguments of `write` that differ from the usual ones. A promise is not recorded as kept if work is left `undone`."""

    figure: str
    wrong: Sequence[str] = ()
    details: Mapping[str, object] = field(default_factory=dict)
    undone: bool = False
    more: Mapping[str, object] = field(default_factory=dict)


def program(area: str, promise: str, night: str = "") -> Callable[[Callable[..., Found]], click.Command]:
    """A decorator of a function that tries to break a promise: makes it the command of its file, with --record and, if
    `night` says what its nightly length is, --nightly. Prints the figure; exit code 1 if the promise broke."""

    def decorate(work: Callable[..., Found]) -> click.Command:
        path = Path(work.__code__.co_filename).resolve()

        @wraps(work)
        def main(recorded: str | None, **given: object) -> NoReturn:
            began = monotonic()
            found = work(**given)
            seconds = monotonic() - began
            print(f"{found.figure}, {seconds:.0f} s", flush=True)
            if recorded:
                write(recorded, **{
                    "area": area, "promise": promise, "test": f"tests/faults/{path.name}", "figure": found.figure,
                    "command": _repeated(path.name), "seconds": seconds, "details": found.details,
                    "kept": not (found.wrong or found.undone), **found.more,
                })  # fmt: skip
            sys.exit(int(bool(found.wrong or found.undone)))

        main = click.option("--record", "recorded", metavar="NAME", help="Write results/reliability/NAME.json.")(main)
        if night:
            main = click.option("--nightly", is_flag=True, help=night)(main)
        return click.command(help=sys.modules[work.__module__].__doc__.partition("\n\n")[0])(main)

    return decorate


def _repeated(program: str) -> str:
    """The command line that was given, without folders and files of this machine."""
    context, words = click.get_current_context(), ["python", f"tests/faults/{program}"]
    for each in context.command.params:
        value = context.params[each.name]
        if context.get_parameter_source(each.name) is not ParameterSource.COMMANDLINE or isinstance(
            each.type, click.Path
        ):
            continue
        option = each.opts[0] if value is not False else each.secondary_opts[0]
        for one in value if each.multiple else [value]:
            words += [option] if isinstance(one, bool) else [option, str(one)]
    return shlex.join(words)


def warn(found: Sequence[str]) -> Sequence[str]:
    """Prints at once what is wrong."""
    for line in found:
        print(f"WRONG: {line}", file=sys.stderr, flush=True)
    return found


def rounds(seconds: float = 0.0) -> Iterator[int]:
    """0, 1, ... as long as there are seconds left; at least 0."""
    until, number = monotonic() + seconds, 0
    while number == 0 or monotonic() < until:
        yield number
        number += 1


def broken(details: Mapping[str, object]) -> list[str]:
    """The details that count what breaks a promise and are not 0, such as 'faults: 2'."""
    found = []
    for key, value in details.items():
        if isinstance(value, Mapping):
            found += broken(value)
        elif key in NONE_OF and value not in (0, None, [], ""):
            found.append(f"{key}: {value}")
    return found


def _commit() -> str | None:
    from grailbench.harness.environment import commit_state

    commit, changed = commit_state()
    return None if changed else commit


def this_machine() -> str:
    """The model of the processor, and of each GPU."""
    from grailbench.cuda.installed import gpus
    from grailbench.harness.environment import cpu_model

    return ", ".join([cpu_model(), *(gpu["name"] for gpu in gpus())])

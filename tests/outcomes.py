"""How a command ends, in tests: well, or with an exit code and words."""

import json

from commands import call


def succeeds(capture, *words):
    """Stdout and stderr of `grailbench WORDS`, whose exit code is 0."""
    code, out, err = call(capture, *words)
    assert code == 0, err
    return out, err


def as_json(capture, *words):
    """What `grailbench WORDS --json`, whose exit code is 0, prints: an object a line."""
    return [json.loads(line) for line in succeeds(capture, *words, "--json")[0].splitlines()]


def tells(capture, code, said, *words):
    """Stderr of `grailbench WORDS`, whose exit code is that and which says that there."""
    found, _, err = call(capture, *words)
    assert (found, said in err) == (code, True), err
    return err

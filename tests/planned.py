"""Plans and runs of a few cells, for tests."""

from watchers import Notes

from grailbench.harness.plan import Config, make_plan
from grailbench.harness.runner import run


def planned(*blocks):
    """The plan of these experiments."""
    return make_plan(Config.model_validate({"experiment": blocks}))


def ran(folder, *blocks, **how):
    """What came of a run of these experiments in `folder`, for which nothing is fetched."""
    return run(planned(*blocks), Notes(), fetch=False, out=folder, **how)

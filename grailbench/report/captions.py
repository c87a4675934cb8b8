"""The title and the caption of every figure by its name, from `captions.toml`.

The command line imports this module to know the names without importing the drawing code.
"""

import tomllib
from importlib.resources import files

_read = tomllib.loads(files("grailbench.report").joinpath("captions.toml").read_text("utf-8"))
CAPTIONS, OTHERS = (
    {name: (each["title"], each["caption"]) for name, each in _read[kind].items()} for kind in ("runs", "others")
)

"""Why warps stall, from a CSV of NVIDIA Nsight Compute: figure 8 of Computation 2020.

The CSV is made by `ncu --csv --page raw --section WarpStateStats --section SourceCounters ...`; the form with one line
per metric is read too. The shares come from samples of the program counter, which add up over kernels; without samples
they come from the average stall cycles per issued instruction, weighted by the duration of each kernel if it is known.
`stalls.csv` beside this module has the paper's word and the meaning of each stall reason of Nsight Compute.
"""

import io
import os
import warnings
from importlib.resources import files
from pathlib import Path

import pandas

from grailbench.errors import InputError
from grailbench.util.files import read_text
from grailbench.util.words import count

#: percent of all stalls as given in the paper's text; our copy of the paper lacks the figure itself
PRINTED = {"synchronization": 34.0, "memory throttle": 2.0}
FILE = "ncu.csv"  #: in a run's folder
COLUMNS = ("word", "reason", "meaning", "basis", "value", "share", "printed")

_SAMPLES = r"^smsp__pcsamp_warps_issue_stalled_(\w+?)(?:\.sum)?$"
_CYCLES = r"^(?:smsp__average_warps_issue_stalled_(\w+?)_per_issue_active(?:\.ratio)?|Stall (.+))$"  # or in details
_DURATION = r"^(?:gpu__time_duration(?:\.sum|_measured_\w+)?|Duration)$"
_LARGEST = 256 << 20  # bytes of a CSV that are read
_REMEDY = "ncu --csv --page raw ... > FILE"


def of_run(folder: Path, profile: str | os.PathLike | None = None) -> Path | None:
    """The profile to read: the given one, else that in the run's folder, else None."""
    if profile is not None:
        return Path(profile)
    return folder / FILE if (folder / FILE).is_file() else None


def read(path: str | os.PathLike) -> pandas.DataFrame:
    """One row per stall reason, largest first: word (the paper's), reason, meaning, basis ('samples' or 'cycles'),
    value, share (of all stalls; issuing is not a stall), printed (percent, if the paper's text gives it).

    Raises InputError if the file cannot be read, is not a CSV of Nsight Compute, or has no stall reasons.
    """
    path = Path(path)
    metrics = _metrics(path)
    samples = metrics.assign(reason=metrics.metric.str.extract(_SAMPLES)[0]).dropna(subset="reason")
    samples = samples[~samples.reason.str.endswith("_not_issued")]
    names = metrics.metric.str.extract(_CYCLES)
    cycles = metrics.assign(reason=names[0].fillna(names[1]).str.lower().str.replace(" ", "_")).dropna(subset="reason")
    durations = metrics[metrics.metric.str.match(_DURATION)].drop_duplicates("kernel").set_index("kernel").value
    cycles["value"] *= cycles.kernel.map(durations).astype(float).fillna(1.0)
    basis, found = ("samples", samples) if samples.value.any() else ("cycles", cycles)
    values = found.groupby("reason").value.sum()
    values = values[(values > 0) & (values.index != "selected")]
    if values.empty:
        raise InputError(
            f"has no stall reasons in its {count(metrics.kernel.nunique(), 'kernel')}", path=path,
            remedy="profile with --section WarpStateStats --section SourceCounters and --csv --page raw",
        )  # fmt: skip
    known = pandas.read_csv(files("grailbench.report").joinpath("stalls.csv")).set_index("reason")
    rows = []
    for name, value in sorted(values.items(), key=lambda each: (-each[1], each[0])):
        word, meaning = known.loc[name] if name in known.index else ("other", name.replace("_", " "))
        rows.append((word, name, meaning, basis, value, value / values.sum(), PRINTED.get(word)))
    return pandas.DataFrame(rows, columns=COLUMNS)


def _metrics(path: Path) -> pandas.DataFrame:
    """A row per kernel and metric that is a finite number, of a file of either form: kernel, metric, value."""
    try:
        text = read_text(path, "utf-8-sig", most=_LARGEST)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", path=path) from None
    lines = [line for line in text.splitlines() if line.startswith('"')]  # skip the log lines of ncu
    try:
        rows = io.StringIO("\n".join(lines))
        with warnings.catch_warnings(action="error", category=pandas.errors.ParserWarning):
            found = pandas.read_csv(rows, dtype=str, index_col=False) if lines else None
    except (ValueError, pandas.errors.ParserWarning) as error:
        raise InputError(f"is no CSV: {error}", path=path) from None
    if found is None or "Kernel Name" not in found:
        raise InputError("is no CSV of Nsight Compute", path=path, remedy=_REMEDY)
    if "Metric Name" in found:
        if missing := [name for name in ("ID", "Metric Value") if name not in found]:
            raise InputError(f"has no column {missing[0]!r}", path=path, remedy=_REMEDY)
        found = found[["ID", "Metric Name", "Metric Value"]].set_axis(["kernel", "metric", "value"], axis=1)
    else:  # the second line holds units
        found = found.loc[:, found.columns.str.contains("__")].reset_index(names="kernel")
        found = found.melt("kernel", var_name="metric", value_name="value")
    value = pandas.to_numeric(found.value.astype(str).str.replace(",", ""), errors="coerce")
    found = found.assign(metric=found.metric.astype(str), value=value)
    return found[value.abs() < float("inf")]

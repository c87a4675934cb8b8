"""Other programs and what they print."""

from __future__ import annotations

import subprocess


def output(command: list[str], seconds: float) -> str | None:
    """Returns what a command prints, stripped; None if it is missing, fails or takes longer than `seconds`."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None

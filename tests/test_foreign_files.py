"""Files of the user in folders that commands are given or use stay as they are (`tests/faults/foreign_files.py`)."""

from pathlib import Path

import foreign_files
from commands import in_python

SHORT = """
import sys
sys.path.insert(0, {faults!r})
import foreign_files as tried
streamed = tuple(words for words in tried.REFUSED if words[0] == "build")
some = (("cache", "--prune"), ("fetch", "--all"), *streamed[:2], streamed[-1])
print(*tried.trial(1, 3, some, (("fetch", "--all"),)), *tried.unmarked(some[:2]), sep="\\n", end="")
"""


def test_files_of_the_user_stay_where_commands_write_and_remove():
    """Files in the cache were removed, and folders with hidden files were emptied."""
    assert in_python(SHORT.format(faults=str(Path(foreign_files.__file__).parent))) == (0, "")

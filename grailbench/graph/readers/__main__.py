"""`python -m grailbench.graph.readers FILE [FORMAT]` prints how fast a file is read."""

import sys

from grailbench.graph.readers import benchmark

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m grailbench.graph.readers FILE [FORMAT]")
    sys.stdout.write(benchmark(*sys.argv[1:]) + "\n")

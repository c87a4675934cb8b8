# The README's two commands in a container. Not built in CI.
#
#   docker build -t grailbench .
#   docker run --rm --network none grailbench                    the quickstart; look-alikes for graphs that are not here
#   docker run --rm --network none -v "$PWD/runs:/home/bench/grailbench/results/runs" grailbench       keeps the run
#   docker run --rm --network none grailbench make test          the tests again
#
# The image is built with the network, for packages, and runs without. Graphs are taken from a folder that is mounted
# and named by -e GRAILBENCH_MIRROR=/graphs -v /path/of/graphs:/graphs:ro, where given. The folder of a volume must be
# writable for user 1000.
#
# GPU: install the NVIDIA Container Toolkit, add after the tests
#   RUN .venv/bin/python -m pip install -e '.[gpu]'
# and run with --gpus all. Times in a container are those of the machine; its limits (cores, memory) are in the record.

FROM python:3.12-slim

RUN apt-get update && apt-get install -y --no-install-recommends git make && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 bench
USER bench
WORKDIR /home/bench/grailbench
COPY --chown=bench:bench . .

RUN make test
CMD ["make", "bench"]

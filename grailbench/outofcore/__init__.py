"""`streamed`: the labels of `gpu-fused` for graphs whose edges do not fit the memory.

folder    the stages of a build on disk, of which each is whole or is not there
edges     stage 1: edges made unique and sorted
levels    stage 2: levels and order, by semi-external peeling
blocks    stage 3: edges as compressed blocks in the order of levels
labels    stages 4 and 5: trees, then labels and hubs, by passes over the blocks
search    answers on the CPU
build     all stages, and the file of an index that was built of a stream
index     the implementation
"""

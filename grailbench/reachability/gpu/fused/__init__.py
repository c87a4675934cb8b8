"""`gpu-fused`: our own pipeline. `index` is what the harness sees, `replicas` one GPU or several.

records   label records, the hash, sibling orders         filter   what the filters decide, a thread a query
hubs      the 64 hubs, found on the device                search   a warp, then a block a query, from both ends
grid      labels by one cooperative grid                  sweep    bit masks, for what is left
segments  its reduction of edges to their sources         batch    the stages of a batch, one after the other
small     labels in shared memory, a block a pair         check    what is wrong with labels, on the host
labeler   which of the two, and their arrays
"""

"""`gpu-fused`: our own pipeline. `index` is what the harness sees, `fleet` one GPU or several.

records   label records, the hash, sibling orders         filter   what the filters settle, a thread a query
hubs      the 64 hubs, found on the device                search   a warp, then a block a query, from both ends
grid      labels by one cooperative grid                  sweep    bit masks, for what is left
small     labels in shared memory, a block a pair         batch    the stages of a batch, one after the other
labeler   which of the two, and their arrays              check    what is wrong with labels, on the host
"""

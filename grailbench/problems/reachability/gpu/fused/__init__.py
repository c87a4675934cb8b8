"""`gpu-fused`: our own pipeline. `index` has the index for the harness, `replicas` runs it on one GPU or several.

records   label records, the hash, sibling orders         filter   the filters, one thread per query
hubs      the choice of the 64 hubs on the device         search   from both ends, one warp, then one block per query
grid      labels by one cooperative grid                  sweep    bit masks, for the queries left open
segments  its reduction of edges to their sources         batch    the stages of a batch, one after the other
small     labels in shared memory, one block per pair     check    the check of labels, on the host
labeler   chooses one of the two, and has their arrays
"""

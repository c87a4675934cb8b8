"""`gpu-fused`: our own pipeline. `index` has the index for the harness, `replicas` runs it on one GPU or several."""

#: edges from which on the device renumbers a condensed graph; with fewer, the host is ready before. So it is with the
#: edges of other graphs up to 11/8 of these, where 1,500 levels take the device 5 ms
FEWEST = 1 << 17

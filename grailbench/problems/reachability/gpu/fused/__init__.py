"""`gpu-fused`: our own pipeline. `index` has the index for the harness, `replicas` runs it on one GPU or several."""

"""Closures on the GPU; only what is called imports the device."""

"""What any program needs, below every package: files put whole, folders, caches, errors of the machine, texts."""

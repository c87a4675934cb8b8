"""What the whole program needs of the system: files, folders, signals, memory, text."""

__version__ = "1.0.0"

"""The version of grailbench."""

__version__ = "0.1.0"

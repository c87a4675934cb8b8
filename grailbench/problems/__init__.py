"""The problems: a package each, with the contract between them and the harness."""

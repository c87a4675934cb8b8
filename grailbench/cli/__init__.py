"""The command line: one file for each command, which parses options and leaves the work to other packages."""

"""The command line: commands, a file for those of one subject, which parse options and leave the work to other packages."""

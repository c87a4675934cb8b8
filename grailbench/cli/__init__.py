"""The command line: commands, a file for those of one subject, which leave the work to other packages."""

"""`python -m grailbench` is the command `grailbench`."""

from grailbench.cli.main import main

if __name__ == "__main__":
    main()

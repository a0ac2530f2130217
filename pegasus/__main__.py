"""The `pegasus` command as `python -m pegasus`."""

from pegasus.cli import main

if __name__ == "__main__":
    main()

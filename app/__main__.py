"""`python -m app`: the same entry as the `codecoil` command."""

import sys

from app.command_line import main

if __name__ == "__main__":
    sys.exit(main())

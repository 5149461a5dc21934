"""`python -m tilesat`, the same as the `tilesat` command."""

import sys

from tilesat.cli import main

if __name__ == "__main__":
    sys.exit(main())

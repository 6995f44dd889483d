"""Run the command `sgbn` by ``python -m sgbn``."""

import sys

from sgbn.cli.main import main

sys.exit(main())

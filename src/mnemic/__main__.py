"""The command `mnemic`, as `python -m mnemic`."""

from mnemic.cli import main

raise SystemExit(main())

"""`python -m dinoml.cli`."""

from dinoml.cli import main

raise SystemExit(main())

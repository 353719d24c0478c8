"""`python -m clover_decide.cli`."""

from clover_decide.cli.main import main

main()

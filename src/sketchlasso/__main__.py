"""`python -m sketchlasso` is the command `sketchlasso`."""

from sketchlasso.interfaces.cli import main

main()

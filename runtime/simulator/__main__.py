"""The command line as a module."""

from runtime.simulator.command import main

main()

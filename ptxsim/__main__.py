"""The command line as a module."""

from ptxsim.command import main

main()

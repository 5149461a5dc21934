"""The commands, one module each with `run(arguments) -> exit code`; loaded only when called."""

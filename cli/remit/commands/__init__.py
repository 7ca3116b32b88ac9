"""Floor 7: argv, printing, exit codes."""

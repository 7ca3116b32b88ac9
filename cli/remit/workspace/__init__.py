"""Floor 2: files and processes, held beneath one root."""

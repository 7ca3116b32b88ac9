"""Floor 2: the web through a guard."""

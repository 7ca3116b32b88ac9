"""Floor 4: turns, calls, budgets."""

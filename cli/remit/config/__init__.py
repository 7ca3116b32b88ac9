"""Floor 1: settings and task files; each value knows its origin."""

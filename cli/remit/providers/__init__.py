"""Floor 3: models behind one port."""

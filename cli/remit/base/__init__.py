"""Floor 0: the words every other room shares. No I/O, no clock, no environment."""

"""Floor 1: what a run keeps on disk, one store per noun."""

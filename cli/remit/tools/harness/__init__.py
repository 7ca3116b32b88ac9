"""Tools of the harness itself: offered by need, never ticked."""

"""Floor 2: the event stream as lines, as text, and back."""

"""The `code` toolset: what the source of a tree defines, what refers to what, and what matters in it."""

"""Code intelligence: what a source tree defines, what refers to what, and what matters in it."""

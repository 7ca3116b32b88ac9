"""remit runs an LLM agent where nobody is watching."""

__version__ = "0.1.0"

"""The `agents` toolset: what an agent that works for long keeps and hands on."""

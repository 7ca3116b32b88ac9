"""The `execution` toolset: commands, scripts and what they run on."""

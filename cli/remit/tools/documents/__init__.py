"""The `documents` toolset: reports from files and the web, with strict limits."""

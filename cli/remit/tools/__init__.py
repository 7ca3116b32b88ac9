"""Floor 3: the tools. Folder = toolset, file = tool."""

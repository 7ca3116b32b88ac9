"""The `files` toolset: reading, finding and changing the files of a workspace."""

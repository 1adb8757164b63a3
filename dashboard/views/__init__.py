"""The pages, one a file: ask the workspace, then draw."""

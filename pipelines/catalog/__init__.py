"""The index of a workspace in DuckDB: it can be made anew from the workspace's files at any time."""

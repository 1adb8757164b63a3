"""The command line: a thin face of the workspace, over a running server or on the workspace itself."""

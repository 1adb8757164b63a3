"""The REST client: a running server as a workspace, for the command line and notebooks."""

"""Plans the queries of a script without running them: a sandbox process in which `start` plans, and nothing else happens."""

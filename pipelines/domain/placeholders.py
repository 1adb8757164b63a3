"""What stands in the arguments and confs of a version for what a run, a fork or another machine has elsewhere."""

OUTPUT = "{output}"
"""Becomes the job's own output directory."""
JOB = "{job}"
"""Becomes the job's name, for what is no directory: a fork's own schema, topic or table."""
CODE = "{code}"
"""Becomes the folder of the version's script and its files; also in its requirements."""

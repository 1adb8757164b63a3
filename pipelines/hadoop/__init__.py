"""Paths at homes, in the JVM of a running Spark: of drivers, with which it travels, and of the sandbox."""

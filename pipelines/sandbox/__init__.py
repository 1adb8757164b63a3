"""One-off Spark work in a process of its own: counting and reading state, and the Java that Spark runs on."""

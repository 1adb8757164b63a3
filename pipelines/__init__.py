"""Tidemark: savepoints for Spark Structured Streaming."""

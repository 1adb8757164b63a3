"""Runs inside the job's Spark process: executes a PySpark script unchanged and records what its queries do."""

"""Streaming jobs: plain PySpark that runs under spark-submit as well; they import nothing of ours."""

"""Reads Spark's checkpoint directories, and says what is damaged in them (the doctor). Never writes, never imports PySpark."""

"""Reads the input of a batch again, source by source, before the job's own code sees it."""

"""Starts, adopts and stops drivers, so that what is seen becomes what is wanted; watches attached jobs."""

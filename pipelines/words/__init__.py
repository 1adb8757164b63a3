"""Texts for people, the same on pages and on the command line: numbers, times, trust, plans, progress. Pure."""

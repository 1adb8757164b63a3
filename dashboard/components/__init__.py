"""Pieces of a page that need JavaScript of their own."""

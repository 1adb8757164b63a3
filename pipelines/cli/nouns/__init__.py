"""Additions of the command line, a module a noun: texts of answers, filled-in fields, commands by hand."""

"""Metrics pushed to OTLP and StatsD: the figures of `/metrics` under the same names, from a thread of each receiver."""

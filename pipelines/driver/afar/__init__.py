"""A driver on a cluster (cluster mode), which shares no disk with the server: how it gets there, and what it says and hears from there."""

"""Processes of our own for work on what strangers give: a request goes in, an answer comes out, within hard limits of time and memory."""

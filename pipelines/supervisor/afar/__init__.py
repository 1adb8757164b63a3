"""Runs in cluster mode: a process of this machine stands for the driver that YARN runs, and the supervisor sees it as any other driver."""

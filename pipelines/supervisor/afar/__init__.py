"""Runs in cluster mode: a process of this machine stands for the driver that a cluster runs; the supervisor sees it as any other."""

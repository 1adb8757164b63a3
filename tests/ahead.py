"""`python -m tests.ahead`: makes what the first test that needs it would wait for, beside whatever else is done.

A test that comes to it earlier waits for it (each is made under a lock of its own), and makes it where this failed.
"""

from __future__ import annotations

import sys

from tests import java, local_files, runtimes

if __name__ == "__main__":
    local_files.prepare()
    java.prepare()
    for version in (runtimes.USUAL, runtimes.NEWER):
        sys.stderr.write(f"PySpark {version}: {runtimes.python(version)}\n")

"""`python3 -m tests.maven [NAME ...]`: fetches the jars of these lists, by default of all."""

from __future__ import annotations

import sys

from tests import maven

if __name__ == "__main__":
    for name in sys.argv[1:] or maven.names():
        maven.fetch(name)
        sys.stderr.write(f"{name}: {maven.folder(name)}\n")

"""Runs a verb where the system really refuses it, in a process of its own: `python -m tests.savepoint.refused REFUSAL VERB FOLDER`.

Prints as JSON what was raised, which files are left of it or lost, and what is listed. `full` and `read-only` mount a file system of their
own and need a mount namespace (`unshare -rm`); `denied` gives up root's rights.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

from pipelines.domain.errors import TidemarkError
from pipelines.domain.ids import SavepointId
from pipelines.savepoint import dispose, library, restore
from tests.savepoint.golden import NOW_MS, Bench

SP = SavepointId("sp-1")
DISK = "4m"
LEFT_BYTES = 100_000
NOBODY = 65534


def run(verb: str, bench: Bench) -> TidemarkError | None:
    try:
        if verb == "take":
            bench.take("sp-2")
        elif verb == "dispose":
            dispose.dispose(bench.library, SP, NOW_MS)
        else:
            restore.restore(bench.library, SP, bench.fork(), NOW_MS)
    except TidemarkError as error:
        return error
    return None


def mount(folder: Path, size: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)


def refuse(refusal: str, place: Path) -> None:
    """Makes writing to `place` fail from here on."""
    if refusal == "denied":
        place.chmod(0o555)
        if os.geteuid() == 0:
            os.setresuid(NOBODY, NOBODY, NOBODY)
    elif refusal == "full":
        fill(place / "filler")
    else:
        subprocess.run(["mount", "--bind", str(place), str(place)], check=True)
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)


def fill(filler: Path) -> None:
    """Takes all that is left of the disk but a little: the work begins, and breaks off in the middle."""
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(filler, max(0, filler.stat().st_size - LEFT_BYTES))


def main(refusal: str, verb: str, folder: Path) -> None:
    """The place that refuses is the library's for `take` and `dispose`, that of the new checkpoints for `fork`."""
    bench = Bench(folder)
    place = folder / ("forks" if verb == "fork" else "savepoints")
    place.mkdir()
    if refusal == "full":
        mount(place, DISK)
    bench.take("sp-1")
    refuse(refusal, place)
    before = bench.files(place)
    error = run(verb, bench)
    after = bench.files(place)
    listed = [savepoint.id for savepoint in library.shelf(bench.library).savepoints]
    error_json = {} if error is None else error.as_json()["error"]
    print(json.dumps({"error": error_json, "left": sorted(after - before), "lost": sorted(before - after), "listed": listed}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))

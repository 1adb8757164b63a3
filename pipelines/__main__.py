"""`python -m pipelines VERB`: the command line, in the environment that `python3 -m dashboard` prepared."""

import gc
import os
import sys
from importlib.util import find_spec
from pathlib import Path

PREPARED = Path(__file__).resolve().parent.parent / ".venv"


def enter() -> None:
    """Goes on in the prepared environment where this Python lacks what Tidemark needs; ends with a hint where there is none."""
    if find_spec("typer") is not None:
        return
    python = PREPARED / "bin" / "python"
    if not python.is_file() or Path(sys.prefix).resolve() == PREPARED:
        sys.exit("error: Tidemark's environment is not prepared\nhint: Run python3 -m dashboard once; it prepares .venv.")
    os.execv(str(python), [str(python), "-m", "pipelines", *sys.argv[1:]])


if __name__ == "__main__":
    enter()
    # Nothing that an import makes is garbage: collecting takes a fifth of the time of a command that only asks.
    gc.disable()
    from pipelines.cli.start import main

    gc.freeze()
    gc.enable()

    main(sys.argv[1:])

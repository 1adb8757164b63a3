"""Input files of golden checkpoints: there, with the names that the checkpoint's log of them says."""

from __future__ import annotations

from pathlib import Path

FIRST_MS = 1_767_225_600_000
"""The time of the first file, epoch ms; each other one is a second younger."""


def lay_input(checkpoint: Path, folder: Path) -> list[Path]:
    """The input files of a laid golden checkpoint, empty, in `folder`; its log names them there."""
    folder.mkdir()
    name_input(checkpoint, folder.as_uri())
    files = [folder / f"{number:03d}.json" for number in range(13)]
    for file in files:
        file.touch()
    return files


def name_input(checkpoint: Path, folder: str) -> None:
    """The log of the checkpoint's input names its files in the folder at this URL."""
    for log in (checkpoint / "sources" / "0").iterdir():
        if log.name.startswith("."):
            log.unlink()
            continue
        text = log.read_text()
        log.write_text(text.replace(text.partition('"path":"')[2].partition('"')[0].rpartition("/")[0], folder))

"""A fork's output holds its history: the data files that the savepoint's sink log names, linked into the fork's own directory.

Spark lists a file sink's output by its log, and drops without a word what lies outside of the directory that it was asked to
read (MetadataLogFileIndex). So a log alone is not enough: the files come along, and the log names them where they are now.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pipelines.domain import java_paths
from pipelines.hadoop.paths import Place

_NO_LINK = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS}


@dataclass(frozen=True)
class History:
    """The directory that the entries of a carried log name, and the one that they shall name: both local."""

    root: Path
    sink: Path

    @property
    def moves(self) -> bool:
        """Whether the fork writes elsewhere; a resume does not."""
        return self.root != self.sink

    def entry(self, line: str) -> str:
        """One line of the log with its path below `sink`; a line that names no file below `root` stays as it is."""
        inner = self._inner(line)
        if inner is None:
            return line
        return json.dumps(json.loads(line) | {"path": java_paths.address(str(self.sink / inner))}, separators=(",", ":"))

    def bring(self, lines: Iterable[str]) -> int:
        """Links the files that `lines` name (copies where a link cannot be) with their checksums; answers how many are gone."""
        missing = 0
        for inner in self._live(list(lines)):
            present = bring(self.root / inner, self.sink / inner)
            bring(_checksum(self.root / inner), _checksum(self.sink / inner))
            missing += not present
        return missing

    def _live(self, lines: list[str]) -> list[Path]:
        """The files that `lines` add, less those that one of them deletes."""
        deleted = {self._inner(line) for line in lines if '"action":"delete"' in line.replace(" ", "")}
        return [inner for inner in map(self._inner, lines) if inner is not None and inner not in deleted]

    def _inner(self, line: str) -> Path | None:
        if not line.startswith("{"):
            return None
        path = Path(unquote(urlsplit(json.loads(line)["path"]).path))
        return path.relative_to(self.root) if path.is_relative_to(self.root) else None


def lines_of(logs: Iterable[Place]) -> Iterator[str]:
    """Every line of these log files, version lines too."""
    for log in logs:
        yield from log.read_text().splitlines()


def bring(source: Path, target: Path) -> bool:
    """Whether `target` is there afterwards. A copy takes its name when it is whole, so a crash leaves no half file under it."""
    if target.exists():
        return True
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        aside = target.with_name(f".{target.name}.tmp")
        shutil.copy2(source, aside)
        aside.rename(target)
    return True


def _checksum(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")

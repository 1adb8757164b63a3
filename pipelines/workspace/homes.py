"""Savepoints outside of the workspace: where each lies, listed here though its home is away, and cleaned of what a crash left there.

The workspace keeps a note for each, and goes to no other folder of a home: several workspaces share one without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from pipelines.domain.errors import Invalid, TidemarkError, Unavailable, Unsupported
from pipelines.domain.homes import MARK, WORKSPACE, Home, is_untried, mark_of, unmarked
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.job_places import home_of
from pipelines.domain.savepoints import Savepoint
from pipelines.savepoint import library
from pipelines.savepoint.addresses import address
from pipelines.storage import folders
from pipelines.storage.addresses import STORE_ADDRESSES, is_whole, open_storage
from pipelines.storage.protocol import Storage
from pipelines.workspace.context import Context, away, is_away
from pipelines.workspace.files import readable

MARK_SAYS = b"Jobs or savepoints of Tidemark are kept in this folder. While this file is missing, the disk counts as not mounted.\n"


BESIDE = "tidemark-savepoints"
"""Folder beside the checkpoint of a job that runs elsewhere."""


class Asked:
    """Which homes are away, for one piece of work: a home that did not answer is not asked by it again."""

    def __init__(self) -> None:
        self._away: set[str] = set()

    def is_away(self, url: str) -> bool:
        return url in self._away

    @contextmanager
    def asking(self, url: str) -> Iterator[None]:
        """Something is asked of this home; what that raises is passed on, and where it is that nobody answers the home is away."""
        try:
            yield
        except Unavailable:
            self._away.add(url)
            raise


def of_job(context: Context, job: JobName, checkpoint: str) -> str:
    """Where new savepoints of the job are kept; empty for the workspace. Where nobody said that, those of a job that runs elsewhere and has
    its `checkpoint` in S3 or HDFS are beside that: its state need not come here."""
    known = context.files.job(job)
    said = (known.home if known else "") or context.files.usual_home().home
    if not said and known is not None and known.attached and checkpoint.startswith(STORE_ADDRESSES):
        return f"{address(checkpoint).parent.url.rstrip('/')}/{BESIDE}"
    return "" if said == WORKSPACE else said


def checked(context: Context, url: str, *, untested: bool = False) -> str:
    """`url` as a home; raises Invalid (`home.inside`, `home.relative`, those of an address), Unsupported (`home.untried`) for a storage no
    suite ran on, unless it may be `untested`."""
    if is_untried(url) and not untested:
        scheme = url.partition("://")[0]
        hint = "Name a place in S3 or HDFS; or try it out (home check), and say --untested. A savepoint can be exported there, too (--to)."
        raise Unsupported("home.untried", f"No test of Tidemark ran on a real {scheme}:// yet", hint)
    at = address(f"{url.removesuffix('/')}/home" if url.strip() else url).parent
    if not is_whole(url):
        raise Invalid("home.relative", f"{url!r} is no whole path", "Give the whole path: /mnt/backup/savepoints.")
    if context.holds(at.url):
        raise Invalid("home.inside", f"{at.url} is inside of the workspace", "Leave --home out: savepoints are kept in the workspace then.")
    return at.url


def begin(context: Context, savepoint: SavepointId, job: JobName, url: str) -> Storage:
    """Notes that the savepoint of `job` will be at `url`, before anything is written there: the next opening looks after a crash.

    A folder of this machine is made first, with a mark in it: from here on one that is missing, or empty, is one that is away. Raises
    Unavailable (`home.away`) where it is: what is put below a disk that is not mounted would hide what lies on it.
    """
    home = open_storage(url)
    refuse_away(context, home)
    mark(home)
    _note(context, savepoint, Home(url, job, settled=False))
    return context.shelf(savepoint)


def refuse_away(context: Context, home: Storage) -> None:
    """Raises Unavailable (`home.away`) for a folder that is not there, or empty, and was a home: set as one, or with savepoints in it; and
    for one without its mark that jobs are at."""
    if not folders.local(home) or Path(home.url, MARK).is_file():
        return
    if any(home_of(job.place) == home.url for job in readable(context.files.job, context.files.job_names(), [])):
        raise unmarked(mark_of(home.url))
    if is_away(home) and _was_set(context, home.url):
        raise away(home)


def _was_set(context: Context, url: str) -> bool:
    return url in context.files.usual_home().marked or any(note.settled and note.url == url for note in noted(context, []).values())


def mark(home: Storage) -> None:
    """Makes a folder of this machine, with the mark by which it is known to be there."""
    folders.make_shared(home)
    if folders.local(home) and not Path(home.url, MARK).exists():
        home.write(MARK, MARK_SAYS)


def unsettle(context: Context, savepoint: SavepointId) -> None:
    """From now on the next opening completes its disposal; nothing is done for one in the workspace."""
    _settle(context, savepoint, settled=False)


def settle(context: Context, savepoint: SavepointId) -> None:
    """It is published, and nobody is disposing of it; nothing is done for one in the workspace."""
    _settle(context, savepoint, settled=True)


def forget(context: Context, savepoint: SavepointId) -> None:
    """The savepoint is gone."""
    context.files.remove(context.layout.home_file(savepoint))


def _settle(context: Context, savepoint: SavepointId, *, settled: bool) -> None:
    home = context.files.home(savepoint)
    if home is not None:
        _note(context, savepoint, replace(home, settled=settled))


def _note(context: Context, savepoint: SavepointId, home: Home) -> None:
    context.layout.homes.mkdir(exist_ok=True)
    context.files.write(context.layout.home_file(savepoint), home)


def noted(context: Context, errors: list[TidemarkError]) -> Mapping[SavepointId, Home]:
    """Every note that can be read, by savepoint; errors of the others go to `errors`."""
    return dict(readable(lambda savepoint: _with_id(context, savepoint), context.files.home_ids(), errors))


def _with_id(context: Context, savepoint: SavepointId) -> tuple[SavepointId, Home] | None:
    home = context.files.home(savepoint)
    return (savepoint, home) if home is not None else None


def refuse_unread(context: Context, savepoint: str) -> None:
    """Raises Unavailable (`home.unread`) for a savepoint that was published at its home, and that no list shows because nobody could read
    it there since the catalog was lost; Corrupt where its note is damaged."""
    home = context.files.home(SavepointId(savepoint)) if savepoint in context.files.home_ids() else None
    if home is not None and home.settled:
        message = f"Savepoint {savepoint} of {home.job} lies at {home.url}, and could not be read there yet"
        raise Unavailable("home.unread", message, "Rebuild the catalog when that storage answers.")


def gone(context: Context, savepoint: SavepointId) -> bool:
    """Whether somebody removed a published savepoint from its home, which itself is there."""
    home = context.files.home(savepoint)
    return home is not None and home.settled and next(iter(context.shelf(savepoint).list(savepoint)), None) is None


def read(context: Context, listed: Mapping[SavepointId, Savepoint], errors: list[TidemarkError]) -> Iterator[Savepoint]:
    """The savepoints that lie elsewhere, read there; of a home that is away those that are `listed`, as they are, and so those that are
    being disposed of. Each such home is asked once, and its error goes to `errors`, like those of savepoints that cannot be read."""
    asked = Asked()
    for savepoint, home in noted(context, errors).items():
        try:
            if home.settled and not asked.is_away(home.url):
                with asked.asking(home.url):
                    yield library.load(context.shelf(savepoint), savepoint)
        except TidemarkError as error:
            errors.append(error)
        if (not home.settled or asked.is_away(home.url)) and savepoint in listed:
            yield listed[savepoint]


def reachable(context: Context, savepoints: Iterable[Savepoint]) -> Iterator[Savepoint]:
    """Those of `savepoints` whose files can be asked for: all in the workspace, and those of homes that answer, each asked once."""
    asked, answering = Asked(), set[str]()
    for savepoint in savepoints:
        home = savepoint.path.rpartition("/")[0]
        if context.layout.home_file(savepoint.id).exists() and home not in answering:
            with suppress(TidemarkError), asked.asking(home):
                if not asked.is_away(home):
                    next(iter(context.shelf(savepoint.id).list(savepoint.id)), None)
                    answering.add(home)
            if home not in answering:
                continue
        yield savepoint

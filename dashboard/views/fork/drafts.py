"""Drafts of forks: variants as they were typed, and the changes that they become. Pure."""

from __future__ import annotations

import enum
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dashboard.typed import Limits, free_name, query_names, words
from dashboard.views.fork.confs import confs_text, settings, without_event_log
from pipelines.domain.conversions import StateStore
from pipelines.domain.errors import Conflict, Invalid
from pipelines.domain.event_logs import ENABLED
from pipelines.domain.ids import query_name
from pipelines.domain.migrations import COLUMNS
from pipelines.domain.resources import ALL, Resources
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.verbs import fork

LETTERS = "ABCDEF"


class Batches(enum.StrEnum):
    """Whose offsets the fork's batches have."""

    OWN = "own"
    PARENTS = "parents"
    """Lock-step, on and on."""
    UNTIL_NOW = "until_now"
    """What if: lock-step up to where the parent stands."""
    UNTIL_SAVEPOINT = "until_savepoint"
    """What if: up to another savepoint of the parent."""
    UNTIL_TIME = "until_time"
    """What if: up to the parent's newest batch at or before a time."""


class Migrate(enum.StrEnum):
    """How its state is rewritten for its code."""

    NOT = "not"
    BY_COLUMNS = "by_columns"
    BY_FUNCTION = "by_function"


TEMPLATE = """from pyspark.sql import DataFrame, functions as F
from pyspark.sql.types import StructType


def migrate(rows: DataFrame, schema: StructType, name: str) -> DataFrame:
    value = schema["value"].dataType
    return rows.select("key", F.struct(*[F.col(f"value.{field.name}") for field in value]).alias("value"))
"""
"""A function to begin with."""


@dataclass(frozen=True)
class Variant:
    """One fork in the making. `arguments` and `confs` are the text as typed; another `revision` begins the editor anew from `code`."""

    letter: str
    name: str
    script: str
    code: str
    arguments: str
    confs: str
    master: str
    python: str = ""
    java_home: str = ""
    revision: int = 0
    sinks: Mapping[str, str] = field(default_factory=dict)
    """Query -> `fresh` where its output shall not continue the parent's."""
    new_queries: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Path -> content of the files beside the script, as a version has them."""
    requirements: str = ""
    """A requirements file, as typed."""
    partitions: int | None = None
    """How many its state gets; None: as many as it has."""
    store: StateStore | None = None
    """Where its state is moved to; None: it stays where it is."""
    migrate: Migrate = Migrate.NOT
    function: str = "migrate"
    migration: str = ""
    """The function that makes the new rows of its aggregations, and the text of its file; a template where that is empty."""
    drop: tuple[str, ...] = ()
    """What of the state is accepted as dropped."""
    map: Mapping[str, str] = field(default_factory=dict)
    """Which operator goes on as which, where the plans do not tell."""
    batches: Batches = Batches.OWN
    end: str = ""
    """The savepoint at which a what-if up to one ends; empty where none was chosen."""
    end_ms: int | None = None
    """The time at which one up to a time ends; None where none was given."""
    event_log: str = ""
    """What the conf of Spark's event log says, which is not among `confs`; empty for nothing."""
    limits: Limits = field(default_factory=Limits)
    offsets: Mapping[str, str] = field(default_factory=dict)
    """`QUERY.SOURCE` -> where it goes on, as typed, where that is elsewhere than the savepoint says."""
    home: str = ""
    """Where its bytes lie, as typed; empty for the workspace."""
    inherited: Resources = ALL
    """What it may take, as typed; what it may where that says nothing else, as its parent."""

    def asked(self) -> fork.Variant:
        """The workspace's variant; Invalid (`form.arguments`, `fork.confs`, `fork.no_end`, `resources.size`, `resources.cpus`) where the
        text cannot be read."""
        memory_bytes, cpus = self.limits.differing(self.inherited)
        return fork.Variant(
            name=self.name.strip(),
            code=self.code,
            script=self.script,
            args=words(self.arguments),
            conf=settings(self.confs) | ({ENABLED: self.event_log} if self.event_log else {}),
            master=self.master.strip() or None,
            python=self.python.strip(),
            java_home=self.java_home.strip(),
            sinks=self.sinks,
            new_queries=self.new_queries,
            files=dict(self.files) or None,
            requirements=self.requirements,
            memory_bytes=memory_bytes,
            cpus=cpus,
            partitions=self.partitions,
            store=self.store,
            migrate=self._migrate(),
            drop=self.drop,
            map=dict(self.map) or None,
            lock_step=self.batches is Batches.PARENTS,
            offsets={source: position.strip() for source, position in self.offsets.items() if position.strip()},
            home=self.home.strip(),
            until=self._until(),
            until_ms=self.end_ms if self.batches is Batches.UNTIL_TIME else None,
        )

    def _until(self) -> str:
        has_end = {Batches.UNTIL_SAVEPOINT: bool(self.end), Batches.UNTIL_TIME: self.end_ms is not None}
        if not has_end.get(self.batches, True):
            raise Invalid("fork.no_end", "It is not said where the what-if ends", "Choose it under Batches.")
        return {Batches.UNTIL_NOW: fork.NOW, Batches.UNTIL_SAVEPOINT: self.end}.get(self.batches, "")

    def _migrate(self) -> dict[str, str] | None:
        by_function = {self.function.strip(): self.migration or TEMPLATE}
        return {Migrate.BY_COLUMNS: {COLUMNS: ""}, Migrate.BY_FUNCTION: by_function}.get(self.migrate)

    def inheriting(self, resources: Resources) -> Variant:
        """The same of a parent that may take `resources` now; what was typed otherwise stays."""
        untouched = self.limits == Limits.of(self.inherited)
        return replace(self, inherited=resources, limits=Limits.of(resources) if untouched else self.limits)

    def loaded(self, script: str, code: str, files: Mapping[str, str]) -> Variant:
        """The same with another script in the editor, and the files that came with it."""
        return replace(self, script=script, code=code, files={**self.files, **files}, revision=self.revision + 1)

    def text(self, path: str) -> str:
        """What stands in the editor of a file; an empty path is the script's."""
        return self.files.get(path, "") if path else self.code

    def typed(self, path: str, text: str) -> Variant:
        """With `text` in a file; an empty path is the script's."""
        return replace(self, files={**self.files, path: text}) if path else replace(self, code=text)


@dataclass(frozen=True)
class Draft:
    """All variants of one savepoint, and how they are compared."""

    variants: tuple[Variant, ...]
    experiment: str = ""
    with_parent: bool = False

    @property
    def is_experiment(self) -> bool:
        """Whether it starts several jobs, or compares one with its parent."""
        return len(self.variants) + self.with_parent > 1

    def changed(self, variant: Variant) -> Draft:
        """With `variant` in the place of the one of its letter."""
        return replace(self, variants=tuple(variant if other.letter == variant.letter else other for other in self.variants))

    def inheriting(self, resources: Resources) -> Draft:
        """With variants of a parent that may take `resources` now."""
        return replace(self, variants=tuple(variant.inheriting(resources) for variant in self.variants))

    def added(self, taken: Collection[str]) -> Draft:
        """With one more variant, a copy of the first with a name of its own."""
        first = self.variants[0]
        letter = next(letter for letter in LETTERS if letter not in {v.letter for v in self.variants})
        name = free_name(first.name.removesuffix("_a"), {*taken, *(v.name for v in self.variants)}, suffix=letter.lower())
        return replace(self, variants=(*self.variants, replace(first, letter=letter, name=name, revision=0)))

    def without(self, letter: str) -> Draft:
        """Without the variant of `letter`; the last one stays."""
        left = tuple(variant for variant in self.variants if variant.letter != letter)
        return replace(self, variants=left) if left else self

    def restored(self, variant: Variant) -> Draft:
        """With `variant` again, which was taken out: under its letter or the next free one, the editor begun anew from its code.

        Raises Conflict (`fork.full`) where there is no room any more.
        """
        free = [letter for letter in LETTERS if letter not in {other.letter for other in self.variants}]
        if not free:
            raise Conflict("fork.full", f"There are {len(LETTERS)} variants already", "Remove one first.")
        back = replace(variant, letter=variant.letter if variant.letter in free else free[0], revision=variant.revision + 1)
        return replace(self, variants=tuple(sorted((*self.variants, back), key=lambda other: other.letter)))


def begin(manifest: Manifest, taken: Collection[str]) -> Draft:
    """One variant with the code, arguments and confs that the savepoint was taken with."""
    first = of_version(manifest.version, "A", free_name(f"{manifest.job}_fork", taken))
    return Draft((first,), experiment=f"{manifest.job} at batch {manifest.queries[0].batch}")


def of_version(version: Version, letter: str, name: str) -> Variant:
    """A variant that changes nothing."""
    return Variant(
        letter,
        name,
        version.script,
        version.code,
        shlex.join(version.args),
        confs_text(without_event_log(version.conf)),
        version.master,
        version.python,
        version.java_home,
        files=version.files,
        requirements=version.requirements,
        event_log=version.conf.get(ENABLED, ""),
    )


def fork_from(savepoint: str, variant: fork.Variant) -> fork.Fork:
    """The fork that is this variant alone."""
    return fork.Fork(savepoint=savepoint, **vars(variant))


def unknown_queries(code: str, known: Collection[str]) -> tuple[str, ...]:
    """Queries that `code` names and the state does not hold, as the driver would call them; a hint, for the driver alone knows."""
    names = dict.fromkeys(query_name(name) for name in query_names(code))
    return tuple(name for name in names if name not in known)


def doubled(variants: Sequence[Variant]) -> set[str]:
    """Names that two variants have; a name differs by more than its case."""
    names = [variant.name.strip().casefold() for variant in variants]
    return {variant.name for variant in variants if names.count(variant.name.strip().casefold()) > 1}

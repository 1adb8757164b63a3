"""One variant's name, arguments, confs, and what becomes of state and sinks, as a form."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import streamlit as st

from dashboard.typed import Limits
from dashboard.views import homes, runs_on
from dashboard.views.code_rights import code_rights
from dashboard.views.fork import batches, sources
from dashboard.views.fork.confs import confs_text, said_of_event_log
from dashboard.views.fork.drafts import TEMPLATE, Migrate, Variant, unknown_queries
from dashboard.views.job import event_log, resources
from dashboard.views.runs_on import RunsOn
from pipelines.domain.conversions import HDFS, StateStore
from pipelines.domain.event_logs import ENABLED, is_on
from pipelines.domain.rewrites import MOST_PARTITIONS
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version

CONTINUE, FRESH = "continue", "fresh"
SINKS = {CONTINUE: "Continue", FRESH: "Fresh"}
"""What a fork's file sink does with the parent's output."""
MIGRATIONS = {Migrate.NOT: "As it is", Migrate.BY_COLUMNS: "By columns", Migrate.BY_FUNCTION: "By a function"}
"""How the state is rewritten."""


def settings(manifest: Manifest, variant: Variant, with_parent: bool) -> tuple[Variant, bool]:
    """The form; returns the variant as it stands now, and whether the savepoint's own job is compared too."""
    key = f"{manifest.id}_{variant.letter}"
    with st.container(border=True, key="card_form"):
        st.html('<div class="tm-section"><h2>New job</h2></div>')
        name = st.text_input("Name", variant.name, key=f"fork_name_{key}", max_chars=100)
        variant = replace(variant, name=name or "", sinks=_sinks(key, variant, manifest), store=_store(key, variant, manifest))
        if manifest.begun:
            variant = migrated(key, variant)
        present = sorted({operator.partitions for image in manifest.queries for operator in image.operators})
        known = {image.query for image in manifest.queries}
        variant = fields(key, variant, known, "savepoint", manifest.version, present)
        variant = batches.inputs(key, variant, manifest)
        variant = replace(variant, home=homes.field(variant.home, f"fork_home_{key}"), offsets=sources.inputs(key, variant, manifest))
        compared = st.toggle(
            f"Compare with {manifest.job}", with_parent, key=f"fork_parent_{manifest.id}", help="An experiment: both jobs side by side"
        )
    return variant, compared


def fields(key: str, variant: Variant, known: Collection[str], holder: str, original: Version, partitions: Sequence[int] = ()) -> Variant:
    """Arguments, confs and which queries are new; folded, what seldom differs from the `original`: where it runs, with which packages, what
    it may take, whether its event log is kept, and how many partitions its state gets. `known` are the queries whose state the `holder`
    holds, `partitions` what its operators have."""
    arguments = st.text_area(
        "Arguments",
        variant.arguments,
        key=f"fork_args_{key}",
        height=104,
        help="As in a shell. {output} becomes the job's own output directory, {job} its name.",
    )
    confs = st.text_area(
        "Spark confs",
        variant.confs,
        key=f"fork_confs_{key}",
        height=80,
        placeholder=confs_text({"spark.executor.memory": "2g"}),
        help="One name=value a line, added to what the script sets.",
    )
    variant = replace(variant, arguments=arguments or "", confs=confs or "", new_queries=_new_queries(key, variant, known, holder))
    code_rights()
    with st.expander(_folded(key, variant, original, partitions), key=f"fork_more_{key}"):
        return _seldom(key, variant, original, partitions)


def _folded(key: str, variant: Variant, original: Version, partitions: Sequence[int]) -> str:
    """What is folded away, and which of it differs from the original as it stands in the fields now."""
    limits, before = variant.limits, Limits.of(variant.inherited)
    rows = [
        ("master", f"master_{key}", variant.master, original.master),
        ("runtime", f"runtime_{key}", variant.python, original.python),
        ("java", f"java_{key}", variant.java_home, original.java_home),
        ("requirements", f"requirements_{key}", variant.requirements, original.requirements),
        ("limits", f"{key}_memory", limits.memory, before.memory),
        ("limits", f"{key}_cpus", limits.cpus, before.cpus),
        ("event log", f"event_log_{key}", is_on(variant.event_log), is_on(original.conf.get(ENABLED, ""))),
        *([("partitions", f"partitions_{key}", variant.partitions, None)] if partitions else []),
    ]
    names = list(dict.fromkeys(name for name, *_ in rows))
    differs = [name for name, field, typed, was in rows if (st.session_state.get(f"fork_{field}", typed) or None) != (was or None)]
    changed = list(dict.fromkeys(differs))
    title = f"{', '.join(names[:-1])} and {names[-1]}".capitalize()
    return f"{title}: :blue[{', '.join(changed)} changed]" if changed else f"{title}: unchanged"


def _seldom(key: str, variant: Variant, original: Version, partitions: Sequence[int]) -> Variant:
    on = runs_on.inputs(RunsOn(variant.master, variant.python, variant.java_home, variant.requirements), "fork", key)
    limits = resources.inputs(variant.limits, f"fork_{key}")
    is_logged = event_log.box(is_on(variant.event_log), f"fork_event_log_{key}")
    variant = replace(variant, limits=limits, event_log=said_of_event_log(original.conf, is_logged))
    variant = replace(variant, master=on.master, python=on.python, java_home=on.java_home, requirements=on.requirements)
    return replace(variant, partitions=_partitions(key, variant, partitions))


def _new_queries(key: str, variant: Variant, known: Collection[str], holder: str) -> tuple[str, ...]:
    """Shown where the code names a query that has no state here, or where one was named already."""
    unknown = unknown_queries(variant.code, known)
    options = list(dict.fromkeys((*unknown, *variant.new_queries)))
    if not options:
        return ()
    chosen = st.multiselect(
        "New queries",
        options,
        [query for query in variant.new_queries if query in options],
        key=f"fork_new_{key}",
        accept_new_options=True,
        placeholder="Queries that start without state",
        help="A query without state is refused unless it is named here: a renamed one would silently start without its state.",
    )
    left = [query for query in unknown if query not in chosen]
    if left:
        names = ", ".join(left)
        st.caption(f"The code names {names}, which the {holder} does not hold. Name what is new; the driver refuses the rest.")
    return tuple(str(query) for query in chosen)


def _store(key: str, variant: Variant, manifest: Manifest) -> StateStore | None:
    """Whether state of the HDFS-backed store, where there is any, is moved to RocksDB."""
    if not any(image.provider == HDFS for image in manifest.queries):
        return None
    moved = st.toggle(
        "Move its state to RocksDB",
        variant.store is StateStore.ROCKSDB,
        key=f"fork_store_{key}",
        help="Spark writes the state of the HDFS-backed store anew on the fork's own checkpoint before it begins.",
    )
    return StateStore.ROCKSDB if moved else None


def migrated(key: str, variant: Variant) -> Variant:
    """How the state is rewritten for the code."""
    how = st.segmented_control(
        "State for changed code",
        list(MIGRATIONS),
        default=variant.migrate,
        required=True,
        format_func=MIGRATIONS.__getitem__,
        key=f"fork_migrate_{key}",
        help="For code that keeps other columns than before, or whose operators or sources come, go or move. By columns: each aggregate "
        "that is computed as before keeps its state; one that is new begins as if no row had come yet; a new column of a join is null "
        "in the rows that wait. By a function: it makes the new rows of the old ones.",
    )
    variant = replace(variant, migrate=how or Migrate.NOT)
    if variant.migrate is not Migrate.BY_FUNCTION:
        return variant
    function = st.text_input("Function", variant.function, key=f"fork_function_{key}", max_chars=100)
    text = st.text_area(
        "Its file",
        variant.migration or TEMPLATE,
        key=f"fork_migration_{key}",
        height=190,
        help="It gets the old rows (key, value), the new schema and the state's name (counts.0, joined.0.left, counts.0.last). "
        "It gives the new rows, with the columns key and value.",
    )
    return replace(variant, function=function or "", migration=text or "")


def _partitions(key: str, variant: Variant, present: Sequence[int]) -> int | None:
    """How many partitions the state gets, where there is any; empty for as many as it has."""
    if not present:
        return None
    chosen = st.number_input(
        "Partitions of its state",
        1,
        MOST_PARTITIONS,
        value=variant.partitions,
        step=1,
        key=f"fork_partitions_{key}",
        placeholder=f"{', '.join(map(str, present))}, as it has",
        help="Spark rewrites the state in the fork's own checkpoint before the fork begins. RocksDB only.",
    )
    return int(chosen) if chosen else None


def _sinks(key: str, variant: Variant, manifest: Manifest) -> dict[str, str]:
    """Per query with a file sink: whether its output goes on from the parent's. Only what differs from `continue` is said."""
    chosen: dict[str, str] = {}
    for image in (query for query in manifest.queries if query.sink_path):
        picked = st.segmented_control(
            f"Output of {image.query}",
            list(SINKS),
            default=variant.sinks.get(image.query, CONTINUE),
            required=True,
            format_func=SINKS.__getitem__,
            key=f"fork_sink_{key}_{image.query}",
            help="Continue: the fork's output holds the history too. Fresh: only what the fork writes itself.",
        )
        if picked and picked != CONTINUE:
            chosen[str(image.query)] = str(picked)
    return chosen

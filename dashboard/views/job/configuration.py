"""The configuration of a job: its queries with their sinks and checkpoints, its arguments, its confs, the paths of its files."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from dashboard import session
from dashboard.views.job import restarts
from dashboard.views.job.versions import changes
from dashboard.widgets import chip, section
from pipelines.domain.job_places import is_remote
from pipelines.domain.jobs import Job, JobDetail, QuerySeen, Run
from pipelines.domain.masters import Cluster
from pipelines.domain.versions import Version, options
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.jobs import ShowLease
from pipelines.words import clusters, edges, formats, homes, limits, triggers
from pipelines.words import restarts as words

LEASE_AGE_MS = 15_000
"""A driver renews its lease that often."""


def draw(detail: JobDetail, now: float) -> None:
    """What failed and was restarted, the queries, and the arguments and confs of the newest run."""
    run = detail.summary.run
    restarts.draw(detail, now)
    for query in detail.queries:
        _query(query, is_up=run is not None and run.state.live)
    if run is None:
        return
    version = session.workspace().ask(ShowVersion(run.version))
    left, right = st.columns(2, gap="medium")
    with left, st.container(border=True, key="card_run"):
        section("For a fork" if detail.summary.job.attached else "Run")
        st.html(pairs(_for_a_fork(version) if detail.summary.job.attached else _run(detail, run, version)))
    with right:
        with st.container(border=True, key="card_arguments"):
            section("Arguments", "{output} is the job's own output directory, {job} its name")
            st.html(changes(options(version.args), None, "No arguments"))
        with st.container(border=True, key="card_confs"):
            section("Spark confs", "beyond those of Spark and the script itself")
            st.html(changes(version.conf, None, "None"))


def _query(query: QuerySeen, *, is_up: bool) -> None:
    with st.container(border=True, key=f"card_query_{query.query}"):
        st.html(f'<div class="tm-section"><h2>{escape(query.query)}</h2></div>')
        st.html(
            pairs(
                [
                    ("Query id", _mono(query.query_id)),
                    ("Trigger", triggers.spelt(query.trigger)),
                    ("Sink", chip(query.sink, "blue", mono=True) if query.sink else formats.MISSING),
                    ("Output", _mono(query.sink_path)),
                    ("Checkpoint", _mono(query.checkpoint)),
                    ("Spark UI", _link(query.ui_url if is_up else "")),
                ]
            )
        )


def pairs(named: Sequence[tuple[str, str]]) -> str:
    """Names with values (HTML) below each other."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{value}</td></tr>" for name, value in named)
    return f'<table class="tm-pairs">{rows}</table>'


def _run(detail: JobDetail, run: Run, version: Version) -> list[tuple[str, str]]:
    job, cluster = detail.summary.job, detail.cluster
    origin = f"savepoint {escape(job.origin.savepoint)} of {escape(job.origin.job)}" if job.origin else "a script"
    state = edges.told(detail.runs[-1].edge) if job.origin and detail.runs and detail.runs[-1].edge else ""
    return [
        ("Script", f"{escape(version.script)}, from {escape(version.source)}" if version.source else escape(version.script)),
        ("Version", _mono(version.id)),
        ("Master", _mono(version.master)),
        ("Executors", escape(clusters.where(cluster))),
        ("Application", _application(run, cluster)),
        ("Python", _mono(version.python) if version.python else "Tidemark's own"),
        *([("Java", _mono(version.java_home))] if version.java_home else []),
        *([("Packages", _mono(", ".join(version.pins.split())))] if version.pins else []),
        ("Spark", escape(run.spark_version) or formats.MISSING),
        ("Process", str(run.pid) if run.pid else formats.MISSING),
        ("Bytes", _mono(job.place) if job.place else "in the workspace"),
        ("Checkpoints", _mono(run.checkpoints)),
        *([("Lease", escape(_lease(job)))] if is_remote(job.place) else []),
        ("Began from", f"{origin} – {escape(state)}" if state else origin),
        ("Limits", limits.spelt(job.limits) or "the usual ones"),
        ("Restarts", escape(words.strategy(job))),
        ("Job made", formats.exact(job.created_ms, session.zone())),
    ]


def _lease(job: Job) -> str:
    """Who has the job's checkpoints at its home, which is asked there."""
    asked = session.soon(ShowLease(job.name), LEASE_AGE_MS)
    if asked is None:
        return "is being read …"
    seen, error = asked
    return f"cannot be read now: {error.message}" if error else homes.lease(seen, session.now_ms(), session.zone())


def _for_a_fork(version: Version) -> list[tuple[str, str]]:
    """The script and master that were given for a job that runs elsewhere."""
    return [("Script", escape(version.script) if version.code else "not known; a fork brings its own"), ("Master", _mono(version.master))]


def _application(run: Run, cluster: Cluster | None) -> str:
    """Its id, with its page at the cluster behind it, or Spark's own while the run lives."""
    name = _mono(cluster.application if cluster else "")
    url = (cluster.link if cluster else "") or (run.ui_url if run.state.live else "")
    return f'<a href="{escape(url)}" target="_blank" rel="noopener">{name}</a>' if url else name


def _mono(text: str) -> str:
    return f'<span class="tm-mono">{escape(text)}</span>' if text else formats.MISSING


def _link(url: str) -> str:
    return f'<a href="{escape(url)}" target="_blank" rel="noopener">{escape(url)}</a>' if url else formats.MISSING

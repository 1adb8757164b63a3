"""Every job of the collection: killed in the middle of a batch, taken up again and forked, it gives what it gives undisturbed; and the
verdict on its second version is the one that the gallery shows."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipelines.checkpoint import contracts
from pipelines.domain import judging, reported, verdicts
from pipelines.domain.collection import COLLECTION
from pipelines.domain.contracts import Contract
from pipelines.domain.judging import Known
from pipelines.domain.plannings import CONTRACT, NEW, OLD, Planned, Planning, QueryCheckpoint
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.sources import read_sources
from pipelines.domain.verdicts import Outcome
from pipelines.driver import installed
from pipelines.driver.planning.planner import Planner
from pipelines.savepoint import library
from pipelines.savepoint.batch_choice import OfBatch
from pipelines.storage.addresses import open_storage
from tests.driver.planning.codes import spec
from tests.jobs import feeds, kinesis_server
from tests.jobs.collected import FILES, QUERIES, SINKS, JobBench, make_inputs
from tests.jobs.kinesis_server import Kinesis
from tests.jobs.loading import JOBS, script
from tests.savepoint import matrix_steps
from tests.savepoint.matrix import FORMAT_2, QUERY, Line, difference, since
from tests.savepoint.queries import events

pytestmark = pytest.mark.spark

KILLED, PAST = 5, 2
"""The batch in whose middle the job is killed, its state written and nothing committed; and one of the past."""
OWN_SOURCES = ("views_over_http", "author_lookups", "views_from_kinesis")
"""Jobs whose sources, and those in `SINKS` whose sinks, are not Spark's own: these are forked from the past, too."""
TWINS = {"views_by_author_sql": ("views_by_author",)}
CASES = [(name, at) for name, queries in QUERIES.items() for at in range(len(queries))]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_inputs(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def addresses() -> Iterator[Mapping[str, str]]:
    """A sixth of the feed's answers go wrong. None is of a copy that is behind: batches would end elsewhere."""
    chance, troubles = random.Random(7), [trouble for trouble in script("http_feed")["TROUBLES"] if trouble != "behind"]
    with feeds.serving(FILES, lambda: chance.choice([*troubles, *[""] * 5 * len(troubles)])) as (feed, _), resharded() as kinesis:
        partner = feed.removesuffix("/views")
        yield {
            "feed": feed,
            "partner": partner,
            "stream": kinesis_server.STREAM,
            "endpoint": kinesis.endpoint,
            "region": kinesis_server.REGION,
        }


@contextmanager
def resharded() -> Iterator[Kinesis]:
    """A stream whose shards were split and merged between its records."""
    with kinesis_server.serving(2) as kinesis:
        kinesis.feed(0, FILES // 2)
        first, second = kinesis.stream.shards
        kinesis.split(first)
        kinesis.feed(FILES // 2, FILES * 3 // 4)
        kinesis.merge(max(kinesis.stream.shards), second)
        kinesis.feed(FILES * 3 // 4, FILES)
        yield kinesis


@pytest.mark.parametrize(("name", "at"), CASES, ids=lambda value: str(value))
def test_what_is_killed_and_what_is_forked_equals_the_uninterrupted_run(
    spark: Any, tmp_path: Path, inputs: Path, addresses: Mapping[str, str], name: str, at: int
) -> None:
    line = Line(events, FORMAT_2, sink=SINKS.get(name, "parquet"))
    bench = JobBench(line, tmp_path, spark, name=name, at=at, inputs=inputs, addresses=addresses)
    bench.run("job")
    reference = bench.rows("job")
    matrix_steps.leave(bench, "job", KILLED, "state written")
    newest = bench.take("job", "sp-newest")
    past = [bench.take("job", "sp-past", OfBatch(PAST))] if name in {*OWN_SOURCES, *SINKS} else []
    for savepoint in (newest, *past):
        bench.fork(savepoint, savepoint.id)
    if at == len(QUERIES[name]) - 1:
        assert verdict(bench, newest, COLLECTION[name].second) is COLLECTION[name].outcome, name
        for twin in TWINS.get(name, ()):
            assert verdict(bench, newest, twin) is Outcome.SAME, "the same job in another language goes on with the state"
    bench.prepare("job")
    bench.run("job", *(savepoint.id for savepoint in (newest, *past)))
    assert (newest.batch, *(savepoint.batch for savepoint in past)) == (KILLED - 1, *[PAST] * len(past))
    assert difference(bench.rows("job"), reference) == {}
    for savepoint in (newest, *past):
        expected = since(reference, savepoint.batch + 1)
        assert expected, "what is compared is not empty"
        assert difference(bench.rows(savepoint.id, savepoint.batch + 1), expected) == {}, savepoint.id


def test_the_source_over_http_tells_with_each_batch_what_it_holds(
    spark: Any, tmp_path: Path, inputs: Path, addresses: Mapping[str, str]
) -> None:
    bench = JobBench(Line(events, FORMAT_2, sink="parquet"), tmp_path, spark, name="views_over_http", inputs=inputs, addresses=addresses)
    query = bench.start("job")
    bench.finish(query, "job")
    (source,) = read_sources(json.loads(query.recentProgress[0].json)["sources"], ())
    assert (source.end, reported.is_said(source.latest)) == ('{"next":50}', True)
    assert reported.lacks(source.end, source.latest) == () == reported.lacks('{"next":0}', source.latest)


def verdict(bench: JobBench, savepoint: Savepoint, second: str) -> Outcome:
    """On the script `second` in place of the bench's job, planned on the fork's state before that begins."""
    image = library.manifest(bench.library, savepoint.id).queries[0]
    planned: dict[str, Planned] = {}
    folders: dict[str, Path] = {}
    for side, name in ((OLD, bench.name), (NEW, second)):
        folder = folders[side] = bench.folder / second / side
        checkpoint = shutil.copytree(bench.checkpoint(savepoint.id), folder / "checkpoint", copy_function=os.link)
        planner = Planner(spec(), folder, {QUERY: QueryCheckpoint(QUERY, str(checkpoint), image.batch)}, side == NEW, 1_767_225_600_000)
        writer = bench.writer(side, name)
        mode = "Complete" if bench.name == "top_pages" else "Append"
        planned[side] = Planned((planner.plan(bench.session, writer._df, QUERY, mode),) if writer else ())
    kept = contract(folders[NEW] / "checkpoint", image.batch)
    old, new = (contract(folders[side] / CONTRACT / QUERY, 0) for side in (OLD, NEW))
    known = Known(image, kept, old, new, installed.of(bench.session, bench.folder), "4.3.0")
    planning = Planning("4.3.0", known.installed.python if known.installed else "", "", planned)
    parts = judging.judge(known, planning)
    return verdicts.worst(part.outcome for part in parts)


def contract(folder: Path, batch: int) -> Contract:
    return contracts.read(open_storage(str(folder)), batch) if folder.is_dir() else {}


def test_versions_of_a_job_differ_in_one_decision() -> None:
    for name, example in COLLECTION.items():
        first, second = ((JOBS / script).read_text().splitlines() for script in example.scripts)
        assert len(set(first) - set(second)) <= 3, name

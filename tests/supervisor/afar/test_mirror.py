"""What a carrier takes to a job's home, and a mirror brings from there: the same bytes, whoever is killed when, in a bounded number of
segments."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain import segments
from pipelines.domain.errors import Corrupt
from pipelines.domain.plans import PLANS_FOLDER
from pipelines.domain.run_specs import SPEC_FILE
from pipelines.domain.runs import EVENTS_FILE, EXIT_FILE, LOG_FILE, PROGRESS_FILE, QUERIES_FILE
from pipelines.domain.segments import SEGMENTS, Orders, Piece, Span, decode, encode, following, spans
from pipelines.storage.addresses import open_storage
from pipelines.supervisor.afar import mirror as mirroring
from pipelines.supervisor.afar.mirror import MIRRORED_FILE, Mirror
from tests.driver.afar.carried import Carried

FILES = (LOG_FILE, PROGRESS_FILE, EVENTS_FILE)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Carried]:
    yield Carried(tmp_path)


def mirror(run: Carried) -> Mirror:
    return Mirror(open_storage(str(run.home)), run.here)


def same(run: Carried) -> bool:
    """Whether all that the driver wrote is here, and nothing else."""
    there = {path.relative_to(run.folder): path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    here = {path.relative_to(run.here): path.read_bytes() for path in run.here.rglob("*") if path.is_file()}
    return there == {path: data for path, data in here.items() if path.name != MIRRORED_FILE}


def test_what_a_driver_writes_is_here(run: Carried) -> None:
    run.grow(LOG_FILE, b"one\n")
    run.replace(f"{PLANS_FOLDER}/a.json", b"{}")
    run.carrier.carry()
    mirror(run).pull()
    assert same(run)
    run.grow(LOG_FILE, b"two\n")
    run.replace(f"{PLANS_FOLDER}/a.json", b"[]")
    run.carrier.carry()
    mirror(run).pull()
    assert same(run) and (run.here / LOG_FILE).read_bytes() == b"one\ntwo\n"


def test_nothing_is_written_where_nothing_is_new(run: Carried) -> None:
    run.grow(LOG_FILE, b"one\n")
    for _ in range(3):
        run.carrier.carry()
    assert len(run.segments()) == 1


def test_the_exit_comes_last_and_documents_of_the_server_stay(run: Carried) -> None:
    run.grow(LOG_FILE, b"one\n")
    run.replace(EXIT_FILE, b"{}")
    run.replace(SPEC_FILE, b"the driver's own")
    run.carrier.carry()
    mirror(run).pull()
    assert not (run.here / EXIT_FILE).exists() and not (run.here / SPEC_FILE).exists()
    run.carrier.carry(last=True)
    mirror(run).pull()
    assert (run.here / EXIT_FILE).exists() and not (run.here / SPEC_FILE).exists()


def test_their_number_stays_bounded_and_any_reader_finds_all(run: Carried, monkeypatch: pytest.MonkeyPatch) -> None:
    early, few = mirror(run), 5
    monkeypatch.setattr(segments, "MERGED", few)
    for number in range(few**4 + 17):
        run.grow(FILES[number % len(FILES)], f"{number}\n".encode())
        run.replace(f"{PLANS_FOLDER}/{number % 3}.json", str(number).encode())
        run.carrier.carry()
        if number % 200 == 0:
            early.pull()
    assert len(run.segments()) < 5 * few
    early.pull()
    assert same(run)
    for path in run.here.rglob("*.*"):
        path.unlink()
    mirror(run).pull()
    assert same(run)


@pytest.mark.parametrize("seed", range(8))
def test_both_may_be_killed_at_any_moment(run: Carried, seed: int) -> None:
    chance = random.Random(seed)
    mine = mirror(run)
    for number in range(80):
        run.grow(chance.choice(FILES), f"{number}\n".encode() * chance.randrange(1, 40))
        if chance.random() < 0.3:
            run.fails_after = chance.randrange(3)
        try:
            run.carrier.carry()
        except OSError:
            run.fails_after = None
        if chance.random() < 0.2:
            mine.pull()
        if chance.random() < 0.1:
            forget_some(run, chance)
            mine = mirror(run)
    run.fails_after = None
    run.carrier.carry()
    mine.pull()
    assert same(run)


def forget_some(run: Carried, chance: random.Random) -> None:
    """A mirror that was killed before it noted how far it was; what it had applied is here."""
    if chance.random() < 0.5:
        (run.here / MIRRORED_FILE).unlink(missing_ok=True)


def test_a_damaged_segment_is_refused_and_nothing_of_it_is_here(run: Carried) -> None:
    (run.home / SEGMENTS / Span(1, 1).name).write_bytes(b"nonsense")
    with pytest.raises(Corrupt) as refused:
        mirror(run).pull()
    assert refused.value.code == "segments.damaged" and not list(run.here.iterdir())


@pytest.mark.parametrize(
    "path", ["../process.json", "process.json", SPEC_FILE, "/etc/passwd", f"{PLANS_FOLDER}/../run.json", "plans/a/b.json"]
)
def test_a_hostile_segment_reaches_no_document_of_the_server(run: Carried, path: str) -> None:
    (run.home / SEGMENTS / Span(1, 1).name).write_bytes(encode([Piece(path, None, b"x")]))
    with pytest.raises(Corrupt):
        mirror(run).pull()
    assert not list(run.here.iterdir())


def test_a_gap_is_told_and_not_filled(run: Carried) -> None:
    (run.home / SEGMENTS / Span(1, 1).name).write_bytes(encode([Piece(LOG_FILE, 5, b"x")]))
    with pytest.raises(Corrupt):
        mirror(run).pull()


def test_what_the_server_has_is_kept_neither_at_home_nor_by_the_driver(run: Carried, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing goes that is not on the server's disk, and its files are whole and go on."""
    few = 5
    for module in (segments, mirroring):
        monkeypatch.setattr(module, "MERGED", few)
    mine, line = mirror(run), b"x" * 99_999 + b"\n"
    for number in range(1, 61):
        run.grow(LOG_FILE, line)
        run.grow(QUERIES_FILE, line)
        run.replace(f"{PLANS_FOLDER}/a.json", str(number).encode())
        run.carrier.carry()
        if number % 20 == 0:
            kept = run.segments()
            run.order(Orders(mirrored=mine.told))
            assert all(int(name[-12:]) <= mine.told for name in set(kept) - set(run.segments())), "the server has not read them yet"
            mine.pull()
            assert mine.told == number
            run.order(Orders(mirrored=mine.told))
            assert len(run.segments()) == 1
    assert (run.here / LOG_FILE).read_bytes() == (run.here / QUERIES_FILE).read_bytes() == line * 60
    log, queries = ((run.folder / name).stat() for name in (LOG_FILE, QUERIES_FILE))
    assert log.st_size == queries.st_size == 6_000_000 and log.st_blocks * 512 < 1_000_000 < queries.st_blocks * 512
    run.grow(LOG_FILE, b"the last\n")
    run.replace(EXIT_FILE, b"{}")
    run.carrier.carry(last=True)
    mirror(run).pull()
    assert (run.here / LOG_FILE).read_bytes() == line * 60 + b"the last\n" and (run.here / EXIT_FILE).exists()


def test_orders_reach_the_driver(run: Carried) -> None:
    orders = Orders(stop=True, files={"log-levels.json": "{}"}, mirrored=50)
    assert Orders.parsed(orders.text) == orders
    assert Orders.parsed('{"stop": false, "files": {}}') == Orders(files={}), "of a server of before"


def test_the_widest_that_begin_alike_are_read_and_none_beyond_a_gap() -> None:
    there = [Span(1, 1), Span(1, 3), Span(2, 2), Span(3, 3), Span(4, 4), Span(6, 6)]
    assert following(there, 0) == [Span(1, 3), Span(4, 4)]
    assert following(there, 1) == [Span(1, 3), Span(4, 4)]
    assert following(there, 4) == [] and following(there, 5) == [Span(6, 6)]
    assert spans([span.name for span in there] + [".x", "1-2", segments.ORDERS_FILE]) == there


@given(st.lists(st.tuples(st.sampled_from(FILES), st.integers(0, 2**40), st.binary(max_size=50)), max_size=5))
def test_a_segment_says_what_was_put_into_it(raw: list[tuple[str, int, bytes]]) -> None:
    pieces = tuple(Piece(*each) for each in raw)
    assert decode(encode(pieces), "one") == pieces

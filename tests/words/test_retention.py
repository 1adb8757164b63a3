"""What retention lets go, and what it never does."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.ids import RunId, SavepointId, VersionId
from pipelines.domain.retention import Needs, judge
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.domain.schedules import Schedule
from pipelines.domain.trust import Trust
from tests import samples

NOW_MS = 1_800_000_000_000
MINUTE_MS = 60_000
NOBODY = Needs({})


def savepoint(place: int, *, reason: Reason = Reason.SCHEDULED, minutes: int | None = None, **fields: object) -> Savepoint:
    made = samples.savepoint(f"sp-{place:03}", "a", version=VersionId("v-1"), run=RunId("r-1"))
    aged = NOW_MS - (place if minutes is None else minutes) * MINUTE_MS
    return replace(made, created_ms=aged, reason=reason, **fields)  # type: ignore[arg-type]


SAVEPOINTS = st.lists(
    st.builds(
        lambda minutes, reason, label, note, proved, damaged, imported: {
            "minutes": minutes, "reason": reason, "label": label, "note": note, "trust": Trust.PROVED if proved else Trust.COMPLETE,
            "damaged_files": damaged, "imported_ms": imported,
        },
        st.integers(0, 30), st.sampled_from([Reason.SCHEDULED, Reason.SCHEDULED, Reason.SCHEDULED, *Reason]),
        st.sampled_from(["", "", "", "kept"]), st.sampled_from(["", "", "", "why"]), st.booleans(), st.sampled_from([0, 0, 0, 2]),
        st.sampled_from([None, None, None, 5]),
    ),
    max_size=12,
)  # fmt: skip
LIMIT = st.one_of(st.none(), st.integers(1, 8))


def gone(taken: list[Savepoint], limits: Schedule, needs: Needs, disk: list[int]) -> set[str]:
    return {candidate.savepoint for candidate in judge(taken, limits, needs, NOW_MS, disk) if not candidate.stays}


@given(SAVEPOINTS, LIMIT, LIMIT, LIMIT, st.sets(st.integers(0, 11)), st.randoms())
def test_what_must_never_go_never_goes(fields, keep, minutes, units, needed, random) -> None:  # type: ignore[no-untyped-def]
    made = []
    for place, candidate in enumerate(fields):
        label = candidate.pop("label")
        made.append(replace(savepoint(place, **candidate), label=label))
    needs = Needs({candidate.id: "a fork" for place, candidate in enumerate(made) if place in needed})
    limits = Schedule(keep=keep, keep_ms=minutes and minutes * MINUTE_MS, keep_bytes=units and units * 100)
    shuffled = list(made)
    random.shuffle(shuffled)
    disk = [100 * (place + 1) for place in range(len(made))]
    goes = gone(shuffled, limits, needs, disk)
    ordered = sorted(made, key=lambda candidate: (candidate.created_ms, candidate.id), reverse=True)
    scheduled = [candidate for candidate in ordered if candidate.reason is Reason.SCHEDULED and candidate.imported_ms is None]
    for candidate in made:
        if (
            candidate.reason is not Reason.SCHEDULED
            or candidate.imported_ms
            or candidate.label
            or candidate.note
            or candidate.id in needs.by
        ):
            assert candidate.id not in goes
    sound = [candidate for candidate in ordered if not candidate.damaged_files]
    assert not ordered or ordered[0].id not in goes
    assert not any(candidate.id in goes for candidate in [candidate for candidate in sound if candidate.trust is Trust.PROVED][:1])
    assert not any(candidate.id in goes for candidate in [candidate for candidate in scheduled if not candidate.damaged_files][:1])
    within = {candidate.id for candidate in scheduled[: keep if keep is not None else None] if _young(candidate, minutes)}
    within &= {candidate.id for place, candidate in enumerate(scheduled) if units is None or disk[place] <= units * 100}
    assert not goes & within, "what is within every limit stays"
    assert goes <= {candidate.id for candidate in scheduled}
    assert gone([candidate for candidate in made if candidate.id not in goes], limits, needs, disk) == set(), (
        "pruned once, there is nothing left to prune"
    )


def _young(candidate: Savepoint, minutes: int | None) -> bool:
    return minutes is None or NOW_MS - candidate.created_ms <= minutes * MINUTE_MS


def test_each_limit_takes_the_oldest() -> None:
    taken = [savepoint(place) for place in range(6)]
    assert gone(taken, Schedule(keep=2), NOBODY, []) == {"sp-002", "sp-003", "sp-004", "sp-005"}
    assert gone(taken, Schedule(keep_ms=4 * MINUTE_MS), NOBODY, []) == {"sp-005"}
    assert gone(taken, Schedule(keep_bytes=250), NOBODY, [100, 200, 250, 400, 500, 600]) == {"sp-003", "sp-004", "sp-005"}
    assert gone(taken, Schedule(), NOBODY, []) == set(), "without a limit nothing goes"


def test_it_says_why_one_stays() -> None:
    taken = [savepoint(0, damaged_files=1), savepoint(1), savepoint(2), savepoint(3, trust=Trust.PROVED), savepoint(4), savepoint(5)]
    taken[4] = replace(taken[4], label="before the change")
    judged = judge(taken, Schedule(keep_ms=1), Needs({SavepointId("sp-005"): "b was forked from it"}), NOW_MS)
    assert [candidate.stays for candidate in judged] == [
        "it is the newest scheduled one that is not damaged",
        "",
        "it is the newest proved one",
        "somebody gave it a label or a note",
        "b was forked from it",
    ]

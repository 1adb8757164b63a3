"""What people say of savepoints, and several disposed of at once, from a shell."""

from __future__ import annotations

import json
from dataclasses import replace

from pipelines.domain.disposals import DisposeOutcome
from pipelines.domain.errors import Conflict, Invalid, NotFound, refusal
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.dispose import Dispose
from tests import samples
from tests.afterwards import follow
from tests.cli.doors import Door
from tests.faces import NOW_MS

FIRST, SECOND = "sp-000000000002", "sp-000000000003"
NONE = NotFound("savepoint.not_found", "there is no savepoint 'sp-none'", "List them.")
DAY_MS = 24 * 3_600_000
TODAY_END_MS = NOW_MS - NOW_MS % DAY_MS + DAY_MS - 1


def test_what_is_given_is_changed(tidemark: Door) -> None:
    follow(tidemark.face, Annotate)
    done = tidemark("annotate", FIRST, "--label", "kept", "--note", "one\ntwo", "--best-before", "+2d")
    assert tidemark.face.begun[-1] == Annotate(FIRST, "kept", "one\ntwo", TODAY_END_MS + 2 * DAY_MS)
    lines = done.stdout.splitlines()
    assert [line.split(maxsplit=1) for line in lines[:2]] == [["savepoint", FIRST], ["label", "kept"]]
    assert lines[3:] == ["note         one", "             two"]
    assert "best before  2027-01-1" in lines[2]
    assert tidemark.json("annotate", FIRST, "--best-before", "none")["best_before_ms"] is None
    assert tidemark.face.begun[-1] == Annotate(FIRST, best_before_ms=0)
    assert tidemark.json("annotate", FIRST, "--label", "", "--note", "")["label"] == ""


def test_it_is_shown_and_listed(tidemark: Door) -> None:
    said_of_it = replace(tidemark.face.savepoints_by_id[FIRST], label="kept", note="one\ntwo", best_before_ms=NOW_MS - 1)
    tidemark.face.savepoints_by_id[FIRST] = said_of_it
    shown = tidemark("show", FIRST).stdout
    rows = [line.split(maxsplit=1) for line in shown.splitlines() if line]
    place = rows.index(["note", "one"])
    assert rows[place + 1] == ["two"]
    assert ["label", "kept"] in rows and ", past" in shown
    header, second, first = tidemark("savepoints").stdout.splitlines()
    assert "BEST BEFORE" in header and "past" in first and "past" not in second


def test_what_is_wrong_is_said(tidemark: Door) -> None:
    tidemark.face.refuses(Annotate(FIRST), Invalid("annotation.nothing", "Nothing was given to change"))
    for words, code in (((), "annotation.nothing"), (("--best-before", "soon"), "date.invalid")):
        done = tidemark("annotate", FIRST, *words, "--json")
        assert (done.exit_code, json.loads(done.stderr)["error"]["code"]) == (2, code)


def test_of_no_savepoint(tidemark: Door) -> None:
    assert tidemark("annotate", "sp-none", "--label", "x").exit_code == 3


def test_dispose(tidemark: Door) -> None:
    done = tidemark("dispose", FIRST, "--dry-run")
    assert "frees on disk  4.1 kB" in done.stdout
    assert done.stderr == "would dispose of 1 savepoint, which frees 4.1 kB\n"
    assert tidemark("dispose", FIRST, SECOND).stderr == "disposed of 2 savepoints, which frees 8.2 kB\n"
    assert tidemark.face.begun == [Dispose((FIRST, SECOND))]


def test_one_that_is_refused_keeps_no_other_and_decides_the_exit_code(tidemark: Door) -> None:
    needed = Conflict("savepoint.in_use", f"Savepoint {FIRST} is needed: a fork is made from it", "Try again when that has started.")
    refused = [DisposeOutcome(FIRST, None, refusal(needed)), DisposeOutcome("sp-none", None, refusal(NONE))]
    tidemark.face.answers(Dispose, samples.disposed(tidemark.face.savepoints_by_id[SECOND], refused=refused))
    done = tidemark("dispose", FIRST, SECOND, "sp-none")
    assert done.exit_code == 5
    assert f"refused    Savepoint {FIRST} is needed" in done.stdout
    assert done.stderr.splitlines()[0] == "disposed of 1 of 3 savepoints, which frees 4.1 kB"
    assert "hint: Try again" in done.stderr


def test_refusals_are_data_too(tidemark: Door) -> None:
    refused = [DisposeOutcome("sp-none", None, refusal(NONE))]
    tidemark.face.plans_as(Dispose, samples.disposed(tidemark.face.savepoints_by_id[FIRST], refused=refused))
    done = tidemark("dispose", FIRST, "sp-none", "--dry-run", "--json")
    assert done.exit_code == 3
    planned, refused = json.loads(done.stdout)["outcomes"]
    assert (refused["plan"], refused["refusal"]["code"]) == (None, "savepoint.not_found")
    assert (planned["savepoint"], planned["refusal"]) == (FIRST, None)

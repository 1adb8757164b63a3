"""The plans of two points on the page of versions: asked for by a click, then side by side."""

from __future__ import annotations

from dataclasses import replace

from dashboard.views.verdicts import operators_table
from pipelines.domain.errors import Incompatible
from pipelines.domain.verdicts import Outcome
from pipelines.verbs.plan_difference import ComparePlans
from pipelines.words.verdicts import SAME_STATE
from tests import planned
from tests.dashboard.opening import Opener, clicked, texts
from tests.faces import FakeFace
from tests.planned import NEW_QUERY, SUM

FIRST, SPLIT = "sp-000000000002", "post_engagement_split"


def test_plans_are_asked_for_by_a_click_and_stand_side_by_side(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "versions", savepoint=FIRST, **{"with": SPLIT})
    assert SUM not in texts(app) and face.begun == []
    app = clicked(app, "compare_plans")
    assert face.begun == [ComparePlans(FIRST, SPLIT)]
    shown = texts(app)
    for part in ("<h2>Plans</h2>", "changed meaning", SUM, "count(v) &lt; 3 AS total", "begins empty", f"does not start it: {NEW_QUERY}"):
        assert part in shown
    assert any(f"diff {FIRST} {SPLIT} --plans" in block.value for block in app.code)
    assert not [button for button in app.button if button.key == "compare_plans"]


def test_code_that_cannot_be_planned_is_said_where_it_was_asked_for(opened: Opener) -> None:
    face = FakeFace.sample()
    face.refuses(ComparePlans, Incompatible("plans.failed", "The code of B cannot be planned: KeyError", "Correct the code."))
    shown = texts(clicked(opened(face, "versions", savepoint=FIRST, **{"with": SPLIT}), "compare_plans"))
    assert "The code of B cannot be planned: KeyError" in shown and "Correct the code." in shown and "Comparing" in shown


def test_lines_that_differ_below_the_same_state_are_said_to_be_of_what_is_put_out() -> None:
    changed = planned.difference()
    same = replace(changed, parts=tuple(replace(part, outcome=Outcome.SAME) for part in changed.parts))
    assert SAME_STATE in operators_table(same) and SAME_STATE not in operators_table(changed)

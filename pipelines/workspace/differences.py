"""Differences: two points side by side, with their plans where those were asked for before."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.differences import Differences
from pipelines.domain.differences import differences as decided
from pipelines.verbs.experiments import Diff
from pipelines.workspace import plan_differences, points
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers


@answers(Diff)
def differences(context: Context, question: Diff) -> Differences:
    """Two jobs whose batches read the same are taken as of one batch. Raises what finding a point does."""
    a, b = points.in_step(context, points.point(context, question.a), points.point(context, question.b))
    return replace(decided(a, b), plans=plan_differences.known(context, a, b))

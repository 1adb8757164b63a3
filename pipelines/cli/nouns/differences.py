"""What differs between two points, as text."""

from __future__ import annotations

from dataclasses import replace

import typer

from pipelines.cli import output
from pipelines.cli.additions import Parameter, Shown, shows
from pipelines.cli.follow import done
from pipelines.cli.session import Here
from pipelines.domain.differences import Differences, Entry, Outcome, Section, Unit, Value
from pipelines.domain.plan_differences import PlanDifference
from pipelines.domain.points import PointHead
from pipelines.verbs.experiments import Diff
from pipelines.verbs.plan_difference import ComparePlans
from pipelines.words import formats
from pipelines.words import verdicts as verdict_words

PLANS = "Compare what both codes compute, too, operator by operator: Spark plans them, and runs nothing."


@shows(
    Diff,
    whole=Parameter(bool, typer.Option("--all", help="Show what is equal, too."), False),
    plans=Parameter(bool, typer.Option("--plans", help=PLANS), False),
)
def _differences(here: Here, question: Diff, answer: Differences) -> Shown:
    if here.words["plans"]:
        answer = replace(answer, plans=done(here, ComparePlans(question.a, question.b)))
    return Shown(answer, differences_text(answer, whole=here.words["whole"]))


def differences_text(differences: Differences, *, whole: bool) -> str:
    """Both heads, then a table for each section that differs (for every one with `whole`), then what is the same."""
    same = [section.name for section in differences.sections if section.compared and not section.differing]
    unknown = [section.name for section in differences.sections if not section.compared]
    parts = [
        output.details((("A", _head(differences.a)), ("B", _head(differences.b)))),
        *(code.unified.rstrip("\n") for code in (differences.code, *differences.files)),
        *(section_text(section, whole=whole) for section in differences.sections),
        plans_text(differences.plans),
        _listed("the same", [*([] if differences.code.unified or differences.files else ["code"]), *same]),
        _listed("not compared, no checkpoint is known", unknown),
    ]
    return "\n\n".join(filter(None, parts))


def plans_text(plans: PlanDifference | None) -> str:
    """What state of A's code would be under B's, and what both compute otherwise; empty where that was not asked for."""
    if plans is None:
        return ""
    return "\n".join(["plans, as the verdict on state of A under the code of B:", *verdict_words.lines(plans)])


def _listed(title: str, names: list[str]) -> str:
    return f"{title}: {', '.join(names)}" if names else ""


def _head(point: PointHead) -> str:
    of = f" of {point.job}" if point.job and point.job != point.named else ""
    batch = f", batch {point.batch:,}" if point.batch is not None else ""
    label = f', "{point.label}"' if point.label else ""
    note = f" ({point.note})" if point.note else ""
    return f"{point.kind} {point.named}{of}{batch}{label}, version {point.version}{note}"


def section_text(section: Section, *, whole: bool = False) -> str:
    """The entries of a section that differ (all with `whole`), under its name; empty where there are none."""
    shown = section.entries if whole else section.differing
    if not shown:
        return ""
    rows = [_row(entry) for entry in shown]
    return f"{section.name}:\n{output.Table(('', '', 'A', 'B', ''), rows).plain().lstrip()}"


def _row(entry: Entry) -> tuple[str, str, str, str, str]:
    return entry.of, entry.name, _side(entry, entry.a, Outcome.ONLY_B), _side(entry, entry.b, Outcome.ONLY_A), _note(entry)


def _side(entry: Entry, value: Value, absent: Outcome) -> str:
    """One side's value; nothing where the entry is the other side's alone."""
    if value is None:
        return formats.MISSING if entry.outcome is absent else "unknown"
    return value_text(value, entry.unit)


def value_text(value: Value, unit: Unit) -> str:
    """A value in its unit."""
    if not isinstance(value, int):
        return str(value)
    if unit is Unit.MOMENT:
        return formats.exact(value, None)
    return formats.size(value) if unit is Unit.BYTES else formats.count(value) if unit is Unit.COUNT else str(value)


def _note(entry: Entry) -> str:
    if entry.apart in (None, 0):
        return ""
    apart = abs(entry.apart or 0)
    sign = "+" if (entry.apart or 0) > 0 else "-"
    words = {Unit.BYTES: formats.size, Unit.MOMENT: formats.duration}.get(entry.unit, formats.count)(apart)
    return f"{sign}{words}"

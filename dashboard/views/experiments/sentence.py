"""What an experiment says of a variant, in one sentence: rows, first difference, speed, state. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from html import escape

from dashboard.health import health
from dashboard.views.experiments.shares import share, whole
from dashboard.widgets import Tone
from pipelines.domain.errors import TidemarkError
from pipelines.domain.experiments import Comparison
from pipelines.domain.intervals import Interval, Measure
from pipelines.domain.jobs import JobSummary
from pipelines.words import formats

NOT_STARTED = "compare.not_started"
Outcome = Comparison | TidemarkError
"""A comparison, or why there is none."""


@dataclass(frozen=True)
class Sentence:
    """Text with the tone of its worst part."""

    text: str
    tone: Tone


def waits(outcome: Outcome) -> bool:
    """Whether there is no comparison only because one of the two has not begun."""
    return isinstance(outcome, TidemarkError) and outcome.code == NOT_STARTED


def sentence(side: str, summary: JobSummary | None, outcome: Outcome, intervals: Sequence[Interval], zone: tzinfo) -> Sentence:
    """`B: 80 % of rows equal, first difference 06:29:15, 12 % slower, failed`."""
    told = () if waits(outcome) else _speed(intervals)
    parts = [*_rows(outcome), *_difference(outcome, zone), *told, _state(summary, outcome)]
    return Sentence(f"{side}: {', '.join(parts)}", _tone(summary, outcome))


def _rows(outcome: Outcome) -> Iterator[str]:
    if isinstance(outcome, Comparison):
        total = whole(outcome)
        yield f"{share(outcome.equal, total)} of rows equal" if total else "no rows to compare yet"
    elif not waits(outcome):
        yield "outputs not compared"


def _difference(outcome: Outcome, zone: tzinfo) -> Iterator[str]:
    if isinstance(outcome, Comparison) and outcome.parting:
        yield f"first difference {formats.clock(outcome.parting.at_ms, zone)}"


def speed(intervals: Sequence[Interval]) -> str:
    """`12 % slower`; empty where no difference can be told."""
    took = next((interval for interval in intervals if interval.measure is Measure.BATCH_MS and interval.told), None)
    if took is None or not took.share:
        return ""
    return f"{abs(100 * took.share):.0f} % {'slower' if took.share > 0 else 'faster'}"


def _speed(intervals: Sequence[Interval]) -> Iterator[str]:
    if told := speed(intervals):
        yield told


def _state(summary: JobSummary | None, outcome: Outcome) -> str:
    if summary is None:
        return "forgotten"
    return "waiting for its first batch" if waits(outcome) and summary.batch is None else health(summary)[0].lower()


def _tone(summary: JobSummary | None, outcome: Outcome) -> Tone:
    if summary is None or (summary.state is not None and summary.state.has_failed):
        return "red"
    if not isinstance(outcome, Comparison):
        return "blue" if waits(outcome) else "orange"
    return "green" if outcome.equal and outcome.equal == whole(outcome) else "orange"


def drawn(sentence: Sentence) -> str:
    """The sentence as HTML."""
    return f'<p class="tm-verdict {sentence.tone}" role="status" data-testid="sentence">{escape(sentence.text)}</p>'

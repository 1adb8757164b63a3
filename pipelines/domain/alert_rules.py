"""Rules of alerts: over findings, and over figures with thresholds, one for when it holds and one for when it is over."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.bounds import Count
from pipelines.domain.errors import Invalid
from pipelines.domain.findings import Problem
from pipelines.domain.moments import DAY_MS, duration_ms

MOST_NAME = 60
SECONDS = "_seconds"
"""In the name of a figure whose threshold may be a duration."""
METRIC = "tidemark_job_"
"""What `/metrics` puts before the name of a job's figure; a rule may say a figure with it or without."""
OBSERVED = "observed "
"""Before the name of a number that the job observes itself (`df.observe`): `observed checks.bad_rows > 5`."""
GROWTH = "growth of "
"""Before a figure that grows and the time in which it does: `growth of state_bytes in 1h > 1e9`."""
GROWING = ("state_rows", "state_bytes", "checkpoint_bytes")
LONGEST_GROWTH_MS = 31 * DAY_MS
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{MOST_NAME - 1}}}")
_THRESHOLD = re.compile(r"(?P<figure>[a-z][a-z0-9_]*)\s*(?P<sign>>=?|<=?)\s*(?P<limit>.+)")
_GROWTH = re.compile(rf"(?P<figure>{GROWTH}(?:{'|'.join(GROWING)}) in [0-9a-z]+)\s*(?P<sign>>=?|<=?)\s*(?P<limit>.+)")
_OBSERVED = re.compile(rf"(?P<figure>{OBSERVED}\S.*?)\s*(?P<sign>>=?|<=?)\s*(?P<limit>[^<>=]+)")
"""A column that has no alias is named by its expression, which may hold a sign: the last one counts."""


@dataclass(frozen=True)
class Rule:
    """From when on somebody is told. `when` is a finding (`lagging`) or a threshold (`event_time_lag_seconds > 5m`)."""

    name: str
    when: str
    clear: str = ""
    """The value at which it is over again; empty for the threshold itself."""
    for_ms: Count = 0
    """So long it must hold before it fires."""
    clear_for_ms: Count = 0
    """So long it must be over before it is resolved."""
    repeat_ms: Count = 0
    """Said again every so often until somebody acknowledges it; 0 for once."""
    channels: tuple[str, ...] = ()
    """Those that are told; empty for every one."""
    off: bool = False


@dataclass(frozen=True)
class Growth:
    """By how much a figure is more than it was so long ago."""

    of: str
    in_ms: int


@dataclass(frozen=True)
class Condition:
    """A rule's `when` as it is read: of a finding, or of a figure with its threshold and the value at which it is over."""

    problem: Problem | None = None
    figure: str = ""
    sign: str = ""
    limit: float = 0.0
    clear: float = 0.0

    @property
    def observed(self) -> str:
        """The number of the job's own that it looks at; empty for any other figure."""
        return self.figure.removeprefix(OBSERVED) if self.figure.startswith(OBSERVED) else ""

    @property
    def growth(self) -> Growth | None:
        """What it looks at of a figure that grows; None for any other one."""
        if not self.figure.startswith(GROWTH):
            return None
        of, long = self.figure.removeprefix(GROWTH).split(" in ")
        return Growth(of, duration_ms(long))

    def holds(self, value: float) -> bool:
        return _beyond(self.sign, value, self.limit)

    def is_over(self, value: float) -> bool:
        return not self.holds(value) and not _beyond(self.sign, value, self.clear)


@dataclass(frozen=True)
class Reading:
    """What a rule finds in a job now. Neither `holds` nor `is_over` between the two thresholds, and where nobody knows."""

    holds: bool
    is_over: bool
    words: str


def alert_name(text: str) -> str:
    """`text` as the name of an alert or a channel; Invalid (`alert.name`) for what is none."""
    if not _NAME.fullmatch(text):
        hint = f"Use letters, digits, '_', '-' and '.', at most {MOST_NAME}, beginning with a letter or digit."
        raise Invalid("alert.name", f"{text!r} is no name of an alert or a channel", hint)
    return text


def condition(rule: Rule) -> Condition:
    """A rule's `when` and `clear`; Invalid (`alert.when`, `alert.clear`) for what is neither a finding nor a threshold."""
    text = rule.when.strip()
    if text in list(Problem):
        if rule.clear:
            raise Invalid("alert.clear", "A finding has no threshold at which it is over", "Leave it out, or give a time: --clear-for 5m.")
        return Condition(Problem(text))
    plain = " ".join(text.removeprefix(METRIC).split())
    match = _form(plain).fullmatch(plain)
    if match is None:
        forms = f"'event_time_lag_seconds > 5m', '{GROWTH}state_bytes in 1h > 1e9', '{OBSERVED}NAME.COLUMN > 5'"
        hint = f"Write {forms}, or a finding: {', '.join(Problem)}. What grows is {', '.join(GROWING)}."
        raise Invalid("alert.when", f"{text!r} is neither a finding nor a threshold", hint)
    limit = _number(match["figure"], match["limit"])
    over = _number(match["figure"], rule.clear) if rule.clear else limit
    if _beyond(match["sign"][0], over, limit):
        raise Invalid("alert.clear", f"At {rule.clear} the rule {text!r} still holds", "Give a value on the other side of the threshold.")
    read = Condition(None, match["figure"], match["sign"], limit, over)
    if read.growth and not 0 < read.growth.in_ms <= LONGEST_GROWTH_MS:
        raise Invalid("alert.when", f"{text!r} looks back too far, or not at all", "Give a time of at most 31 days: 1h, 1d.")
    return read


def _form(plain: str) -> re.Pattern[str]:
    return _OBSERVED if plain.startswith(OBSERVED) else _GROWTH if plain.startswith(GROWTH) else _THRESHOLD


def rules_of(own: Sequence[Rule], usual: Sequence[Rule]) -> list[Rule]:
    """The rules that hold for a job: its own stand before the workspace's of the same name; without those that are off."""
    named = {rule.name: rule for rule in (*usual, *own)}
    return [rule for rule in named.values() if not rule.off]


def _beyond(sign: str, value: float, limit: float) -> bool:
    beyond = value > limit if sign.startswith(">") else value < limit
    return beyond or (sign.endswith("=") and value == limit)


def _number(figure: str, text: str) -> float:
    """The threshold; of seconds also as a duration: `5m`."""
    try:
        number = float(text)
    except ValueError:
        if SECONDS not in figure:
            raise Invalid("alert.when", f"{text!r} is no number", "Write one: 0.9, 1000, 5e9.") from None
        return duration_ms(text) / 1_000
    if not abs(number) < 1e300:
        raise Invalid("alert.when", f"{text!r} is no number to compare with", "Write one: 0.9, 1000, 5e9.")
    return number

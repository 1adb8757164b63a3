"""Verdicts on the shell; one that cannot start ends with Incompatible."""

from __future__ import annotations

from pipelines.cli.additions import Shown, shows
from pipelines.cli.session import Here
from pipelines.domain.errors import Incompatible
from pipelines.domain.verdicts import Verdict
from pipelines.verbs.check import Check
from pipelines.words import verdicts as words


@shows(Check)
def _checked(here: Here, change: Check, verdict: Verdict) -> Shown:
    """The verdict, part by part."""
    error = None
    if not verdict.outcome.starts:
        error = Incompatible("code.cannot_start", words.SENTENCES[verdict.outcome], "The reasons above say what would help.")
    return Shown(verdict, "\n".join(words.lines(verdict)), error)

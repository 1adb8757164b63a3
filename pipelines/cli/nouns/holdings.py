"""What a savepoint's sources still hold, as text."""

from __future__ import annotations

from pipelines.cli import output
from pipelines.cli.additions import shows
from pipelines.cli.session import Here
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.holdings import AskHoldings
from pipelines.words import formats
from pipelines.words import holdings as words


@shows(AskHoldings)
def _asked(here: Here, change: AskHoldings, savepoint: Savepoint) -> str:
    return output.details([("savepoint", savepoint.id), *pairs(savepoint, here.session.now_ms)])


def pairs(savepoint: Savepoint, now_ms: int) -> list[tuple[str, str]]:
    """Whether it can be used, why, when that was asked, and what is gone."""
    holdings = savepoint.holdings
    if holdings is None:
        return [("usable", words.UNASKED)]
    gaps = [gap for holding in holdings.sources for gap in holding.gaps]
    return [
        ("usable", words.held(holdings, now_ms)),
        ("because", words.why(holdings)),
        ("asked", formats.when(holdings.at_ms, now_ms, None)),
        *(("gone", gap) for gap in gaps),
    ]

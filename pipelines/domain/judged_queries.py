"""The verdict on queries that the savepoint does not hold, and the code starts: the driver refuses them where nobody announced them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pipelines.domain.ids import query_name
from pipelines.domain.plannings import NEW, Planning
from pipelines.domain.verdicts import Outcome, Part


def unannounced(planning: Planning, held: Collection[str], announced: Collection[str]) -> Iterator[Part]:
    """A part for each query that is neither among those that the savepoint holds nor `announced` as new, as the run would refuse it
    (`query.unexpected`)."""
    expected = {*held, *map(query_name, announced)}
    for planned in planning.side(NEW).queries if held and not planning.unsupported else ():
        if planned.query not in expected:
            reason = (
                f"The code starts {planned.query}, of which the savepoint holds no state: the run refuses a query that nobody announced."
            )
            yield Part(planned.query, None, "", Outcome.CANNOT_START, (reason,), _hint(planned.query))


def _hint(query: str) -> str:
    return f"Where it is meant to begin anew, say so: --new-query {query}. Where it has state under another name, give it that (queryName)."

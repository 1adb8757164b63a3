"""`state-difference`: which keys of state were added, removed and changed between two points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.operations import Operation
from pipelines.domain.state_differences import StateDifference
from pipelines.domain.states import StateRows
from pipelines.domain.texts import QUERY
from pipelines.verbs.reads import Reads
from pipelines.verbs.shell import words_of_fields
from pipelines.verbs.state import TableNamed
from pipelines.verbs.verb import Change, Http, Kind, Question, Shell, Works, argument, named, option

POINT = "A savepoint; a job, which is its newest committed batch; or JOB@N (JOB@QUERY=N), a batch that Spark still keeps."


@dataclass(frozen=True)
class StateDifferencePlan:
    """What a comparison of state will read."""

    a: str
    b: str
    job: JobName
    """Of B."""
    a_savepoint: SavepointId | None
    b_savepoint: SavepointId | None
    """None where it is a job's batch: a savepoint is taken for the time of the reading, which no list shows."""


@dataclass(frozen=True)
class CompareState(Change[Operation, StateDifferencePlan], TableNamed):
    """Compare the state of two points key by key. Each table of state that both points have is read by Spark, whole, unless it was read
    before, and compared; without further options all of them are. What cannot be compared is named with the reason. The operation's
    result is the difference's id."""

    a: str = argument(POINT, reads=Reads.SAVEPOINT)
    b: str = argument("Another point.", reads=Reads.SAVEPOINT)

    call, topic = "compare_state", "states"
    role = Role.OPERATOR
    http = Http("POST", "/state-differences", 202)
    within = "state-difference"
    refuses = (NotFound, Conflict, Corrupt, Unsupported, Unavailable)
    follows = True
    kinds = {"compare-state": Kind("Comparing the state of", "Compared the state of")}

    def works_as(self, plan: StateDifferencePlan) -> Works:
        return Works("compare-state", plan.job, f"{plan.a} {plan.b}")


DIFFERENCE = "The id of a difference."


@dataclass(frozen=True)
class ShowStateDifference(Question[StateDifference]):
    """Show a difference of state. It has for each table how many keys were added, removed and changed, by partition and by window, and how
    far each column drifted."""

    difference: str = named(DIFFERENCE)

    call, topic = "state_difference", "states"
    role = Role.VIEWER
    http = Http("GET", "/state-differences/{difference}")
    within = "state-difference"
    refuses = (NotFound,)


@dataclass(frozen=True)
class QueryStateDifference(Question[StateRows], TableNamed):
    """Query a difference of state. The answer is a page of the keys that differ, as `QueryState` answers it; or that of one SELECT over
    the views `difference` (`change`, `key`, `partition_id`, and the values `a` and `b`) and `a` and `b`, which hold all rows of either
    side. Times are epoch ms."""

    difference: str = named(DIFFERENCE)
    sort: str = option("Order by this column (key.NAME).", "", metavar="COLUMN")
    descending: bool = option("The greatest first.", False, shell=Shell.ABSENT)
    filter: str = option("Only rows that hold this text.", "", metavar="TEXT")
    sql: str = option("One SELECT over the views difference, a and b.", "", text=QUERY)
    offset: int = option("How many rows to pass over.", 0, shell=Shell.ABSENT)
    limit: int = option("At most this many rows.", 100, shell=Shell.ABSENT)

    call, topic = "query_state_difference", "states"
    role = Role.VIEWER
    http = Http("POST", "/state-differences/{difference}/query")
    within = "state-difference"
    refuses = (NotFound, Unavailable)

    def words(self) -> Sequence[str]:
        sort = f"-{self.sort}" if self.sort and self.descending else self.sort
        return [*words_of_fields(replace(self, sort=sort, limit=100)), "--limit", str(self.limit)]

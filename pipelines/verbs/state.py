"""`state`: what a savepoint remembers, read by Spark once and asked as often as one likes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.operations import Operation
from pipelines.domain.state_sizes import OperatorSizes
from pipelines.domain.states import MOST_ROWS, StateRows, StateTable
from pipelines.domain.texts import QUERY
from pipelines.verbs.forget import JOB
from pipelines.verbs.fork import SAVEPOINT
from pipelines.verbs.reads import Reads
from pipelines.verbs.shell import words_of_fields
from pipelines.verbs.verb import Change, Http, Kind, Question, Shell, Works, named, option


@dataclass(frozen=True, kw_only=True)
class TableNamed:
    """One table of a savepoint's state; what is empty or None is the only one there is."""

    query: str = option("The streaming query.", "")
    operator: int | None = option("Id of the stateful operator.", None)
    store: str = option("The state store; of a join also left or right.", "")
    variable: str = option("The state variable of a transformWithState.", "")


@dataclass(frozen=True)
class ListStates(Question[Sequence[StateTable]]):
    """List a savepoint's tables of state. There is one for every state store, side of a join and state variable, with what was read of it
    so far. No Spark is started."""

    savepoint: str = named(SAVEPOINT, reads=Reads.SAVEPOINT)

    call, topic = "states", "states"
    role = Role.VIEWER
    http = Http("GET", "/savepoints/{savepoint}/states")
    within = "state --tables"
    refuses = (NotFound, Corrupt, Unsupported, Unavailable)


@dataclass(frozen=True)
class ShowStateSizes(Question[Sequence[OperatorSizes]]):
    """Show the sizes of a job's state by partition, over time. The answer has for each stateful operator the bytes of each partition in the
    newest savepoints (with rows, where their state was read), and the bytes that each batch that Spark still keeps wrote into it."""

    job: str = named(JOB)
    savepoints: int = option("At most so many savepoints, the newest.", 24, least=0, most=200)

    call, topic = "state_sizes", "states"
    role = Role.VIEWER
    http = Http("GET", "/jobs/{job}/state-sizes")
    refuses = (NotFound, Conflict, Corrupt, Unsupported, Unavailable)


@dataclass(frozen=True)
class QueryState(Question[StateRows], TableNamed):
    """Query a table of state. The answer is a page of the rows that were read, those that hold `filter`, in the order of the column `sort`;
    or that of one SELECT over the view `state`, whose columns are `key`, `value` (structs) and `partition_id`. Times are epoch ms."""

    savepoint: str = named(SAVEPOINT, reads=Reads.SAVEPOINT)
    sort: str = option("Order by this column (key.NAME).", "", metavar="COLUMN")
    descending: bool = option("The greatest first.", False, shell=Shell.ABSENT)
    filter: str = option("Only rows that hold this text.", "", metavar="TEXT")
    sql: str = option("One SELECT over the view 'state': key and value (structs), partition_id.", "", text=QUERY)
    offset: int = option("How many rows to pass over.", 0, shell=Shell.ABSENT)
    limit: int = option("At most this many rows.", 100, shell=Shell.ABSENT)

    call, topic = "query_state", "states"
    role = Role.VIEWER
    http = Http("POST", "/savepoints/{savepoint}/states/query")
    within = "state"
    refuses = (NotFound, Conflict, Corrupt, Unsupported, Unavailable)

    def words(self) -> Sequence[str]:
        sort = f"-{self.sort}" if self.sort and self.descending else self.sort
        return [*words_of_fields(replace(self, sort=sort)), "--limit", str(self.limit)]


@dataclass(frozen=True)
class ReadStatePlan:
    """What a reading of state will do; what was read before is there at once."""

    savepoint: SavepointId
    job: JobName
    table: StateTable
    limit: int


@dataclass(frozen=True)
class ReadState(Change[Operation, ReadStatePlan], TableNamed):
    """Read a table of state with Spark. At most `limit` rows of it are read and kept; what was read before is there at once. The
    operation's result is the reading's id."""

    savepoint: str = named(SAVEPOINT, reads=Reads.SAVEPOINT)
    limit: int = option("How many rows Spark shall read and keep at most.", MOST_ROWS, flag="--read-rows")

    call, topic = "read_state", "states"
    role = Role.OPERATOR
    http = Http("POST", "/savepoints/{savepoint}/states", 202)
    within = "state"
    refuses = (NotFound, Conflict, Corrupt, Unsupported, Unavailable)
    follows = True
    kinds = {"read": Kind("Reading the state of", "Read the state of")}

    def works_as(self, plan: ReadStatePlan) -> Works:
        return Works("read", plan.job, plan.savepoint)

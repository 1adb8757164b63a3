"""`input-rows`: the rows that the failed batch of a job reads."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName, VersionId
from pipelines.domain.input_rows import MOST_ROWS, USUAL_ROWS, InputRows
from pipelines.domain.restarts import FailedBatch
from pipelines.verbs.forget import JOB
from pipelines.verbs.verb import Change, Http, Kind, Works, named, option


@dataclass(frozen=True)
class InputRowsPlan:
    """The batch whose input will be read again, and the code that says what its sources are."""

    job: JobName
    version: VersionId
    batch: FailedBatch


@dataclass(frozen=True)
class ReadInputRows(Change[InputRows, InputRowsPlan]):
    """Show the input rows of the batch that a job failed at. The job's code says in the sandbox what its sources are, and Spark reads each
    again from the batch's first offset to its last, before any of that code sees a row; nothing is written, and the job's checkpoint is not
    touched. Of what a source cannot give again the answer says why."""

    job: str = named(JOB)
    limit: int = option("At most so many rows of each source.", USUAL_ROWS, least=1, most=MOST_ROWS, metavar="N")

    call, topic = "read_input_rows", "jobs"
    role = Role.OPERATOR
    http = Http("POST", "/jobs/{job}/input-rows")
    command, shell = "input-rows", "Prints each row as a line of JSON with its source."
    refuses = (NotFound, Conflict, Corrupt, Unsupported, Unavailable)
    kinds = {"input-rows": Kind("Reading the input rows of", "Read the input rows of")}

    def works_as(self, plan: InputRowsPlan) -> Works:
        return Works("input-rows", plan.job)

    def result(self, answer: InputRows) -> str:
        return f"{sum(len(source.rows) for source in answer.sources)} rows of batch {answer.batch}"

"""`restart-strategy`: how a job begins again by itself after it failed."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job
from pipelines.domain.restart_strategies import MOST_ATTEMPTS, OPTIONS, RestartStrategy, Strategy
from pipelines.verbs.forget import JOB
from pipelines.verbs.verb import Change, Http, duration, named, option


@dataclass(frozen=True)
class RestartStrategyPlan:
    """The restart strategy of a job as it is, and as it will be."""

    job: JobName
    before: RestartStrategy
    after: RestartStrategy


def _number(help: str, flag: str = "") -> int | None:
    number: int | None = option(help, None, flag=flag, least=0, most=MOST_ATTEMPTS)
    return number


@dataclass(frozen=True)
class SetRestartStrategy(Change[Job, RestartStrategyPlan]):
    """Set how a job begins again after it failed, by the names and with the defaults of Flink's restart strategies. Another strategy begins
    with its defaults; without one, what is given changes the strategy that is, and 'usual' (0) brings a default back. A job that failed
    before a query had started is not restarted. Forks of the job begin with its strategy."""

    job: str = named(JOB)
    strategy: Strategy | None = option("usual is exponential-delay, and none for jobs that end by themselves.", None)
    attempts: int | None = _number("Of exponential-delay (in a row, without end) and fixed-delay (1): most restarts.")
    delay_ms: int | None = duration("From a failure to its restart: fixed-delay, failure-rate (1s).", "--delay")
    initial_backoff_ms: int | None = duration("First delay of exponential-delay (1s).", "--initial-backoff")
    max_backoff_ms: int | None = duration("Longest delay of exponential-delay (1m).", "--max-backoff")
    backoff_multiplier: float | None = option("By how much its delays grow (1.5).", None)
    reset_backoff_ms: int | None = duration("After so long without a failure they begin anew (1h).", "--reset-backoff-threshold")
    jitter_factor: float | None = option("The share by which they vary (0.1).", None)
    failures: int | None = _number("Most restarts in an interval of failure-rate (1).", "--max-failures-per-interval")
    interval_ms: int | None = duration("That interval (1m).", "--failure-rate-interval")
    poison_after: int | None = _number(
        "So many failures in a row at the same batch with the same error stop the job, whatever the strategy (3); ten do with any."
    )

    call, topic = "set_restart_strategy", "jobs"
    role = Role.OPERATOR
    http = Http("PATCH", "/jobs/{job}/restart-strategy")
    command, shell = "restart-strategy", "Prints the strategy; without options it only does that."
    refuses = (NotFound, Conflict)
    prints = "{0.restarts}"

    def left_to_server(self) -> str:
        return "" if self.strategy is Strategy.NONE else "the job is begun again after a failure"

    def given(self) -> dict[str, int | float]:
        """The options that are given, by name."""
        names = {*set().union(*OPTIONS.values()), "poison_after"}
        return {name: value for name, value in vars(self).items() if name in names and value is not None}

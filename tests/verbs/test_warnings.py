"""What who begins a change is told, on the command and over REST, without having asked for its plan."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.ids import ExperimentId, JobName, QueryName, RunId, SavepointId, VersionId
from pipelines.domain.restores import SHARED, RestorePlan, SinkPlan
from pipelines.verbs.experiment import ExperimentPlan, StartExperiment
from pipelines.verbs.fork import Fork
from pipelines.verbs.resume import UNCHECKED, Resume
from pipelines.verbs.upgrade import Upgrade, UpgradePlan
from tests import samples

SINK = SinkPlan(QueryName("totals"), "foreachBatch", "", SHARED, "Your code decides where it writes.")
TOLD = "totals may write where its parent writes. Your code decides where it writes."


def planned(*sinks: SinkPlan) -> RestorePlan:
    return replace(samples.restore_plan("sp-1", "b", keeps_query_id=False), sinks=sinks, warnings=("slow",))


def test_a_fork_says_which_sinks_its_parent_may_write_to_as_well() -> None:
    assert list(Fork("sp-1", name="b").warns(planned(SINK))) == [TOLD]
    assert list(Fork("sp-1", name="b", conf={"spark.x": "1"}).warns(planned(SINK))) == [TOLD, "slow"]
    assert not Fork("sp-1", name="b").warns(planned(replace(SINK, action="none")))
    plan = ExperimentPlan(ExperimentId("e-1"), "e", SavepointId("sp-1"), (JobName("b"),), (planned(SINK), planned(SINK)))
    assert list(StartExperiment("e", "sp-1", ()).warns(plan)) == [TOLD], "once"


def test_changed_code_that_is_not_checked_is_told() -> None:
    plan = replace(planned(), judged=None)
    assert list(Resume("a", code="x = 1").warns(plan)) == [UNCHECKED]
    assert list(Resume("a", args=("--fast",)).warns(plan)) == [UNCHECKED], "what code is given may change what its state means"
    assert not Resume("a").warns(plan) and not Resume("a", code="x = 1", check=False).warns(plan)
    assert not Resume("a", code="x = 1").warns(replace(plan, judged=SavepointId("sp-1")))
    upgrade = UpgradePlan(JobName("a"), RunId("r-1"), VersionId("v-1"), False, (), plan)
    assert list(Upgrade("a", code="x = 1").warns(upgrade)) == [UNCHECKED]
    assert not Upgrade("a", code="x = 1").warns(replace(upgrade, stops=True)), "the savepoint that it is stopped with stands for its state"

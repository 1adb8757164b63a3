"""What a workspace can be asked of its savepoints (see `face.Face`)."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.domain.diagnosis import Diagnosis
from pipelines.domain.disposals import Disposal
from pipelines.domain.jobs import Run
from pipelines.domain.operations import Operation
from pipelines.domain.requests import AnnotateRequest, ExportRequest, ForkRequest, ImportRequest, TakeRequest
from pipelines.domain.savepoints import DisposePlan, ExportPlan, Manifest, RestorePlan, Savepoint, TakePlan
from pipelines.domain.space import Space
from pipelines.domain.states import StateQuery, StateRequest, StateRows, StateTable
from pipelines.domain.trust import Trust, Verification
from pipelines.workspace import diagnoses, disposals, exports, forks, savepoints, spaces, states, verifications
from pipelines.workspace.context import Context


class SavepointVerbs:
    """That part of a workspace; `context` is its own."""

    context: Context

    def take(self, job: str, request: TakeRequest) -> Savepoint | TakePlan:
        return exports.take_to(self.context, job, request) if request.to else savepoints.take(self.context, job, request)

    def savepoints(self, job: str = "") -> Sequence[Savepoint]:
        return savepoints.newest_first(self.context, job)

    def savepoint(self, savepoint: str) -> Savepoint:
        return savepoints.get(self.context, savepoint)

    def manifest(self, savepoint: str) -> Manifest:
        return savepoints.manifest(self.context, savepoint)

    def annotate(self, savepoint: str, request: AnnotateRequest) -> Savepoint:
        return savepoints.annotate(self.context, savepoint, request)

    def verify(self, savepoint: str, level: Trust = Trust.INTACT) -> Verification:
        return verifications.verify(self.context, savepoint, level)

    def start_verify(self, savepoint: str, level: Trust = Trust.INTACT) -> Operation:
        return verifications.start(self.context, savepoint, level)

    def verification(self, savepoint: str) -> Verification | None:
        return verifications.last(self.context, savepoint)

    def diagnose(self, subject: str) -> Sequence[Diagnosis]:
        return diagnoses.diagnose(self.context, subject)

    def states(self, savepoint: str) -> Sequence[StateTable]:
        return states.listed(self.context, savepoint)

    def read_state(self, savepoint: str, request: StateRequest) -> Operation:
        return states.read(self.context, savepoint, request)

    def query_state(self, savepoint: str, query: StateQuery) -> StateRows:
        return states.query(self.context, savepoint, query)

    def space(self, job: str = "") -> Space:
        return spaces.space(self.context, job)

    def export(self, savepoint: str, request: ExportRequest) -> Operation | ExportPlan:
        return exports.export(self.context, savepoint, request)

    def import_savepoint(self, request: ImportRequest) -> Operation:
        return exports.import_savepoint(self.context, request)

    def dispose(self, savepoint: str, *, dry_run: bool = False) -> DisposePlan:
        return savepoints.dispose(self.context, savepoint, dry_run=dry_run)

    def dispose_many(self, savepoints: Sequence[str], *, dry_run: bool = False) -> Disposal:
        return disposals.dispose_many(self.context, savepoints, dry_run=dry_run)

    def fork(self, savepoint: str, request: ForkRequest) -> Run | RestorePlan:
        return forks.fork(self.context, savepoint, request)

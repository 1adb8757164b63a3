"""The verb of trust: verify a savepoint, or let the doctor look at a job's live checkpoint, or at any checkpoint."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli import diagnoses, formats, options, output, trust
from pipelines.cli.following import followed
from pipelines.cli.session import Here, opened
from pipelines.domain.diagnosis import Diagnosis
from pipelines.domain.errors import Conflict, Corrupt, NotFound, TidemarkError
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust, Verification


def register(app: typer.Typer) -> None:
    """Adds this module's verb."""
    app.command()(verify)


def verify(
    ctx: typer.Context,
    subject: Annotated[
        str,
        typer.Argument(metavar="SUBJECT", help="A savepoint (id or path); or a job, or a checkpoint's path or URL.", show_default=False),
    ],
    level: Annotated[
        Trust | None,
        typer.Option(
            "--level", help="Of a savepoint: complete (files and sizes), intact (checksums; the default), proved (a restore by Spark)."
        ),
    ] = None,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Check a savepoint, or a checkpoint. Of a job or a checkpoint it says what is damaged, what depends on it, and the newest batch
    that can still be restored. Exit code 7 if files are damaged, 5 if the level was not reached though none is; Ctrl-C cancels."""
    with opened(ctx, workspace, as_json) as here:
        savepoint = _savepoint(here, subject)
        if savepoint is not None:
            _verify(here, savepoint, level or Trust.INTACT)
        elif level is not None:
            raise typer.BadParameter("only a savepoint has levels; leave it out for a job or a checkpoint", param_hint="--level")
        else:
            diagnoses.examine(here, options.checkpoint_name(subject))


def _savepoint(here: Here, subject: str) -> Savepoint | None:
    """The savepoint of that name; None for a job, and for what is neither (a checkpoint's path)."""
    try:
        here.face.job(subject)
    except NotFound:
        try:
            return here.face.savepoint(options.savepoint_name(subject))
        except NotFound:
            return None
    return None


def _verify(here: Here, savepoint: Savepoint, level: Trust) -> None:
    """Verifies as an operation, then prints the outcome: Corrupt for damage, Conflict where the level was not reached."""
    followed(here, lambda: here.face.start_verify(savepoint.id, level))
    found = here.face.verification(savepoint.id)
    assert found is not None, "a verification that is done is kept"
    if found.damages:
        _show_damaged(here, found)
    _show(here, found, [])
    if found.reached is None or list(Trust).index(found.reached) < list(Trust).index(level):
        reached = found.reached.value if found.reached else "not even complete"
        why = found.proof.note if found.proof else ""
        raise Conflict("savepoint.not_proved", f"{savepoint.id} is {reached}, not {level.value}", why)


def _show_damaged(here: Here, found: Verification) -> None:
    """The outcome, and what the doctor says of it; always raises Corrupt (or why the doctor could not look)."""
    try:
        said = list(here.face.diagnose(found.savepoint))
    except TidemarkError:
        _show(here, found, [])
        raise
    _show(here, found, said)
    damaged = formats.counted(len(found.damages), "damaged file")
    hint = next((one.advice for one in said if not one.sound), "Use another savepoint; 'savepoints' lists them.")
    raise Corrupt("savepoint.damaged", f"{found.savepoint} has {damaged}, first {found.damages[0].path}", hint)


def _show(here: Here, found: Verification, said: list[Diagnosis]) -> None:
    """The verification, as JSON with the doctor's word in `diagnosis`."""
    parts = [trust.verification_text(found), *([diagnoses.text(said)] if said else [])]
    here.show(output.with_fields(found, diagnosis=said), "\n\n".join(parts))

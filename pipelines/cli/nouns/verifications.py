"""Verifying on the shell: a savepoint to a level, or the doctor on a job's live checkpoint, or on any checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pipelines.cli import output
from pipelines.cli.additions import Shown, command, shows
from pipelines.cli.follow import done
from pipelines.cli.nouns import diagnoses, trust
from pipelines.cli.perform import perform
from pipelines.cli.session import Here
from pipelines.cli.words import DryRun, checkpoint_name, savepoint_name
from pipelines.domain.diagnosis import Diagnosis
from pipelines.domain.errors import Conflict, Corrupt, NotFound, TidemarkError
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust, Verification
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.verbs.verify import Verify
from pipelines.words import trust as words


@command("verify", "savepoints")
def verify(
    here: Here,
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
    dry_run: DryRun = False,
) -> None:
    """Check a savepoint, or a checkpoint. Of a job or a checkpoint it says what is damaged, what depends on it, and the newest batch
    that can still be restored. Exit code 7 if files are damaged, 5 if the level was not reached though none is; Ctrl-C cancels."""
    savepoint = _savepoint(here, subject)
    if savepoint is not None:
        perform(here, Verify(savepoint.id, level or Trust.INTACT))
    elif level is not None:
        raise typer.BadParameter("only a savepoint has levels; leave it out for a job or a checkpoint", param_hint="--level")
    else:
        perform(here, Diagnose(checkpoint_name(subject)))


def _savepoint(here: Here, subject: str) -> Savepoint | None:
    """The savepoint of that name; None for a job and for a checkpoint's path."""
    try:
        here.face.ask(ShowJob(subject))
    except NotFound:
        try:
            return here.face.ask(ShowSavepoint(savepoint_name(subject)))
        except NotFound:
            return None
    return None


@shows(Verify)
def _verified(here: Here, change: Verify, verification: Verification) -> Shown:
    """Shows the outcome, with a diagnosis of damage; ends with Corrupt for damage, Conflict where the level was not reached."""
    if verification.damages:
        return _damaged(here, verification)
    return _shown(verification, [], _not_reached(verification, change.level))


def _not_reached(verification: Verification, level: Trust) -> Conflict | None:
    if not words.falls_short(verification, level):
        return None
    message = words.shortfall(verification.savepoint, verification.reached, level)
    return Conflict("savepoint.not_proved", message, words.reason(verification))


def _damaged(here: Here, verification: Verification) -> Shown:
    """Shows the outcome with a diagnosis, or why there is none, and ends with Corrupt."""
    try:
        word = done(here, Diagnose(verification.savepoint))
    except TidemarkError as error:
        return _shown(verification, [], error)
    hint = next((diagnosis.advice for diagnosis in word if not diagnosis.sound), "Use another savepoint; 'savepoints' lists them.")
    message = f"{words.damage(verification.savepoint, len(verification.damages))}, first {verification.damages[0].path}"
    return _shown(verification, word, Corrupt("savepoint.damaged", message, hint))


def _shown(verification: Verification, word: Sequence[Diagnosis], error: TidemarkError | None) -> Shown:
    """The verification, as JSON with the diagnosis in `diagnosis`."""
    parts = [trust.verification_text(verification), *([diagnoses.text(word)] if word else [])]
    return Shown(output.with_fields(verification, diagnosis=list(word)), "\n\n".join(parts), error)

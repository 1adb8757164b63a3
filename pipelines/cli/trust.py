"""How far a savepoint can be trusted, as text."""

from __future__ import annotations

from pipelines.cli import formats, output
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Proof, Trust, Verification


def best(savepoint: Savepoint) -> str:
    """The highest level it reached, or `damaged`."""
    if savepoint.damaged_files:
        return "damaged"
    reached = [level for level in Trust if level in savepoint.levels]
    return (reached[-1] if reached else savepoint.trust).value


def pairs(savepoint: Savepoint, now_ms: int) -> list[tuple[str, str]]:
    """The best level, then each level with when it was reached."""
    said = best(savepoint)
    if savepoint.damaged_files:
        said = f"{formats.counted(savepoint.damaged_files, 'damaged file')}, found {formats.when(savepoint.verified_ms, now_ms)}"
    levels = [(f"  {level.value}", formats.when(savepoint.levels.get(level), now_ms)) for level in Trust]
    return [("trust", said), *levels]


def verification_text(found: Verification) -> str:
    """What a verification found: the level, or the damage; and the newest proof's counts."""
    pairs = [
        ("savepoint", found.savepoint),
        ("asked", found.asked.value),
        ("reached", found.reached.value if found.reached else "nothing"),
        ("files", formats.count(found.files)),
        ("size", formats.size(found.bytes)),
        *((damage.kind, f"{damage.path}: {damage.message}") for damage in found.damages),
    ]
    return "\n\n".join([output.details(pairs), *([proof_text(found.proof)] if found.proof else [])])


def proof_text(proof: Proof) -> str:
    """What the sandbox saw: rows by operator beside those expected, and the batch of each query."""
    said = f"proof by Spark {proof.spark_version} in {formats.duration(proof.took_ms)}" + (f": {proof.note}" if proof.note else "")
    states = [
        (one.query, formats.count(one.operator), one.name, formats.count(one.rows), formats.count(one.expected)) for one in proof.states
    ]
    batches = [
        (one.query, formats.count(one.batch), formats.count(one.input_rows), formats.count(one.output_rows), formats.duration(one.batch_ms))
        for one in proof.batches
    ]
    tables = [
        (output.Table(("QUERY", "OPERATOR>", "NAME", "ROWS READ>", "EXPECTED>"), states), states),
        (output.Table(("QUERY", "BATCH RUN>", "INPUT ROWS>", "OUTPUT ROWS>", "TOOK>"), batches), batches),
    ]
    return "\n\n".join([said, *(table.plain() for table, rows in tables if rows)])

"""What a variant's code and files have otherwise than their original. Pure."""

from __future__ import annotations

from dashboard.views.fork.drafts import Variant
from pipelines.domain.texts import changed_lines
from pipelines.domain.versions import Version
from pipelines.verbs.going_on import GoingOn
from pipelines.words import plans

BESIDES = {"args": "arguments", "conf": "Spark confs", "master": "master", "python": "runtime", "requirements": "requirements"}
"""What a version has besides its code -> what people call it."""


def changed_files(variant: Variant, original: Version) -> dict[str, str] | None:
    """The files that the variant has otherwise than `original`; None where there are none."""
    return {path: text for path, text in variant.files.items() if original.files.get(path) != text} or None


def whole_difference(original: Version, variant: Variant) -> tuple[int, int]:
    """Lines added and removed in the script and in all files."""
    before, after = {"": original.code, **original.files}, {"": variant.code, **variant.files}
    counts = [changed_lines(before.get(path, ""), after.get(path, "")) for path in {**before, **after}]
    return sum(added for added, _ in counts), sum(removed for _, removed in counts)


def told(original: Version, variant: Variant, change: GoingOn | None) -> list[tuple[str, str]]:
    """How much of the code a change replaces, and what else of the version it changes."""
    besides = [name for part, name in BESIDES.items() if change is not None and getattr(change, part) is not None]
    return [("Code", plans.code(*whole_difference(original, variant))), *([("Changed too", ", ".join(besides))] if besides else [])]

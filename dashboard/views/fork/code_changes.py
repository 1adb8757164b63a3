"""What a variant's code and files have otherwise than their original. Pure."""

from __future__ import annotations

from dashboard.views.fork.drafts import Variant
from pipelines.domain.texts import changed_lines
from pipelines.domain.versions import Version


def changed_files(variant: Variant, original: Version) -> dict[str, str] | None:
    """The files that the variant has otherwise than `original`; None where there are none."""
    return {path: text for path, text in variant.files.items() if original.files.get(path) != text} or None


def whole_difference(original: Version, variant: Variant) -> tuple[int, int]:
    """Lines added and removed in the script and in all files."""
    before, after = {"": original.code, **original.files}, {"": variant.code, **variant.files}
    counts = [changed_lines(before.get(path, ""), after.get(path, "")) for path in {**before, **after}]
    return sum(added for added, _ in counts), sum(removed for _, removed in counts)

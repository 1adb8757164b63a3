"""A savepoint examined: its files by manifest and seal, its checkpoints as Spark would read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipelines.checkpoint import sink_log
from pipelines.checkpoint.doctor import Examined
from pipelines.checkpoint.doctor import parts as doctor_parts
from pipelines.domain.diagnosis import Finding
from pipelines.domain.errors import Corrupt, Unsupported
from pipelines.domain.ids import QueryName
from pipelines.domain.savepoints import Manifest, QueryImage
from pipelines.domain.trust import Damage, Trust
from pipelines.domain.watch import Watch
from pipelines.savepoint import checksums, completeness, layout, progress_file, worker
from pipelines.savepoint.worker import Checkpoint
from pipelines.workspace.context import Context


@dataclass(frozen=True)
class ExaminedImage:
    """One query of a savepoint."""

    query: QueryName
    checkpoint: str
    """Where it is."""
    examined: Examined
    """What was read of it."""
    findings: tuple[Finding, ...]
    """What is damaged, by path: of the checkpoint, and of the files that manifest and seal name."""


def examine(context: Context, manifest: Manifest, watch: Watch) -> tuple[list[Damage], list[ExaminedImage]]:
    """What is damaged by the files, also those of no query, and what was found of each query."""
    damages = _by_files(context, manifest, watch)
    return damages, [_image(context, manifest, image, damages, watch) for image in manifest.queries]


def _by_files(context: Context, manifest: Manifest, watch: Watch) -> list[Damage]:
    """Damages by the manifest and, where the savepoint is sealed, by checksum."""
    shelf = context.shelf(manifest.id)
    try:
        sealed = checksums.read(shelf, manifest.id) is not None
    except Corrupt as error:
        return [Damage(layout.CHECKSUMS, "unreadable", error.message), *completeness.damages(shelf, manifest.id, manifest.files)]
    level = Trust.INTACT if sealed else Trust.COMPLETE
    watch.step("computing checksums", sum(file.bytes for file in manifest.files) if sealed else 0)
    return list(worker.check(context.savepoint_workers, shelf, manifest.id, level, context.now_ms(), watch).damages)


def _image(context: Context, manifest: Manifest, image: QueryImage, damages: Sequence[Damage], watch: Watch) -> ExaminedImage:
    shelf = context.shelf(manifest.id).url
    inner, sink = (layout.inside(manifest.id, folder(image.query)) for folder in (layout.checkpoint, layout.sink_log))
    has_log = bool(layout.below([file.path for file in manifest.files], layout.sink_log(image.query)))
    told = _told(context, manifest, image)
    examined = worker.examine(context.savepoint_workers, Checkpoint(inner, sink if has_log else None, _of(image), told, shelf), watch)
    findings = _merged(manifest, image, damages, examined)
    if any(finding.batches for finding in findings):
        examined = Examined(examined.files, examined.bytes, examined.findings, examined.newest_committed, ())
    return ExaminedImage(image.query, f"{shelf}/{inner}", examined, findings)


def _told(context: Context, manifest: Manifest, image: QueryImage) -> int:
    """How many stateful operators the job itself told of at that batch; of none where its words are damaged, which is a finding itself."""
    try:
        event = progress_file.read(context.shelf(manifest.id), manifest.id).get(image.query, {})
    except (Corrupt, Unsupported):
        return 0
    operators = event.get("stateOperators")
    return len(operators) if isinstance(operators, list) else 0


def _merged(manifest: Manifest, image: QueryImage, damages: Iterable[Damage], examined: Examined) -> tuple[Finding, ...]:
    """Merges both examinations by file: a finding of the checkpoint goes before one of the manifest or the seal."""
    findings = {_below(image.query, finding.damage.path): finding for finding in examined.findings}
    for damage in damages:
        if damage.path not in findings and _concerns(manifest, image, damage.path):
            inner = damage.path.removeprefix(layout.checkpoint(image.query) + "/")
            findings[damage.path] = Finding(damage, _of(image), _part(image.query, inner))
    return tuple(findings[path] for path in sorted(findings))


def _of(image: QueryImage) -> tuple[int, ...]:
    """The batch that the image is of, none where the query had not begun."""
    return (image.batch,) if image.begun else ()


def _part(query: QueryName, path: str) -> str:
    if path.startswith(layout.sink_log(query)):
        return "log of the file sink"
    if path.startswith("code/"):
        return "code of the version"
    return path.partition(".")[0] if path in (layout.MANIFEST, layout.CHECKSUMS) else doctor_parts.part(path)


def _below(query: QueryName, path: str) -> str:
    """A finding's path as a path of the savepoint."""
    prefix = f"{sink_log.FOLDER}/"
    if path.startswith(prefix):
        return f"{layout.sink_log(query)}/{path.removeprefix(prefix)}"
    return f"{layout.checkpoint(query)}/{path}"


def _concerns(manifest: Manifest, image: QueryImage, path: str) -> bool:
    """Whether a file is the query's; a file of no query (the code, the manifest) is the first query's."""
    if path.startswith("queries/"):
        return path.startswith(f"{layout.of_query(image.query)}/")
    return image.query == manifest.queries[0].query

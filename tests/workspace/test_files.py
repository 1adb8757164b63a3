"""Versions of several files: kept, forked, upgraded, promoted, saved, exported, compared, with every file and nothing outside of them."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain import files
from pipelines.domain.errors import Conflict, Corrupt, Invalid, NotFound
from pipelines.domain.jobs import Run
from pipelines.domain.operations import OperationState
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.domain.versions import version
from pipelines.savepoint import layout, outside
from pipelines.storage import documents
from pipelines.verbs.experiments import Diff, ShowVersion
from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.import_ import Import
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.promote import Promote
from pipelines.verbs.resume import Resume
from pipelines.verbs.revision import Revision
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest
from pipelines.verbs.system import RebuildCatalog
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from pipelines.workspace import operations, versions
from tests.workspace.conftest import CODE, House

BINARY = b"\xff\x00\x01"
FILES = {"helper.py": "x = 1\n", "data/lookup.csv": "a,b\r\n", "model.bin": files.packed(BINARY)}
WRONG = {
    "out of the folder": ("../a.py", ""),
    "absolute": ("/a.py", ""),
    "of another system": ("..\\a.py", ""),
    "empty": ("", ""),
    "through itself": ("a/./b.py", ""),
    "nowhere": ("a//b.py", ""),
    "a control character": ("a\x1b.py", ""),
    "two lines": ("a\nb.py", ""),
    "the script": ("job.py", ""),
    "below the script": ("job.py/a.py", ""),
    "below a file": ("helper.py/a.py", ""),
    "no base64": ("a.bin", "data:;base64,!"),
    "base64 of another form": ("a.bin", "data:;base64,YR=="),
    "too much": ("a.txt", "x" * 4_000_000),
}


@pytest.fixture
def job(house: House, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The job of several files, stopped on a golden checkpoint."""
    script = RunScript(
        name="a", script="job.py", code=CODE, args=("--output", "{output}", "{code}/data"), conf={"k": "{code}"}, files=FILES
    )
    monkeypatch.setattr(house, "begin", lambda name: do(house.face, script))
    return house.ran()


def code_of(house: House, run: Run) -> Path:
    return house.face.layout.version(run.version) / "code"


def kept(house: House, run: Run) -> dict[str, bytes]:
    """What lies in the folder of the run's version."""
    code = code_of(house, run)
    return {path.relative_to(code).as_posix(): path.read_bytes() for path in code.rglob("*") if path.is_file()}


WHOLE = {"job.py": CODE.encode(), "helper.py": b"x = 1\n", "data/lookup.csv": b"a,b\r\n", "model.bin": BINARY}


def test_one_file_has_the_id_that_it_always_had() -> None:
    assert version("job.py", "x", args=("a",), conf={"k": "v"}).id == version("job.py", "x", args=("a",), conf={"k": "v"}, files={}).id
    assert version("job.py", "x").id == "v-499d7390a60a"
    assert version("job.py", "x", files={"a": "b"}).id != version("job.py", "x", files={"a": "c"}).id


@pytest.mark.parametrize("data", [b"", b"text\r\n", b"\xff", b"\x00", b"data:;base64,YQ==", "ä\f".encode(), "\u2028".encode()])
def test_a_file_comes_back_as_it_was(data: bytes) -> None:
    assert files.content(files.packed(data)) == data


def test_a_run_has_its_files_beside_its_script(house: House, job: Run) -> None:
    spec = house.face.context.files.spec(job.job, job.id)
    code = str(code_of(house, job))
    assert (spec.script, spec.code, spec.args[2], spec.conf) == (f"{code}/job.py", code, f"{code}/data", {"k": code})
    assert kept(house, job) == WHOLE
    plan = house.face.plan(RunScript(name="b", script="job.py", code=CODE, files=FILES))
    assert plan.files == ("data/lookup.csv", "helper.py", "model.bin")


@pytest.mark.parametrize(("path", "text"), WRONG.values(), ids=WRONG)
def test_a_file_that_cannot_be_one_is_refused_before_anything_is_written(house: House, path: str, text: str) -> None:
    before = sorted(house.root.rglob("*"))
    with pytest.raises(Invalid) as refused:
        house.face.plan(RunScript(name="b", script="job.py", code=CODE, files={**FILES, path: text}))
    assert refused.value.hint
    with pytest.raises(Invalid, match="is not a script's name"):
        house.face.plan(RunScript(name="b", script=f"{'ł' * 127}.py", code=CODE))
    assert sorted(house.root.rglob("*")) == before


def test_a_module_with_a_mistake_is_refused_like_a_script(house: House) -> None:
    with pytest.raises(Invalid, match=r"helper\.py, line 1"):
        house.face.plan(RunScript(name="b", script="job.py", code=CODE, files={"helper.py": "x ="}))
    assert house.face.plan(RunScript(name="b", script="job.py", code=CODE, files={"{{name}}.py": "x ="})).files


def test_a_fork_edits_any_of_its_files(house: House, job: Run) -> None:
    saved = do(house.face, Take("a"))
    same = do(house.face, Fork(saved.id, name="same"))
    assert same.version == job.version
    fork = do(house.face, Fork(saved.id, name="b", files={"helper.py": "x = 2\ny = 3\n", "model.bin": None, "new.py": ""}))
    assert kept(house, fork) == {"job.py": CODE.encode(), "helper.py": b"x = 2\ny = 3\n", "data/lookup.csv": b"a,b\r\n", "new.py": b""}
    differences = house.face.ask(Diff(saved.id, "b"))
    assert not differences.code.unified
    assert [(file.path, file.added, file.removed) for file in differences.files] == [
        ("helper.py", 2, 1),
        ("model.bin", 0, 0),
        ("new.py", 0, 0),
    ]
    assert "--- helper.py\n+++ helper.py\n" in differences.files[0].unified and "Binary" in differences.files[1].unified
    script = do(house.face, Fork(saved.id, name="c", files={"job.py": CODE + "x = 1\n"}))
    assert house.face.ask(ShowVersion(script.version)).code == CODE + "x = 1\n", "the script is one of its files"


def test_a_script_that_begins_on_a_savepoint_brings_its_own_files(house: House, job: Run) -> None:
    saved = do(house.face, Take("a"))
    args = ("--output", "{output}")
    run = do(house.face, RunScript(name="b", script="job.py", code=CODE, args=args, files={"other.py": ""}, from_savepoint=saved.id))
    assert kept(house, run) == {"job.py": CODE.encode(), "other.py": b""}


def test_a_job_resumes_with_changed_files_and_takes_a_version_back(house: House, job: Run) -> None:
    upgrade = do(house.face, Resume("a", files={"helper.py": "x = 2\n"}))
    assert kept(house, upgrade)["helper.py"] == b"x = 2\n" and upgrade.version != job.version
    house.see(upgrade, RunState.STOPPED)
    assert do(house.face, Resume("a", version=job.version)).version == job.version


def test_a_promotion_leaves_the_parent_with_the_variants_files_alone(house: House, job: Run) -> None:
    saved = do(house.face, Take("a"))
    fork = do(house.face, Fork(saved.id, name="b", files={"helper.py": None, "other.py": "y = 1\n"}))
    house.append(fork, "queries.jsonl", (house.folder(job) / "queries.jsonl").read_text())
    house.see(fork, RunState.RUNNING)
    assert house.face.plan(Promote("b")).added == 1
    do(house.face, Promote("b"))
    promoted = house.face.ask(ShowJob("a")).runs[0]
    assert (promoted.version, kept(house, promoted)) == (fork.version, kept(house, fork))


@pytest.fixture
def large(tmp_path: Path) -> tuple[str, str]:
    """The place and the SHA-256 of a file outside of versions."""
    path = tmp_path / "env.tar.gz"
    path.write_bytes(b"packed")
    return str(path), hashlib.sha256(b"packed").hexdigest()


def test_a_file_outside_is_part_of_the_version_while_a_conf_names_it(house: House, large: tuple[str, str]) -> None:
    place, digest = large
    conf = {"spark.archives": f"{place}#environment"}
    begun = RunScript(name="a", script="job.py", code=CODE, conf=conf, outside={place: digest})
    run = do(house.face, begun)
    spec = house.face.context.files.spec(run.job, run.id)
    kept = str(house.face.layout.large_files / digest / "env.tar.gz")
    assert (spec.outside, spec.conf, spec.code) == ({kept: digest}, {"spark.archives": f"{kept}#environment"}, "")
    assert Path(kept).read_bytes() == b"packed"
    house.see(run, RunState.FAILED)
    old = house.face.context.files.version(run.version)
    assert old and versions.changed(old, Revision(code="x = 1\n"), 0).outside == {place: digest}
    assert versions.changed(old, Revision(outside={place: "b" * 64}), 0).id != old.id
    assert versions.changed(old, Revision(conf={}), 0).outside == {}, "nothing names it any more"
    for wrong in ({"env.tar.gz": digest}, {place: "A" * 64}, {place: "a"}):
        with pytest.raises(Invalid, match="outside of a version"):
            house.face.plan(replace(begun, name="b", outside=wrong))


@pytest.fixture
def shipped(house: House, large: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> Savepoint:
    """Of a job `a` with a large file, which is gone since."""
    place, digest = large
    archived = {"spark.archives": place}
    script = RunScript(name="a", script="job.py", code=CODE, args=("--output", "{output}"), conf=archived, outside={place: digest})
    monkeypatch.setattr(house, "begin", lambda name: do(house.face, script))
    house.ran()
    Path(place).unlink()
    return do(house.face, Take("a"))


def test_a_large_file_is_kept_whatever_becomes_of_the_original(house: House, large: tuple[str, str], shipped: Savepoint) -> None:
    place, digest = large
    inside = Path(shipped.path, "outside", digest, "env.tar.gz")
    kept = house.face.layout.large_files / digest / "env.tar.gz"
    assert inside.samefile(kept), "linked, not copied"
    assert do(house.face, Verify(shipped.id, Trust.INTACT)).remarks == ()
    assert house.face.plan(Export(shipped.id, f"{house.root.parent}/sp.tar.zst")).left == ()
    Path(place).write_bytes(b"another")
    fork = do(house.face, Fork(shipped.id, name="b"))
    assert fork.version == shipped.version
    assert house.face.context.files.spec(fork.job, fork.id).conf == {"spark.archives": str(kept)}
    with pytest.raises(Conflict, match="is not what it was"):
        house.face.plan(Fork(shipped.id, name="c", outside={place: "c" * 64}))


def test_a_copy_that_is_not_what_was_named_is_not_kept(house: House, large: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The file changes between the plan and the copy."""
    place, digest = large
    monkeypatch.setattr(outside, "refuse", lambda left: None)
    Path(place).write_bytes(b"another")
    with pytest.raises(Conflict, match=re.escape(place)):
        do(house.face, RunScript(name="a", script="job.py", code=CODE, conf={"spark.jars": place}, outside={place: digest}))
    assert not house.face.layout.large_files.exists() or not [path for path in house.face.layout.large_files.rglob("*") if path.is_file()]
    assert house.face.ask(ListJobs()) == []


def test_nothing_begins_without_a_large_file_that_is_not_kept(house: House, large: tuple[str, str], shipped: Savepoint) -> None:
    """As in a workspace of before they were kept: refused alike by the plan and by the change; the savepoint says what is missing."""
    place, digest = large
    without_large_files(Path(shipped.path))
    shutil.rmtree(house.face.layout.large_files)
    Path(place).write_bytes(b"packed")
    assert do(house.face, Verify(shipped.id, Trust.COMPLETE)).remarks == ()
    assert house.face.plan(Export(shipped.id, f"{house.root.parent}/sp.tar.zst")).left == (place,)
    script = RunScript(name="c", script="job.py", code=CODE, conf={"spark.archives": place}, outside={place: digest})
    for damage, error, code in (
        (lambda: Path(place).write_bytes(b"pACKED!"), Conflict, "code.outside_changed"),
        (Path(place).unlink, NotFound, "code.outside_gone"),
    ):
        damage()
        for begin in (house.face.plan, house.face.begin):
            for change in (Fork(shipped.id, name="b"), Resume("a"), script):
                with pytest.raises(error, match=re.escape(place)) as refused:
                    begin(change)
                assert refused.value.code == code and digest in refused.value.message and "put it back" in refused.value.hint
        checked = do(house.face, Verify(shipped.id, Trust.COMPLETE))
        assert checked.reached is Trust.COMPLETE and len(checked.remarks) == 1 and place in checked.remarks[0]
    elsewhere = str(Path(place).with_name("moved.tar.gz"))
    Path(elsewhere).write_bytes(b"packed")
    moved = do(house.face, Fork(shipped.id, name="b", conf={"spark.archives": elsewhere}, outside={elsewhere: digest}))
    assert house.face.ask(ShowVersion(moved.version)).outside == {elsewhere: digest}
    Path(place).write_bytes(b"packed")
    assert do(house.face, Fork(shipped.id, name="c")).version == shipped.version


def without_large_files(savepoint: Path) -> None:
    """What an earlier Tidemark took: the manifest names no large file."""
    document = json.loads((savepoint / layout.MANIFEST).read_bytes())
    document["files"] = [file for file in document["files"] if not file["path"].startswith("outside/")]
    (savepoint / layout.MANIFEST).write_text(json.dumps(document))
    shutil.rmtree(savepoint / "outside")


@pytest.mark.parametrize("name", ["sp", "sp.tar.zst"])
def test_an_import_brings_large_files(house: House, large: tuple[str, str], shipped: Savepoint, tmp_path: Path, name: str) -> None:
    _, digest = large
    do(house.face, Export(shipped.id, str(tmp_path / name)))
    other = House(tmp_path / "other")
    do(other.face, Import(str(tmp_path / name)))
    assert (other.face.layout.large_files / digest / "env.tar.gz").read_bytes() == b"packed"
    assert do(other.face, Fork(shipped.id, name="b")).version == shipped.version
    other.face.close()


def test_an_import_refuses_another_file_under_a_versions_hash(
    house: House, large: tuple[str, str], shipped: Savepoint, tmp_path: Path
) -> None:
    """Sealed anew by whoever changed it: each checksum is right, and the file is not the version's."""
    _, digest = large
    do(house.face, Export(shipped.id, str(tmp_path / "sp")))
    (tmp_path / "sp" / "outside" / digest / "env.tar.gz").write_bytes(b"hacked")
    seal = tmp_path / "sp" / layout.CHECKSUMS
    seal.write_text(seal.read_text().replace(digest + '"', hashlib.sha256(b"hacked").hexdigest() + '"'))
    other = House(tmp_path / "other")
    with pytest.raises(Corrupt, match="its version names another"):
        do(other.face, Import(str(tmp_path / "sp")))
    assert other.face.ask(ListSavepoints()) == [] and not other.face.layout.large_files.exists()
    other.face.close()


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("/data/x.bin", "/large/x.bin"),
        ("/data/x.bin#name,/data/y", "/large/x.bin#name,/data/y"),
        ("file:/data/x.bin,file:///data/x.bin", "file:/large/x.bin,file:///large/x.bin"),
        ("--model=/data/x.bin", "--model=/large/x.bin"),
        *((text, text) for text in ("/data/x.bin.bak", "/data/x.bin/y", "/srv/data/x.bin", "/data/x_bin", "../data/x.bin")),
    ],
)
def test_a_text_names_a_path_whole_or_not_at_all(text: str, moved: str) -> None:
    assert files.moved(text, {"/data/x.bin": "/large/x.bin"}) == moved
    assert files.names_path(text, "/data/x.bin") is (text != moved)


@pytest.mark.parametrize("name", ["sp", "sp.tar.zst"])
def test_a_savepoint_carries_its_files_to_another_workspace(house: House, job: Run, tmp_path: Path, name: str) -> None:
    saved = do(house.face, Take("a"))
    root = Path(saved.path)
    assert {path.relative_to(root / "code").as_posix(): path.read_bytes() for path in (root / "code").rglob("*") if path.is_file()} == WHOLE
    assert do(house.face, Verify(saved.id, Trust.INTACT)).reached is Trust.INTACT
    exported = house.face.begin(Export(saved.id, str(tmp_path / name))).operation
    assert exported and operations.wait(house.face.context, exported.id).state is OperationState.DONE
    other = House(tmp_path / "other")
    brought = other.face.begin(Import(str(tmp_path / name))).operation
    assert brought and operations.wait(other.face.context, brought.id).state is OperationState.DONE
    do(other.face, RebuildCatalog())
    fork = do(other.face, Fork(saved.id, name="b"))
    assert (fork.version, kept(other, fork)) == (job.version, WHOLE)
    other.face.close()


@pytest.mark.parametrize(("path", "text"), list(WRONG.values())[:9], ids=list(WRONG)[:9])
def test_a_manifest_whose_files_lead_outside_is_refused(house: House, job: Run, path: str, text: str) -> None:
    saved = do(house.face, Take("a"))
    manifest = house.face.ask(ReadManifest(saved.id))
    where = Path(saved.path) / layout.MANIFEST
    document = documents.plain(manifest)
    document["version"]["files"][path] = text
    where.write_bytes(documents.encode(document))
    with pytest.raises(Corrupt):
        house.face.plan(Fork(saved.id, name="b"))

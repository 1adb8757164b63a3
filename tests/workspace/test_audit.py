"""The audit: every change and every refusal is a line; the chain finds each line that was changed, removed, inserted or moved."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.access import OWNER, Caller, Role
from pipelines.domain.audit import FIRST, AuditLine, Call, Result, canonical, digest
from pipelines.domain.audit_check import Chain
from pipelines.domain.errors import Conflict, Forbidden, Invalid, NotFound, TidemarkError
from pipelines.domain.operations import OperationState
from pipelines.domain.trust import Trust
from pipelines.storage import chain
from pipelines.storage.local import LocalStorage
from pipelines.verbs.audit import ListAudit, PruneAudit, VerifyAudit
from pipelines.verbs.backups import CreateBackup
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.import_ import Import
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.limited import Limited
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.run import RunScript
from pipelines.verbs.set_limits import SetLimits
from pipelines.verbs.stop import Stop
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.verbs.tokens import CreateToken
from pipelines.verbs.verify import Verify
from pipelines.workspace import files, operations
from pipelines.workspace.tickets import Ticket
from tests.waiting import until
from tests.workspace.conftest import CODE, House

ADDRESS = "10.1.2.3"


def door(house: House, role: Role = Role.ADMIN, name: str = "ci") -> Limited:
    return Limited(house.face, Caller(name, role, "id"), house.face.record, ADDRESS).acting("alice")


def file_of(house: House) -> Path:
    return house.face.layout.audit_file


def written(house: House, count: int = 6) -> list[bytes]:
    """The lines of so many calls."""
    for number in range(count):
        house.face.record(Call("take", f"job-{number}", Result.DONE, by="ci", token="ci", origin=ADDRESS))
    return file_of(house).read_bytes().splitlines()


def put(house: House, lines: list[bytes]) -> tuple[tuple[int, str], ...]:
    """What is found of these lines."""
    file_of(house).write_bytes(b"".join(line + b"\n" for line in lines))
    return tuple((finding.line, finding.problem) for finding in house.face.ask(VerifyAudit()).findings)


def newest(house: House) -> AuditLine:
    return house.face.ask(ListAudit(limit=1))[0]


def test_a_change_a_refusal_and_a_failure_are_lines(house: House) -> None:
    job = house.ran().job
    ci = door(house)
    do(ci, SetLimits(job, lag_ms=60_000))
    line = newest(house)
    assert (line.verb, line.subject, line.result, line.by, line.token, line.origin) == (
        "limits",
        job,
        "done",
        "ci for alice",
        "ci",
        ADDRESS,
    )
    with pytest.raises(Conflict):
        ci.begin(Stop(job))
    assert (newest(house).verb, newest(house).result, newest(house).code) == ("stop", "refused", "job.not_running")
    with pytest.raises(Forbidden):
        door(house, Role.VIEWER).plan(Stop(job))
    assert (newest(house).result, newest(house).code) == ("refused", "access.role")
    with pytest.raises(Forbidden):
        door(house, Role.AUTHOR).ask(ListAudit())
    assert newest(house).verb == "audit list"
    before = newest(house).number
    ci.ask(ListJobs())
    ci.plan(Forget(job))
    assert newest(house).number == before, "neither a question nor a dry run changes anything"


def test_the_end_of_an_operation_is_a_line_of_its_own(house: House) -> None:
    run = house.begin()
    begun = door(house).begin(Stop(run.job))
    assert begun.operation and (newest(house).result, newest(house).operation) == ("begun", begun.operation.id)
    house.face.close()
    os.remove(house.face.layout.wanted_file(run.job))  # so that nothing names the stop any more
    house.open()
    ended = newest(house)
    assert (ended.verb, ended.operation) == ("stop", begun.operation.id) and ended.result is Result.FAILED


def test_work_that_was_listed_and_answered_at_once_is_one_line(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    monkeypatch.setattr(operations, "NOTICED_S", 0)
    step = Ticket.step

    def stepping(ticket: Ticket, *args: Any) -> None:
        until(lambda: house.face.ask(ListOperations(running=True)))
        step(ticket, *args)

    monkeypatch.setattr(Ticket, "step", stepping)
    do(door(house), Take("a"))
    assert [operation.state for operation in house.face.ask(ListOperations())] == [OperationState.DONE]
    assert [(line.verb, line.result, line.by, line.origin) for line in house.face.ask(ListAudit())] == [
        ("savepoint", "done", "ci for alice", ADDRESS)
    ]


def test_the_end_of_an_operation_has_the_words_of_the_command_that_began_it(house: House, tmp_path: Path) -> None:
    house.ran("a")
    kept = do(door(house), Take("a"))
    do(door(house), CreateBackup(str(tmp_path / "backup")))
    do(door(house), Verify(kept.id, Trust.COMPLETE))
    results = {(line.verb, line.result) for line in house.face.ask(ListAudit()) if line.operation}
    assert results == {(verb, result) for verb in ("backup create", "verify") for result in (Result.BEGUN, Result.DONE)}
    assert {operation.verb for operation in house.face.ask(ListOperations())} == {"backup create", "verify"}


def test_no_secret_is_in_it(house: House) -> None:
    ci = door(house)
    secret = "hunter2hunter2"
    do(ci, RunScript(name="a", script="job.py", code=f"{CODE}# {secret}", args=("--key", secret), conf={"spark.my.password": secret}))
    made = do(ci, CreateToken("nightly", Role.OPERATOR))
    for url in (f"s3://me:{secret}@bucket/x", f"https://host/x?X-Amz-Signature={secret}", f"file:///x#{secret}"):
        with pytest.raises(TidemarkError):
            do(ci, Import(url))
        with pytest.raises(TidemarkError):
            do(ci, Take("a", to=url))
    text = file_of(house).read_text()
    assert secret not in text and made.secret not in text
    assert "nightly operator" in text and "s3://bucket/x" in text and "https://host/x" in text
    assert file_of(house).stat().st_mode & 0o777 == 0o600


def test_it_is_filtered_and_paged_like_events(house: House) -> None:
    written(house, 5)
    house.face.record(Call("stop", "other", Result.REFUSED, "access.role", by="looker", token="looker", origin="::1"))
    ask = house.face.ask
    assert [line.number for line in ask(ListAudit(limit=2))] == [6, 5]
    assert [line.number for line in ask(ListAudit(limit=2, before=5))] == [4, 3]
    assert [line.number for line in ask(ListAudit(sort="at_ms", limit=2))] == [1, 2]
    assert [line.number for line in ask(ListAudit(sort="at_ms", before=4))] == [5, 6]
    assert ask(ListAudit(sort="-at_ms")) == ask(ListAudit())
    with pytest.raises(Invalid, match="not sorted by 'verb'"):
        ask(ListAudit(sort="verb"))
    assert [line.number for line in ask(ListAudit(result=Result.REFUSED))] == [6] == [line.number for line in ask(ListAudit(verb="stop"))]
    assert [line.number for line in ask(ListAudit(actor="looker"))] == [6] == [line.number for line in ask(ListAudit(text="OTHER ::1"))]
    third = ask(ListAudit(before=4, limit=1))[0]
    assert [line.number for line in ask(ListAudit(to_ms=third.at_ms))] == [3, 2, 1]
    assert [line.number for line in ask(ListAudit(from_ms=third.at_ms))] == [6, 5, 4, 3]


def test_a_whole_chain_goes_on_over_restarts(house: House) -> None:
    assert house.face.ask(VerifyAudit()) == Chain().end()
    written(house, 3)
    house.reopen()
    lines = written(house, 3)
    whole = house.face.ask(VerifyAudit())
    assert (whole.lines, whole.number, whole.last, whole.findings) == (6, 6, digest(lines[-1]), ())
    assert [json.loads(line)["before"] for line in lines] == [FIRST, *map(digest, lines[:-1])]
    assert all(canonical(json.loads(line)) == line for line in lines)


@pytest.mark.parametrize("place", range(5))
def test_a_changed_line_is_named(house: House, place: int) -> None:
    lines = written(house)
    changed = [*lines]
    changed[place] = canonical({**json.loads(lines[place]), "by": "somebody else"})
    assert put(house, changed) == (
        (place + 1, f"entry {place + 1} was changed after it was written: entry {place + 2} has the SHA-256 that it had before"),
    )
    changed[place] = lines[place].replace(b"ci", b"\xff\x00")
    assert [line for line, _ in put(house, changed)] == [place + 1]
    changed[place] = lines[place].replace(b'":', b'": ')
    assert [line for line, _ in put(house, changed)] == [place + 1]


@pytest.mark.parametrize("place", range(5))
def test_a_removed_line_is_named(house: House, place: int) -> None:
    lines = written(house)
    assert put(house, lines[:place] + lines[place + 1 :]) == (
        (place + 1, f"entry {place + 1} is missing here: the line has entry {place + 2}"),
    )
    if place < 4:
        assert put(house, lines[:place] + lines[place + 2 :]) == (
            (place + 1, f"entries {place + 1} to {place + 2} are missing here: the line has entry {place + 3}"),
        )


@pytest.mark.parametrize("place", range(1, 6))
def test_an_inserted_line_is_named(house: House, place: int) -> None:
    lines = written(house)
    forged = canonical({**json.loads(lines[place]), "by": "somebody else", "before": digest(lines[place - 1])})
    assert put(house, [*lines[:place], forged, *lines[place:]]) == (
        (place + 2, f"entry {place + 1} stands here a second time: one of the two was added"),
    )
    assert [line for line, _ in put(house, [*lines[:place], b"{}", *lines[place:]])] == [place + 1]
    assert [line for line, _ in put(house, [*lines[:place], b"", *lines[place:]])] == [place + 1]


@pytest.mark.parametrize(("place", "other"), [(0, 1), (1, 4), (4, 5), (0, 5)])
def test_lines_in_another_order_are_named(house: House, place: int, other: int) -> None:
    lines = written(house)
    lines[place], lines[other] = lines[other], lines[place]
    assert place + 1 in {line for line, _ in put(house, lines)}


def test_an_end_that_was_cut_or_written_anew_is_found_by_a_hash_that_was_kept(house: House) -> None:
    lines = written(house)
    kept = digest(lines[-1])
    assert house.face.ask(VerifyAudit(kept.upper())).findings == ()
    assert put(house, lines[:4]) == (), "what nothing comes after cannot be missed"
    (finding,) = house.face.ask(VerifyAudit(kept)).findings
    assert finding.line == 0 and kept in finding.problem
    anew, before = lines[:2], digest(lines[1])
    for line in lines[2:]:
        anew.append(canonical({**json.loads(line), "by": "somebody else", "before": before}))
        before = digest(anew[-1])
    assert put(house, anew) == (), "who can write the file can write a whole chain"
    assert house.face.ask(VerifyAudit(kept)).findings != ()
    written(house, 1)
    assert house.face.ask(VerifyAudit(digest(anew[0]))).findings == ()


@pytest.mark.parametrize("torn", [b"{", b'{"at_ms":1,"by":"ci"', b"\xff", b"x" * 100_000])
def test_a_line_torn_by_a_kill_is_mended_and_said(house: House, torn: bytes) -> None:
    lines = written(house, 2)
    with file_of(house).open("ab") as file:
        file.write(torn)
    house.reopen()
    mended = newest(house)
    assert (mended.verb, mended.result, mended.number) == ("audit", "mended", 3) and str(len(torn)) in mended.subject
    assert house.face.ask(ListEvents(kind="audit.mended"))
    assert file_of(house).read_bytes().splitlines()[:2] == lines
    assert house.face.ask(VerifyAudit()).findings == ()


def test_whole_lines_only_whenever_its_process_is_killed(house: House) -> None:
    """A process that writes without pause is killed; what it acknowledged is there, and the next one goes on."""
    house.face.close()
    code = """
import sys
from pathlib import Path
from pipelines.domain.audit import Call, Result
from pipelines.workspace.opening import open_workspace
house = open_workspace(Path(sys.argv[1]))
for number in range(10**6):
    house.record(Call("take", str(number), Result.DONE))
    print(number, flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code, str(house.root)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(20)]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.readlines()
    house.open()
    whole = house.face.ask(VerifyAudit())
    acknowledged = int([line for line in lines if line.endswith("\n")][-1])
    assert whole.findings == () and whole.lines >= acknowledged + 1 >= 20
    assert written(house, 1) and house.face.ask(VerifyAudit()).lines == whole.lines + 1


def test_many_threads_write_one_chain(house: House) -> None:
    threads = [threading.Thread(target=written, args=(house, 20)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = house.face.ask(VerifyAudit())
    assert (whole.lines, whole.findings) == (80, ())


def test_a_disk_that_takes_nothing_keeps_no_change_back_and_is_said(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    job = house.ran().job
    written(house, 1)

    def full(descriptor: int, end: chain.End, content: object) -> chain.End:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(chain, "_written", full)
        do(door(house), SetLimits(job, lag_ms=60_000))
        with pytest.raises(NotFound):
            do(door(house), Forget("nobody"))
    do(door(house), SetLimits(job, lag_ms=70_000))
    later, gap, first = house.face.ask(ListAudit(limit=3))
    assert (later.verb, gap.subject, first.number) == ("limits", "2 lines could not be written", 1)
    assert house.face.ask(VerifyAudit()).findings == ()


def test_a_damaged_last_line_stays_and_is_named(house: House) -> None:
    lines = written(house, 3)
    assert [line for line, _ in put(house, [*lines[:2], b"garbage"])] == [3]
    house.reopen()
    written(house, 2)
    assert [finding.line for finding in house.face.ask(VerifyAudit()).findings] == [3]
    assert [line.number for line in house.face.ask(ListAudit())] == [5, 4, 2, 1]


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_workspace_opens_whatever_stands_in_its_place(house: House, kind: str) -> None:
    house.face.close()
    if kind == "folder":
        file_of(house).mkdir()
    else:
        file_of(house).symlink_to(house.root / "workspace.json")
    before = (house.root / "workspace.json").read_bytes()
    house.open()
    job = house.begin().job
    do(door(house), SetLimits(job, lag_ms=60_000))
    assert house.face.ask(ListEvents(kind="audit.failed")) and (house.root / "workspace.json").read_bytes() == before


def test_the_owner_has_no_tokens_name(house: House) -> None:
    owner = Limited(house.face, OWNER, house.face.record, "command line, user me").acting("ci")
    with pytest.raises(NotFound):
        do(owner, Forget("nobody"))
    line = newest(house)
    assert (line.by, line.token, line.origin) == ("ci", "", "command line, user me")


@pytest.fixture
def rotated(house: House, monkeypatch: pytest.MonkeyPatch) -> House:
    """30 calls, of which a file takes about ten."""
    monkeypatch.setenv(files.AUDIT_VARIABLE, "3000")
    house.reopen()
    written(house, 30)
    return house


def sealed(house: House) -> list[Path]:
    return sorted(house.face.layout.sealed_audit.iterdir())


def problems(house: House, last: str = "") -> list[str]:
    return [finding.text for finding in house.face.ask(VerifyAudit(last)).findings]


def numbers(house: House, **asked: object) -> list[int]:
    return [line.number for line in house.face.ask(ListAudit(**asked))]  # type: ignore[arg-type]


def test_what_is_large_is_sealed_and_the_chain_goes_on(rotated: House) -> None:
    """Lists, pages and the check go over all files; the next server and what has no such files yet are as ever."""
    assert len(sealed(rotated)) >= 2 and file_of(rotated).stat().st_size < 3_500
    assert {path.stat().st_mode & 0o777 for path in sealed(rotated)} == {0o600}
    whole = rotated.face.ask(VerifyAudit())
    every = list(range(1, whole.number + 1))
    assert whole.findings == whole.removed == () and whole.lines == whole.number == 30 + len(sealed(rotated))
    assert numbers(rotated, sort="at_ms") == every and numbers(rotated) == every[::-1]
    assert numbers(rotated, before=12, limit=5) == [11, 10, 9, 8, 7] and numbers(rotated, sort="at_ms", before=12, limit=2) == [13, 14]
    assert numbers(rotated, result=Result.SEALED)[-1] == int(sealed(rotated)[0].name[13:25]) + 1
    kept = whole.last
    rotated.reopen()
    written(rotated, 30)
    assert problems(rotated, kept) == [] and numbers(rotated)[0] > 60


def test_a_sealed_file_that_was_changed_or_is_gone_is_named(rotated: House) -> None:
    first, second = sealed(rotated)[:2]
    content, ends = first.read_bytes(), int(first.name[13:25])
    lines = gzip.decompress(content).splitlines(keepends=True)
    first.write_bytes(gzip.compress(b"".join([*lines[:3], lines[3].replace(b"ci", b"me"), *lines[4:]])))
    assert problems(rotated) == [
        f"audit/{first.name}, line 4: entry 4 was changed after it was written: entry 5 has the SHA-256 that it had before"
    ]
    first.write_bytes(gzip.compress(b"".join(lines[:-1])))
    assert problems(rotated) == [f"audit/{second.name}, line 1: entry {ends} is missing here: the line has entry {ends + 1}"]
    first.write_bytes(content[:-9])
    damaged = problems(rotated)
    assert damaged[0].startswith(f"audit/{first.name} is damaged")
    assert numbers(rotated)[-1] == ends + 1
    first.unlink()
    assert problems(rotated) == [f"audit/{second.name}, line 1: entries 1 to {ends} are missing here: the line has entry {ends + 1}"]
    first.write_bytes(content)
    assert problems(rotated) == []


def test_only_an_admin_removes_sealed_files_and_the_audit_says_so(rotated: House) -> None:
    first, second = sealed(rotated)[:2]
    content, ends, kept = first.read_bytes(), int(first.name[13:25]), digest(file_of(rotated).read_bytes().splitlines()[0])
    lost = digest(gzip.decompress(content).splitlines()[0])
    with pytest.raises(NotFound) as refused:
        rotated.face.plan(PruneAudit(ends - 1))
    assert refused.value.code == "audit.not_sealed"
    with pytest.raises(Forbidden):
        do(door(rotated, Role.AUTHOR), PruneAudit(ends))
    assert rotated.face.plan(PruneAudit(ends)).files[0].path == f"audit/{first.name}" and first.exists()
    do(door(rotated), PruneAudit(ends))
    assert not first.exists() and second.exists()
    checked = rotated.face.ask(VerifyAudit(kept))
    assert checked.findings == () and [(each.first, each.last, each.by) for each in checked.removed] == [(1, ends, "ci for alice")]
    assert numbers(rotated)[-1] == ends + 1 and len(problems(rotated, lost)) == 1
    rest = second.read_bytes()
    second.unlink()
    assert len(problems(rotated)) == 1, "nobody asked for the second one"
    second.write_bytes(rest)
    first.write_bytes(content)
    assert rotated.face.ask(VerifyAudit(lost)).removed == () and problems(rotated, lost) == []


def test_a_sealing_that_is_killed_is_done_by_the_next_line(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(files.AUDIT_VARIABLE, "3000")
    house.reopen()
    write = LocalStorage.write

    def killed(storage: LocalStorage, path: str, data: bytes) -> None:
        if path == file_of(house).name:
            raise OSError(28, "No space left on device")
        write(storage, path, data)

    with monkeypatch.context() as patched:
        patched.setattr(LocalStorage, "write", killed)
        written(house, 15)
    assert len(sealed(house)) == 1 and house.face.ask(ListEvents(kind="audit.unsealed"))
    assert numbers(house) == list(range(15, 0, -1)) and problems(house) == []
    house.reopen()
    written(house, 1)
    assert len(sealed(house)) == 1 and numbers(house) == list(range(17, 0, -1)) and problems(house) == []


def test_a_file_that_is_gone_or_of_an_older_copy_is_said(rotated: House) -> None:
    ends = int(sealed(rotated)[-1].name[13:25])
    file_of(rotated).unlink()
    rotated.reopen()
    written(rotated, 1)
    assert [line.result for line in rotated.face.ask(ListAudit(limit=2))] == ["done", "mended"] and numbers(rotated)[0] == ends + 2
    assert problems(rotated) == [] and f"what it had after entry {ends} is lost" in rotated.face.ask(ListAudit(limit=2))[1].subject
    file_of(rotated).write_bytes(b"".join(gzip.decompress(sealed(rotated)[0].read_bytes()).splitlines(keepends=True)[:5]))
    assert problems(rotated)[0].endswith(f"entry 1 stands after entry {ends}: it was moved, or added")


def test_several_processes_seal_one_chain(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands without a server write into the same audit."""
    monkeypatch.setenv(files.AUDIT_VARIABLE, "3000")
    house.reopen()
    others = [chain.ChainFile(file_of(house), house.face.layout.sealed_audit, LocalStorage(str(house.root)), 3_000) for _ in range(3)]

    def work(other: chain.ChainFile) -> None:
        for number in range(40):
            other.append({"at_ms": number}, lambda what: {"at_ms": 0, "what": what})
            other.seal(lambda name: {"at_ms": 0, "what": name})

    threads = [threading.Thread(target=work, args=(other,)) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = house.face.ask(VerifyAudit())
    assert whole.findings == () and whole.lines == whole.number == 120 + len(sealed(house))

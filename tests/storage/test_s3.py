"""What only S3 does: parts, copies by the server, many deletes in one request, and refusals of a real server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import EndpointConnectionError
from fsspec.config import conf

from pipelines.domain.errors import Invalid, NotFound, Unavailable
from pipelines.storage import copies, folders, s3
from pipelines.storage.addresses import open_storage
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Clone, How
from pipelines.storage.s3 import S3Storage, listing, transfers
from pipelines.storage.s3 import client as s3_client
from pipelines.storage.s3.client import Client
from pipelines.storage.s3.pages import OBJECTS, shorten
from tests.storage import s3_server as servers
from tests.storage.s3_server import BUCKET, ROOT, S3Server

PART = transfers.PART_BYTES


@pytest.fixture
def storage(s3_url: str) -> S3Storage:
    opened = open_storage(s3_url)
    assert isinstance(opened, S3Storage)
    return opened


@pytest.fixture
def requests(storage: S3Storage) -> Iterator[Counter[str]]:
    """The requests that are made of the server from here on, by name."""
    made: Counter[str] = Counter()

    def count(model: Any, **_: Any) -> None:
        made[xform_name(model.name)] += 1

    events = storage._client.api.meta.events
    events.register("before-call.s3", count)
    yield made
    events.unregister("before-call.s3", count)


def local(folder: Path, files: dict[str, bytes]) -> LocalStorage:
    storage = LocalStorage(folder)
    folders.put(storage, files)
    return storage


def uploads(storage: S3Storage) -> list[str]:
    """Keys of uploads in parts that were neither completed nor aborted."""
    _, prefix, _ = storage._client.split_path(storage._root)
    response = storage._client.api.list_multipart_uploads(Bucket=BUCKET, Prefix=prefix)
    return [upload["Key"] for upload in response.get("Uploads", [])]


@pytest.mark.parametrize(
    ("size", "parts"), [(PART - 1, 0), (PART, 1), (PART + 1, 2), (3 * PART, 3)], ids=["below", "one part", "two parts", "three parts"]
)
def test_a_large_file_goes_in_parts(size: int, parts: int, storage: S3Storage, requests: Counter[str], tmp_path: Path) -> None:
    data = os.urandom(size)
    source = local(tmp_path, {"a": data})
    told: list[int] = []
    assert list(storage.clone(source, [Clone("a", "b")], told.append)) == [How.COPY]
    assert (requests["upload_part"], requests["put_object"]) == (parts, 0 if parts else 1)
    assert storage.read("b") == data
    assert sum(told) == size
    assert len(told) >= max(parts, 1)
    assert max(told) <= PART


def test_a_file_that_is_written_goes_in_parts(storage: S3Storage, requests: Counter[str]) -> None:
    pieces = [os.urandom(1_000_000) for _ in range(20)]
    with copies.writing(storage, "a") as file:
        for piece in pieces:
            file.write(piece)
        assert file.tell() == 20_000_000
    assert requests["upload_part"] == 3
    assert storage.read("a") == b"".join(pieces)


def test_small_files_cost_one_request_each(storage: S3Storage, requests: Counter[str], tmp_path: Path) -> None:
    files = {str(number): b"x" * number for number in range(30)}
    list(storage.clone(local(tmp_path, files), [Clone(path, path) for path in files]))
    assert requests == {"put_object": 30}
    storage.read("7")
    assert requests["get_object"] == 1
    assert requests["head_object"] == 0


@pytest.fixture
def small_copies(monkeypatch: pytest.MonkeyPatch) -> int:
    """As if one request could copy 6 MiB, not 5 GiB; parts of 5 MiB are the smallest that S3 takes."""
    monkeypatch.setattr(s3, "SINGLE_COPY_BYTES", 6 * 1024**2)
    monkeypatch.setattr(s3, "COPIED_PART_BYTES", 5 * 1024**2)
    return 5 * 1024**2


def test_a_copy_that_is_too_large_for_one_request_goes_in_parts(storage: S3Storage, small_copies: int, requests: Counter[str]) -> None:
    data = os.urandom(2 * small_copies + 1_000)
    storage.write("folder a/b=1%", data)
    storage.write("small", data[: 6 * 1024**2])
    requests.clear()
    told: list[int] = []
    files = [Clone("folder a/b=1%", "c"), Clone("small", "d")]
    assert list(storage.clone(storage, files, told.append)) == [How.SERVER_COPY] * 2
    assert (requests["upload_part_copy"], requests["copy_object"], requests["get_object"]) == (3, 1, 0)
    assert storage.read("c") == data
    assert sum(told) == len(data) + 6 * 1024**2


def test_parts_of_a_file_that_is_written_grow(storage: S3Storage, requests: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "PARTS_A_SIZE", 2)
    piece = os.urandom(PART)
    with copies.writing(storage, "a") as file:
        for _ in range(11):
            file.write(piece)
    assert requests["upload_part"] == 5
    assert storage.read("a") == piece * 11


def test_a_part_that_has_to_be_sent_again_counts_once(storage: S3Storage, tmp_path: Path) -> None:
    cut: list[int] = []
    first = iter([True])

    def cut_once(request: Any, **_: Any) -> None:
        if next(first, False):  # of both parts, which are sent at once
            cut.append(len(request.body.read(PART // 2)))
            raise EndpointConnectionError(endpoint_url=request.url)

    data, told = os.urandom(2 * PART), list[int]()
    events = storage._client.api.meta.events
    events.register("before-send.s3.UploadPart", cut_once)
    try:
        list(storage.clone(local(tmp_path, {"a": data}), [Clone("a", "b")], told.append))
    finally:
        events.unregister("before-send.s3.UploadPart", cut_once)
    assert cut == [PART // 2]
    assert sum(told) == 2 * PART
    assert storage.read("b") == data


def test_an_empty_file_that_is_written(storage: S3Storage, requests: Counter[str]) -> None:
    with copies.writing(storage, "a"):
        pass
    assert requests == {"put_object": 1}
    assert storage.read("a") == b""


def test_who_writes_is_told_soon_that_nothing_arrives(storage: S3Storage) -> None:
    piece = bytes(PART)
    written = []
    with pytest.raises(Unavailable) as caught, copies.writing(open_storage("s3://no-such-bucket/a"), "b") as file:
        while len(written) < 10_000:
            written.append(file.write(piece))
    assert caught.value.code == "storage.no_bucket"
    assert len(written) < 10_000


def test_the_bucket_of_a_large_file_is_not_there(storage: S3Storage, tmp_path: Path) -> None:
    source = local(tmp_path, {"a": bytes(3 * PART)})
    with pytest.raises(Unavailable) as caught:
        list(open_storage("s3://no-such-bucket/a").clone(source, [Clone("a", "b")]))
    assert caught.value.code == "storage.no_bucket"


def test_options_of_the_client_go_with_every_request(
    s3_url: str, small_copies: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(conf, "s3", {"s3_additional_kwargs": {"ServerSideEncryption": "AES256"}})
    monkeypatch.setattr(Client, "_cache", {})
    storage = open_storage(s3_url)
    assert isinstance(storage, S3Storage)
    storage.write("put", b"x")
    list(storage.clone(local(tmp_path, {"a": bytes(2 * PART), "b": b"x"}), [Clone("a", "large"), Clone("b", "small")]))
    list(storage.clone(storage, [Clone("large", "copied in parts"), Clone("small", "copied")]))
    with copies.writing(storage, "written") as file:
        file.write(bytes(2 * PART))
    for path in ("put", "large", "small", "copied in parts", "copied", "written"):
        assert storage._client.api.head_object(**storage._object(path))["ServerSideEncryption"] == "AES256", path


class Stop(Exception):
    """What a cancel raises."""


def stop_at(limit: int) -> Any:
    """A watcher that cancels after `limit` words."""
    told: list[int] = []

    def advance(done: int) -> None:
        told.append(done)
        if len(told) >= limit:
            raise Stop

    return advance


def test_a_cancelled_upload_leaves_neither_object_nor_parts(storage: S3Storage, tmp_path: Path) -> None:
    source = local(tmp_path, {"a": b"x" * 6 * PART})
    with pytest.raises(Stop):
        list(storage.clone(source, [Clone("a", "b")], stop_at(2)))
    assert list(storage.list()) == []
    assert uploads(storage) == []


def test_a_cancelled_copy_leaves_neither_object_nor_parts(storage: S3Storage, small_copies: int) -> None:
    storage.write("a", b"x" * 3 * small_copies)
    with pytest.raises(Stop):
        list(storage.clone(storage, [Clone("a", "b")], stop_at(2)))
    assert [entry.path for entry in storage.list()] == ["a"]
    assert uploads(storage) == []


KILLED = """
import os, signal, sys
from pipelines.storage import copies
from pipelines.storage.addresses import open_storage
with copies.writing(open_storage(sys.argv[1]), "a/b") as file:
    for _ in range(10):
        file.write(bytes(4 * 1024 * 1024))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_parts_of_a_killed_process_are_swept(storage: S3Storage) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, storage.url], cwd=ROOT, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert list(storage.list()) == []
    assert len(uploads(storage)) == 1
    assert storage.sweep("elsewhere") == 0
    assert storage.sweep("a") == 1
    assert uploads(storage) == []


def test_many_objects_are_listed_by_pages_and_deleted_by_the_thousand(storage: S3Storage, requests: Counter[str], tmp_path: Path) -> None:
    files = {f"{number % 7}/{number}": b"" for number in range(1_050)}
    list(storage.clone(local(tmp_path, files), [Clone(path, path) for path in files]))
    requests.clear()
    assert {entry.path for entry in storage.list()} == set(files)
    assert requests == {"list_objects_v2": 2}
    assert folders.children(storage) == [str(number) for number in range(7)]
    assert requests == {"list_objects_v2": 3}
    storage.delete([*files, "never/was"])
    assert requests["delete_objects"] == 2
    assert list(storage.list()) == []


def test_what_the_server_keeps_when_many_are_deleted_is_an_error(storage: S3Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer to the whole request is a success all the same."""
    response = {"Errors": [{"Key": "a/b", "Code": "AccessDenied", "Message": "Access Denied"}]}
    monkeypatch.setattr(storage._client.api, "delete_objects", lambda **_: response)
    with pytest.raises(Unavailable) as caught:
        listing.delete(storage._client, [f"{BUCKET}/a/b"], storage.url)
    assert caught.value.code == "storage.denied"
    assert caught.value.message.startswith(f"s3://{BUCKET}/a/b: ")


def test_marks_of_folders_are_no_files_and_are_removed(storage: S3Storage) -> None:
    """Hadoop and consoles put an empty object `folder/` where a folder is meant to be."""
    storage.write("a/b", b"x")
    _, prefix, _ = storage._client.split_path(storage._root)
    for folder in ("a/", "a/c/"):
        storage._client.api.put_object(Bucket=BUCKET, Key=f"{prefix}/{folder}", Body=b"")
    assert [entry.path for entry in storage.list()] == ["a/b"]
    folders.remove(storage, "a")
    assert folders.children(storage) == []


def test_s3a_is_another_name_of_s3(storage: S3Storage) -> None:
    storage.write("a", b"x")
    other = open_storage(storage.url.replace("s3://", "s3a://") + "/other")
    assert folders.expected_how(storage, other) is How.SERVER_COPY
    assert list(other.clone(storage, [Clone("a", "b")])) == [How.SERVER_COPY]
    assert storage.read("other/b") == b"x"


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "FSSPEC_S3_ENDPOINT_URL"])
def test_the_endpoint_comes_from_the_environment(name: str, s3_server: S3Server, s3_url: str) -> None:
    others = {key: value for key, value in os.environ.items() if key != "AWS_ENDPOINT_URL"}
    program = "import sys; from pipelines.storage.addresses import open_storage; open_storage(sys.argv[1]).write('a', sys.argv[2].encode())"
    subprocess.run([sys.executable, "-c", program, s3_url, name], cwd=ROOT, env=others | {name: s3_server.endpoint}, check=True, timeout=60)
    assert open_storage(s3_url).read("a") == name.encode()


@pytest.mark.parametrize("url", ["s3://", "s3a://", "s3:///path"])
def test_an_address_without_a_bucket_is_refused(url: str) -> None:
    with pytest.raises(Invalid) as caught:
        open_storage(url)
    assert (caught.value.code, caught.value.message) == ("storage.address", f"{url!r} names no bucket")


SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY"


@pytest.mark.parametrize(
    "url",
    [
        f"s3://AKIA123:{SECRET}@bucket/path",
        "s3://AKIA123@bucket/path",
        "s3a://AKIA123:secret@bucket",
        f"ftp://user:{SECRET}@host/path",
        f"simplecache::sftp://user:{SECRET}@host/path",
        f"https://host/path?X-Amz-Signature={SECRET}",
        f"abfs://container/path?sv=1&sig={SECRET}",
    ],
)
def test_credentials_in_an_address_are_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(Invalid) as caught:
        open_storage(url)
    assert caught.value.code == "storage.credentials_in_url"
    assert "environment" in caught.value.hint
    assert "AKIA123" not in str(caught.value.as_json())
    assert SECRET not in str(caught.value.as_json())


@pytest.mark.parametrize("url", ["s3://bucket/a@b:c", "s3://bucket/a?versionId=1", "memory://a:8020/b@c", "memory://container@account/b"])
def test_addresses_that_only_look_like_it_are_not(url: str) -> None:
    assert open_storage(url).url == url


def changed(monkeypatch: pytest.MonkeyPatch, **environment: str | None) -> None:
    """Clients that are made from here on see this environment."""
    for name, value in environment.items():
        monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
    servers.forget_clients(monkeypatch)


def refusal(url: str) -> set[tuple[str, bool]]:
    """Code of, and whether there is a hint in, what every verb of the storage at `url` is refused with."""
    storage = open_storage(url)
    verbs = [
        lambda: storage.write("a", b"x"),
        lambda: storage.read("a"),
        lambda: list(storage.list()),
        lambda: storage.delete(["a"]),
        lambda: list(storage.clone(storage, [Clone("a", "b")])),
        lambda: folders.children(storage),
        lambda: folders.remove(storage, "a"),
    ]
    errors = set()
    for verb in verbs:
        with pytest.raises(Unavailable) as caught:
            verb()
        assert url in caught.value.message
        errors.add((caught.value.code, bool(caught.value.hint)))
    return errors


def test_no_such_bucket(s3_url: str) -> None:
    assert refusal("s3://never-made/a") <= {("storage.no_bucket", True)}


def test_no_credentials(s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    none = str(tmp_path / "none")
    changed(
        monkeypatch,
        AWS_ACCESS_KEY_ID=None,
        AWS_SECRET_ACCESS_KEY=None,
        AWS_SHARED_CREDENTIALS_FILE=none,
        AWS_CONFIG_FILE=none,
    )
    assert refusal(s3_url) == {("storage.no_credentials", True)}


def test_an_endpoint_where_nobody_listens(s3_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    servers.hurry(monkeypatch)
    changed(monkeypatch, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}")
    assert refusal(s3_url) == {("storage.unreachable", True)}
    changed(monkeypatch, AWS_ENDPOINT_URL=f"http://me:hunter2@127.0.0.1:{port}")
    with pytest.raises(Unavailable) as caught:
        open_storage(s3_url).read("a")
    assert f"127.0.0.1:{port}" in caught.value.message and "hunter2" not in caught.value.message


@pytest.fixture
def silent() -> Iterator[str]:
    """An endpoint that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        held: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    held.append(listening.accept()[0])
                except OSError:
                    return

        accepting = threading.Thread(target=accept)
        accepting.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        accepting.join()
        for connection in held:
            connection.close()


@pytest.mark.parametrize("size", [1, 50_000_000], ids=["waits for the answer", "waits to send"])
def test_an_endpoint_that_never_answers(size: int, s3_url: str, silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("read_timeout", "connect_timeout"):
        monkeypatch.setitem(s3_client.PATIENCE, name, 0.3)
    changed(monkeypatch, AWS_ENDPOINT_URL=silent)
    with pytest.raises(Unavailable) as caught:
        open_storage(s3_url).write("a", bytes(size))
    assert caught.value.code == "storage.unreachable"
    assert "AWS_ENDPOINT_URL" in caught.value.hint


def test_a_store_that_is_gone_is_told_within_a_minute_or_so() -> None:
    tries = s3_client.PATIENCE["retries"]["total_max_attempts"]
    assert tries * (s3_client.PATIENCE["connect_timeout"] + s3_client.PATIENCE["read_timeout"]) <= 60


def test_credentials_that_the_server_refuses(s3_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with servers.serving({"INITIAL_NO_AUTH_ACTION_COUNT": "0"}) as strict:
        changed(monkeypatch, AWS_ENDPOINT_URL=strict.endpoint)
        assert refusal(s3_url) <= {("storage.bad_credentials", True), ("storage.denied", True)}


def test_a_server_that_dies_while_files_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = local(tmp_path, {str(number): b"x" * 1_000_000 for number in range(60)})
    with servers.serving() as server:
        server.enter(monkeypatch)
        storage = open_storage(f"s3://{BUCKET}/a")
        told: list[int] = []

        def kill(done: int) -> None:
            told.append(done)
            if len(told) == 5:
                server.end()

        with pytest.raises(Unavailable) as caught:
            list(storage.clone(source, [Clone(str(number), str(number)) for number in range(60)], kill))
    assert caught.value.code == "storage.unreachable"
    assert len(told) < 60


def test_a_vanished_object_is_not_found(storage: S3Storage) -> None:
    for ask in (lambda: storage.read("a"), lambda: storage.stream("a"), lambda: list(storage.clone(storage, [Clone("a", "b")]))):
        with pytest.raises(NotFound) as caught:
            ask()
        assert caught.value.code == "storage.not_found"


def test_a_page_is_read_whatever_a_server_makes_of_it() -> None:
    """S3's own notation of names and dates; that of a server with neither namespace nor codes for names; and an answer cut short."""
    item = "<Contents><Key>{}</Key><LastModified>{}</LastModified><ETag>{}</ETag><Size>7</Size></Contents>"
    space = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
    encoded = item.format("a/b+c%2B%26%C3%A9", "2026-01-02T03:04:05.678Z", "&quot;e-2&quot;")
    plain = item.format("a/b+c%2B", "Fri, 02 Jan 2026 03:04:05 GMT", "e")
    rest = "<IsTruncated>true</IsTruncated><NextContinuationToken>n</NextContinuationToken>"
    pages = {
        f"<ListBucketResult {space}><EncodingType>url</EncodingType>{encoded}{rest}</ListBucketResult>": ("a/b c+&é", 1767323045678, "e-2"),
        f"<ListBucketResult>{rest}{plain}</ListBucketResult>": ("a/b+c%2B", 1767323045000, "e"),
    }
    for xml, (key, modified_ms, tag) in pages.items():
        answer, page = {"status_code": 200, "body": xml.encode()}, dict[str, Any]()
        shorten(answer, page)
        assert page == {OBJECTS: [(key, 7, modified_ms, tag)]}
        assert b"Contents" not in answer["body"] and b"NextContinuationToken>n<" in answer["body"]
        cut = {"status_code": 200, "body": xml.encode()[:-9]}
        shorten(cut, page := dict[str, Any]())
        assert not page and cut["body"] == xml.encode()[:-9]

"""The client of HDFS: WebHDFS as fsspec speaks it, which says what is refused, and is less patient with a NameNode that is gone.

User, token and certificates come from the environment as fsspec reads them (FSSPEC_WEBHDFS_USER, …_TOKEN, …_SESSION_VERIFY); the user is
otherwise that of Hadoop's own clients.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from fsspec.implementations.webhdfs import WebHDFS

from pipelines.domain.errors import Unavailable
from pipelines.domain.texts import first_line
from pipelines.storage import users
from pipelines.storage.errors import HINTS, answered
from pipelines.storage.hdfs import namenodes

CONNECT_S, ANSWER_S = 5.0, 20.0
TRIES = 2
"""Of what may be asked twice; a NameNode that is gone is told within a minute."""
WRITES = 3
"""How often a file is written before it is refused that it was not closed; each time the DataNode has waited for its blocks by itself."""
USER_VARIABLE = "HADOOP_USER_NAME"
TWICE = frozenset(("GETFILESTATUS", "LISTSTATUS", "GETFILECHECKSUM", "OPEN", "MKDIRS", "DELETE", "CHECKACCESS"))
NOT_ACTIVE = frozenset(("StandbyException", "RetriableException"))
MISSING = "FileNotFoundException"
IN_THE_WAY = frozenset(("ParentNotDirectoryException", "FileAlreadyExistsException", "PathIsDirectoryException"))
NO_FOLDER = "(is not a directory)"
"""How a refusal of access ends where a file is in the way of a path (`FSPermissionChecker`)."""
DENIED = frozenset(("AccessControlException", "SecurityException", "AuthorizationException"))
NOT_EMPTY = "PathIsNotEmptyDirectoryException"
NOT_CLOSED = "Unable to close file"
"""How a refusal begins of a DataNode that gave up waiting until the NameNode knows of the last block (`DFSOutputStream.completeFile`,
dfs.client.block.write.locateFollowingBlock.retries): the file stays open, and may lack its end."""
BYTES = {"content-type": "application/octet-stream"}
Status = Mapping[str, Any]
"""Hadoop's `FileStatus`: pathSuffix, type, length, modificationTime."""


class NotEmpty(Exception):
    """A folder that is not deleted because something is in it."""


class NotClosed(Unavailable):
    """A file that was written, and could not be closed."""


class Client(WebHDFS):  # type: ignore[misc]  # fsspec has no types
    """fsspec's session with its authentication; paths are absolute. Raises OSErrors, TidemarkErrors and those of requests."""

    def __init__(self, nodes: tuple[str, ...], **options: Any) -> None:
        first = urlsplit(nodes[0])
        super().__init__(first.hostname, port=first.port, use_https=first.scheme == "https", **options)
        self._nodes = list(nodes)

    def status(self, path: str) -> Status:
        return self._json("GETFILESTATUS", path)["FileStatus"]  # type: ignore[no-any-return]

    def statuses(self, folder: str) -> Sequence[Status]:
        """What is in the folder; of a file itself alone, without a `pathSuffix`."""
        return self._json("LISTSTATUS", folder)["FileStatuses"]["FileStatus"]  # type: ignore[no-any-return]

    def check_access(self, path: str, action: str) -> None:
        """Raises PermissionError where the user may not do `action` (`-wx`), FileNotFoundError where nothing is."""
        self.ask("CHECKACCESS", path, fsaction=action)

    def checksum(self, path: str) -> str:
        """What a DataNode makes of the checksums that are stored with the file's blocks, which it does not read."""
        answer = self._json("GETFILECHECKSUM", path)["FileChecksum"]
        return f"{answer['algorithm']}:{answer['bytes']}"

    def get(self, path: str, offset: int = 0, length: int = 0) -> Any:
        """An answer of requests whose body, not read yet, is the file from `offset` on; at most `length` bytes of it, if not 0."""
        options: dict[str, Any] = {name: number for name, number in (("offset", offset), ("length", length)) if number}
        return self.ask("OPEN", path, stream=True, **options)

    def create(self, path: str, data: bytes) -> None:
        """Writes the file, and makes its folders: there, whole, when this returns. One that could not be closed is written anew, in the
        place of what is there: a late end of the first comes to a file that is gone (HDFS looks for it by the number of its inode)."""
        for left in reversed(range(WRITES)):
            try:
                self._send("CREATE", "PUT", path, data, overwrite="true")
                break
            except NotClosed:
                if not left:
                    raise

    def append(self, path: str, data: bytes) -> None:
        self._send("APPEND", "POST", path, data)

    def move(self, path: str, target: str, *, replace: bool) -> None:
        """At once, a folder too; the folder of `target` must be there. What is there already is replaced, or raises FileExistsError."""
        self.ask("RENAME", path, "PUT", destination=target, renameoptions="OVERWRITE" if replace else "NONE")

    def make_folder(self, path: str) -> None:
        self.ask("MKDIRS", path, "PUT")

    def discard(self, path: str, *, recursive: bool = False) -> None:
        """Nothing where it is not there; raises NotEmpty for a folder with something in it, unless `recursive`."""
        self.ask("DELETE", path, "DELETE", recursive="true" if recursive else "false")

    def _send(self, operation: str, method: str, path: str, data: bytes, **options: Any) -> None:
        """The NameNode says to which DataNode the bytes go."""
        asked = self.ask(operation, path, method, allow_redirects=False, **options)
        place = self._apply_proxy(asked.headers["Location"])
        _refuse(self.session.request(method, place, data=data, headers=BYTES, timeout=(CONNECT_S, ANSWER_S)), path)

    def _json(self, operation: str, path: str) -> Any:
        return self.ask(operation, path).json()

    def ask(
        self, operation: str, path: str, method: str = "GET", *, stream: bool = False, allow_redirects: bool = True, **options: Any
    ) -> Any:
        """The answer of the active NameNode, or of the DataNode that it sends us to."""
        failures: list[Exception] = []
        inactive = None
        for node in self._in_turn(operation):
            try:
                answer = self.session.request(
                    method,
                    self._apply_proxy(f"{node}/webhdfs/v1{quote(path, safe='/=')}"),
                    params={**options, **self.pars, "op": operation},
                    timeout=(CONNECT_S, ANSWER_S),
                    stream=stream,
                    allow_redirects=allow_redirects,
                )
            except OSError as error:  # those of requests
                failures.append(error)
                continue
            if _exception(answer)[0] in NOT_ACTIVE:
                inactive = answer
                continue
            _refuse(answer, path)
            self._prefer(node)
            return answer
        if inactive is not None:
            _refuse(inactive, path)
        raise failures[-1]

    def _in_turn(self, operation: str) -> Iterator[str]:
        """Each NameNode, the one that answered last first; all of them once more for what may be asked twice."""
        nodes = list(self._nodes)
        for _ in range(TRIES if operation in TWICE else 1):
            yield from nodes

    def _prefer(self, node: str) -> None:
        if node != self._nodes[0]:
            self._nodes = [node, *(other for other in self._nodes if other != node)]


def open_client(url: str) -> Client:
    """The client for the HDFS of `url`. Raises Invalid where its NameNode is not known."""
    from fsspec.config import conf

    nameservice = namenodes.find(url)
    asked = conf.get("webhdfs", {})
    options: dict[str, Any] = {"use_listings_cache": False}
    if nameservice.kerberos and "token" not in asked:
        options["kerberos"] = True
    elif "user" not in asked and "token" not in asked and not asked.get("kerberos"):
        options["user"] = os.environ.get(USER_VARIABLE) or users.name()
    return Client(nameservice.urls, **options)


def _refuse(answer: Any, path: str) -> None:
    """Raises what the answer says was refused."""
    if answer.status_code < 400:
        return
    name, message = _exception(answer)
    if name == MISSING:
        raise FileNotFoundError(path)
    if name == NOT_EMPTY:
        raise NotEmpty(path)
    if name in IN_THE_WAY or message.endswith(NO_FOLDER):
        raise NotADirectoryError(path)
    if name in DENIED:
        raise PermissionError(message)
    if message.startswith(NOT_CLOSED):
        raise NotClosed("storage.busy", f"{path}: {message}", HINTS["storage.busy"][1])
    raise answered(name or str(answer.status_code), path, message)


def _exception(answer: Any) -> tuple[str, str]:
    """Name and message of the exception in a refusal (`RemoteException`); empty in any other answer."""
    if answer.status_code < 400:
        return "", ""
    try:
        exception = answer.json()["RemoteException"]
        return str(exception["exception"]), first_line(exception["message"])
    except (ValueError, KeyError, TypeError):
        return "", str(answer.reason)

"""Where the NameNodes of an HDFS answer HTTP (WebHDFS): by its address alone, by a setting, or by Hadoop's own configuration.

`hdfs://host:8020` is what Spark names, and says nothing of HTTP. An address is kept as it was given: both sides read the same.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pipelines.domain.errors import Invalid

VARIABLE = "TIDEMARK_WEBHDFS"
"""`host:8020=http://host:9870`, several by commas; those of one name are the NameNodes of one HDFS."""
CONF_VARIABLE = "HADOOP_CONF_DIR"
FILES = ("core-site.xml", "hdfs-site.xml")
ANYWHERE = "0.0.0.0"
WEB = {"http": ("dfs.namenode.http-address", 9870), "https": ("dfs.namenode.https-address", 9871)}
"""Key and default port of `hdfs-default.xml`."""
RPC_PORT = 8020


@dataclass(frozen=True)
class Namenodes:
    """Those of one HDFS: URLs without a path (`http://host:9870`), one of which is the active one."""

    urls: tuple[str, ...]
    kerberos: bool = False
    """Whether Hadoop's configuration asks for it."""


def find(url: str, environment: Mapping[str, str] | None = None) -> Namenodes:
    """The NameNodes of the HDFS of `url`; raises Invalid (`storage.namenode`) where nothing says where they answer."""
    environment = os.environ if environment is None else environment
    scheme, authority = urlsplit(url).scheme, urlsplit(url).netloc
    if "@" in authority:
        hint = "Take it out of the address: the user is HADOOP_USER_NAME of the environment, for Spark as well."
        raise Invalid("storage.credentials_in_url", f"This {scheme}:// address names a user", hint)
    settings = _read(environment.get(CONF_VARIABLE, ""))
    if scheme == "hdfs" and not authority:
        authority = urlsplit(settings.get("fs.defaultFS", "")).netloc
    kerberos = settings.get("hadoop.security.authentication") == "kerberos"
    urls = _set(authority, environment.get(VARIABLE, "")) or (
        _by_settings(authority, settings) if scheme == "hdfs" else _by_address(scheme, authority)
    )
    if not urls:
        raise _unknown(url, authority)
    return Namenodes(tuple(urls), kerberos)


def _set(authority: str, variable: str) -> Sequence[str]:
    pairs = (entry.strip().partition("=") for entry in variable.split(","))
    return [web.rstrip("/") for name, _, web in pairs if authority and name == authority]


def _by_address(scheme: str, authority: str) -> Sequence[str]:
    web = "https" if scheme == "swebhdfs" else "http"
    return [f"{web}://{_with_port(authority, WEB[web][1])}"] if authority else []


def _by_settings(authority: str, settings: Mapping[str, str]) -> Sequence[str]:
    """One with several NameNodes is called by the name that `dfs.nameservices` gives it, one with one by that one's address."""
    web = "https" if settings.get("dfs.http.policy") == "HTTPS_ONLY" else "http"
    key, port = WEB[web]
    if authority in _names(settings.get("dfs.nameservices", "")):
        nodes = _names(settings.get(f"dfs.ha.namenodes.{authority}", ""))
        suffixes = [f".{authority}.{node}" for node in nodes] or [f".{authority}"]
        named = [settings.get(f"{key}{suffix}", "") for suffix in suffixes]
        return [f"{web}://{_with_port(address, port)}" for address in named if address]
    ours = (urlsplit(settings.get("fs.defaultFS", "")).netloc, settings.get("dfs.namenode.rpc-address", ""))
    if not authority or _with_port(authority, RPC_PORT) not in [_with_port(address, RPC_PORT) for address in ours if address]:
        return []
    host, _, given = settings.get(key, "").rpartition(":")
    return [f"{web}://{authority.rpartition(':')[0] or authority if host in ('', ANYWHERE) else host}:{given or port}"]


def _names(listed: str) -> Sequence[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


def _with_port(authority: str, port: int) -> str:
    return authority if authority.rpartition(":")[2].isdigit() and ":" in authority else f"{authority}:{port}"


def _read(folder: str) -> Mapping[str, str]:
    """Hadoop's settings in `folder`; raises Invalid (`storage.hadoop_conf`) for a file that is not one of them."""
    settings: dict[str, str] = {}
    for path in (Path(folder, name) for name in FILES if folder):
        if path.is_file():
            settings |= _of_file(path)
    return settings


def _of_file(path: Path) -> Mapping[str, str]:
    try:
        entries = ET.parse(path).getroot().iter("property")
        return {(entry.findtext("name") or "").strip(): (entry.findtext("value") or "").strip() for entry in entries}
    except (ET.ParseError, OSError, UnicodeError) as error:
        hint = f"Mend it, or let {CONF_VARIABLE} name another folder."
        raise Invalid("storage.hadoop_conf", f"{path} cannot be read as Hadoop's configuration: {error}", hint) from error


def _unknown(url: str, authority: str) -> Invalid:
    message = f"Where the NameNode of {url} answers HTTP (WebHDFS) is not known"
    hint = (
        f"Let {CONF_VARIABLE} name the folder of the core-site.xml and hdfs-site.xml of that HDFS, or set "
        f"{VARIABLE}={authority or 'host:8020'}=http://host:9870, in the environment of the process (and of the server)."
    )
    return Invalid("storage.namenode", message, hint)

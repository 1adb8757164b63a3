"""Who can reach the server: the address it listens on, the names it answers to, and what encrypts on the way."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipelines.domain.access import Token
from pipelines.domain.errors import Invalid, Unsupported

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
ANY = frozenset({"", "0.0.0.0", "::"})
"""Addresses that are all of this machine's."""
TUNNEL = "Or serve on 127.0.0.1 and reach it through an SSH tunnel: ssh -L 8501:127.0.0.1:8501 <this machine>"


@dataclass(frozen=True)
class Reach:
    """Loopback alone, or, with access control, others too: over TLS, by a certificate of its own or by a proxy before it."""

    host: str = "127.0.0.1"
    names: tuple[str, ...] = ()
    """Host names by which others reach it."""
    certificate: str = ""
    """The file of its certificate, with the chain (PEM)."""
    key: str = ""
    """The file of the certificate's key; empty where that is in the same file."""
    proxy: str = ""
    """The address of the proxy that encrypts; what it says of its clients (X-Forwarded-For, X-Forwarded-Proto) is believed."""

    @property
    def is_open(self) -> bool:
        """Whether anybody but this machine is meant to reach it."""
        return not is_loopback(self.host) or bool(self.proxy)

    @property
    def hosts(self) -> frozenset[str]:
        """The host names that it answers to; any other may be a name that a stranger points here."""
        return LOOPBACK | frozenset(self.names) | (frozenset() if self.host in ANY else {self.host.lower()})

    @property
    def encryption(self) -> str:
        """What encrypts, in words; empty where nothing does."""
        return f"the proxy at {self.proxy}" if self.proxy else "its own certificate" if self.certificate else ""

    @property
    def uvicorn(self) -> dict[str, Any]:
        """The options of uvicorn."""
        encrypted = {"ssl_certfile": self.certificate, "ssl_keyfile": self.key or None} if self.certificate else {}
        believed = {"proxy_headers": True, "forwarded_allow_ips": self.proxy} if self.proxy else {"proxy_headers": False}
        return {**encrypted, **believed}

    def local_url(self, port: int) -> str:
        """Where commands on this machine reach it."""
        return self._url("127.0.0.1" if self.host in ANY else self.host, port)

    def url(self, port: int) -> str:
        """The URL to open in a browser."""
        if not self.names:
            return self.local_url(port)
        return f"https://{self.names[0]}" if self.proxy else self._url(self.names[0], port)

    def _url(self, host: str, port: int) -> str:
        shown = f"[{host}]" if ":" in host else host
        return f"{'https' if self.certificate else 'http'}://{shown}:{port}"

    def checked(self) -> Reach:
        """Itself with whole paths and names in lower case. Invalid for what does not fit together, Unsupported (`server.not_encrypted`)
        for a server that others reach and that nothing encrypts."""
        if self.proxy:
            _address(self.proxy)
        if self.key and not self.certificate:
            raise Invalid("server.certificate", "--keyfile without --certfile", "Give the certificate as well.")
        if self.is_open and not (self.certificate or self.proxy):
            raise Unsupported(
                "server.not_encrypted",
                f"Others could reach {self.host or 'this machine'}, and their tokens would cross the network unencrypted.",
                f"Give --certfile and --keyfile, or --behind-proxy with the address of the proxy that encrypts. {TUNNEL}",
            )
        if self.is_open and not self.names and (self.host in ANY or is_loopback(self.host)):
            raise Invalid(
                "server.no_name", "Nobody said by which name others reach this server", "Give it: --allow-host tidemark.example.org"
            )
        whole = replace(self, names=tuple(map(_name, self.names)), certificate=_path(self.certificate), key=_path(self.key))
        whole._load()
        return whole

    def _load(self) -> None:
        if not self.certificate:
            return
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate, self.key or None, password=lambda: b"")  # else it would ask at the terminal
        except OSError as error:
            hint = "Both files are PEM, the key without a passphrase, and this user can read them."
            raise Invalid("server.certificate", f"The certificate cannot be used: {error}", hint) from error

    def check_tokens(self, tokens: Sequence[Token], now_ms: int, *, signs_in: bool = False) -> None:
        """Unsupported (`server.no_access_control`) where others reach the server, no named token lets anybody in, and no provider does
        (`signs_in`)."""
        if self.is_open and not signs_in and not any(now_ms < token.expires_ms for token in tokens):
            raise Unsupported(
                "server.no_access_control",
                "Others could reach this server, and there is no named token: all would have to use yours, which may do everything.",
                "Make one before: python -m pipelines token create alice --role operator. Or have people sign in with a provider: "
                f"TIDEMARK_OIDC_ISSUER. {TUNNEL}",
            )


ONLY_HERE = Reach()
"""A server that nobody else reaches."""


def refuse_open_host(host: str) -> None:
    """Unsupported unless `host` is this machine alone."""
    if not is_loopback(host):
        raise Unsupported(
            "server.no_access_control",
            f"Under streamlit run, {host or 'this machine'} would be open to others, with their tokens unencrypted.",
            f"python3 -m dashboard --host serves others, encrypted. {TUNNEL}",
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`."""
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _address(proxy: str) -> None:
    try:
        ipaddress.ip_address(proxy)
    except ValueError as error:
        raise Invalid("server.proxy", f"{proxy!r} is no address of a proxy", "Give its IP address, as this machine sees it.") from error


def _name(name: str) -> str:
    lowered = name.lower()
    if not lowered or not lowered.replace("-", "").replace(".", "").isalnum() or not lowered.isascii():
        raise Invalid("server.name", f"{name!r} is no host name", "Give it without scheme and port: tidemark.example.org")
    return lowered


def _path(path: str) -> str:
    return str(Path(path).expanduser().resolve()) if path else ""

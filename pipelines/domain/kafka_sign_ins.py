"""How a Kafka broker that takes a sign-in is asked: by the options of the source that reads it, its password by reference alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pipelines.domain.errors import Unavailable

PREFIX = "kafka."
"""What Spark has before the options that it hands on to Kafka's client."""
PROTOCOL, MECHANISM, JAAS = "security.protocol", "sasl.mechanism", "sasl.jaas.config"
USER, PASSWORD = "sasl.username", "sasl.password"
STORE_TYPE, STORE_PLACE, STORE_TEXT = "ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.certificates"
HOST_CHECK = "ssl.endpoint.identification.algorithm"
OWN_TYPE, OWN_PLACE, OWN_CHAIN = "ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.certificate.chain"
"""Of a source's own certificate, by which it signs in: a file that has its key, too, or its text."""
OWN_KEY, KEY_PASSWORD = "ssl.keystore.key", "ssl.key.password"
NOTED = (PROTOCOL, MECHANISM, STORE_TYPE, STORE_PLACE, STORE_TEXT, HOST_CHECK, OWN_TYPE, OWN_PLACE, OWN_CHAIN)
"""The options that are kept as they are, if given, or as the reference by which they came: none of them is a secret."""
REFERRED = (OWN_KEY, KEY_PASSWORD)
"""Those of which the reference is kept by which they came, empty for one that came by none."""
READ = (*NOTED, *REFERRED, JAAS)
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""Those with a user and a password, which both clients have."""
OTHERS: Mapping[str, str] = {"GSSAPI": "Kerberos (GSSAPI)", "OAUTHBEARER": "OAuth (OAUTHBEARER)", "AWS_MSK_IAM": "IAM of AWS (AWS_MSK_IAM)"}
"""What those are called that Spark has, by the classes of the job, and Tidemark has not."""
BY_REFERENCE = "give it as {env:NAME} or {file:/path} in an argument or a conf"
_WORD = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")
Options = Mapping[str, str]
"""Kafka's names, without Spark's prefix."""


def noted(options: Options, referred: Mapping[str, str]) -> dict[str, str]:
    """What is kept of a source's options (`READ`): of what signs in the user and the reference by which the password came, or the one by
    which all came; `referred` has the reference of each value. Nothing for a source that takes no sign-in."""
    if options.get(PROTOCOL, "PLAINTEXT").upper() == "PLAINTEXT":
        return {}
    kept = {name: referred.get(options[name], options[name]) for name in NOTED if name in options}
    kept |= {name: referred.get(options[name], "") for name in REFERRED if options.get(name)}
    jaas = options.get(JAAS, "")
    if jaas in referred:
        return {**kept, JAAS: referred[jaas]}
    user, password = user_and_password(jaas)
    return {**kept, USER: user, PASSWORD: referred[password]} if password in referred else kept


def user_and_password(jaas: str) -> tuple[str, str]:
    """Of a login module's line (`… required username="u" password="p";` in Java's `Configuration`); empty where it has none."""
    words = {name: re.sub(r"\\(.)", r"\1", double or single or bare) for name, double, single, bare in _WORD.findall(jaas)}
    return words.get("username", ""), words.get("password", "")


def hindrance(options: Options) -> str:
    """Why a broker cannot be asked with what was noted, in a sentence's second half; empty where it can."""
    protocol, mechanism = options.get(PROTOCOL, "").upper(), options.get(MECHANISM, "GSSAPI").upper()
    if not protocol:
        return "takes a sign-in, and no run here noted how its source signs in"
    if (OWN_PLACE in options or OWN_KEY in options) and options.get(OWN_TYPE, "JKS").upper() != "PEM":
        return f"takes a sign-in by a certificate in a keystore of Java ({options.get(OWN_TYPE, 'JKS')}): one of type PEM can be read"
    alone = [name for name in REFERRED if not options.get(name, name)]
    if alone:
        return f"takes a secret that the job's code has by itself ({alone[0]}): {BY_REFERENCE}"
    if (STORE_PLACE in options or STORE_TEXT in options) and options.get(STORE_TYPE, "JKS").upper() != "PEM":
        return f"has a certificate that is checked by a truststore of Java ({options.get(STORE_TYPE, 'JKS')}): one of type PEM can be read"
    if not protocol.startswith("SASL"):
        return ""
    if mechanism not in MECHANISMS:
        return f"takes a sign-in by {OTHERS.get(mechanism, mechanism)}, and Tidemark has {', '.join(MECHANISMS)}"
    if PASSWORD not in options and JAAS not in options:
        return f"takes a password that the job's code has by itself: {BY_REFERENCE}"
    return ""


def client(options: Options, put_in: Callable[[str], str]) -> dict[str, str]:
    """The same as librdkafka has it; `put_in` gives a text with the values of its references. Raises what that raises, and Unavailable
    (`kafka.sign_in`)."""
    conf = {PROTOCOL: options[PROTOCOL].upper()}
    if conf[PROTOCOL].endswith("SSL"):
        names = {STORE_PLACE: "ssl.ca.location", STORE_TEXT: "ssl.ca.pem"}
        conf |= {names[name]: options[name] for name in names if name in options}
        conf |= {HOST_CHECK: options[HOST_CHECK].lower() or "none"} if HOST_CHECK in options else {}
        conf |= _own_certificate(options, put_in)
    if not conf[PROTOCOL].startswith("SASL"):
        return conf
    both = (options[USER], put_in(options[PASSWORD])) if PASSWORD in options else user_and_password(put_in(options[JAAS]))
    if not all(both):
        raise Unavailable(
            "kafka.sign_in", f"{options.get(JAAS, '')} has no username and password", "Write a line of sasl.jaas.config in it."
        )
    return {**conf, MECHANISM: options[MECHANISM].upper(), USER: both[0], PASSWORD: both[1]}


def _own_certificate(options: Options, put_in: Callable[[str], str]) -> dict[str, str]:
    """librdkafka reads certificates and key each from a place of its own, which may be one file."""
    conf = {KEY_PASSWORD: put_in(options[KEY_PASSWORD])} if KEY_PASSWORD in options else {}
    if OWN_PLACE in options:
        return {**conf, "ssl.certificate.location": options[OWN_PLACE], "ssl.key.location": options[OWN_PLACE]}
    if OWN_KEY in options:
        return {**conf, "ssl.certificate.pem": put_in(options.get(OWN_CHAIN, "")), "ssl.key.pem": put_in(options[OWN_KEY])}
    return conf

"""The log4j2 configuration that a version has among its files: which one it is, what is wrong with it, how a JVM is told of it. Pure.

log4j2 itself is silent where it cannot use one: Spark's own configuration takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from xml.parsers import expat

from pipelines.domain.json_text import read_json

NAMES = ("log4j2.properties", "log4j2.yaml", "log4j2.yml", "log4j2.json", "log4j2.jsn", "log4j2.xml")
"""In the order in which log4j2 looks for them (`ConfigurationFactory`)."""
OPTIONS = "spark.driver.extraJavaOptions"
PROPERTY = "-Dlog4j2.configurationFile="
OTHER_NAMES = ("-Dlog4j.configurationFile=", "-Dlog4j2.configuration=", "-Dlog4j.configuration=")
"""By which somebody may have named one."""
STRUCTURED = "spark.log.structuredLogging.enabled"
SPARKS_JSON = "classpath:org/apache/spark/log4j2-json-layout.properties"
"""Spark's own, for `STRUCTURED`; what PySpark starts is a shell to Spark, where it passes that conf over (`SparkSubmit.doSubmit`)."""
_PROPERTY_LINE = re.compile(r"\s*([^=:\s]+)\s*[=:\s]\s*(.*)")
_APPENDER = re.compile(r"appender\.([^.]+)\.")
_REFERENCE = re.compile(r".*\.appenderRef\.[^.]+\.ref")


def chosen(files: Collection[str]) -> str:
    """The name of the configuration beside the script; empty where there is none."""
    return next((name for name in NAMES if name in files), "")


def directed(conf: Mapping[str, str], url: str) -> dict[str, str]:
    """The confs of a run whose JVM is told of the configuration at `url`, or (none: empty) of Spark's own for a log in JSON where the confs
    ask for that. One that somebody has named among the JVM's options stays, and wins."""
    given = conf.get(OPTIONS, "")
    place = url or (SPARKS_JSON if conf.get(STRUCTURED, "").strip().lower() == "true" else "")
    if not place or any(name in given for name in (PROPERTY, *OTHER_NAMES)):
        return dict(conf)
    return {**conf, OPTIONS: f"{given} {PROPERTY}{place}".strip()}


def named(conf: Mapping[str, str]) -> str:
    """The configuration that the JVM's options name; empty where they name none."""
    words = conf.get(OPTIONS, "").partition(PROPERTY)[2].split()
    return words[0].strip("\"'") if words else ""


def problem(name: str, content: bytes) -> str:
    """Why log4j2 would not use this configuration, as far as that is seen without a JVM; empty where nothing speaks against it."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return "it is not UTF-8 text"
    if name.endswith(".xml"):
        return _of_xml(text)
    if name.endswith((".json", ".jsn")):
        return _of_json(text)
    return next(_of_properties(text), "") if name.endswith(".properties") else ""


def _of_xml(text: str) -> str:
    roots: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, _: roots.append(name)
    parser.EntityDeclHandler = lambda *_: roots.append("!ENTITY")
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        return f"it is no XML: {error}"
    if "!ENTITY" in roots:
        return "it declares entities"
    root = roots[0].rpartition(":")[2]
    return "" if root.casefold() == "configuration" else f"its root is <{root}>, not <Configuration>"


def _of_json(text: str) -> str:
    try:
        document = read_json(text)
    except ValueError as error:
        return f"it is no JSON: {error}"
    named = isinstance(document, dict) and any(key.casefold() == "configuration" for key in document)
    return "" if named else "it has no object 'Configuration'"


def _of_properties(text: str) -> Iterator[str]:
    properties = dict(_properties(text))
    if not properties:
        yield "it says nothing"
    old = next((key for key in properties if key.startswith("log4j.")), "")
    if old:
        yield f"{old} is the syntax of log4j 1: log4j2 says rootLogger.level, appender.<id>.type and so on"
    for key in properties:
        match = _APPENDER.match(key)
        if match and f"appender.{match[1]}.type" not in properties:
            yield f"appender.{match[1]} has no type"
    named = {value for key, value in properties.items() if _APPENDER.match(key) and key.endswith(".name")}
    for key, value in properties.items():
        if _REFERENCE.fullmatch(key) and "$" not in value and value not in named:
            yield f"{key} names {value!r}, which is no appender's name"


def _properties(text: str) -> Iterator[tuple[str, str]]:
    """Keys and values as `java.util.Properties` reads them, without its escapes."""
    for line in re.sub(r"\\\r?\n\s*", "", text).splitlines():
        match = _PROPERTY_LINE.fullmatch(line)
        if match and not line.lstrip().startswith(("#", "!")):
            yield match[1], match[2].strip()

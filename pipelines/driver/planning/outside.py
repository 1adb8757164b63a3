"""What Python code reaches that is not seen in it: files, the environment, other processes, code made of text, the clock, chance."""

from __future__ import annotations

import os
import re
from pathlib import PurePath

from pipelines.domain.files import is_module

NAMES = {"eval", "exec", "open", "__import__", "environ", "getenv", "urlopen", "SparkFiles", "getLocalProperty", "read_text", "read_bytes"}
NAMES |= {"__orig_bases__", "__parameters__", "__abstractmethods__", "__dataclass_params__", "__static_attributes__", "__module__"}
NAMES |= {"globals", "vars", "__dict__", "__globals__", "__code__", "__doc__", "__annotations__", "__dataclass_fields__", "__subclasses__"}
"""Those after `read_bytes` show of code what is no part of its form, or show it in an order that is none."""
SHOWN = re.compile("|".join(sorted(name for name in NAMES if name.startswith("__"))) + r"|\b(co_\w+|[ft]b?_lineno)\b|(?<!\w)__(?!\w)")
"""In a text by which code may ask for one of them (`getattr`), or put its name together (`f"__{name}__"`)."""
LINES = {"lineno", "tb_lineno", "f_lineno", "format_exc", "format_exception", "format_tb", "format_stack", "print_exc", "print_exception"}
LINES |= {"extract_tb", "extract_stack", "walk_tb", "walk_stack", "TracebackException", "StackSummary"}
"""Those that tell in which lines of its file code stands."""
PURE = re.compile(
    r"abc|annotationlib|array|ast|base64|binascii|bisect|blake2|builtins|bz2|calendar|cmath|codecs|collections|"
    r"collections_abc|colorsys|configparser|contextlib|contextvars|copy|copyreg|csv|dataclasses|datetime|decimal|"
    r"difflib|elementtree|email|encodings|enum|errno|fractions|functools|future|graphlib|gzip|hashlib|heapq|"
    r"hmac|html|ipaddress|itertools|json|keyword|logging|lzma|math|md5|numbers|operator|pprint|py_abc|"
    r"pydatetime|pydecimal|pyexpat|queue|quopri|random|re|reprlib|secrets|sha1|sha2|sha3|sre|sre_compile|"
    r"sre_constants|sre_parse|statistics|string|stringprep|strptime|struct|sys|tarfile|textwrap|thread|threading|"
    r"time|token|tokenize|tomllib|traceback|types|typing|unicodedata|uuid|warnings|weakref|weakrefset|xml|"
    r"zipfile|zlib|zoneinfo"
)
"""Modules of the standard library, without the `_` that some begin with, whose answers come from what they are given, but for those of
their functions that `readers` knows. The answers of all others come from outside."""
PURE_PARTS = {"urllib", "urllib.parse"}
SERVICES = {"aiohttp", "boto3", "botocore", "grpc", "httplib2", "httpx", "pymongo", "redis", "requests", "urllib3"}
"""Packages whose answers are those of a service."""
CHANCE = {"random", "secrets", "uuid", "time"}
RANDOM = ".random"
"""Ends the name of a package's module that draws numbers (`numpy.random`)."""
CLOCK = {"now", "today", "utcnow"}
UNPROVED = "which may read a file, ask a service or look into other code: that it answers as before cannot be proved"


def reaches(module: str) -> bool:
    """Whether answers of a module of the standard library come from outside."""
    return module not in PURE_PARTS and PURE.fullmatch(module.partition(".")[0].strip("_")) is None


def is_file(thing: object, version: str) -> bool:
    """Whether a text or a path names a file, or a folder by its whole path, that is there. Files in the folder `version` are none of them:
    their bytes are compared with the version."""
    if not isinstance(thing, str | bytes | PurePath):
        return False
    place = os.fsdecode(thing)
    if os.path.isfile(place):
        return not _is_of_version(os.path.realpath(place), os.path.realpath(version)) if version else True
    return os.path.isabs(place) and os.path.isdir(place) and os.path.realpath(place) != os.sep


def _is_of_version(place: str, version: str) -> bool:
    return place.startswith(f"{version}{os.sep}") and not is_module(os.path.relpath(place, version))

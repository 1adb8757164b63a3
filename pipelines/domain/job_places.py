"""Where the checkpoints and outputs of a job lie: in the workspace, or in a folder of its own at a home."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from pipelines.domain.errors import Conflict, Invalid, Unsupported
from pipelines.domain.homes import is_folder
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.references import within

S3 = "s3a://"
"""What Hadoop calls S3; the server takes it for `s3://`."""
HDFS = "hdfs://"
WEBHDFS = ("webhdfs://", "swebhdfs://")
"""HDFS over HTTP, which Spark's own Hadoop cannot use: jersey is not among its shaded classes, so it reads no refusal of a NameNode's, and
a file that is not there fails the query."""
CHECKPOINTS = "checkpoints"
"""In a job's folder at a home: a folder for each run that began some."""
SCHEMES = (S3, HDFS)
"""Where checkpoints and outputs of jobs lie, as Hadoop writes them."""
ARTIFACT = "org.apache.hadoop:hadoop-aws"
CONNECTOR = "hadoop-aws"
"""In the name of its jar, and of its package."""
JARS, PACKAGES = "spark.jars", "spark.jars.packages"
JAR_CONFS = (JARS, PACKAGES, "spark.driver.extraClassPath")
ENDPOINT, REGION, PATH_STYLE = (f"spark.hadoop.fs.s3a.{name}" for name in ("endpoint", "endpoint.region", "path.style.access"))
ACCESS_KEY = "spark.hadoop.fs.s3a.access.key"
ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
AWS = ".amazonaws.com"
"""The end of every endpoint of the S3 that an environment without one means."""
REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
KEY_VARIABLES = ("AWS_ACCESS_KEY_ID",)
HDFS_CLIENTS = ("hadoop-client-api", "hadoop-hdfs-client")
"""In the names of the jars that open HDFS: Spark's own, and those of a Hadoop beside it."""
CLASS_PATH_VARIABLE = "SPARK_DIST_CLASSPATH"
"""Names the jars of a Hadoop for a Spark that was built without one."""
USER_VARIABLE, WEB_USER_VARIABLE = "HADOOP_USER_NAME", "FSSPEC_WEBHDFS_USER"
"""Who Hadoop's clients are in HDFS, the server's too, unless the second names another for it."""


def at(home: str, job: JobName, run: RunId) -> str:
    """The folder at `home` (a whole path, or a URL of S3 or HDFS) of the job that `run` begins, which makes it unlike that of any workspace
    that shares the home."""
    theirs = home if is_hdfs(home) or is_folder(home) else f"{S3}{home.partition('://')[2]}"
    return f"{theirs.rstrip('/')}/{job}-{run}"


def home_of(place: str) -> str:
    """The home that a job's folder is at."""
    return place.rpartition("/")[0]


def is_remote(path: str) -> bool:
    """Whether a checkpoint or an output lies in another storage than this machine's disks."""
    return path.startswith(SCHEMES)


def is_hdfs(path: str) -> bool:
    return path.startswith(HDFS)


def checkpoints(place: str, run: RunId) -> str:
    """The checkpoints that `run` begins in a job's folder at a home."""
    return f"{place}/{CHECKPOINTS}/{run}"


def output(place: str) -> str:
    """What `{output}` means for a job whose folder at a home is `place`."""
    return f"{place}/output"


def place_of(checkpoints_: str, *, is_marked: bool = False) -> str:
    """The job's folder at a home that these checkpoints are in; empty for those of the workspace, and for those on another disk of this
    machine unless the home's mark is known of them."""
    return checkpoints_.rpartition(f"/{CHECKPOINTS}/")[0] if is_marked or is_remote(checkpoints_) else ""


def first_of(environment: Mapping[str, str], names: Sequence[str]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def s3_conf(checkpoints_: str, conf: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """The confs with which a Spark that works on these checkpoints reaches the S3 that the server reaches: its endpoint and its region,
    from the environment of both. Nothing where they lie elsewhere than in S3; what `conf` says stays.

    Credentials are no confs: Hadoop reads AWS_ACCESS_KEY_ID and its companions from the environment, too, and nothing keeps them.
    """
    if not checkpoints_.startswith(S3):
        return {}
    endpoint = first_of(environment, ENDPOINT_VARIABLES)
    ours = {ENDPOINT: endpoint, REGION: first_of(environment, REGION_VARIABLES), PATH_STYLE: "true" if endpoint else ""}
    return {key: value for key, value in ours.items() if value and key not in conf}


def refuse_unlike(conf: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Raises Conflict (`home.endpoint`, `home.credentials`) where the job's confs name another S3, or another account, than the server's
    environment: one would write what the other does not find."""
    pairs = ((ENDPOINT, ENDPOINT_VARIABLES, "home.endpoint"), (ACCESS_KEY, KEY_VARIABLES, "home.credentials"))
    for key, variables, code in pairs:
        theirs, ours = conf.get(key, ""), first_of(environment, variables)
        if theirs and not within(theirs) and _host(theirs) != _host(ours):
            told = f"not what the server's environment says ({' or '.join(variables)})"
            hint = f"Leave {key} out: the job gets what the server has. Or start the server with that of the job."
            raise Conflict(code, f"The job's conf {key} is {told}", hint)


def is_other_s3(path: str, conf: Mapping[str, str], environment: Mapping[str, str]) -> bool:
    """Whether a file of a job is in S3, and its confs name another S3, for its bucket (`fs.s3a.bucket.NAME.endpoint`) or for all, than the
    server's environment. What is behind a reference, nobody here knows."""
    bucket = urlsplit(path).netloc if path.startswith(S3) else ""
    theirs = bucket and (conf.get(ENDPOINT.replace("s3a.", f"s3a.bucket.{bucket}."), "") or conf.get(ENDPOINT, ""))
    ours = _host(first_of(environment, ENDPOINT_VARIABLES))
    return bool(theirs) and (bool(within(theirs)) or (_host(theirs) != ours and (bool(ours) or not _host(theirs).endswith(AWS))))


def refuse_without_connector(conf: Mapping[str, str], hadoop_version: str, is_there: bool) -> None:
    """Raises Unsupported (`home.connector`) for a job whose Spark could not open S3: neither its jars nor its confs have hadoop-aws."""
    if is_there or any(CONNECTOR in conf.get(key, "") for key in JAR_CONFS):
        return
    artifact = f"{ARTIFACT}:{hadoop_version}" if hadoop_version else ARTIFACT
    hint = f"Give --conf {PACKAGES}={artifact}, or the jars of that Maven artifact and what it needs (--conf {JARS}=…)."
    raise Unsupported("home.connector", "The job's Spark has no hadoop-aws, which opens S3", hint)


def refuse_unwritten(place: str) -> None:
    """Raises Unsupported (`home.webhdfs`) for an HDFS over HTTP, and Invalid (`home.namenode`) for `hdfs:///…`: Spark names what it writes
    there with the NameNode, so the two would be unlike."""
    if place.startswith(WEBHDFS):
        hint = "Give hdfs://host:8020/folder: Spark writes there by that, and the server finds its NameNode over HTTP."
        raise Unsupported("home.webhdfs", f"Spark cannot keep a job at {place}: its Hadoop fails over WebHDFS", hint)
    if is_hdfs(place) and not urlsplit(place).netloc:
        hint = "Say it whole, as core-site.xml has it (fs.defaultFS): hdfs://host:8020/folder."
        raise Invalid("home.namenode", f"{place} does not name the NameNode", hint)


def refuse_another_user(environment: Mapping[str, str], login: str) -> None:
    """Raises Conflict (`home.credentials`) where the server is another user in HDFS than the job's Spark will be; `login` is who both are
    where nothing names one."""
    theirs = environment.get(USER_VARIABLE) or login
    ours = environment.get(WEB_USER_VARIABLE) or theirs
    if ours != theirs:
        message = f"The server is {ours} in HDFS ({WEB_USER_VARIABLE}), and the job's Spark would be {theirs}"
        hint = f"Start the server with {USER_VARIABLE} alone: it counts for both."
        raise Conflict("home.credentials", message, hint)


def refuse_without_hdfs(conf: Mapping[str, str], environment: Mapping[str, str], is_there: bool) -> None:
    """Raises Unsupported (`home.connector`) for a job whose Spark was built without Hadoop, and is told of none."""
    named = any(client in conf.get(key, "") for key in JAR_CONFS for client in HDFS_CLIENTS)
    if not is_there and not named and not environment.get(CLASS_PATH_VARIABLE):
        hint = f"Start the server with {CLASS_PATH_VARIABLE} (the output of `hadoop classpath`), or give the jars (--conf {JARS}=…)."
        raise Unsupported("home.connector", "The job's Spark has no client of HDFS: it was built without Hadoop", hint)


def _host(text: str) -> str:
    return text.partition("://")[2].rstrip("/") if "://" in text else text.rstrip("/")

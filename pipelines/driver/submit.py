"""The arguments of spark-submit: the launcher reads them from the environment when the script's session starts the JVM."""

from __future__ import annotations

import os
import shlex
import sys
import zipfile
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from pipelines.domain.job_places import s3_conf
from pipelines.domain.masters import is_local
from pipelines.domain.references import redaction, referring, within
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.secrets import SECRET
from pipelines.driver import secret_values
from pipelines.driver.catalog_conf import catalog_conf

QUIET = {"spark.ui.showConsoleProgress": "false"}
"""The log is a file: Spark's progress bars, drawn over themselves, would fill it."""

PY_FILES = "spark.submit.pyFiles"
MODULES = "modules.zip"
"""In a run's folder: the script's modules and files, for machines that do not see the folder they are in."""
PYTHON_CONF, PYTHON = "spark.pyspark.python", "PYSPARK_PYTHON"
"""The Python of the executors: spark-submit makes the conf that variable, which is all that PySpark reads where Python starts the JVM."""
OURS = "pipelines"
"""Our own package; a job may have one of the same name."""
WORKER_PYTHON = Path(__file__).with_name("worker_python")


def submit_arguments(spec: RunSpec, ours: Mapping[str, str] | None = None) -> str:
    """`--conf` and friends as PySpark's gateway passes them on, `ours` among them; what the script sets in code still wins over them."""
    words = ["--master", spec.master] if spec.master else []
    if "spark.app.name" not in spec.conf:
        words += ["--name", spec.job]
    for key, value in sorted((QUIET | dict(spec.conf) | dict(ours or {})).items()):
        if within(value):
            continue  # told once the JVM runs
        words += ["--conf", f"{key}={value}"]
    return shlex.join([*words, "pyspark-shell"])


def prepare(spec: RunSpec, environment: MutableMapping[str, str], folder: Path) -> None:
    """Sets the environment for the JVM; a local master's Python workers must be this very interpreter.

    They find the modules beside the script where these are; other machines get them in an archive, which is made in `folder`.
    """
    shared = is_local(spec.master)
    shipped = _shipped(spec, folder) if spec.code and not shared else {}
    ours = {
        **catalog_conf(spec, environment),
        **s3_conf(spec.checkpoints, spec.conf, environment),
        **shipped,
        **redaction(spec.conf, SECRET.pattern),
    }
    if referring(spec.conf):
        secret_values.tell(referring(spec.conf))
    environment["PYSPARK_SUBMIT_ARGS"] = submit_arguments(spec, ours)
    if spec.master.startswith("local"):
        prepare_workers(environment)
        environment.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    elif spec.conf.get(PYTHON_CONF):
        environment[PYTHON] = spec.conf[PYTHON_CONF]
    if spec.code and shared:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [spec.code, environment.get("PYTHONPATH")]))
    if spec.code:  # a version stays as it was frozen
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True


def _shipped(spec: RunSpec, folder: Path) -> dict[str, str]:
    """The conf with which Spark gives each worker the script's modules, beside those that were asked for."""
    archive = pack(Path(spec.code), folder / MODULES)
    return {PY_FILES: ",".join([*filter(None, [spec.conf.get(PY_FILES)]), str(archive)])}


def pack(code: Path, archive: Path) -> Path:
    """An archive of all that is below `code`, which Python imports from."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(code.rglob("*")):
            if path.is_file():
                file.write(path, path.relative_to(code))
    return archive


def prepare_workers(environment: MutableMapping[str, str]) -> None:
    """Sets the Python that Spark's workers start on: this interpreter, with the PySpark that is installed in it where that is the Spark
    that will run. A `PYSPARK_PYTHON` that somebody has set stays, and stands where its JVM does; ours stands where the driver does."""
    installed = "SPARK_HOME" not in environment and os.access(WORKER_PYTHON, os.X_OK)
    if environment.setdefault("PYSPARK_PYTHON", str(WORKER_PYTHON) if installed else sys.executable) == str(WORKER_PYTHON):
        environment["TIDEMARK_STANDS"] = os.getcwd()
    environment["TIDEMARK_PYTHON"] = sys.executable


def enter(spec: RunSpec) -> None:
    """Sets `sys.argv`, with the secrets that arguments refer to, and `sys.path` as `spark-submit script args` does."""
    sys.argv = [spec.script, *map(secret_values.put_in, spec.args)]
    folder = os.path.dirname(os.path.abspath(spec.script))
    sys.path[0] = folder
    sys.path[1:1] = py_files(spec.conf)
    if os.path.exists(os.path.join(folder, OURS)) or os.path.exists(os.path.join(folder, f"{OURS}.py")):
        _step_aside()


def py_files(conf: Mapping[str, str]) -> list[str]:
    """Where the script finds `--py-files` of this machine: archives themselves, of single modules their folder."""
    paths = [path.removeprefix("file://") for path in conf.get(PY_FILES, "").split(",")]
    return [os.path.dirname(path) if path.endswith(".py") else path for path in paths if os.path.isabs(path)]


def _step_aside() -> None:
    """Lets the script import its own package of our name; what of ours runs here has imported what it needs."""
    for name in [name for name in sys.modules if name == OURS or name.startswith(f"{OURS}.")]:
        del sys.modules[name]

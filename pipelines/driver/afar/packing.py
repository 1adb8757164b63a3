"""What travels with a run to the machine that its driver starts on: our driver, the version's script and files, and the specification."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from pipelines.domain import event_logs
from pipelines.domain.plain_json import rebuilt
from pipelines.domain.run_specs import SPEC_FILE, RunSpec

ARCHIVE, UNPACKED = "tidemark.zip", "tidemark"
"""Its name in the run's folder, and the folder that the cluster unpacks it into, in the driver's working directory."""
CODE = "code"
HERE = "{tidemark}"
"""In the specification that travels: where the archive was unpacked."""
OURS = ("domain", "hadoop", "driver")
"""What a driver imports of our packages."""


def pack(spec: RunSpec, folder: Path) -> Path:
    """The archive, in the run's folder."""
    archive, packages = folder / ARCHIVE, Path(__file__).resolve().parents[2]
    code = Path(spec.code) if spec.code else Path(spec.script).parent
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(SPEC_FILE, as_text(_travelling(spec, code)))
        for module in (packages / "__init__.py", *(path for name in OURS for path in sorted((packages / name).rglob("*.py")))):
            file.write(module, Path(packages.name, module.relative_to(packages)))
        for path in sorted(code.rglob("*")) if spec.code else [Path(spec.script)]:
            if path.is_file():
                file.write(path, Path(CODE, path.relative_to(code)))
    return archive


def unpacked(folder: Path) -> RunSpec:
    """The specification that came with the archive, for the folder that it was unpacked into."""
    text = (folder / SPEC_FILE).read_text()
    return rebuilt(RunSpec, json.loads(text.replace(HERE, json.dumps(str(folder))[1:-1])))


def as_text(spec: RunSpec) -> str:
    return json.dumps(asdict(spec))


def without_log_of_here(conf: Mapping[str, str]) -> dict[str, str]:
    """`conf` without an event log in a folder of this machine."""
    here = conf.get(event_logs.DIRECTORY, "").startswith(("file:", "/"))
    return {key: value for key, value in conf.items() if not (here and key in (event_logs.DIRECTORY, event_logs.ENABLED))}


def _travelling(spec: RunSpec, code: Path) -> RunSpec:
    there = f"{HERE}/{CODE}"
    return replace(
        spec,
        script=f"{there}/{Path(spec.script).relative_to(code).as_posix()}",
        code=there if spec.code else "",
        args=tuple(argument.replace(str(code), there) for argument in spec.args),
        conf=without_log_of_here(spec.conf),
        outside={},
        warehouse="",
    )

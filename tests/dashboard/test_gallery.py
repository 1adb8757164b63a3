"""The gallery of jobs to begin with: each has a picture, its arguments and its second version; the page makes its input."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import PurePath
from typing import Any
from xml.etree import ElementTree

import pytest

from dashboard import gallery
from dashboard.drawing import pictures
from pipelines.client import scripts
from pipelines.domain.collection import COLLECTION, GENERATORS
from pipelines.verbs.run import RunScript
from pipelines.verbs.system import StartExample
from tests.dashboard.opening import Opener, clicked, texts
from tests.faces import FakeFace
from tests.jobs import loading


@pytest.mark.parametrize("name", COLLECTION)
def test_each_job_has_a_picture_and_the_modules_that_it_imports(name: str) -> None:
    example = COLLECTION[name]
    layers = {color: ElementTree.fromstring(pictures.svg(name, color)) for color in pictures.COLORS}
    drawn = [color for color, layer in layers.items() if any("black" in part.attrib.values() for part in layer)]
    assert len(layers[pictures.ROW]) > 5 and len(drawn) > 1
    assert 'aria-label="says &quot;what&quot;"' in pictures.html(name, 'says "what"')
    for script in example.scripts:
        assert set(scripts.read(gallery.FOLDER / script).files) == {f"{module}.py" for module in example.beside}
        assert gallery.from_gallery(script).args[0] == f"--{example.inputs[0]}"


def test_all_scripts_are_listed_and_helpers_are_not() -> None:
    modules = {f"{module}.py" for example in COLLECTION.values() for module in example.beside}
    files = {path.name for path in gallery.FOLDER.iterdir() if path.suffix in (".py", ".sql")}
    assert set(gallery.names()) == files - modules - {"__init__.py"}
    for name, (_, beside) in GENERATORS.items():
        assert set(scripts.read(gallery.FOLDER / f"{name}.py").files) == {f"{module}.py" for module in beside}


@pytest.mark.parametrize("name", [name for name in gallery.names() if name.endswith(".py")])
def test_each_script_reads_the_arguments_that_the_gallery_gives_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `main` is called as `spark-submit` calls it, up to where it has read them; they are all that its `queries` asks for."""
    given = gallery.from_gallery(name)
    read = argparse.ArgumentParser.parse_args
    heard: list[argparse.Namespace] = []

    def parse(parser: argparse.ArgumentParser, *args: Any) -> None:
        heard.append(read(parser, *args))
        raise InterruptedError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse)
    ending = [] if PurePath(name).stem in GENERATORS else ["--available-now"]
    monkeypatch.setattr(sys, "argv", [name, *given.args, *ending])
    with pytest.raises(InterruptedError):
        loading.script(PurePath(name).stem)["main"]()
    assert set(re.findall(r"\bargs\.(\w+)", given.code)) <= vars(heard[0]).keys()


def test_a_job_of_the_collection_is_shown_and_its_input_is_made(opened: Opener) -> None:
    face = FakeFace()
    app = opened(face, "new_job", source="Gallery", script="card_fraud.py")
    assert "card_fraud_longer" in texts(app) and "changed meaning" in texts(app)
    assert app.text_area[0].value.startswith("--payments DIRECTORY_OF_INPUT/payments")
    assert app.button(key="start").disabled and "Generate its input" in app.button(key="start").help
    clicked(app, "generate_input")
    assert StartExample("card_fraud", inputs_only=True) in face.begun


def test_a_job_of_the_collection_begins_with_its_confs_and_modules(opened: Opener) -> None:
    face = FakeFace.sample()
    clicked(opened(face, "new_job", source="Gallery", script="engagement_to_database.py"), "start")
    (change,) = face.begun
    assert isinstance(change, RunScript) and set(change.files) == {"exactly_once.py"}
    assert change.conf == COLLECTION["engagement_to_database"].conf
    assert change.args[-2:] == ("--schema", "{job}")

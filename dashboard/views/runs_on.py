"""Fields for what a job's code runs on: the master, the Python with its PySpark, their Java, and packages."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pipelines.domain.masters import DEFAULT


@dataclass(frozen=True)
class RunsOn:
    """As typed; an empty `python` is Tidemark's own, an empty `java_home` the first that fits."""

    master: str = DEFAULT
    python: str = ""
    java_home: str = ""
    requirements: str = ""


def inputs(shown: RunsOn, form: str, key: object) -> RunsOn:
    """What is typed; the fields of a `form` begin anew, as `shown`, with another `key`."""
    master = st.text_input("Master", shown.master, key=f"{form}_master_{key}", help="local[2], spark://…, yarn, k8s://…")
    python = st.text_input(
        "Runtime",
        shown.python,
        key=f"{form}_runtime_{key}",
        placeholder="Tidemark's own",
        help="The Python whose PySpark runs it, as a path: one with another PySpark than before is an upgrade of Spark.",
    )
    java_home = st.text_input(
        "Java",
        shown.java_home,
        key=f"{form}_java_{key}",
        placeholder="the first that fits its PySpark",
        help="JAVA_HOME of the runtime. Empty: a Java that fits is found. The settings list which runtime has which Java.",
    )
    requirements = st.text_area(
        "Requirements",
        shown.requirements,
        key=f"{form}_requirements_{key}",
        height=80,
        placeholder="scikit-learn==1.5.2",
        help="Python packages, as pip's requirements files have them: an environment with them is made before the job begins.",
    )
    return RunsOn((master or "").strip(), (python or "").strip(), (java_home or "").strip(), requirements or "")

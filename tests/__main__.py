"""`python3 -m tests [quick | changed [BASE]] [pytest's arguments]`: prepares the environment, then checks everything that is written here.

Up to the version check everything here must be valid in much older Pythons, so that they can say what is wrong.
"""

import os
import subprocess
import sys
import time

QUICK = "not spark and not browser and not bench"
WORKERS = ["-n", "auto", "--maxprocesses", "4", "--dist", "loadfile", "--no-loadscope-reorder"]
"""One worker a core, in a whole run one more for each two, each with its own Spark and browser; a file's tests share what they set up, so
they stay together. The longest files come first (`tests/running`)."""
FEW = 4
"""So many files are done sooner than a second worker has started."""


def stages(arguments: "list[str]") -> "dict[str, list[str]]":
    """Each stage's name and what it runs, pytest last so that the output closes with its summary.

    A few tests that are named run in one process. In CI jars are fetched beside the other stages; here they are waited for.
    """
    if arguments[:1] == ["quick"]:
        arguments = ["-m", QUICK, *(f"--ignore={file}" for file in long_files()), *arguments[1:]]
    if not 0 < sum(argument.startswith("tests") for argument in arguments) <= FEW:
        arguments = [*WORKERS, *arguments]
    return {
        "ruff check": ["-m", "ruff", "check", "--no-cache", "--output-format", "concise", "."],
        "ruff format": ["-m", "ruff", "format", "--check", "--output-format", "concise", "."],
        "mypy": ["-m", "mypy"],
        "import contracts": ["-c", "from importlinter.cli import lint_imports_command as run; run(['--no-logo'])"],
        **({"jars": ["-m", "tests.maven"]} if os.environ.get("CI") else {}),
        "pytest": ["-m", "pytest", *arguments],
    }


def long_files() -> "list[str]":
    """Those that take longest, which `quick` leaves out."""
    from tests.running import budgets

    return [file for file in budgets.read().seconds if file != budgets.OTHERS]


def main(arguments: "list[str]") -> int:
    """Enters the environment and runs every stage; returns 0 if all passed."""
    if sys.version_info < (3, 11):  # noqa: UP036, this line is for those who come with an older one
        sys.exit("Tidemark needs Python 3.11 or newer, and this is " + sys.version.split()[0] + " (" + sys.executable + ").")

    from dashboard import environment, installing

    environment.run("tests", arguments)
    installing.compile_ours(environment.ROOT)
    if arguments[:1] == ["changed"]:
        arguments = of_changes(arguments[1:])
    if not arguments or arguments[0] == "quick":
        from tests.running import memory

        with memory.folder(whole=not arguments) as temporary:
            failed = run(arguments, environment.ROOT, {**os.environ, "TMPDIR": temporary} if temporary else None)
    else:
        failed = run(arguments, environment.ROOT)
    if failed:
        print("\nFailed: " + ", ".join(failed), file=sys.stderr)
    return 1 if failed else 0


def run(arguments: "list[str]", root, environ: "dict[str, str] | None" = None) -> "list[str]":
    """Every stage, also after one has failed; returns those that failed."""
    return [name for name, command in stages(arguments).items() if not passes(name, command, root, environ)]


def of_changes(arguments: "list[str]") -> "list[str]":
    """The tests of what differs from a commit, and pytest's arguments; an option is no commit."""
    from tests.running import changed

    named = [argument for argument in arguments[:1] if not argument.startswith("-")]
    try:
        tests = changed.choose(named[0] if named else None)
    except changed.NoBase as error:
        sys.exit(str(error))
    if not tests:
        sys.exit("Nothing has changed.")
    print("{} files of tests concern what has changed:\n  {}".format(len(tests), "\n  ".join(tests)), file=sys.stderr, flush=True)
    return [*tests, *arguments[len(named) :]]


def passes(name: str, command: "list[str]", root, environ: "dict[str, str] | None") -> bool:
    """Runs one stage in the open, and says how it went."""
    print("\n== " + name, file=sys.stderr, flush=True)
    began = time.monotonic()
    code = subprocess.call([sys.executable, *command], cwd=str(root), env=environ)
    if name != "pytest":
        print("== {}: {} ({:.1f} s)".format(name, "failed" if code else "passed", time.monotonic() - began), file=sys.stderr, flush=True)
    return code == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

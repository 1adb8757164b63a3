"""`python3 -m dashboard`: prepares the environment on any Python 3.11 or newer, then serves the dashboard in it.

Up to the version check everything here must be valid in much older Pythons, so that they can say what is wrong.
"""

import argparse
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dashboard.reach import Reach


def main(arguments: "list[str]") -> int:
    """Reads the command line, enters the environment, serves; returns the exit code."""
    if sys.version_info < (3, 11):  # noqa: UP036, this line is for those who come with an older one
        sys.exit("Tidemark needs Python 3.11 or newer, and this is " + sys.version.split()[0] + " (" + sys.executable + ").")
    options = command_line().parse_args(arguments)

    from dashboard import environment

    structured_log = options.log_format == "json"
    environment.run("dashboard", arguments, structured_log=structured_log)

    from dashboard import shown_output

    shown_output.show()

    from dashboard import server

    workspace = options.workspace or str(environment.ROOT / "data" / "workspace")
    return server.main(
        reach_of(options),
        port=options.port,
        workspace=workspace,
        example=options.example,
        structured_log=structured_log,
        standby=options.standby,
        run_as=options.run_as,
    )


def reach_of(options: argparse.Namespace) -> "Reach":
    """Who can reach the server, as the command line says it."""
    from dashboard.reach import Reach

    return Reach(options.host, tuple(options.allow_host), options.certfile, options.keyfile, options.behind_proxy)


def command_line() -> argparse.ArgumentParser:
    """The parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python3 -m dashboard",
        description="Serves Tidemark: watch Spark streaming jobs, take savepoints, fork them, compare. "
        "The first start prepares everything it needs in .venv.",
    )
    parser.add_argument("--port", type=int, default=8501, help="port to serve on (default: %(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve on (default: %(default)s, this machine only)")
    parser.add_argument(
        "--allow-host", metavar="NAME", action="append", default=[], help="host name by which others reach it (may be given again)"
    )
    parser.add_argument("--certfile", metavar="FILE", default="", help="certificate with its chain, PEM: others reach it over TLS")
    parser.add_argument("--keyfile", metavar="FILE", default="", help="key of the certificate, PEM, where that is a file of its own")
    parser.add_argument(
        "--behind-proxy", metavar="ADDRESS", default="", help="IP address of a proxy that encrypts, and sets X-Forwarded-For and -Proto"
    )
    parser.add_argument(
        "--workspace",
        metavar="PATH",
        default=os.environ.get("TIDEMARK_WORKSPACE"),
        help="directory that holds jobs and savepoints, as TIDEMARK_WORKSPACE says it (default: data/workspace)",
    )
    parser.add_argument(
        "--standby", action="store_true", help="where another server has the workspace: only read, and take over when that one ends"
    )
    parser.add_argument(
        "--run-as",
        metavar="USER",
        default="",
        help="user of this machine that jobs' code runs as, apart from the server, which is root's then (default: TIDEMARK_RUN_AS, "
        "else the server's own)",
    )
    parser.add_argument("--log-format", choices=("text", "json"), default="text", help="the server's own log, on stderr (default: text)")
    parser.add_argument("--example", action="store_true", help="start the example at once, without a click")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

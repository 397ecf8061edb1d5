"""`xcqlc store`: what a store holds, and its upkeep."""

from __future__ import annotations

import argparse

from xcql.cli.kinds import existing_store
from xcql.diagnostics import error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=["info", "compact", "verify", "vacuum"],
        help="info: streams and tables; compact: fewer files; verify: check everything;"
        " vacuum: remove leftovers",
    )
    parser.add_argument("store", metavar="DIR", help="the store's folder")


def run(arguments: argparse.Namespace) -> int:
    from xcql import Session

    session = Session(existing_store(arguments.store), verbose=arguments.verbose)
    if arguments.action == "info":
        print(session.info())
    elif arguments.action == "compact":
        print(f"{session.compact()} files fewer")
    elif arguments.action == "vacuum":
        print(f"{session.vacuum()} files removed")
    else:
        problems = session.verify()
        if problems:
            raise error(
                "XCQL0319",
                f"the store '{arguments.store}' is damaged",
                notes=problems,
                hints=["ingest its fragments into a new store"],
            )
        print("sound")
    return 0

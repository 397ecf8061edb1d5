"""`xcqlc store`: show the contents of a store, and maintain it."""

from __future__ import annotations

import argparse

import xcql
from xcql.cli.kinds import existing_store
from xcql.diagnostics import error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=["info", "compact", "verify", "vacuum", "repair"],
        help="info: streams and tables; compact: fewer files; verify: check everything;"
        " vacuum: remove unused files; repair: repair a damaged store",
    )
    parser.add_argument("store", metavar="DIR", help="the store's folder")


def run(arguments: argparse.Namespace) -> int:
    session = xcql.Session(existing_store(arguments.store), verbose=arguments.verbose)
    if arguments.action == "info":
        print(session.info())
    elif arguments.action == "compact":
        print(f"{session.compact()} files fewer")
    elif arguments.action == "vacuum":
        print(f"{session.vacuum()} files removed")
    elif arguments.action == "repair":
        print("\n".join(session.repair() or ["no damage: nothing to repair"]))
    else:
        _verify(session, arguments.store)
    return 0


def _verify(session: xcql.Session, store: str) -> None:
    problems = session.verify()
    if problems:
        raise error(
            "XCQL0319",
            f"the store '{store}' is damaged",
            notes=problems,
            hints=[f"xcqlc store repair {store} repairs what it can, and lists what is lost"],
        )
    print("sound")
    if unchecked := session.info().without_checksums:
        print(
            f"{unchecked} files were written by an earlier version and have no checksums:"
            f" xcqlc store compact {store} adds them"
        )

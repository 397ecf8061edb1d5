"""DuckDB's failures as errors for the user: errors of the query, or one line about DuckDB."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from xcql.compile.result import BEYOND_SQL, TableUse
from xcql.diagnostics import XcqlError, error
from xcql.dialects.duckdb_functions import BeyondSql
from xcql.shred.checksums import damaged_file, is_whole, store_of
from xcql.source import Span
from xcql.store.commit import is_store
from xcql_runtime.embedded.connection import Limits
from xcql_runtime.engine import Question
from xcql_runtime.evaluator.carried_errors import MAX_TEXT, NeedsEvaluator, arrived
from xcql_runtime.store_reader import PinnedStore, files_in_use

# numbers that do not fit; our SQL casts nothing else that may fail
_BEYOND_SQL = re.compile(rf"(Out of Range|Conversion) Error: |.*\bUDF: {BeyondSql.__name__}\b")
_FILE = re.compile(r"[\"'](/[^\"'\n]+\.parquet)[\"']")
_KIND = re.compile(r"^[A-Za-z ]+ Error: ")
_FATAL = ("INTERNAL Error: ", "FATAL Error: ")


@contextmanager
def understood(
    limits: Limits, store: PinnedStore, tables: Sequence[TableUse], question: Question | None = None
) -> Iterator[None]:
    """Turn failures of DuckDB over some tables into errors of the query, or of another task."""
    try:
        yield
    except (duckdb.Error, OSError) as problem:
        text = str(problem)
        # what fails after the first rows is an error of Arrow's reader, with DuckDB's text
        if isinstance(problem, OSError) and not _KIND.match(text):
            raise
        found = _translated(text, limits, question)
        if found is None:
            found = _damage(store, tables) or _unknown(text, question)
        raise found from None


def is_fatal(problem: Exception) -> bool:
    """Whether the database refuses all queries from now on."""
    return str(problem).startswith(_FATAL)


def _translated(text: str, limits: Limits, question: Question | None) -> XcqlError | None:
    """The error that DuckDB's text means; None if it could be anything."""
    query = question.around.query if question else None
    sites = question.compiled.sites if question and question.compiled else ()
    if known := arrived(text, query, sites):
        return known
    place = Span(query, 0, 0) if query else None
    if text.startswith("Out of Memory Error: "):
        memory = f"{limits.memory >> 20}m"
        return error(
            "XCQL0507",
            f"the query needs more memory than it may use ({memory}), even with files on disk",
            place,
            hints=[
                f"allow more: XCQL_MEMORY={limits.memory >> 19}m",
                "--engine spark can use more machines",
            ],
        )
    if _BEYOND_SQL.match(text) and question and question.compiled:
        raise NeedsEvaluator(BEYOND_SQL)
    if "Max expression depth limit" in text and question and question.compiled:
        raise NeedsEvaluator("the plan is deeper than DuckDB allows")
    if text.startswith(_FATAL) and question and question.compiled:
        raise NeedsEvaluator("DuckDB has an internal error in this query")
    if (file := _FILE.search(text)) and is_store(store_of(file[1])):
        return damaged_file(file[1], "DuckDB cannot read it")
    return None


def _unknown(text: str, question: Question | None) -> XcqlError:
    query = question.around.query if question else None
    return error(
        "XCQL0500",
        f"DuckDB could not {'run the query' if query else 'do this'}: {_cause(text)}",
        Span(query, 0, 0) if query else None,
        hints=[
            f"{'the query is valid; ' if query else ''}check the store (xcqlc store verify),"
            " or try --engine spark"
        ],
    )


def _damage(store: PinnedStore, tables: Sequence[TableUse]) -> XcqlError | None:
    """The error for a file of the tables that has changed; None if all are whole.

    DuckDB may read more of a file than what was checked, because it is not needed.
    """
    for use in tables:
        known = store.state.stream(use.stream).tables
        for file in (one for tag in use.tags for one in files_in_use(known.get(tag), use)):
            path = store.folder / file.path
            if file.checksums is not None and not is_whole(path, file.checksums):
                return damaged_file(path, "a part of it has changed")
    return None


def _cause(text: str) -> str:
    """The first line of DuckDB's message."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _KIND.sub("", lines[0] if lines else "no reason given")[:MAX_TEXT]

"""Random typed queries over random histories: every strategy and engine has the same answer.

The answer is that of the reference evaluator, and of the standalone XQuery on SaxonC. Two numbers
name a failure and reproduce it: `tests.queries.random_queries.case(world, query)`.
"""

from __future__ import annotations

from pathlib import Path

import xcql
from tests.compile.conftest import world_store
from tests.conftest import OpenSession
from tests.effort import FULL, worlds
from tests.queries.random_queries import Case, case
from tests.translate import saxon
from xcql.model.tags import parse_tags

# at each commit, worlds with few tags: queries over many tags take long to plan
WORLDS = range(64) if FULL else (12, 14, 19)
QUERIES = 8


@worlds(WORLDS, on_spark=1)
def test_same_answers(number: int, open_session: OpenSession, tmp_path: Path) -> None:
    first = case(number, 0)
    session = open_session(world_store(tmp_path, first.world.fragments, first.world.tags))
    # Spark answers all queries, but not all of them by all strategies
    is_thorough = FULL and (session.engine == "embedded" or number % 4 == 0)
    for index in range(QUERIES):
        query = case(number, index)
        answer = xcql.evaluate(query.text, streams=query.streams(), now=query.now)
        expected = [item.xml for item in answer]
        for strategy in ("qac+", "qac", "caq"):
            if strategy == "qac+" or is_thorough or index % 4 == 0:
                found = session.query(query.text, strategy=strategy, now=query.now)
                items = found.to_xml() if strategy == "qac+" else found.first(1_000_000)
                assert items == expected, _told(query, strategy)
        if session.engine == "spark":
            continue
        by_saxon = saxon.same_form(_by_saxon(query, tmp_path))
        assert by_saxon == saxon.same_form(expected), _told(query, "SaxonC")


def _by_saxon(query: Case, folder: Path) -> list[str]:
    streams = {
        name: (folder / f"{name}.xml", parse_tags(tags)) for name, tags in query.world.tags.items()
    }
    return saxon.run(saxon.translated(query.text, streams, query.now, "auto", folder))


def _told(query: Case, by: str) -> str:
    return f"{query.name} by {by}: {query.text}"

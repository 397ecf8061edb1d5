"""Runs translated queries on SaxonC-HE, and compares answers with the reference evaluator's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import xcql
from xcql.model.tags import TagStructure, parse_tags, read_tags
from xcql.translate import translate
from xcql.translate.standalone import standalone
from xcql.xdm.parse import parse_xml
from xcql.xdm.serialize import canonical

# a separator between the items of an answer that does not occur in the data
SEPARATOR = "\ue000"
STRATEGIES = ("caq", "qac", "qac+", "auto")


@cache
def processor() -> Any:
    """The only processor of the test session: each takes a second to start."""
    from saxonche import PySaxonProcessor

    return PySaxonProcessor(license=False)


def run(text: str) -> list[str]:
    """The items of an answer, each as XML text."""
    query = processor().new_xquery_processor()
    for name, value in {
        "!method": "xml",
        "!indent": "no",
        "!omit-xml-declaration": "yes",
        "!item-separator": SEPARATOR,
    }.items():
        query.set_property(name, value)
    query.set_query_content(text)
    answer = query.run_query_to_string()
    return answer.split(SEPARATOR) if answer else []


def same_form(items: list[str]) -> list[str]:
    """Items in canonical form, so that equal items are equal texts; one empty item is none."""
    return [] if items == [""] else [canonical(parse_xml(f"<item>{item}</item>")) for item in items]


def reference(query: str, streams: Mapping[str, tuple[Any, Any]], now: str) -> list[str]:
    return [item.xml for item in xcql.evaluate(query, streams=streams, now=now)]


def translated(
    query: str, streams: Mapping[str, tuple[Path, Any]], now: str, strategy: str, folder: Path
) -> str:
    """The standalone module for a query."""
    tags = {name: as_tags(given) for name, (_, given) in streams.items()}
    translation = translate(query, tags, strategy)  # type: ignore[arg-type]
    fragments = {name: path for name, (path, _) in streams.items()}
    return standalone(translation, fragments, tags, now, folder).text


def as_tags(given: Any) -> TagStructure:
    if isinstance(given, TagStructure):
        return given
    return parse_tags(given) if isinstance(given, str) and "<" in given else read_tags(given)


def agree(
    query: str,
    streams: Mapping[str, tuple[Path, Any]],
    now: str,
    folder: Path,
    strategies: tuple[str, ...] = STRATEGIES,
) -> list[str]:
    """Check that every strategy gives the reference evaluator's answer, and return that."""
    expected = reference(query, streams, now)
    seen: set[str] = set()
    for strategy in strategies:
        text = translated(query, streams, now, strategy, folder)
        if text in seen:
            continue
        seen.add(text)
        answer = run(text)
        assert same_form(answer) == same_form(expected), (
            f"{strategy} differs for: {query}\n{text[text.index('declare variable $') :][-3000:]}"
        )
    return expected

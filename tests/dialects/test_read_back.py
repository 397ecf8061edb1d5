"""sqlglot reads the SQL text back: for Spark as the tree that it was written from.

For DuckDB, which writes its trees in another vocabulary, sqlglot reads the text as a tree that it
writes and reads again as the same tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from sqlglot import exp, parse_one

from tests.compile.conftest import catalog_of_store, ingested, small_auctions
from tests.conftest import ROOT, XMARK
from tests.queries import corpus
from xcql.check import check
from xcql.compile import Catalog, Externals, NotNative, compile_query
from xcql.diagnostics import XcqlError
from xcql.dialects.dialect import Query
from xcql.dialects.duckdb import DUCKDB
from xcql.dialects.slots import SqlText
from xcql.dialects.spark import SPARK
from xcql.dialects.templates import parsed
from xcql.dialects.trees import Sql, identifier
from xcql.model.tags import read_tags

FULL = bool(os.environ.get("XCQL_TEST_FULL"))


def same(tree: Sql) -> Sql:
    """The tree without what may be written in more than one way."""
    return tree.transform(_same)


def _same(node: Sql) -> Sql:
    match node:
        case exp.Paren():
            return same(node.this)
        case exp.Column() if node.table:
            base, *fields = node.parts
            return _fields(exp.Column(this=base), fields)
        case exp.Case():
            result = node.args.get("default") or exp.Null()
            for branch in reversed(node.args["ifs"]):
                arguments = [branch.this, branch.args["true"], result]
                result = exp.Anonymous(this="if", expressions=arguments)
            return same(result)
        case exp.RawString():
            return exp.Literal.string(node.this)
        case exp.Cast(this=exp.HexString() as digits) if node.to.is_type("text"):
            return exp.Literal.string(bytes.fromhex(digits.this).decode("utf-8", "surrogatepass"))
        case exp.And() | exp.Or():
            first, *others = map(same, _operands(node, type(node)))
            for one in others:
                first = type(node)(this=first, expression=one)
            return first
        case exp.Select():
            node.set("hint", None)
        case exp.Anonymous():
            node.set("this", node.name.strip("`\0").lower())
        case exp.Identifier() if "\0" in node.this:
            return exp.Identifier(this=node.this.strip("\0"), quoted=False)
    return node


def _fields(base: Sql, names: Sequence[Sql]) -> Sql:
    for name in names:
        base = exp.Dot(this=base, expression=name)
    return base


def _operands(node: Sql, kind: type[Sql]) -> Iterator[Sql]:
    if isinstance(node, exp.Paren) and isinstance(node.this, kind):
        yield from _operands(node.this, kind)
    elif isinstance(node, kind):
        yield from _operands(node.this, kind)
        yield from _operands(node.expression, kind)
    else:
        yield node


def _check(parts: Mapping[str, Sql], queries: Sequence[Query]) -> tuple[SqlText, ...]:
    trees = [_whole(parts, query) for query in queries]
    texts = SPARK.write(parts, queries)
    for tree, text in zip(trees, texts, strict=True):
        written = text.format_string({name: name for name in text.slots}).format()
        assert same(parsed(written)) == same(tree), written
    return texts


def _whole(parts: Mapping[str, Sql], query: Query) -> Sql:
    """The tree of a whole query, as Spark's dialect puts it together."""
    select = query.select.copy()
    if not parts:
        return select
    inner = exp.Select(
        expressions=[exp.Star()],
        from_=select.args["from_"],
        with_=exp.With(
            expressions=[
                exp.CTE(this=body.copy(), alias=exp.TableAlias(this=identifier(name)))
                for name, body in parts.items()
            ]
        ),
    )
    select.set("from_", exp.From(this=exp.Subquery(this=inner)))
    return select


def _again(tree: exp.Expression) -> exp.Expression:
    return parse_one(tree.sql("duckdb", normalize_functions=False), dialect="duckdb")


def _check_duckdb(parts: Mapping[str, Sql], queries: Sequence[Query]) -> tuple[SqlText, ...]:
    texts = DUCKDB.write(parts, queries)
    for text in texts:
        written = text.filled({name: f'"{name}"' for name in text.slots})
        tree = parse_one(written, dialect="duckdb")
        assert _again(tree) == tree, written
    return texts


DIALECTS = (replace(SPARK, write=_check), replace(DUCKDB, write=_check_duckdb))


def _compile(text: str, known: Catalog, names: Iterable[str]) -> int:
    """How many strategies compile a query for both engines; each text is checked."""
    catalog = Catalog({name: known.streams[name] for name in names})
    compiled = 0
    for strategy in ("qac", "qac+"):
        # some queries have errors, others have no native form
        with suppress(NotNative, XcqlError):
            for dialect in DIALECTS:
                compile_query(check(text), catalog, strategy, Externals(), dialect=dialect)
            compiled += 1
    return compiled


def test_the_corpus(tmp_path: Path) -> None:
    known = catalog_of_store(ingested(tmp_path / "store", corpus.streams()))
    queries = corpus.queries() if FULL else corpus.queries()[::40]
    compiled = sum(_compile(one.text, known, one.streams()) for one in queries)
    assert compiled > 1.8 * len(queries)


def test_the_samples(tmp_path: Path) -> None:
    files = {
        tags.parent.name: (tags.with_name("fragments.xml"), read_tags(tags))
        for tags in (ROOT / "samples").rglob("tags.xml")
        if tags.with_name("fragments.xml").exists()
    }
    known = catalog_of_store(ingested(tmp_path / "store", files))
    queries = sorted((ROOT / "samples").glob("*/queries/*.xcql"))[:: 1 if FULL else 4]
    compiled = sum(_compile(query.read_text(), known, files) for query in queries)
    assert compiled > len(queries)


@pytest.mark.skipif(not XMARK.exists(), reason="../shared/xmark is not there")
def test_xmark(tmp_path: Path) -> None:
    known = catalog_of_store(small_auctions(tmp_path)[0])
    for query in sorted((XMARK / "queries").glob("*.xcql"))[:: 1 if FULL else 4]:
        assert _compile(query.read_text(), known, ["auction"]) == 2, query.stem

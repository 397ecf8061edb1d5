"""The possible tags of expressions: through variables, loops, functions and constructors."""

from __future__ import annotations

import pytest

from xcql.analysis.graph import TagGraph
from xcql.check import check
from xcql.model.tags import parse_tags

TAGS = parse_tags("""
<structure>
  <tag type="snapshot" id="1" name="r">
    <tag type="temporal" id="2" name="a"><tag type="event" id="3" name="b"/></tag>
    <tag type="snapshot" id="4" name="c"><tag type="temporal" id="5" name="b"/></tag>
    <tag type="temporal" id="6" name="d"><tag ref="6"/></tag>
  </tag>
</structure>
""")


def tags_of(query: str) -> set[str]:
    checked = check(query, {"s": TAGS})
    type_ = checked.types[checked.module.body]
    return {tag for nodes in type_.nodes for tag in nodes.tags}


@pytest.mark.parametrize(
    ("query", "tags"),
    [
        ('stream("s")/r/a', {"2"}),
        ('stream("s")//b', {"3", "5"}),
        ('stream("s")/r/*', {"2", "4", "6"}),
        ('stream("s")//b/..', {"2", "4"}),
        ('stream("s")//d', {"6"}),
        ('stream("s")//b/ancestor::*', {"1", "2", "4"}),
        ('stream("s")/r/a/following-sibling::c', {"4"}),
        ('for $x in stream("s")//a let $y := $x/b return $y', {"3"}),
        ('for $x in (stream("s")//a, stream("s")//c) return $x/b', {"3", "5"}),
        ('if (1) then stream("s")//a else stream("s")//c/b', {"2", "5"}),
        ('typeswitch (stream("s")/r/a) case $x as element() return $x/b default return ()', {"3"}),
        ('declare function local:f($x) { $x/b }; local:f(stream("s")//a)', {"3"}),
        ('declare variable $v := stream("s")//c; $v/b', {"5"}),
        ('stream("s")//a ! b', {"3"}),
        ('stream("s")//a[b]?[now]', {"2"}),
        ('stream("s")//c/b#[1]', {"5"}),
        ('<x>{ stream("s")//a }</x>', set()),
        ('stream("s")//a/@k', set()),
        ('count(stream("s")//a)', set()),
        ('stream("s")//b except stream("s")//c/b', {"3", "5"}),
        ('head(stream("s")//a)', {"2"}),
    ],
)
def test_tags(query: str, tags: set[str]) -> None:
    assert tags_of(query) == tags


def test_types_of_parts() -> None:
    checked = check('for $x in stream("s")//a return $x/b', {"s": TAGS})
    types = checked.types
    source = checked.module.body.clauses[0].source  # type: ignore[attr-defined]
    (nodes,) = types[source].nodes
    assert nodes.tags == {"2"}
    assert types.warnings == ()


def test_warning() -> None:
    (warning,) = check('stream("s")/r/a/bb', {"s": TAGS}).types.warnings
    assert warning.message == "no 'bb' below 'a'; did you mean 'b'?"


def test_graph() -> None:
    graph = TagGraph(TAGS)
    assert graph.filler_parents("5") == ("1",)
    assert graph.filler_parents("3") == ("2",)
    assert not graph.has_one_place("6")
    assert graph.nest({"1", "3"})
    assert not graph.nest({"2", "5"})
    assert len(graph.paths("1", frozenset({"3"}))) == 1
    assert len(graph.paths("1", frozenset({"6"}))) == 2

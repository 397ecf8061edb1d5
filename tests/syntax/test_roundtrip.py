"""`parse(emit(tree)) == tree`, for trees of every kind, with as few parentheses as possible."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given

from tests.effort import examples
from tests.syntax.strategies import modules, one_of_each_kind, operations
from xcql import XcqlError, emit, parse
from xcql.syntax import (
    construct,
    control,
    flwor,
    functions,
    literals,
    operators,
    path,
    prolog,
    temporal,
    types,
)
from xcql.syntax.node import Name, SyntaxNode, children, walk

IDENTITY = Path(__file__).with_name("identity.xcql")
TOPICS = (
    construct,
    control,
    flwor,
    functions,
    literals,
    operators,
    path,
    prolog,
    temporal,
    types,
)


def check(tree: SyntaxNode) -> None:
    text = emit(tree)
    try:
        again = parse(text)
    except XcqlError as problem:
        raise AssertionError(f"does not parse: {problem}\n{tree!r}") from None
    assert again == tree, f"{text}\n{tree!r}\n{again!r}"
    assert hash(again) == hash(tree)
    assert emit(again) == text


@examples(250)
@given(modules())
def test_every_tree_round_trips(tree: SyntaxNode) -> None:
    check(tree)


@pytest.mark.parametrize(("kind", "strategy"), one_of_each_kind())
def test_each_kind_of_node_round_trips(kind: str, strategy: object) -> None:
    @examples(12, 400)
    @given(strategy)  # type: ignore[arg-type]
    def run(tree: SyntaxNode) -> None:
        check(tree)

    run()


# ---------------------------------------------------------------- parentheses


def pairs_of_parentheses(text: str) -> list[tuple[int, int]]:
    """The positions of parentheses, except those that do not group."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    for index, character in enumerate(text):
        if character == "(":
            opened.append(index)
        elif character == ")" and opened:
            found.append((opened.pop(), index))
    return found


def without(text: str, pair: tuple[int, int]) -> str:
    start, end = pair
    return f"{text[:start]} {text[start + 1 : end]} {text[end + 1 :]}"


def needless(tree: SyntaxNode) -> str | None:
    """The text with one pair of parentheses less and the same meaning, if there is one."""
    text = emit(tree)
    for start, end in pairs_of_parentheses(text):
        if text[start : end + 1] in ("(/)", "()"):
            continue  # a lone slash always has them as an operand: text after it is a trap
        if text[start + 1 :].startswith(("function(", "%")) and text[end + 1 : end + 2] in "?*+":
            continue  # in types, they separate the occurrence of a function from that of its result
        shorter = without(text, (start, end))
        try:
            if parse(shorter) == tree:
                return shorter
        except XcqlError:
            continue
    return None


@examples(60, 2000)
@given(operations())
def test_no_parenthesis_can_be_left_out(tree: SyntaxNode) -> None:
    shorter = needless(tree)
    assert shorter is None, f"{emit(tree)}\nsays the same as\n{shorter}"


# ---------------------------------------------------------------- spans


def check_spans(root: SyntaxNode, text: str) -> None:
    for node in walk(root):
        assert 0 <= node.span.start <= node.span.end <= len(text)
        for child in children(node):
            inside = node.span.start <= child.span.start and child.span.end <= node.span.end
            assert inside, (
                f"{type(child).__name__} {child.span.text!r} is not within"
                f" {type(node).__name__} {node.span.text!r}"
            )


@examples(150, 3000)
@given(modules())
def test_spans_lie_within_their_parents(tree: SyntaxNode) -> None:
    text = emit(tree)
    check_spans(parse(text), text)


# ---------------------------------------------------------------- canonical queries


def canonical_queries() -> list[str]:
    blocks = IDENTITY.read_text(encoding="utf-8").split("\n\n")
    return [block.strip("\n") for block in blocks if block.strip() and not block.startswith("(:")]


@pytest.mark.parametrize("query", canonical_queries())
def test_a_canonical_query_is_emitted_as_itself(query: str) -> None:
    assert emit(parse(query)).rstrip("\n") == query
    check_spans(parse(query), query)


def node_classes() -> set[type]:
    def concrete(module: ModuleType) -> set[type]:
        return {
            value
            for value in vars(module).values()
            if inspect.isclass(value)
            and issubclass(value, SyntaxNode)
            and value.__module__ == module.__name__
            and dataclasses.is_dataclass(value)
            and "__dataclass_fields__" in vars(value)
        }

    return {Name}.union(*(concrete(topic) for topic in TOPICS))


def test_canonical_queries_show_every_kind_of_node() -> None:
    shown = {type(node) for query in canonical_queries() for node in walk(parse(query))}
    missing = {cls.__name__ for cls in node_classes() - shown}
    assert not missing

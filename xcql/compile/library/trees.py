"""The trees that projections and constructors make, and what tells their nodes apart.

Each evaluation makes new trees. Where a value has nodes of several evaluations, as after
`for $t in … return E?[$t]`, a node is identified by the tuple that its tree was made for and by its
key in that tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from xcql.algebra.operators import Plan, SortKey, columns, order, order_with_parents, used
from xcql.algebra.scalars import Column, Constant, Scalar
from xcql.compile.library.access import node_key
from xcql.compile.result import NotNative
from xcql.compile.terms.items import (
    ONCE,
    AnyNode,
    AttributeItem,
    Element,
    Inner,
    Item,
    StreamDocument,
    StreamElement,
    TextItem,
    Tree,
    Turns,
    turns_of,
)
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Leaf
from xcql.source import Span


def new_tree(scope: Scope, *, tops: bool = False) -> Tree:
    """The trees that an expression makes here, one for each evaluation."""
    return Tree(scope.compilation.number(), tops, turns_of(*scope.loops))


def tree_with(item: Item) -> Tree | None:
    """The tree that a node is in; None for the stream's own, and for nodes without a place."""
    match item:
        case StreamElement(tree=tree) | StreamDocument(tree=tree) | Element(tree=tree):
            return tree
        case Inner(owner=owner) | AnyNode(filler=owner):
            return tree_with(owner)
        case TextItem(owner=Item() as owner) | AttributeItem(owner=Item() as owner):
            return tree_with(owner)
    return None


def tree_of(item: Item) -> object:
    """A value that nodes have in common if they can be in the same tree."""
    tree = tree_with(item)
    if tree is not None:
        return tree.number
    match item:
        case StreamElement(stream=stream) | StreamDocument(stream=stream):
            return stream
        case Inner(owner=owner) | AnyNode(filler=owner):
            return tree_of(owner)
        case TextItem(owner=Item() as owner) | AttributeItem(owner=Item() as owner):
            return tree_of(owner)
    return None


def part_of(item: Item) -> tuple[object, ...]:
    """What is known of a node's tree when the query is compiled; other parts have other nodes."""
    tree = tree_with(item)
    if tree is None:
        return ()
    places = () if tree.each is None else tree.each.identity
    return tree.number, *(one for one in places if isinstance(one, Constant))


def apart_in(
    plan: Plan, item: Item, tree: Tree, *, is_path: bool, nests: bool, scope: Scope
) -> Tree:
    """The trees made from the items of a plan, one for each.

    If the items are distinct nodes in document order, the keys of nodes tell trees apart, unless
    the items contain each other.
    """
    if not is_path:
        return tree.below(turns_of(plan))
    before = tree_with(item)
    if before is not None:
        tree = tree.below(before.loop).below(before.each)
    if nests:
        key = node_key(item, scope)
        tree = tree.below(None if key is None else Turns((key,), (SortKey(key, "key"),)))
    return tree


def turns_in(found: Sequence[Leaf], scope: Scope, span: Span | None) -> list[Turns]:
    """For each leaf, what tells the trees of its nodes apart, and sorts them in document order."""
    turns = []
    for leaf, (loop, places) in zip(found, _several(found, scope, span), strict=True):
        if not _is_in_order(leaf.plan, loop.order):
            # the order is that in which they are made, not always that of the loop
            raise NotNative("the order of nodes that are made in a loop", span)
        turns.append(loop.then(places))
    return turns


def _is_in_order(plan: Plan, loop: Sequence[SortKey]) -> bool:
    """Whether tuples are in the order of a loop, perhaps in one of several parts of a sequence."""
    if not loop:
        return True
    stated = order(plan)
    pending = list(loop)
    for key in order_with_parents(plan):
        if key == pending[0]:
            pending.pop(0)
            if not pending:
                return True
        elif key in stated and not (isinstance(key.scalar, Constant) and len(pending) == len(loop)):
            return False
    return False


def are_several(found: Sequence[Leaf], scope: Scope, span: Span | None) -> bool:
    """Whether the nodes may be in several trees that the same expression makes."""
    return any(turns != (ONCE, ONCE) for turns in _several(found, scope, span))


def _several(found: Sequence[Leaf], scope: Scope, span: Span | None) -> list[tuple[Turns, Turns]]:
    """For each leaf, what of its trees' turns is not the same for all nodes."""
    trees = [tree_with(leaf.item) for leaf in found]
    several = []
    for leaf, tree in zip(found, trees, strict=True):
        if tree is None:
            several.append((ONCE, ONCE))
            continue
        _check(leaf, tree, scope, span)
        assert tree.each is not None
        alike = [one for one in trees if one is not None and one.number == tree.number]
        loop = _differing(tree.loop, [one.loop for one in alike], leaf)
        several.append((loop, _differing(tree.each, [one.each or ONCE for one in alike], leaf)))
    return several


def _differing(turns: Turns, others: Sequence[Turns], leaf: Leaf) -> Turns:
    """What tells nodes apart: what is not the same in all tuples of the leaf, and in the others."""
    made = columns(leaf.plan)

    def differs(index: int, scalar: Scalar, lists: Sequence[Sequence[Scalar]]) -> bool:
        if used(scalar) & made:
            return True
        return any(len(one) <= index or one[index] != scalar for one in lists)

    identities_ = [one.identity for one in others]
    orders = [[key.scalar for key in one.order] for one in others]
    return Turns(
        tuple(one for i, one in enumerate(turns.identity) if differs(i, one, identities_)),
        tuple(one for i, one in enumerate(turns.order) if differs(i, one.scalar, orders)),
    )


def one_tree(
    found: Sequence[Leaf], kept: frozenset[str], fresh: Callable[[str], str]
) -> tuple[Tree | None, list[tuple[str, tuple[Scalar, ...]]]]:
    """The tree of nodes in the tuples of all leaves, and columns with what identifies it there.

    `kept` are the columns that mean the same in all plans, and are kept.
    """
    trees = [tree_with(leaf.item) for leaf in found]
    first = trees[0]
    if first is None:
        return None, []
    made: dict[tuple[Scalar, ...], str] = {}

    def shared(scalars: tuple[Scalar, ...]) -> Scalar:
        own = used(scalars[0]) - kept
        if len(set(scalars)) == 1 and not any(own & columns(leaf.plan) for leaf in found):
            return scalars[0]
        if scalars not in made:
            made[scalars] = fresh("turn")
        return Column(made[scalars])

    def one(several: Sequence[Turns]) -> Turns:
        if len({(len(turns.identity), tuple(map(_way, turns.order))) for turns in several}) > 1:
            raise NotNative("the same nodes of several trees may be reached in several ways")
        identity = tuple(map(shared, zip(*(turns.identity for turns in several), strict=True)))
        keys = zip(*(turns.order for turns in several), strict=True)
        return Turns(
            identity,
            tuple(
                replace(each[0], scalar=shared(tuple(key.scalar for key in each))) for each in keys
            ),
        )

    parts = [one.each for one in trees if one is not None and one.each is not None]
    if len(parts) < len(trees):
        raise NotNative("the same nodes of several trees may be reached in several ways")
    loop = one([tree.loop for tree in trees if tree is not None])
    tree = replace(first, loop=loop, each=one(parts))
    return tree, [(name, scalars) for scalars, name in made.items()]


def _way(key: SortKey) -> tuple[object, ...]:
    return key.kind, key.descending, key.empty_greatest


def moved(item: Item, tree: Tree | None) -> Item:
    """The node in another tree."""
    match item:
        case StreamElement(above=above):
            over = moved(above, tree) if above is not None else None
            assert over is None or isinstance(over, StreamElement | StreamDocument)
            return replace(item, tree=tree, above=over)
        case StreamDocument() | Element():
            return replace(item, tree=tree)
        case Inner(owner=owner, above=parent):
            inside, around = moved(owner, tree), moved(parent, tree) if parent is not None else None
            assert isinstance(inside, StreamElement)
            assert around is None or isinstance(around, Inner | StreamElement)
            return replace(item, owner=inside, above=around)
        case AnyNode(filler=filler):
            row = moved(filler, tree)
            assert isinstance(row, StreamElement)
            return replace(item, filler=row)
        case TextItem(owner=Item() as bearer) | AttributeItem(owner=Item() as bearer):
            return replace(item, owner=moved(bearer, tree))  # type: ignore[arg-type]
    return item


def identity_of(leaf: Leaf, scope: Scope, span: Span | None) -> tuple[Scalar, ...]:
    """What identifies the tree of a node among all trees that can have the node."""
    tree = tree_with(leaf.item)
    if tree is not None:
        _check(leaf, tree, scope, span)
    return identities(leaf.item)


def identities(item: Item) -> tuple[Scalar, ...]:
    """What identifies the tree of a node whose tree is known to be identified."""
    tree = tree_with(item)
    if tree is None:
        return ()
    assert tree.each is not None
    return (*tree.loop.identity, *tree.each.identity)


def places(item: Item) -> tuple[Scalar, ...] | None:
    """What orders the tree of a node; None if that may be absent, or is not ascending."""
    tree = tree_with(item)
    if tree is None:
        return ()
    assert tree.each is not None
    known = {*identities(item)}
    keys = (*tree.loop.order, *tree.each.order)
    if any(key.descending for key in keys) or any(
        key.kind != "key" and key.scalar not in known and not isinstance(key.scalar, Constant)
        for key in keys
    ):
        return None
    return tuple(key.scalar for key in keys)


def kinds_of_places(item: Item) -> tuple[object, ...]:
    """The kinds of what orders the tree of a node: values of other kinds cannot be compared."""
    tree = tree_with(item)
    if tree is None or tree.each is None:
        return ()
    return tuple(key.kind for key in (*tree.loop.order, *tree.each.order))


def _check(leaf: Leaf, tree: Tree, scope: Scope, span: Span | None) -> None:
    """Check that what identifies the tree is known here."""
    if tree.each is None:
        raise NotNative("the identity of such nodes", span)
    both = tree.loop.then(tree.each)
    asked: Iterable[Scalar] = (*both.identity, *(one.scalar for one in both.order))
    known = columns(leaf.plan).union(*map(columns, scope.loops))
    if any(used(one) - known for one in asked):
        raise NotNative("the identity of nodes that were made in a loop", span)


def check_alike(keys: Sequence[Sequence[SortKey]], span: Span | None) -> None:
    """Check that sort keys of several plans can be compared with each other."""
    for first, other in combinations(keys, 2):
        for one, two in zip(first, other, strict=False):
            if one.scalar != two.scalar and all(
                isinstance(key.scalar, Constant) for key in (one, two)
            ):
                break
            if _way(one) != _way(two):
                raise NotNative("the order of nodes of several trees", span)
        else:
            if len(first) != len(other):
                raise NotNative("the order of nodes of several trees", span)

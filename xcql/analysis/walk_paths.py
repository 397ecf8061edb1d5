"""The walk over paths: the rules of the paper's Figure 3, axis by axis.

| the paper | here |
| --- | --- |
| `stream(x)` | `Rules.stream` |
| `e/A`, `e/*` | `child_step` |
| `e//A` | `anywhere_step` |
| `e/@A` | `attribute_step` |
| `e[pred]` | `predicates` |
| the other axes | `self_step`, `upward_step`, `sideways_step` |

An element with holes is represented as it is in its filler. A step that stays inside the filler is
left unchanged; a step that crosses holes becomes a call; if both are possible, the holes are
filled first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xcql.analysis.types import DOCUMENT, EMPTY, PLAIN, UNKNOWN, Nodes, TagType
from xcql.analysis.walk_values import is_boolean
from xcql.analysis.walker import Env, Typed, Walker, then, walks
from xcql.model.tags import Tag
from xcql.source import Span
from xcql.syntax.literals import ContextItem, Sequence
from xcql.syntax.node import Expr
from xcql.syntax.path import AxisStep, Filter, Lookup, NameTest, Path, UnaryLookup
from xcql.syntax.types import AnyKindTest, TextTest

TagTest = Callable[[Tag], bool]


@walks(Path)
def path(w: Walker, node: Path, env: Env) -> Typed:
    position = 0
    if node.absolute:
        typed = _root(w, node, env)
    else:
        shorter = w.rules.share(w, node, env) or w.rules.fold(w, node.steps, env)
        if shorter is not None:
            typed, position = shorter
        elif isinstance(node.steps[0], AxisStep):
            typed = Typed(ContextItem(span=node.steps[0].span), env.context)
        else:
            typed, position = w.walk(node.steps[0], env), 1
    while position < len(node.steps):
        current = node.steps[position]
        following = node.steps[position + 1] if position + 1 < len(node.steps) else None
        w.ordered(typed, current.span)
        if not isinstance(current, AxisStep):
            typed = expression_step(w, typed, current, env)
        elif is_anywhere(current) and isinstance(following, AxisStep) and _is_below(following):
            typed = anywhere_step(w, typed, current, following, env)
            position += 1
        else:
            typed = axis_step(w, typed, current, env)
        position += 1
        if not _may_have_items(typed.type):
            return Typed(Sequence((), span=node.span), EMPTY)
    return typed


def _may_have_items(type_: TagType) -> bool:
    return bool(type_.nodes or type_.leaves or type_.plain or type_.unknown)


def _root(w: Walker, node: Path, env: Env) -> Typed:
    """`/`: the root of the context item's tree"""
    lone = Path(True, (), span=node.span)
    w.place(env.context, "the query uses the root of a tree", node.span)
    if not env.context.of_streams:
        return Typed(lone, UNKNOWN if env.context.unknown else PLAIN)
    w.look_everywhere(env.context.leaves)
    nodes = tuple(n.with_tags({DOCUMENT}) for n in env.context.nodes)
    if env.context.leaves:
        return Typed(lone, UNKNOWN)
    return Typed(lone, replace(env.context, nodes=nodes, one=True))


def is_anywhere(step: Expr) -> bool:
    """Whether a step is the one that `//` abbreviates."""
    return (
        isinstance(step, AxisStep)
        and step.axis == "descendant-or-self"
        and isinstance(step.test, AnyKindTest)
        and not step.predicates
    )


def _is_below(step: AxisStep) -> bool:
    return step.axis in ("child", "attribute")


@walks(AxisStep)
def lone_step(w: Walker, node: AxisStep, env: Env) -> Typed:
    base = Typed(ContextItem(span=node.span), env.context)
    w.ordered(base, node.span)
    typed = axis_step(w, base, node, env)
    if not _may_have_items(typed.type):
        return Typed(Sequence((), span=node.span), EMPTY)
    return typed


def expression_step(w: Walker, base: Typed, step: Expr, env: Env) -> Typed:
    """`e/f(.)`: any expression as a step, for each node in turn"""
    typed = w.walk(step, env.focus(w.item_of(base.type, env)))
    type_ = typed.type
    if (
        type_.of_streams
        and not base.type.one
        and (type_.tree is None or type_.tree.depth > env.depth)
    ):
        w.rules.needs_view(type_.streams, "the results of the step need sorting", step.span)
    left = type_ if base.type.one else w.left(type_, env)
    return Typed(then(base.expr, typed.expr), left)


def axis_step(w: Walker, base: Typed, step: AxisStep, env: Env) -> Typed:
    """One step along an axis."""
    if not base.type.of_streams:
        kind = replace(base.type, one=False)
        return Typed(then(base.expr, predicates(w, step, kind, env)), kind)
    return _AXES[step.axis](w, base, step, env)


# ---------------------------------------------------------------------- e/A, e/*


def child_step(w: Walker, base: Typed, step: AxisStep, env: Env) -> Typed:
    """`e/A` -> `e'/A` inside a filler, `get_fillers(e'/hole/@id)/A` across holes"""
    test = env.names.element_test(step.test)
    found: list[Nodes] = []
    crossing: dict[Nodes, frozenset[str]] = {}
    inside = False
    for nodes in base.type.nodes:
        graph = w.graphs[nodes.stream]
        targets = {
            child.id for tag in nodes.tags for child in graph.children(tag) if test and test(child)
        }
        # the versions of the root are at hand: no hole leads to them
        below = graph.fragmented_children(*(nodes.tags - {DOCUMENT}))
        looked_at = below if _is_content_test(step) else below & targets
        inside = inside or _is_content_test(step)
        missing = w.missing(nodes, looked_at)
        if missing:
            crossing[nodes] = missing
        inside = inside or bool(targets - missing)
        if targets:
            found.append(nodes.with_tags(targets))
    leaves = base.type.streams if _is_content_test(step) or test is None else base.type.leaves
    if not (found or _is_content_test(step) or test is None or base.type.plain):
        w.no_match(step, _places(base.type), below=False)
        return Typed(base.expr, TagType())
    type_ = replace(
        base.type,
        nodes=tuple(found),
        leaves=leaves if (_is_content_test(step) or test is None) else frozenset(),
        one=False,
    )
    if not crossing:
        return _in_place(w, base, step, type_, env)
    if len(base.type.nodes) > 1 or base.type.plain or base.type.leaves:
        w.rules.needs_view(base.type.streams, "nodes of several kinds are mixed here", step.span)
    (nodes, missing), *_ = crossing.items()
    w.not_inside_itself(nodes, missing, step.span)
    if inside:
        base, filled = _filled(w, base, nodes, missing, env, step.span)
        return _in_place(w, base, step, type_, env, filled)
    reached = Nodes(nodes.stream, found[0].tags, frozenset(), found[0].tags)
    type_ = TagType((reached,), tree=w.new_tree(env))
    walked, each = _crossing_predicates(w, base, step, type_, env)
    return Typed(w.rules.cross(base.expr, nodes, walked, each), type_)


def _crossing_predicates(
    w: Walker, base: Typed, step: AxisStep, type_: TagType, env: Env
) -> tuple[AxisStep, bool]:
    """The step with its predicates, and whether they apply to each element separately."""
    walked = predicates(w, step, type_, env)
    if base.type.one:
        return walked, False
    each = not all(is_boolean(p, w.types.get(id(p), PLAIN)) for p in step.predicates)
    return walked, each


def _is_content_test(step: AxisStep) -> bool:
    """Whether the step sees text, which continues across an empty hole."""
    return isinstance(step.test, TextTest | AnyKindTest)


def _places(type_: TagType) -> list[tuple[str, str]]:
    return [(nodes.stream, tag) for nodes in type_.nodes for tag in nodes.tags]


def _filled(
    w: Walker, base: Typed, nodes: Nodes, tags: frozenset[str], env: Env, span: Span
) -> tuple[Typed, Nodes]:
    """The base with these fillers in place of their holes.

    Each element is filled separately: two nested elements become two trees, and the nodes found in
    them are no longer in document order.
    """
    assert nodes.filled is not None
    if not base.type.one and w.graphs[nodes.stream].nest(nodes.tags):
        w.rules.needs_view(
            base.type.streams, "elements that may contain each other are filled", span
        )
    filled = replace(nodes, filled=nodes.filled | tags, tops=nodes.tags)
    expr = w.rules.fill(base.expr, nodes, nodes.filled | tags)
    return Typed(expr, replace(base.type, nodes=(filled,), tree=w.new_tree(env))), filled


def _in_place(
    w: Walker, base: Typed, step: AxisStep, type_: TagType, env: Env, filled: Nodes | None = None
) -> Typed:
    """A step that is left unchanged; after filling, its results are in the filled trees."""
    if filled is not None:
        nodes = tuple(replace(filled, tags=n.tags) for n in type_.nodes)
        type_ = replace(type_, nodes=nodes)
    tree = base.type.tree or (w.new_tree(env) if base.type.one else None)
    type_ = replace(type_, tree=tree)
    return Typed(then(base.expr, predicates(w, step, type_, env)), type_)


# ---------------------------------------------------------------------- e//A


def anywhere_step(w: Walker, base: Typed, anywhere: AxisStep, step: AxisStep, env: Env) -> Typed:
    """`e//A` -> step by step on the only path to A, else by filling what leads to A"""
    if not base.type.of_streams:
        kind = replace(base.type, one=False)
        return Typed(then(base.expr, anywhere, predicates(w, step, kind, env)), kind)
    test = env.names.element_test(step.test) if step.axis == "child" else None
    way = _only_way(w, base, step, test)
    if way is not None:
        typed = base
        for tag in way[:-1]:
            name = env.names.name_of(tag, step.span)
            typed = child_step(
                w, typed, AxisStep("child", NameTest(name, span=step.span), span=step.span), env
            )
        return child_step(w, typed, step, env)
    return _below(w, base, (anywhere, step), test, env)


def _only_way(
    w: Walker, base: Typed, step: AxisStep, test: TagTest | None
) -> tuple[Tag, ...] | None:
    """The tags on the path from the base to A, if it is the only path and crosses holes."""
    if test is None or not isinstance(step.test, NameTest):
        return None
    if len(base.type.nodes) != 1 or base.type.plain or base.type.leaves:
        return None
    (nodes,) = base.type.nodes
    if len(nodes.tags) != 1 or nodes.filled is None:
        return None
    (top,) = nodes.tags
    graph = w.graphs[nodes.stream]
    targets = frozenset(id for id in graph.below(top) if test(graph.tag(id)))
    if not _leading(w, nodes, targets):
        return None
    ways = graph.paths(top, targets)
    return ways[0] if len(ways) == 1 else None


def _leading(w: Walker, nodes: Nodes, targets: frozenset[str]) -> frozenset[str]:
    """The fillers not yet in place on a path from these nodes to the targets."""
    graph = w.graphs[nodes.stream]
    leading = {
        id
        for id in graph.fragmented_below(*nodes.tags)
        if id in targets or graph.below(id) & targets
    }
    return w.missing(nodes, frozenset(leading))


def descendant_step(w: Walker, base: Typed, step: AxisStep, env: Env) -> Typed:
    """`e/descendant::A`, `e/descendant-or-self::A`"""
    return _below(w, base, (step,), env.names.element_test(step.test), env)


def _below(
    w: Walker, base: Typed, steps: tuple[AxisStep, ...], test: TagTest | None, env: Env
) -> Typed:
    """Steps to anything below: in place, with all fillers on the path filled in."""
    step = steps[-1]
    or_self = step.axis == "descendant-or-self" and len(steps) == 1
    everything = step.axis == "attribute" or _is_content_test(step)
    found: list[Nodes] = []
    needed: dict[Nodes, frozenset[str]] = {}
    for nodes in base.type.nodes:
        graph = w.graphs[nodes.stream]
        below = frozenset().union(*(graph.below(tag) for tag in nodes.tags))
        if or_self:
            below |= nodes.tags
        targets = frozenset(id for id in below if test and id != DOCUMENT and test(graph.tag(id)))
        if or_self and isinstance(step.test, AnyKindTest):
            targets |= nodes.tags & {DOCUMENT}
        leading = (
            w.missing(nodes, graph.fragmented_below(*nodes.tags))
            if everything
            else _leading(w, nodes, targets)
        )
        if leading:
            needed[nodes] = leading
        if targets:
            found.append(nodes.with_tags(targets))
    leaf = everything or test is None
    if not (found or leaf or base.type.plain):
        w.no_match(step, _places(base.type), below=True)
        return Typed(base.expr, TagType())
    type_ = replace(
        base.type,
        nodes=tuple(found) if step.axis != "attribute" else (),
        leaves=base.type.streams if leaf else frozenset(),
        one=False,
    )
    if needed:
        if len(base.type.nodes) > 1 or base.type.plain or base.type.leaves:
            w.rules.needs_view(base.type.streams, "nodes of several kinds are mixed", step.span)
        (nodes, tags), *_ = needed.items()
        w.not_inside_itself(nodes, tags, step.span)
        base, filled = _filled(w, base, nodes, tags, env, step.span)
        type_ = replace(type_, nodes=tuple(replace(filled, tags=n.tags) for n in type_.nodes))
    tree = base.type.tree or (w.new_tree(env) if base.type.one else None)
    type_ = replace(type_, tree=tree)
    return Typed(then(base.expr, *steps[:-1], predicates(w, step, type_, env)), type_)


# ---------------------------------------------------------------------- the other axes


def attribute_step(w: Walker, base: Typed, step: AxisStep, env: Env) -> Typed:
    """`e/@A` -> `e'/@A`"""
    one = base.type.one and isinstance(step.test, NameTest)
    type_ = replace(base.type, nodes=(), leaves=base.type.streams, one=one)
    return Typed(then(base.expr, predicates(w, step, type_, env)), type_)


def self_step(w: Walker, base: Typed, step: AxisStep, env: Env) -> Typed:
    """`e/self::A` -> `e'/self::A`"""
    test = env.names.element_test(step.test)
    any_kind = isinstance(step.test, AnyKindTest)
    found = []
    for nodes in base.type.nodes:
        graph = w.graphs[nodes.stream]
        tags = {
            tag
            for tag in nodes.tags
            if (any_kind if tag == DOCUMENT else test is not None and test(graph.tag(tag)))
        }
        if tags:
            found.append(nodes.with_tags(tags))
    leaf = test is None or any_kind
    type_ = replace(base.type, nodes=tuple(found), leaves=base.type.leaves if leaf else frozenset())
    return Typed(then(base.expr, predicates(w, step, type_, env)), type_)


def upward_step(w: Walker, base: Typed, step: AxisStep, env: Env) -> Typed:
    """Parents and ancestors, as long as the tree continues above as the view does"""
    _no_leaves(w, base, step.span)
    test = env.names.element_test(step.test)
    found = []
    for nodes in base.type.nodes:
        graph = w.graphs[nodes.stream]
        if step.axis == "parent":
            above = frozenset().union(*(graph.parents(tag) for tag in nodes.tags))
            leaves_tree = bool(nodes.tags & nodes.tops) or DOCUMENT in nodes.tags
        else:
            above = graph.above(nodes.tags)
            leaves_tree = bool(nodes.tops)
            if step.axis == "ancestor-or-self":
                above |= nodes.tags
        if leaves_tree:
            w.rules.needs_view(
                frozenset({nodes.stream}), f"the {step.axis} axis leads out of a filler", step.span
            )
        tags = {
            tag
            for tag in above
            if isinstance(step.test, AnyKindTest)
            or (tag != DOCUMENT and test is not None and test(graph.tag(tag)))
        }
        if tags:
            found.append(nodes.with_tags(tags))
    type_ = replace(
        base.type,
        nodes=tuple(found),
        leaves=frozenset(),
        unknown=base.type.unknown or bool(base.type.leaves),
        one=base.type.one and step.axis == "parent",
    )
    return Typed(then(base.expr, predicates(w, step, type_, env)), type_)


def sideways_step(w: Walker, base: Typed, step: AxisStep, env: Env) -> Typed:
    """Siblings, and preceding and following nodes"""
    _no_leaves(w, base, step.span)
    test = env.names.element_test(step.test)
    siblings = step.axis.endswith("-sibling")
    found = []
    for nodes in base.type.nodes:
        graph = w.graphs[nodes.stream]
        parents = frozenset().union(*(graph.parents(tag) for tag in nodes.tags))
        if siblings:
            beside = frozenset(child.id for tag in parents for child in graph.children(tag))
            missing = w.missing(nodes, graph.fragmented_children(*parents))
            leaves_tree = bool(nodes.tags & nodes.tops) or bool(missing)
        else:
            beside = graph.below(DOCUMENT)
            w.look(nodes, graph.fragmented)
            leaves_tree = nodes.filled is not None or bool(nodes.tops)
        if leaves_tree:
            w.rules.needs_view(
                frozenset({nodes.stream}), f"the {step.axis} axis leads out of a filler", step.span
            )
        tags = {tag for tag in beside if test is not None and test(graph.tag(tag))}
        if tags:
            found.append(nodes.with_tags(tags))
    leaf = test is None or _is_content_test(step)
    type_ = replace(
        base.type,
        nodes=tuple(found),
        leaves=base.type.streams if leaf else frozenset(),
        unknown=base.type.unknown or bool(base.type.leaves),
        one=False,
    )
    return Typed(then(base.expr, predicates(w, step, type_, env)), type_)


def _no_leaves(w: Walker, base: Typed, span: Span) -> None:
    """Require the view for steps from attributes and text: their targets are not known."""
    if base.type.leaves:
        w.rules.needs_view(base.type.leaves, "a step starts from text or an attribute", span)
        w.look_everywhere(base.type.leaves)


_AXES: dict[str, Callable[[Walker, Typed, AxisStep, Env], Typed]] = {
    "child": child_step,
    "descendant": descendant_step,
    "descendant-or-self": descendant_step,
    "attribute": attribute_step,
    "self": self_step,
    "parent": upward_step,
    "ancestor": upward_step,
    "ancestor-or-self": upward_step,
    "following-sibling": sideways_step,
    "preceding-sibling": sideways_step,
    "following": sideways_step,
    "preceding": sideways_step,
}


# ---------------------------------------------------------------------- e[pred]


def predicates(w: Walker, step: AxisStep, type_: TagType, env: Env) -> AxisStep:
    """`e[pred]` -> `e'[pred']`, with the items of e as the context of pred"""
    if not step.predicates:
        return step
    inner = env.focus(w.item_of(type_, env))
    walked = tuple(w.walk(predicate, inner).expr for predicate in step.predicates)
    if all(new is old for new, old in zip(walked, step.predicates, strict=True)):
        return step
    return replace(step, predicates=walked)


@walks(Filter)
def filter_(w: Walker, node: Filter, env: Env) -> Typed:
    base = w.walk(node.base, env)
    predicate = w.walk(node.predicate, env.focus(w.item_of(base.type, env)))
    return Typed(replace(node, base=base.expr, predicate=predicate.expr), base.type)


@walks(Lookup, UnaryLookup)
def lookup(w: Walker, node: Expr, env: Env) -> Typed:
    return Typed(w.rebuilt(node, env), UNKNOWN if w.graphs else PLAIN)

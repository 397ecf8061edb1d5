"""The walk over functions that the query declares: one copy per kind of nodes with holes.

    declare function local:f($x) { $x/A };  local:f(e)
    ->  declare function local:f-B($x) { get_fillers($x/hole/@id)/A };  local:f-B(e')

A call whose arguments have no holes is left unchanged. A call with elements that have holes calls a
copy of the function, in which the tags of the parameters are known, so that paths inside it are
rewritten like any others. Calls with arguments of the same types share a copy.
"""

from __future__ import annotations

from dataclasses import replace

from xcql.analysis.types import DOCUMENT, PLAIN, UNKNOWN, KnownTree, Nodes, TagType
from xcql.analysis.walker import Env, KnownCall, Typed, Walker
from xcql.syntax.functions import ArgumentPlaceholder, FunctionCall
from xcql.syntax.node import Name
from xcql.syntax.prolog import FunctionDecl
from xcql.syntax.types import AnyItem, AnyKindTest, AtomicType, ElementTest, SequenceType

# the most nested calls, and copies of one function, before giving up
_MAX_OPEN = 30
_MAX_COPIES = 50
# the trees of parameters are built before a call, all others in its body
_PARAMETER, _BODY_DEPTH = -100, 1


def user_call(w: Walker, node: FunctionCall, declared: FunctionDecl, env: Env) -> Typed:
    """Walk a call of a function that the query declares."""
    arguments = [
        _as_declared(w, w.walk(argument, env), parameter.type)
        for argument, parameter in zip(node.arguments, declared.parameters, strict=True)
    ]
    if declared.body is None or any(isinstance(a, ArgumentPlaceholder) for a in node.arguments):
        arguments = [w.whole(argument) for argument in arguments]
        result = UNKNOWN if w.graphs else PLAIN
        called_with_anything(w, declared)
        return Typed(replace(node, arguments=tuple(a.expr for a in arguments)), result)
    if not w.prolog_is_known:
        # what the function finds in variables is not known yet
        arguments = [w.whole(argument) for argument in arguments]
    types = [
        PLAIN if is_atomic(parameter.type) else argument.type
        for parameter, argument in zip(declared.parameters, arguments, strict=True)
    ]
    known = _known_call(w, declared, types)
    name = node.name
    if known is not None and known.is_copy:
        name = replace(known.name, span=node.name.span)
    exprs = tuple(argument.expr for argument in arguments)
    return Typed(replace(node, name=name, arguments=exprs), _result(w, known, types, env))


def called_with_anything(w: Walker, declared: FunctionDecl) -> None:
    """Record that a function is passed on, and may be called with any nodes without holes."""
    if declared.body is not None:
        _known_call(w, declared, [UNKNOWN if w.graphs else PLAIN] * len(declared.parameters))


def emitted_functions(w: Walker, functions: list[FunctionDecl]) -> dict[int, list[FunctionDecl]]:
    """The declarations to emit for each function, by its identity, once the query's body is walked:
    the function itself, unless only copies of it are called, and its copies."""
    types = dict(w.types)
    found: dict[int, list[FunctionDecl]] = {}
    pending = functions
    while pending:
        copied = {id(known.declared) for known in w.calls.values() if known.is_copy}
        needed = [f for f in pending if id(f) in w.called_as_declared or id(f) not in copied]
        if not needed:
            break
        for function in needed:
            body = None
            if function.body is not None:
                types_of_parameters = [PLAIN] * len(function.parameters)
                body = w.whole(_body(w, function, types_of_parameters)).expr
            found[id(function)] = [replace(function, body=body)]
        pending = [f for f in pending if id(f) not in found]
    for known in w.calls.values():
        if known.is_copy:
            copy = replace(known.declared, name=known.name, body=known.body)
            found.setdefault(id(known.declared), []).append(copy)
    # the types from a body are more precise when the types of the arguments are known
    w.types.update(types)
    return found


# ---------------------------------------------------------------------- bodies and results


def _known_call(w: Walker, declared: FunctionDecl, types: list[TagType]) -> KnownCall | None:
    """What a function does with arguments of these types; None if the types never end."""
    # inside, it matters only whether nodes are in one tree, not which tree it is
    inside = _inside_names(types)
    types = [t if t.tree is None else replace(t, tree=inside[t.tree]) for t in types]
    key = (id(declared), *types)
    if key in w.calls:
        return w.calls[key]
    is_copy = any(w.has_holes_unseen(type_) for type_ in types)
    copies = sum(known.is_copy and known.declared is declared for known in w.calls.values())
    if w.open_calls == _MAX_OPEN or copies == _MAX_COPIES:
        w.anything(declared.span, "a function calls itself with ever more kinds of nodes")
        return None
    if is_copy:
        name = _name_of_copy(w, declared, types)
    else:
        name = declared.name
        w.called_as_declared.add(id(declared))
    known = w.calls[key] = KnownCall(declared, name, is_copy)
    w.open_calls += 1
    typed = _body(w, declared, types)
    if not is_copy or known.calls_itself:
        typed = w.whole(typed)
    w.open_calls -= 1
    known.body = typed.expr
    known.result = PLAIN if is_atomic(declared.result_type) else typed.type
    return known


def _body(w: Walker, declared: FunctionDecl, types: list[TagType]) -> Typed:
    assert declared.body is not None
    env = Env(w.globals.names, w.globals.variables, PLAIN, _BODY_DEPTH)
    for parameter, type_ in zip(declared.parameters, types, strict=True):
        env = env.bind(parameter.name, type_)
    return _as_declared(w, w.walk(declared.body, env), declared.result_type)


def _inside_names(types: list[TagType]) -> dict[KnownTree, KnownTree]:
    """The trees of the arguments, with their names inside a function."""
    return {t.tree: KnownTree(_PARAMETER - n, 0) for n, t in enumerate(types) if t.tree is not None}


def _result(w: Walker, known: KnownCall | None, types: list[TagType], env: Env) -> TagType:
    """The type of a call: a tree of an argument, or a tree that each call builds."""
    if known is None:
        return UNKNOWN
    if known.result is None:
        known.calls_itself = True
        return UNKNOWN if any(t.of_streams or t.unknown for t in types) else PLAIN
    tree = known.result.tree
    if tree is not None and tree.id <= _PARAMETER:
        outside = {inside: tree for tree, inside in _inside_names(types).items()}
        tree = outside.get(tree)
    elif tree is not None and tree.depth > 0:
        tree = w.new_tree(env) if tree.depth == _BODY_DEPTH else None
    return replace(known.result, tree=tree)


def _name_of_copy(w: Walker, declared: FunctionDecl, types: list[TagType]) -> Name:
    """The function's name, plus the tag of its first argument with holes, if it is only one."""
    holey = next(nodes for type_ in types for nodes in type_.nodes if _has_holes(w, nodes))
    base = declared.name.local
    if len(holey.tags) == 1:
        (tag,) = holey.tags
        graph = w.graphs[holey.stream]
        base += "-stream" if tag == DOCUMENT else f"-{graph.tag(tag).name.local}"
    taken = {local for _, local, arity in w.functions if arity == len(types)}
    taken |= {known.name.local for known in w.calls.values()}
    number, local = 1, base
    while local in taken:
        number += 1
        local = f"{base}-{number}"
    return replace(declared.name, local=local)


def _has_holes(w: Walker, nodes: Nodes) -> bool:
    return w.has_holes_unseen(TagType((nodes,)))


def _as_declared(w: Walker, typed: Typed, type_: SequenceType | None) -> Typed:
    """A value that is passed or returned under a declared type; made whole if it must be atomic or
    may be a document."""
    item = None if type_ is None else type_.item
    if item is None or isinstance(item, AnyItem):
        return typed
    documents = any(DOCUMENT in nodes.tags for nodes in typed.type.nodes)
    if isinstance(item, ElementTest | AnyKindTest) and not documents:
        return typed
    return w.whole(typed)


def is_atomic(type_: SequenceType | None) -> bool:
    """Whether a declared type atomizes what is passed or returned."""
    return type_ is not None and isinstance(type_.item, AtomicType)

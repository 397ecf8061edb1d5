"""The shared vocabulary as DuckDB has it: other names and other forms of functions and clauses.

Tests: tests/dialects/test_read_back.py, tests/algebra/test_operations.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

from sqlglot import exp

from xcql.dialects import trees
from xcql.dialects.duckdb_functions import function_name
from xcql.dialects.templates import template
from xcql.dialects.trees import Sql, column, copied, identifier, number, text_literal

# functions with another name
RENAMED = {
    "array_join": "array_to_string",
    "bytes_length": "octet_length",
    "collect_list": "list",
    "endswith": "ends_with",
    "octet_length": "strlen",
    "sequence": "generate_series",
    "size": "len",
    "startswith": "starts_with",
}
_INTERVALS = {
    "MICROSECOND": "to_microseconds",
    "MINUTE": "to_minutes",
    "DAY": "to_days",
    "MONTH": "to_months",
}


class Native(exp.Anonymous):
    """A call of a function by DuckDB's own name."""


def native(name: str, *arguments: Sql) -> Sql:
    return Native(this=name, expressions=list(arguments))


def _transform(function: str, array: Sql, body: exp.Lambda) -> Sql:
    return native(function, array, _from_one(body))


def _from_one(function: Sql) -> Sql:
    """A lambda whose second parameter, a position, counts from 1 instead of 0."""
    assert isinstance(function, exp.Lambda)
    if len(function.expressions) != 2:
        return function
    position = function.expressions[1]
    counted = exp.Paren(this=exp.Sub(this=exp.Column(this=position), expression=number(1)))
    body = copied(function.this, {position.name: counted})
    return exp.Lambda(this=body, expressions=function.expressions)


def _aggregate(array: Sql, zero: Sql, step: Sql, finish: Sql | None = None) -> Sql:
    reduced = native("list_reduce", array, step, zero)
    if finish is None:
        return reduced
    return _element(native("list_transform", _array(reduced), finish), number(1))


def _element(array: Sql, position: Sql) -> Sql:
    return exp.Bracket(this=exp.Paren(this=array), expressions=[position], offset=1, safe=True)


def _get(array: Sql, index: Sql) -> Sql:
    """An element by its position from 0; there is none at 0 in DuckDB, which counts from the end
    below 0."""
    if trees.is_integer(index):
        return _element(array, number(max(trees.integer_value(index) + 1, 0)))
    position = exp.Add(this=index, expression=number(1))
    return _element(array, native("greatest", position, number(0)))


def _slice(array: Sql, start: Sql, length: Sql) -> Sql:
    end = exp.Sub(this=exp.Add(this=start, expression=length), expression=number(1))
    return native("list_slice", array, start, end)


def _bytes_between(value: Sql, start: Sql, length: Sql | None = None) -> Sql:
    """Part of some bytes: `substring` is for bytes, `substr` for text."""
    end = number(-1)
    if length is not None:
        end = exp.Sub(this=exp.Add(this=start, expression=length), expression=number(1))
    return native("array_slice", value, start, end)


def _array(*values: Sql) -> Sql:
    return exp.Array(expressions=list(values))


def _struct(*parts: Sql) -> Sql:
    fields = [
        exp.PropertyEQ(this=identifier(name.this), expression=value)
        for name, value in zip(parts[::2], parts[1::2], strict=True)
    ]
    return exp.Struct(expressions=fields)


def _concat(*parts: Sql) -> Sql:
    """Texts, bytes or arrays: `||` gives NULL for NULL, as the vocabulary's `concat` does."""
    result: Sql = exp.Paren(this=parts[0])
    for part in parts[1:]:
        result = exp.DPipe(this=result, expression=exp.Paren(this=part), safe=True)
    return exp.Paren(this=result)


def _replace_matches(value: Sql, pattern: Sql, written: Sql) -> Sql:
    reference = re.sub(r"\$(\d)", r"\\\1", written.this)
    return native(
        "regexp_replace", value, _pattern(pattern), text_literal(reference), text_literal("g")
    )


def _pattern(pattern: Sql) -> Sql:
    """One of our own patterns in RE2's syntax, which has no possessive repetitions."""
    written = re.sub(r"(?<=[*+?])\+", "", pattern.this)
    return text_literal(re.sub(r"\\u([0-9a-f]{4})", r"\\x{\1}", written))


def matches(value: Sql, pattern: Sql) -> Sql:
    return native("regexp_matches", value, _pattern(pattern))


def _extract(function: str, value: Sql, pattern: Sql, group: Sql) -> Sql:
    return native(function, value, _pattern(pattern), group)


def _trimmed(function: str, characters: Sql, value: Sql) -> Sql:
    return native(function, value, characters)


def _added(unit: Sql, count: Sql, moment: Sql) -> Sql:
    interval = native(_INTERVALS[unit.name], count)
    return exp.Paren(this=exp.Add(this=moment, expression=interval))


def _between(unit: Sql, first: Sql, last: Sql) -> Sql:
    return native("date_sub", text_literal(unit.name.lower()), first, last)


def _exists(array: Sql, condition: Sql) -> Sql:
    return template(
        "CASE WHEN len(xs) = 0 THEN false ELSE list_bool_or(found) END",
        xs=array,
        found=native("list_transform", array, condition),
    )


def _decoded_hex(digits: Sql, *bases: Sql) -> Sql:
    """A number from its hexadecimal digits; NULL if there are none."""
    return exp.TryCast(
        this=_concat(text_literal("0x"), digits), to=exp.DataType.build("BIGINT"), safe=True
    )


def branch(condition: Sql, value: Sql, otherwise: Sql) -> Sql:
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=otherwise)


def _last_part(value: Sql, separator: Sql, count: Sql) -> Sql:
    """The text after the last separator: `substring_index` is used for nothing else."""
    return _element(native("string_split", value, separator), number(-1))


def _distinct(array: Sql) -> Sql:
    """The elements in the order of their first occurrence."""
    first = native("list_position", array, column("e"))
    condition = exp.EQ(this=first, expression=column("i"))
    return native("list_filter", array, exp.Lambda(this=condition, expressions=[*_NAMES]))


def _zipped(left: Sql, right: Sql, body: exp.Lambda) -> Sql:
    """Pairs are tuples without names; the body uses each parameter once."""
    elements = {
        one.name: _element(column("pair"), number(index))
        for index, one in enumerate(body.expressions, 1)
    }
    function = exp.Lambda(this=copied(body.this, elements), expressions=[identifier("pair")])
    return native("list_transform", native("list_zip", left, right), function)


_NAMES = (identifier("e"), identifier("i"))
REWRITTEN: Mapping[str, Callable[..., Sql]] = MappingProxyType(
    {
        "aggregate": _aggregate,
        "array": _array,
        "array_distinct": _distinct,
        "concat": _concat,
        "conv": _decoded_hex,
        "element_at": _element,
        "exists": _exists,
        "filter": partial(_transform, "list_filter"),
        "get": _get,
        "if": branch,
        "ltrim": partial(_trimmed, "ltrim"),
        "named_struct": _struct,
        "regexp_extract": partial(_extract, "regexp_extract"),
        "regexp_extract_all": partial(_extract, "regexp_extract_all"),
        "regexp_like": matches,
        "regexp_replace": _replace_matches,
        "rtrim": partial(_trimmed, "rtrim"),
        "shiftright": lambda value, by: exp.Paren(
            this=exp.BitwiseRightShift(this=value, expression=by)
        ),
        "slice": _slice,
        "sort_array": lambda array: native(
            "list_sort", array, text_literal("ASC"), text_literal("NULLS FIRST")
        ),
        "substring": _bytes_between,
        "substring_index": _last_part,
        "timestampadd": _added,
        "timestampdiff": _between,
        "transform": partial(_transform, "list_transform"),
        "zip_with": _zipped,
    }
)


def conditions_of_rows(condition: Sql) -> Sql:
    return _guarded(list(_conjuncts(condition)))


def conditions_without_rows(condition: Sql) -> Sql:
    return _in_order(list(_conjuncts(condition)))


def _guarded(conditions: list[Sql]) -> Sql:
    """Conditions that may fail only after the others: DuckDB evaluates them in any order.

    Those that cannot fail are there once more, for joins and for statistics of files.
    """
    safe = [one for one in conditions if not may_fail(one)]
    both = guarded_and(*conditions)
    return trees.both(*safe, both) if 0 < len(safe) < len(conditions) else both


def guarded_and(*conditions: Sql) -> Sql:
    """Conditions that may fail only where the others hold: DuckDB evaluates all parts of AND."""
    safe = [one for one in conditions if not may_fail(one)]
    failing = [one for one in conditions if may_fail(one)]
    parts = [trees.both(*safe), *failing] if safe else failing
    result = parts.pop()
    for one in reversed(parts):
        result = branch(one, result, exp.Boolean(this=False))
    return result


def guarded_or(*conditions: Sql) -> Sql:
    """Conditions that may fail only where those before them do not hold."""
    result = conditions[-1]
    for one in reversed(conditions[:-1]):
        if may_fail(result):
            result = branch(one, exp.Boolean(this=True), result)
        else:
            result = trees.either(one, result)
    return result


def _in_order(conditions: list[Sql]) -> Sql:
    """Conditions without rows: those after the last one that may fail do not spare its error.

    They are an element of an array, because the optimizer evaluates constant conditions of CASE.
    """
    failing = [index for index, one in enumerate(conditions) if may_fail(one)]
    later = conditions[failing[-1] + 1 :] if failing else []
    if not later:
        return _guarded(conditions)
    first = trees.cast(_guarded(conditions[: failing[-1] + 1]), "INT")
    position = exp.Add(this=first, expression=number(1))
    return _element(_array(exp.Boolean(this=False), trees.both(*later)), position)


def _conjuncts(condition: Sql) -> Iterator[Sql]:
    if isinstance(condition, exp.Paren) and isinstance(condition.this, exp.And):
        yield from _conjuncts(condition.this)
    elif isinstance(condition, exp.And):
        yield from _conjuncts(condition.this)
        yield from _conjuncts(condition.expression)
    else:
        yield condition


def may_fail(condition: Sql) -> bool:
    """Whether it calls what may fail: an error of ours, or a slot, which is the evaluator."""
    calls = condition.find_all(exp.Anonymous)
    return any(one.name == function_name("fail") or "\0" in one.name for one in calls)


def bytes_or_text(node: exp.Cast) -> Sql:
    """A cast; text of bytes is decoded, bytes of text are encoded."""
    operand, type_ = node.this, node.to.this
    types = exp.DataType.Type
    if type_ == types.BINARY:
        return native("encode", operand)
    is_bytes = isinstance(operand, exp.Anonymous) and operand.name in ("array_slice", "substring")
    if type_ == types.TEXT and is_bytes:
        return native("decode", operand)
    return node


def from_elements(select: exp.Select) -> exp.Select:
    """A SELECT with its laterals as DuckDB has them.

    An array that is unnested in a list of columns is only read. A lateral join is planned as a join
    with the different arrays, which have to be hashed, wherever a condition looks at an element.
    """
    laterals: list[exp.Lateral] = select.args.get("laterals") or []
    if not laterals:
        return select
    changed = {**select.args, "laterals": None}
    if select.args.get("joins") or any(map(_has_to_be_joined, laterals)):
        joins = [_joined(one) for one in laterals]
        changed["joins"] = [*(select.args.get("joins") or ()), *joins]
        return exp.Select(**changed)
    source = select.args["from_"].this
    for lateral in laterals:
        alias = lateral.args["alias"]
        made = [
            exp.Alias(this=one, alias=name)
            for one, name in zip(_elements(lateral), alias.columns, strict=True)
        ]
        query = exp.Select(expressions=[exp.Star(), *made], from_=exp.From(this=source))
        source = exp.Subquery(this=query, alias=exp.TableAlias(this=alias.this))
    changed["from_"] = exp.From(this=source)
    return exp.Select(**changed)


def _has_to_be_joined(lateral: exp.Lateral) -> bool:
    """Whether rows without elements are kept, or the number of columns is not known."""
    generator = lateral.this
    is_known = generator.name != "inline" or lateral.meta.get("fields")
    return bool(lateral.args.get("outer")) or not is_known


def _elements(lateral: exp.Lateral) -> list[Sql]:
    """The columns with an array's elements."""
    generator = lateral.this
    (array,) = generator.expressions
    elements = native("unnest", array)
    if generator.name == "posexplode":
        first = native("generate_subscripts", array, number(1))
        return [exp.Sub(this=first, expression=number(1)), elements]
    if generator.name == "inline" and (fields := lateral.meta.get("fields")):
        return [trees.dot(elements, field) for field in fields]
    if generator.name == "inline":
        depth = exp.Kwarg(this=exp.var("max_depth"), expression=number(2))
        return [native("unnest", array, depth)]
    return [elements]


def _joined(lateral: exp.Lateral) -> exp.Join:
    """A row for each element of an array, beside the row of what it is in."""
    query = exp.Select(expressions=_elements(lateral))
    source = exp.Lateral(this=exp.Subquery(this=query), alias=lateral.args["alias"])
    if lateral.args.get("outer"):
        return exp.Join(this=source, side="LEFT", on=exp.Boolean(this=True))
    return exp.Join(this=source, kind="CROSS")

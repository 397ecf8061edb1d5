"""DuckDB's SQL: the shared vocabulary, rewritten node by node.

What SQL cannot say exactly is a function that Python computes in the process: see
`xcql.dialects.duckdb_functions`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from xcql.algebra.operations import OPERATIONS
from xcql.algebra.scalars import Constant, Scalar
from xcql.dialects import trees
from xcql.dialects.dialect import Dialect, Query
from xcql.dialects.duckdb_functions import FUNCTIONS, function_name
from xcql.dialects.forms import FORMS
from xcql.dialects.forms.groups import with_collected
from xcql.dialects.forms.nodes import CONTROLS
from xcql.dialects.forms.registry import Forms
from xcql.dialects.slots import LINE_BREAK, SqlText, slot
from xcql.dialects.templates import let, template
from xcql.dialects.trees import (
    Sql,
    call,
    column,
    copied,
    identifier,
    number,
    text_literal,
)
from xcql.evaluate.regular_expressions import compile_regex

forms = Forms()

# functions with another name
_RENAMED = {
    "array_join": "array_to_string",
    "bytes_length": "octet_length",
    "collect_list": "list",
    "endswith": "ends_with",
    "octet_length": "strlen",
    "sequence": "generate_series",
    "size": "len",
    "startswith": "starts_with",
}
_LONGEST_RANGE = 10_000_000
_INTERVALS = {
    "MICROSECOND": "to_microseconds",
    "MINUTE": "to_minutes",
    "DAY": "to_days",
    "MONTH": "to_months",
}


def _transform(function: str, array: Sql, body: exp.Lambda) -> Sql:
    return call(function, array, _from_one(body))


def _from_one(function: Sql) -> Sql:
    """A lambda whose second parameter, a position, counts from 1 instead of 0."""
    assert isinstance(function, exp.Lambda)
    if len(function.expressions) == 2:
        position = function.expressions[1].name
        for use in list(function.this.find_all(exp.Column)):
            if use.name == position and not use.table:
                use.replace(exp.Paren(this=exp.Sub(this=copied(use), expression=number(1))))
    return function


def _aggregate(array: Sql, zero: Sql, step: Sql, finish: Sql | None = None) -> Sql:
    reduced = call("list_reduce", array, step, zero)
    if finish is None:
        return reduced
    return _element(call("list_transform", _array(reduced), finish), number(1))


def _element(array: Sql, position: Sql) -> Sql:
    return exp.Bracket(this=exp.Paren(this=array), expressions=[position], offset=1, safe=True)


def _get(array: Sql, index: Sql) -> Sql:
    """An element by its position from 0; there is none at 0 in DuckDB, which counts from the end
    below 0."""
    if trees.is_integer(index):
        return _element(array, number(max(trees.integer_value(index) + 1, 0)))
    position = exp.Add(this=index, expression=number(1))
    return _element(array, call("greatest", position, number(0)))


def _slice(array: Sql, start: Sql, length: Sql) -> Sql:
    end = exp.Sub(this=exp.Add(this=copied(start), expression=length), expression=number(1))
    return call("list_slice", array, start, end)


def _bytes_between(value: Sql, start: Sql, length: Sql | None = None) -> Sql:
    """Part of some bytes: `substring` is for bytes, `substr` for text."""
    end = number(-1)
    if length is not None:
        end = exp.Sub(this=exp.Add(this=copied(start), expression=length), expression=number(1))
    return call("array_slice", value, start, end)


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
    return call(
        "regexp_replace", value, _pattern(pattern), text_literal(reference), text_literal("g")
    )


def _pattern(pattern: Sql) -> Sql:
    """One of our own patterns in RE2's syntax, which has no possessive repetitions."""
    written = re.sub(r"(?<=[*+?])\+", "", pattern.this)
    return text_literal(re.sub(r"\\u([0-9a-f]{4})", r"\\x{\1}", written))


def _matches(value: Sql, pattern: Sql) -> Sql:
    return call("regexp_matches", value, _pattern(pattern))


def _extract(function: str, value: Sql, pattern: Sql, group: Sql) -> Sql:
    return call(function, value, _pattern(pattern), group)


def _trimmed(function: str, characters: Sql, value: Sql) -> Sql:
    return call(function, value, characters)


def _added(unit: Sql, count: Sql, moment: Sql) -> Sql:
    interval = call(_INTERVALS[unit.name], count)
    return exp.Paren(this=exp.Add(this=moment, expression=interval))


def _between(unit: Sql, first: Sql, last: Sql) -> Sql:
    return call("date_sub", text_literal(unit.name.lower()), first, last)


def _exists(array: Sql, condition: Sql) -> Sql:
    return template(
        "CASE WHEN len(xs) = 0 THEN false ELSE list_bool_or(found) END",
        xs=array,
        found=call("list_transform", copied(array), condition),
    )


def _decoded_hex(digits: Sql, *bases: Sql) -> Sql:
    """A number from its hexadecimal digits; NULL if there are none."""
    return exp.TryCast(
        this=_concat(text_literal("0x"), digits), to=exp.DataType.build("BIGINT"), safe=True
    )


def _if(condition: Sql, value: Sql, otherwise: Sql) -> Sql:
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=otherwise)


def _last_part(value: Sql, separator: Sql, count: Sql) -> Sql:
    """The text after the last separator: `substring_index` is used for nothing else."""
    return _element(call("string_split", value, separator), number(-1))


def _distinct(array: Sql) -> Sql:
    """The elements in the order of their first occurrence."""
    first = call("list_position", copied(array), column("e"))
    condition = exp.EQ(this=first, expression=column("i"))
    return call("list_filter", array, exp.Lambda(this=condition, expressions=[*_NAMES]))


def _zipped(left: Sql, right: Sql, body: exp.Lambda) -> Sql:
    """Pairs are tuples without names; the body uses each parameter once."""
    pair = column("pair")
    names = [one.name for one in body.expressions]
    for use in list(body.this.find_all(exp.Column)):
        if use.name in names and not use.table:
            use.replace(_element(copied(pair), number(names.index(use.name) + 1)))
    function = exp.Lambda(this=body.this, expressions=[identifier("pair")])
    return call("list_transform", call("list_zip", left, right), function)


_NAMES = (identifier("e"), identifier("i"))
_REWRITTEN: Mapping[str, Callable[..., Sql]] = MappingProxyType(
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
        "if": _if,
        "ltrim": partial(_trimmed, "ltrim"),
        "named_struct": _struct,
        "regexp_extract": partial(_extract, "regexp_extract"),
        "regexp_extract_all": partial(_extract, "regexp_extract_all"),
        "regexp_like": _matches,
        "regexp_replace": _replace_matches,
        "rtrim": partial(_trimmed, "rtrim"),
        "shiftright": lambda value, by: exp.Paren(
            this=exp.BitwiseRightShift(this=value, expression=by)
        ),
        "slice": _slice,
        "sort_array": lambda array: call("list_sort", array, "ASC", "NULLS FIRST"),
        "substring": _bytes_between,
        "substring_index": _last_part,
        "timestampadd": _added,
        "timestampdiff": _between,
        "transform": partial(_transform, "list_transform"),
        "zip_with": _zipped,
    }
)


def duckdb_text(tree: Sql) -> str:
    """The text of a tree, which is changed on the way."""
    return str(_new_writer().generate(_all_rewritten(tree), copy=False))


def _new_writer() -> Any:
    return _writer()(pretty=True, normalize_functions=False, dialect="duckdb")


def _all_rewritten(tree: Sql) -> Sql:
    """The tree with what DuckDB says in another way rewritten, in place."""
    root = exp.Paren(this=tree) if not isinstance(tree, exp.Query) else tree
    kinds = (
        exp.Anonymous,
        exp.Cast,
        exp.RegexpLike,
        exp.HexString,
        exp.Select,
        exp.Join,
        exp.Where,
    )
    for node in reversed(list(root.find_all(*kinds, bfs=False))):
        changed = _rewritten(node)
        if changed is not node:
            node.replace(changed)
    return root


def _rewritten(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.Anonymous() if node.name in _REWRITTEN:
            return _REWRITTEN[node.name](*node.expressions)
        case exp.Anonymous() if node.name in _RENAMED:
            node.set("this", _RENAMED[node.name])
        case exp.RegexpLike():
            return _matches(node.this, node.expression)
        case exp.Cast():
            return _cast(node)
        case exp.HexString():
            return call("from_hex", text_literal(node.this))
        case exp.Select() if node.args.get("laterals"):
            _unnest(node)
        case exp.Where():
            conditions = list(_conjuncts(node.this))
            is_of_rows = isinstance(node.parent, exp.Select) and node.parent.args.get("from_")
            node.set("this", _guarded(conditions) if is_of_rows else _in_order(conditions))
        case exp.Join() if node.args.get("kind") in ("SEMI", "ANTI"):
            node.set("side", None)
    return node


def _guarded(conditions: list[Sql]) -> Sql:
    """Conditions that may fail only after the others: DuckDB evaluates them in any order."""
    safe = [one for one in conditions if not _may_fail(one)]
    failing = [one for one in conditions if _may_fail(one)]
    if not failing:
        return trees.both(*safe)
    guarded = failing.pop()
    for one in reversed(failing):
        guarded = _if(one, guarded, exp.Boolean(this=False))
    if safe:
        others = trees.both(*(copied(one) for one in safe))
        guarded = _if(others, guarded, exp.Boolean(this=False))
    return trees.both(*safe, guarded)


def _in_order(conditions: list[Sql]) -> Sql:
    """Conditions without rows: those after the last one that may fail do not spare its error.

    They are an element of an array, because the optimizer evaluates constant conditions of CASE.
    """
    failing = [index for index, one in enumerate(conditions) if _may_fail(one)]
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


def _may_fail(condition: Sql) -> bool:
    """Whether it calls what may fail: an error of ours, or a slot, which is the evaluator."""
    calls = condition.find_all(exp.Anonymous)
    return any(one.name == function_name("fail") or "\0" in one.name for one in calls)


def _cast(node: exp.Cast) -> Sql:
    """Text of bytes is decoded, bytes of text are encoded."""
    operand, type_ = node.this, node.to.this
    types = exp.DataType.Type
    if type_ == types.BINARY:
        return call("encode", operand)
    is_bytes = isinstance(operand, exp.Anonymous) and operand.name == "array_slice"
    if type_ == types.TEXT and is_bytes:
        return call("decode", operand)
    return node


def _unnest(select: exp.Select) -> None:
    """Write the laterals of a SELECT as DuckDB has them.

    An array that is unnested in a list of columns is only read. A lateral join is planned as a join
    with the different arrays, which have to be hashed, wherever a condition looks at an element.
    """
    laterals: list[exp.Lateral] = select.args["laterals"]
    select.set("laterals", None)
    if select.args.get("joins") or any(map(_has_to_be_joined, laterals)):
        joins = [_joined(one) for one in laterals]
        select.set("joins", [*(select.args.get("joins") or ()), *joins])
        return
    source = select.args["from_"].this
    for lateral in laterals:
        alias = lateral.args["alias"]
        made = [
            exp.Alias(this=one, alias=name)
            for one, name in zip(_elements(lateral), alias.columns, strict=True)
        ]
        query = exp.Select(expressions=[exp.Star(), *made], from_=exp.From(this=source))
        source = exp.Subquery(this=query, alias=exp.TableAlias(this=alias.this))
    select.set("from_", exp.From(this=source))


def _has_to_be_joined(lateral: exp.Lateral) -> bool:
    """Whether rows without elements are kept, or the number of columns is not known."""
    generator = lateral.this
    is_known = generator.name != "inline" or lateral.meta.get("fields")
    return bool(lateral.args.get("outer")) or not is_known


def _elements(lateral: exp.Lateral) -> list[Sql]:
    """The columns with an array's elements."""
    generator = lateral.this
    (array,) = generator.expressions
    elements = call("unnest", array)
    if generator.name == "posexplode":
        first = call("generate_subscripts", copied(array), number(1))
        return [exp.Sub(this=first, expression=number(1)), elements]
    if generator.name == "inline" and (fields := lateral.meta.get("fields")):
        return [trees.dot(copied(elements), field) for field in fields]
    if generator.name == "inline":
        elements.append("expressions", exp.Kwarg(this=exp.var("max_depth"), expression=number(2)))
    return [elements]


def _joined(lateral: exp.Lateral) -> exp.Join:
    """A row for each element of an array, beside the row of what it is in."""
    query = exp.Select(expressions=_elements(lateral))
    source = exp.Lateral(this=exp.Subquery(this=query), alias=lateral.args["alias"])
    if lateral.args.get("outer"):
        return exp.Join(this=source, side="LEFT", on=exp.Boolean(this=True))
    return exp.Join(this=source, kind="CROSS")


@cache
def _writer() -> Any:
    def function(self: Any, node: exp.Lambda) -> str:
        names = ", ".join(self.sql(one) for one in node.expressions)
        return f"lambda {names}: {self.sql(node, 'this')}"

    def placeholder(self: Any, node: exp.Placeholder) -> str:
        return slot(f":{node.name}")

    def literal(self: Any, node: exp.Literal) -> str:
        if node.is_string and "\0" in node.this:
            return f"decode(from_hex('{node.this.encode().hex()}'))"
        return str(self.literal_sql(node))

    changed = {
        **DuckDB.Generator.TRANSFORMS,
        exp.Lambda: function,
        exp.Literal: literal,
        exp.Placeholder: placeholder,
        _Written: lambda self, node: node.this,
    }
    members = {"TRANSFORMS": changed, "SENTINEL_LINE_BREAK": LINE_BREAK}
    return type("Writer", (DuckDB.Generator,), members)


class _Written(exp.Expression):
    """A part that several queries have in common; it is written, up to its line breaks."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


def _write(parts: Mapping[str, Sql], queries: Sequence[Query]) -> tuple[SqlText, ...]:
    bodies = []
    for name, body in parts.items():
        written = _Written(this=_new_writer().sql(_all_rewritten(body)))
        bodies.append(exp.CTE(this=written, alias=exp.TableAlias(this=identifier(name))))
    texts = []
    for query in queries:
        if bodies:
            query.select.set("with_", exp.With(expressions=[copied(one) for one in bodies]))
        texts.append(SqlText.of(duckdb_text(query.select)))
    return tuple(texts)


# forms of its own


def _computed(name: str, *arguments: Sql) -> Sql:
    """A call of a function that Python computes."""
    return call(function_name(name), *arguments)


def _computed_or(name: str, *arguments: Sql) -> Sql:
    """The same; the last argument is an error for results that cannot be represented."""
    *values, otherwise = arguments
    known = trees.both(*(trees.is_not_null(value) for value in values))
    result = template(
        "CASE WHEN r IS NULL AND known THEN otherwise ELSE r END", known=known, otherwise=otherwise
    )
    return let(_computed(name, *(copied(value) for value in values)), "r", result)


def _of_names(name: str, text: Sql, *names: Sql) -> Sql:
    return _computed(name, text, call("array", *names))


# a date or time as DuckDB writes it, but with an astronomical year
_TIME = """CASE WHEN year(t) > 0 THEN CAST(t AS STRING) ELSE concat(
  format(CASE WHEN year(t) < 0 THEN '{:05d}' ELSE '{:04d}' END, year(t)), strftime(t, '-%m-%d'),
  regexp_replace(CAST(t AS STRING), '^.*[)]', '')) END"""

forms.update({name: partial(_computed, name) for name in FUNCTIONS if name in OPERATIONS})
forms["text_of_codepoints"] = partial(_computed_or, "text_of_codepoints")
forms.update({name: partial(_of_names, name) for name in ("inner_children", "inner_descendants")})
forms.calls(group_any="first", bytes_length="bytes_length")
forms.templates(
    {
        # a cast alone would round
        "to_integer x": "CAST(trunc(x) AS BIGINT)",
        "group_sum value": "CAST(sum(value) AS BIGINT)",
        "text_of_bytes value": "decode(value)",
        "parent_key key": "substring(key, 1, bytes_length(key) - 4)",
        "hole_offset key": """CAST(conv(hex(substring(key, bytes_length(key) - 3, 4)), 16, 10)
          AS INT)""",
        "places_above key": """CASE WHEN bytes_length(key) > 4 THEN transform(
          sequence(1, CAST((bytes_length(key) - 4) / 8 AS INT)), level -> named_struct(
            'key', substring(key, 1, 8 * level - 4),
            'offset', CAST(conv(hex(substring(key, 8 * level - 3, 4)), 16, 10) AS INT))) END""",
        "least_if_nan x": "CASE WHEN isnan(x) THEN CAST('-Infinity' AS DOUBLE) ELSE x END",
        "second_of value": """CAST(CAST(date_part('microsecond', value) AS DECIMAL(8, 0))
          * 0.000001BD AS DECIMAL(8, 6))""",
        "encoded_for_uri x": "url_encode(x)",
        # the first of equal numbers: -0 and 0 are equal
        "array_min xs": "element_at(xs, list_position(xs, list_min(xs)))",
        "array_max xs": "element_at(xs, list_position(xs, list_max(xs)))",
        # Python's functions cannot return NaN
        **{
            f"{name} x n": f"CASE WHEN isnan(x) THEN x ELSE {function_name(name)}(x, n) END"
            for name in ("round_digits", "round_half_even")
        },
        # DuckDB writes years before the first one as BC; there was a year 0
        "time_text t": f"replace({_TIME}, ' ', 'T')",
        "zoned_date_text t zone": f"concat({_TIME}, zone)",
    }
)


# casts to four bytes are faster than writing and reading hexadecimal digits
_TO_FOUR_BYTES = [exp.DataType.build(one, dialect="duckdb") for one in ("UINTEGER", "BIT", "BLOB")]


@forms
def four_bytes(value: Sql) -> Sql:
    low: Sql = exp.Paren(this=exp.BitwiseAnd(this=value, expression=exp.Literal.number(2**32 - 1)))
    for type_ in _TO_FOUR_BYTES:
        low = exp.Cast(this=low, to=copied(type_))
    return low


@forms
def node_key(key: Sql, offset: Sql) -> Sql:
    return call("concat", key, four_bytes(offset))


@forms
def copy_key(key: Sql, *numbers: Sql) -> Sql:
    return call("concat", key, *map(four_bytes, numbers))


@forms
def zoned_time_text(value: Sql, zone: Sql) -> Sql:
    is_plain = isinstance(zone, exp.Literal) and zone.this in ("", "Z")
    local = value if is_plain else FORMS["in_zone"](value, zone)
    return call("concat", forms["time_text"](local), copied(zone))


# structs whose fields decide one after the other; DuckDB sorts NULLs in structs last


def _comparable(name: str, *values: Sql) -> Sql:
    fields: dict[str, Sql] = {}
    for index, value in enumerate(values, 1):
        if not isinstance(value, exp.Literal):
            fields[f"has_{name}{index}"] = trees.is_not_null(copied(value))
        fields[f"{name}{index}"] = value
    return trees.struct(**fields)


forms["struct"] = partial(_comparable, "key")
forms["tuple"] = partial(_comparable, "col")


@forms
def group_min(value: Sql) -> Sql:
    """The least value; of structs with values in them, which `min` would normalise: -0 to 0."""
    if not isinstance(value, exp.Anonymous) or value.name != "named_struct":
        return call("min", value)
    names, values = value.expressions[::2], value.expressions[1::2]
    if not any(name.this == "col1" for name in names):
        return call("min", value)
    key = _sort_key(*values)
    return trees.struct(
        **{
            name.this: call("arg_min_null", copied(one), copied(key))
            for name, one in zip(names, values, strict=True)
        }
    )


def _sort_key(*values: Sql) -> Sql:
    """Bytes that are ordered as the values are, one after the other."""
    parts = (part for one in values for part in (copied(one), text_literal("ASC NULLS FIRST")))
    return call("create_sort_key", *parts)


def _first_extreme(name: str, value: Sql, *keys: Sql) -> Sql:
    """The least or greatest number; the first one of -0 and 0."""
    if not keys:
        return call(name, value)
    first = exp.Filter(
        this=call("arg_min", copied(value), _sort_key(*keys)),
        expression=exp.Where(this=exp.EQ(this=copied(value), expression=number(0))),
    )
    # twice the same: DuckDB computes it once, but cannot plan groups inside of functions
    return template(
        "CASE WHEN extreme = 0 THEN first ELSE extreme END", extreme=call(name, value), first=first
    )


forms["group_min_doubles"] = partial(_first_extreme, "min")
forms["group_max_doubles"] = partial(_first_extreme, "max")


@forms
def is_date_text(value: Sql) -> Sql:
    return _is_time_text("date", value)


@forms
def is_dateTime_text(value: Sql) -> Sql:
    return _is_time_text("dateTime", value)


def _is_time_text(type_: str, value: Sql) -> Sql:
    """Years of four digits are tested by SQL, everything else by the evaluator's own function."""
    other = _computed("is_other_time", copied(value), text_literal(type_))
    return _if(FORMS[f"is_{type_}_text"](value), exp.Boolean(this=True), other)


@forms
def mathematics(name: Sql, x: Sql, y: Sql | None = None) -> Sql:
    """A function of Python, for which NaN is NULL; `pow(x, 0)` and `pow(1, y)` are 1 even then."""
    second = y or template("0.0D")
    is_one = "x = 1.0D OR y = 0.0D" if name.this == "pow" else "false"
    return template(
        f"""CASE WHEN x IS NULL OR y IS NULL THEN NULL WHEN {is_one} THEN 1.0D
          ELSE coalesce(found, double('NaN')) END""",
        x=x,
        y=second,
        found=_computed("mathematics", name, copied(x), copied(second)),
    )


@forms
def round_digits(value: Sql, digits: Sql) -> Sql:
    return _unless_nan("round_digits", value, digits)


@forms
def round_half_even(value: Sql, digits: Sql) -> Sql:
    return _unless_nan("round_half_even", value, digits)


def _unless_nan(name: str, value: Sql, digits: Sql) -> Sql:
    """NaN as the result of a function in Python would be NULL."""
    rounded = _computed(name, copied(value), digits)
    return _if(call("isnan", value), trees.cast(text_literal("NaN"), "DOUBLE"), rounded)


@forms
def range_(first: Sql, last: Sql) -> Sql:
    """DuckDB's limit of memory does not count arrays while they are computed.

    A range of constants is computed by the optimizer, whatever the condition around it.
    """
    return template(
        f"""CASE WHEN b - a > {_LONGEST_RANGE} THEN beyond
          WHEN a <= b THEN sequence(a, CASE WHEN b - a <= {_LONGEST_RANGE} THEN b END)
          ELSE slice(sequence(1L, 1L), 1, 0) END""",
        beyond=_computed("beyond_sql", copied(last)),
        a=first,
        b=last,
    )


@forms
def join_texts(texts: Sql, separator: Sql) -> Sql:
    """DuckDB takes NULL for an empty separator."""
    joined = call("array_join", texts, separator)
    if isinstance(separator, exp.Literal):
        return joined
    return trees.case_(trees.is_null(copied(separator)), None, joined)


@forms
def escape_text(value: Sql) -> Sql:
    return _escaped("escape_text", rf"[&<>{CONTROLS}]", value)


@forms
def escape_attribute(value: Sql) -> Sql:
    return _escaped("escape_attribute", rf'[&<>"{CONTROLS}\t\n]', value)


def _escaped(name: str, signs: str, value: Sql) -> Sql:
    """Few texts have characters to escape."""
    return template(
        f"CASE WHEN regexp_like(t, any_sign) THEN {function_name(name)}(t) ELSE t END",
        t=value,
        any_sign=text_literal(signs),
    )


@forms
def fail(site: Sql, value: Sql) -> Sql:
    return _computed("fail", site, call("coalesce", trees.cast(value, "STRING"), text_literal("")))


@forms
def decimal_multiply(x: Sql, y: Sql, too_long: Sql) -> Sql:
    """The function itself fails if there are too many digits."""
    return _computed("decimal_multiply", x, y)


@forms
def millionths(x: Sql, too_long: Sql) -> Sql:
    """The function itself fails if there are too many digits."""
    return _computed("millionths", x)


@forms
def parse_validity(value: Sql, otherwise: Sql) -> Sql:
    return _computed_or("parse_validity", value, _now(), otherwise)


@forms
def lifespan_bound(value: Sql, symbol: Sql) -> Sql:
    return _computed("lifespan_bound", value, symbol, _now())


@forms
def formatted_number(value: Sql, least: Sql, most: Sql, grouped: Sql, is_double: Sql) -> Sql:
    text = FORMS["to_string"](copied(value))
    if is_double.this:
        text = _computed("double_text", value)
    written = _computed("formatted_number", text, least, most, grouped)
    return call("coalesce", written, text_literal("NaN"))


@forms
def inner_values(text: Sql, path: Sql, *names: Sql) -> Sql:
    return _computed("xpath", text, path)


@forms
def empty_elements(text: Sql, commented: Sql) -> Sql:
    return _computed("empty_elements", text)


def _now() -> Sql:
    return exp.Placeholder(this="now")


def _ordered_list(value: Sql, *keys: Sql) -> Sql:
    ordered = [exp.Ordered(this=key, nulls_first=True) for key in keys]
    operand = exp.Order(this=value, expressions=ordered) if keys else value
    return exp.Anonymous(this="list", expressions=[operand])


forms.update(with_collected(_ordered_list))


def _pattern_limit(text: Scalar, pattern: Scalar, flags: Scalar, *rest: Scalar) -> str | None:
    """Searches that may fail are left to the evaluator: its errors have a place in the query."""
    assert isinstance(pattern, Constant)
    assert isinstance(flags, Constant)
    is_endless = compile_regex(str(pattern.value), str(flags.value)).may_be_endless
    return "a pattern that could take forever" if is_endless else None


DUCKDB = Dialect(
    "duckdb",
    forms=MappingProxyType({**FORMS, **forms}),
    limits=MappingProxyType(
        dict.fromkeys(("text_matches", "text_replaced", "text_split"), _pattern_limit)
    ),
    write=_write,
    ordered=frozenset({"min_doubles", "max_doubles"}),
    joins_nearest=True,
    frames_vary=True,
)

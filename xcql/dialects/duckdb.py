"""DuckDB's dialect: forms of its own, and the texts of whole queries.

What SQL cannot say exactly is a function that Python computes in the process: see
`xcql.dialects.duckdb_functions`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType

from sqlglot import exp

from xcql.algebra.operations import OPERATIONS
from xcql.algebra.scalars import Constant, Scalar
from xcql.dialects import trees
from xcql.dialects.dialect import Dialect, Query
from xcql.dialects.duckdb_functions import FUNCTIONS, function_name
from xcql.dialects.duckdb_macros import definition, macros
from xcql.dialects.duckdb_text import duckdb_text, named_parts
from xcql.dialects.duckdb_vocabulary import branch, guarded_and, guarded_or, may_fail
from xcql.dialects.forms import FORMS
from xcql.dialects.forms.groups import with_collected
from xcql.dialects.forms.nodes import CONTROLS
from xcql.dialects.forms.registry import Form, Forms
from xcql.dialects.slots import SqlText
from xcql.dialects.templates import let, template
from xcql.dialects.trees import (
    Sql,
    call,
    number,
    text_literal,
)
from xcql.evaluate.regular_expressions import compile_regex

forms = Forms()

_LONGEST_RANGE = 10_000_000


def _write(parts: Mapping[str, Sql], queries: Sequence[Query]) -> tuple[SqlText, ...]:
    """The texts of queries; the text of their parts is written once."""
    written = named_parts({name: duckdb_text(body) for name, body in parts.items()})
    before = f"{written}\n" if parts else ""
    return tuple(SqlText.of(before + duckdb_text(one.select)) for one in queries)


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
    return let(_computed(name, *(value for value in values)), "r", result)


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
        "place_above key depth": """CASE WHEN bytes_length(key) > 8 * depth + 4
          THEN substring(key, 1, 8 * depth + 8) END""",
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


def _in_turn(name: str, guarded: Form, *conditions: Sql) -> Sql:
    """A condition that may fail is computed only where those before it do not decide."""
    fails = any(map(may_fail, conditions[1:]))
    return guarded(*conditions) if fails else trees.chain(name, *conditions)


forms["and"] = partial(_in_turn, "and", guarded_and)
forms["or"] = partial(_in_turn, "or", guarded_or)


@forms
def four_bytes(value: Sql) -> Sql:
    low: Sql = exp.Paren(this=exp.BitwiseAnd(this=value, expression=exp.Literal.number(2**32 - 1)))
    for type_ in _TO_FOUR_BYTES:
        low = exp.Cast(this=low, to=type_)
    return low


@forms
def copy_key(key: Sql, *numbers: Sql) -> Sql:
    return call("concat", key, *(call("four_bytes", one) for one in numbers))


forms["node_key"] = copy_key


@forms
def zoned_time_text(value: Sql, zone: Sql) -> Sql:
    is_plain = isinstance(zone, exp.Literal) and zone.this in ("", "Z")
    local = value if is_plain else FORMS["in_zone"](value, zone)
    return call("concat", forms["time_text"](local), zone)


# structs whose fields decide one after the other; DuckDB sorts NULLs in structs last


def _comparable(name: str, *values: Sql) -> Sql:
    fields: dict[str, Sql] = {}
    for index, value in enumerate(values, 1):
        if not isinstance(value, exp.Literal):
            fields[f"has_{name}{index}"] = trees.is_not_null(value)
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
    if len(values) == 2:
        # NULL is less than any value
        has_all = call("bool_and", values[0])
        least = trees.case_(has_all, call("min", values[1]), exp.Null())
        return trees.struct(has_col1=has_all, col1=least)
    key = _sort_key(*values)
    return trees.struct(
        **{
            name.this: call("arg_min_null", one, key)
            for name, one in zip(names, values, strict=True)
        }
    )


def _sort_key(*values: Sql) -> Sql:
    """Bytes that are ordered as the values are, one after the other."""
    parts = (part for one in values for part in (one, text_literal("ASC NULLS FIRST")))
    return call("create_sort_key", *parts)


@forms
def group_first(value: Sql, *keys: Sql) -> Sql:
    return call("arg_min_null", value, _sort_key(*keys)) if keys else call("first", value)


@forms
def group_last(value: Sql, *keys: Sql) -> Sql:
    return call("arg_max_null", value, _sort_key(*keys)) if keys else call("first", value)


def _first_extreme(name: str, value: Sql, *keys: Sql) -> Sql:
    """The least or greatest number; the first one of -0 and 0."""
    if not keys:
        return call(name, value)
    first = exp.Filter(
        this=call("arg_min", value, _sort_key(*keys)),
        expression=exp.Where(this=exp.EQ(this=value, expression=number(0))),
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
    other = _computed("is_other_time", value, text_literal(type_))
    return branch(FORMS[f"is_{type_}_text"](value), exp.Boolean(this=True), other)


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
        found=_computed("mathematics", name, x, second),
    )


@forms
def round_digits(value: Sql, digits: Sql) -> Sql:
    return _unless_nan("round_digits", value, digits)


@forms
def round_half_even(value: Sql, digits: Sql) -> Sql:
    return _unless_nan("round_half_even", value, digits)


def _unless_nan(name: str, value: Sql, digits: Sql) -> Sql:
    """NaN as the result of a function in Python would be NULL."""
    rounded = _computed(name, value, digits)
    return branch(call("isnan", value), trees.cast(text_literal("NaN"), "DOUBLE"), rounded)


@forms
def range_(first: Sql, last: Sql) -> Sql:
    """DuckDB's limit of memory does not count arrays while they are computed.

    A range of constants is computed by the optimizer, whatever the condition around it.
    """
    return template(
        f"""CASE WHEN b - a > {_LONGEST_RANGE} THEN beyond
          WHEN a <= b THEN sequence(a, CASE WHEN b - a <= {_LONGEST_RANGE} THEN b END)
          ELSE slice(sequence(1L, 1L), 1, 0) END""",
        beyond=_computed("beyond_sql", last),
        a=first,
        b=last,
    )


@forms
def join_texts(texts: Sql, separator: Sql) -> Sql:
    """DuckDB takes NULL for an empty separator."""
    joined = call("array_join", texts, separator)
    if isinstance(separator, exp.Literal):
        return joined
    return trees.case_(trees.is_null(separator), None, joined)


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
    text = value if isinstance(value, exp.Literal) else trees.cast(value, "STRING")
    return _computed("fail", number(trees.integer_value(site)), text)


@forms
def decimal_multiply(x: Sql, y: Sql, too_long: Sql) -> Sql:
    """The function itself fails if there are too many digits."""
    return _computed("decimal_multiply", x, y)


@forms
def decimal_divide(x: Sql, y: Sql, too_long: Sql) -> Sql:
    return _computed("decimal_divide", x, y)


@forms
def decimal_idiv(x: Sql, y: Sql, too_long: Sql) -> Sql:
    return _computed("decimal_idiv", x, y)


@forms
def decimal_modulo(x: Sql, y: Sql, too_long: Sql) -> Sql:
    return _computed("decimal_modulo", x, y)


@forms
def parse_validity(value: Sql, otherwise: Sql) -> Sql:
    return _computed_or("parse_validity", value, _now(), otherwise)


@forms
def lifespan_bound(value: Sql, symbol: Sql) -> Sql:
    return _computed("lifespan_bound", value, symbol, _now())


@forms
def formatted_number(value: Sql, picture: Sql, is_double: Sql) -> Sql:
    written = _computed("formatted_number", FORMS["to_string"](value), picture, is_double)
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


_ALL: Mapping[str, Form] = MappingProxyType({**FORMS, **forms})
# whose forms are long and need to know nothing of their operands
_MACROS = (
    *("is_date_text", "is_dateTime_text", "is_time_text", "parse_date", "parse_dateTime"),
    *("parse_time", "zone_of", "zone_of_time", "in_zone", "out_of_zone", "time_text"),
    *("zoned_date_text", "is_double_text", "is_integer_text", "is_decimal_text", "parse_double"),
    *("parse_integer", "parse_decimal", "parse_boolean", "double_floor", "double_ceiling"),
    *("double_divide", "double_modulo", "round_half_up", "integer_divide", "decimal_text"),
    *("escape_text", "escape_attribute", "collapsed", "trimmed", "substring_of_text"),
    *("substring_by_doubles", "text_before", "text_after", "has_word", "without_blanks_before"),
    *("four_bytes", "places_above", "hole_offset", "array_min", "array_max", "counts_at"),
    *("with_lifespan", "decimal_add", "decimal_subtract", "text_order", "month_name"),
)


_CALL = re.compile(rf"\b({'|'.join(_MACROS)})\(")


def macros_in(text: str) -> frozenset[str]:
    """The names of the macros that a text of SQL calls, and perhaps of others."""
    return frozenset(_CALL.findall(text))


@cache
def macro_definition(name: str) -> str:
    """The statement that creates a macro."""
    return definition(name, _ALL[name])


DUCKDB = Dialect(
    "duckdb",
    forms=_ALL,
    macros=macros(_MACROS, _ALL),
    limits=MappingProxyType(
        dict.fromkeys(("text_matches", "text_replaced", "text_split"), _pattern_limit)
    ),
    write=_write,
    ordered=frozenset({"min_doubles", "max_doubles"}),
    orders_joins=True,
    joins_nearest=True,
    frames_vary=True,
    literal=lambda value: duckdb_text(trees.constant(value)),
)

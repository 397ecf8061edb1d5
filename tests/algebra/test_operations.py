"""The table of operations: complete, true to what dialects do, and followed by all plans."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compile.conftest import catalog_of_store, ingested
from tests.queries import corpus
from xcql.algebra.operations import OPERATIONS, Operation, Type
from xcql.algebra.operators import scalars, walk_plan
from xcql.algebra.scalars import Call, Constant, Lambda, Scalar, walk_scalar
from xcql.check import check
from xcql.compile import Catalog, Externals, NotNative, compile_query
from xcql.diagnostics import XcqlError
from xcql.dialects.dialect import Dialect
from xcql.dialects.duckdb import DUCKDB
from xcql.dialects.duckdb_text import duckdb_text
from xcql.dialects.spark import SPARK, spark_text
from xcql.dialects.templates import parsed
from xcql.dialects.trees import Sql, constant
from xcql_runtime.embedded.connection import connect, define_macros, limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DIALECTS = [SPARK, DUCKDB]
CONSTANTS: dict[type, Type] = {
    bool: "boolean",
    int: "integer",
    float: "double",
    Decimal: "decimal",
    str: "text",
    bytes: "bytes",
    datetime: "instant",
    date: "date",
}
# types whose values may stand for each other
ALIKE = [{"number", "integer", "int", "double", "decimal"}, {"date", "instant"}]


# Spark leaves them to the evaluator
NOT_ON_SPARK = {"formatted_time", "namespaces_at", "declared_once", "out_of_default", "deep_text"}


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_each_operation_has_a_form(dialect: Dialect) -> None:
    missing = NOT_ON_SPARK if dialect is SPARK else set()
    assert dialect.forms.keys() == OPERATIONS.keys() - missing
    assert dialect.limits.keys() <= OPERATIONS.keys()


def test_plans_follow_the_table(tmp_path: Path) -> None:
    known = catalog_of_store(ingested(tmp_path / "store", corpus.streams()))
    found: set[str] = set()
    for query in corpus.queries()[::3]:
        catalog = Catalog({name: known.streams[name] for name in query.streams()})
        try:
            compiled = compile_query(check(query.text), catalog, "qac+", Externals())
        except (NotNative, XcqlError):
            continue
        for _, plan in (compiled.steps[0], compiled.steps[-1]):
            for operator in walk_plan(plan):
                for scalar in scalars(operator):
                    found |= _check_calls(scalar)
    assert len(found) > 100


def _check_calls(scalar: Scalar) -> set[str]:
    """The operations in a scalar, after a check of their arguments."""
    calls = [one for one in walk_scalar(scalar) if isinstance(one, Call)]
    for one in calls:
        operation = OPERATIONS[one.function]
        assert operation.takes(len(one.arguments)), one
        for index, argument in enumerate(one.arguments):
            assert _fits(argument, operation.parameter(index)), (operation.signature, argument)
    return {one.function for one in calls}


def _fits(argument: Scalar, type_: Type) -> bool:
    match argument:
        case Constant(value=None):
            return True
        case Constant(value=value):
            own = CONSTANTS[type(value)]
            return type_ in ("constant", "any", own) or _are_alike(own, type_)
        case Lambda():
            return type_ == "function"
        case Call(function=name):
            result = OPERATIONS[name].result
            return "any" in (result, type_) or result == type_ or _are_alike(result, type_)
    return type_ != "function"


def _are_alike(a: Type, b: Type) -> bool:
    return any({a, b} <= several for several in ALIKE)


# a value of each type, as SQL
SAMPLES: dict[Type, str] = {
    "any": "5L",
    "array": "array('a', 'b')",
    "boolean": "true",
    "bytes": "X'0000000100000002'",
    "date": "CAST('2004-05-06' AS DATE)",
    "decimal": "CAST(2.5 AS DECIMAL(37, 20))",
    "double": "2.5D",
    "instant": "TIMESTAMP_NTZ'2004-05-06 07:08:09'",
    "int": "3",
    "integer": "7L",
    "number": "5L",
    "struct": "named_struct('x', 1)",
    "text": "'<a>b</a>'",
}
WINDOWS = "array(named_struct('first', 1L, 'last', 2L, 'closed', true))"
HOLES = "array(named_struct('start', 1, 'length', 2))"
# what some operations need instead
SPECIAL: dict[str, tuple[str, ...]] = {
    "field": ("named_struct('x', 1)", "'x'"),
    "array_sum": ("array(1L)",),
    "array_sum_decimals": ("array(CAST(1 AS DECIMAL(37, 20)))",),
    "flatten": ("array(array(1))",),
    "windows_between_starts": ("array(1L)", "3L"),
    "windows_apart": (WINDOWS,),
    "windows_to_ends": ("array(named_struct('starts', true, 'ends', false))",),
    "slice": ("array('a')", "1L", "1L"),
    "dynamic_content": ("array(named_struct('kind', 'xs:string', 'value', 'a'))",),
    "round_digits": ("2.5D", "1L"),
    "round_half_even": ("2.5D", "1L"),
    "decimal_round": (SAMPLES["decimal"], "1L"),
    "decimal_round_half_even": (SAMPLES["decimal"], "1L"),
    "filled_up": ("7L", "2L"),
    "integer_round": ("7L", "10L"),
    "empty_elements": ("'<a></a>'", "false"),
    "to_double": ("'2.5'",),
    "to_integer": ("2.5D",),
    "to_int": ("'2'",),
    "to_decimal": ("'2.5'",),
    "to_instant": ("'2004-05-06'",),
    "to_date": ("'2004-05-06'",),
    "instant": ("'2004-05-06T07:08:09'",),
    "parse_double": ("'2.5'",),
    "parse_date": ("'2004-05-06'",),
    "parse_dateTime": ("'2004-05-06T07:08:09'",),
    "parse_time": ("'07:08:09'",),
    "parse_dayTimeDuration": ("'PT1S'",),
    "parse_yearMonthDuration": ("'P1Y'",),
    "zone_length": ("'Z'",),
    "in_zone": (SAMPLES["instant"], "'+01:00'"),
    "out_of_zone": (SAMPLES["instant"], "'+01:00'"),
    "zoned_time_text": (SAMPLES["instant"], "'+01:00'"),
    "year": (SAMPLES["instant"],),
    "month": (SAMPLES["instant"],),
    "day": (SAMPLES["instant"],),
    "month_name": (SAMPLES["instant"],),
    "octet_length": ("'a'",),
    "text_matches": ("'a'", "'b'", "''"),
    "text_replaced": ("'a'", "'b'", "''", "'c'"),
    "text_split": ("'a'", "'b'", "''"),
}
STRICT = [one for one in OPERATIONS.values() if one.is_strict]


def test_strict_operations_give_null_for_null_on_spark(spark: SparkSession) -> None:
    columns = [f"{spark_text(tree)} IS NULL" for _, tree in _strict_calls(SPARK)]
    (row,) = spark.sql(f"SELECT {', '.join(columns)}").collect()
    _check_nulls(SPARK, row)


def test_strict_operations_give_null_for_null_on_duckdb() -> None:
    columns = [f"{duckdb_text(tree)} IS NULL" for _, tree in _strict_calls(DUCKDB)]
    with connect(limits()) as connection:
        define_macros(connection, DUCKDB.macros)
        row = connection.execute(f"SELECT {', '.join(columns)}").fetchone()
    assert row is not None
    _check_nulls(DUCKDB, row)


def _strict_calls(dialect: Dialect) -> list[tuple[str, Sql]]:
    """The strict operations, each with NULL for one argument after the other."""
    return [
        (f"{operation.name} {index}", tree)
        for operation in STRICT
        if operation.name in dialect.forms
        for index, tree in _calls_with_null(operation, dialect)
    ]


def _check_nulls(dialect: Dialect, row: Sequence[bool]) -> None:
    names = [name for name, _ in _strict_calls(dialect)]
    wrong = [name for name, is_null in zip(names, row, strict=True) if not is_null]
    assert wrong == [], wrong


def _calls_with_null(operation: Operation, dialect: Dialect) -> list[tuple[int, Sql]]:
    arguments = [_argument(operation, index) for index in range(len(operation.parameters))]
    if operation.variadic:
        arguments.append(arguments[-1])
    calls = []
    for index, argument in enumerate(arguments):
        if operation.parameter(index) not in ("constant", "function"):
            null = parsed(f"nullif({spark_text(argument.copy())}, {spark_text(argument.copy())})")
            given = [null if at == index else one.copy() for at, one in enumerate(arguments)]
            calls.append((index, dialect.forms[operation.name](*given)))
    return calls


def _argument(operation: Operation, index: int) -> Sql:
    special = SPECIAL.get(operation.name)
    if special is not None:
        return parsed(special[index])
    match operation.parameter(index):
        case "function":
            return parsed("f(x -> true)").expressions[0]
        case "constant":
            return constant("b")
        case type_:
            return parsed(SAMPLES[type_])

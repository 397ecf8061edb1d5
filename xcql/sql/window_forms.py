"""How windows are found in arrays: the items of a sequence, numbered from 1."""

from __future__ import annotations

from sqlglot import exp

from xcql.sql.dialect import (
    Sql,
    binary,
    both,
    call,
    case_,
    cast,
    constant,
    form,
    identifier,
    lambda_,
    text_literal,
)
from xcql.sql.dialect import column as column_


def _of(name: str, part: str) -> Sql:
    return exp.Dot(this=column_(name), expression=identifier(part))


def _struct(**parts: Sql) -> Sql:
    return call(
        "named_struct",
        *(one for name, value in parts.items() for one in (text_literal(name), value)),
    )


def _window(first: Sql, last: Sql, closed: Sql) -> Sql:
    return _struct(first=cast(first, "BIGINT"), last=cast(last, "BIGINT"), closed=closed)


def _no_windows() -> Sql:
    one = _window(constant(1), constant(1), constant(True))
    return call("slice", call("array", one), exp.Var(this="1"), exp.Var(this="0"))


@form
def windows_between_starts(firsts: Sql, size: Sql) -> Sql:
    """From each start to the item before the next one."""
    following = call("get", firsts.copy(), exp.Add(this=column_("i"), expression=exp.Var(this="1")))
    last = call("coalesce", exp.Sub(this=following, expression=constant(1)), size)
    body = _window(column_("p"), last, constant(True))
    return call("transform", firsts, lambda_("p i", body))


@form
def windows_to_ends(flags: Sql) -> Sql:
    """Windows that do not overlap, from flags that tell where one may start and where one ends."""
    at = exp.Add(this=_of("s", "at"), expression=constant(1))
    is_open = binary(">", _of("s", "first"), constant(0))
    first = case_(is_open, _of("s", "first"), _of("f", "starts"), at, constant(0))
    is_member = call("coalesce", exp.Or(this=is_open.copy(), expression=_of("f", "starts")), False)
    step = case_(
        both(is_member, _of("f", "ends")),
        _struct(
            at=at.copy(),
            first=constant(0),
            windows=call(
                "concat",
                _of("s", "windows"),
                call("array", _window(first, at.copy(), constant(True))),
            ),
        ),
        _struct(at=at.copy(), first=first.copy(), windows=_of("s", "windows")),
    )
    rest = call("array", _window(_of("s", "first"), _of("s", "at"), constant(False)))
    finish = case_(is_open.copy(), call("concat", _of("s", "windows"), rest), _of("s", "windows"))
    zero = _struct(at=constant(0), first=constant(0), windows=_no_windows())
    return call("aggregate", flags, zero, lambda_("s f", step), lambda_("s", finish))


@form
def windows_apart(candidates: Sql) -> Sql:
    """Of windows in the order of their starts those that begin after the one before has ended."""
    step = case_(
        binary(">", _of("w", "first"), _of("s", "reach")),
        _struct(
            reach=_of("w", "last"),
            windows=call("concat", _of("s", "windows"), call("array", column_("w"))),
        ),
        column_("s"),
    )
    zero = _struct(reach=constant(0), windows=_no_windows())
    return call(
        "aggregate", candidates, zero, lambda_("s w", step), lambda_("s", _of("s", "windows"))
    )


@form
def windows_of_length(size: Sql, length: Sql) -> Sql:
    """One window after the other, each of a number of items but for the last one."""
    count = exp.IntDiv(
        this=exp.Paren(
            this=exp.Sub(
                this=exp.Add(this=size.copy(), expression=length.copy()), expression=constant(1)
            )
        ),
        expression=length.copy(),
    )
    end = exp.Mul(this=column_("n"), expression=length.copy())
    first = exp.Add(
        this=exp.Mul(
            this=exp.Paren(this=exp.Sub(this=column_("n"), expression=constant(1))),
            expression=length.copy(),
        ),
        expression=constant(1),
    )
    body = _window(first, call("least", end, size.copy()), binary("<=", end.copy(), size.copy()))
    return case_(
        binary(">", size.copy(), constant(0)),
        call("transform", call("sequence", constant(1), count), lambda_("n", body)),
        _no_windows(),
    )

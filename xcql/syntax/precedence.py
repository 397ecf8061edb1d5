"""How tightly each operator binds: the levels of the XQuery grammar, from loose to tight."""

from __future__ import annotations

from enum import IntEnum


class Precedence(IntEnum):
    SEQUENCE = 0
    SINGLE = 1  # FLWOR, if, some, switch, try ...
    OR = 2
    AND = 3
    COMPARISON = 4
    CONCAT = 5
    RANGE = 6
    ADDITIVE = 7
    MULTIPLICATIVE = 8
    UNION = 9
    INTERSECT = 10
    INSTANCE = 11
    TREAT = 12
    CASTABLE = 13
    CAST = 14
    ARROW = 15
    UNARY = 16
    VALUE = 17  # validate, pragmas
    MAP = 18
    PATH = 19
    POSTFIX = 20
    PRIMARY = 21


BINARY = {
    "or": Precedence.OR,
    "and": Precedence.AND,
    "||": Precedence.CONCAT,
    "to": Precedence.RANGE,
    "+": Precedence.ADDITIVE,
    "-": Precedence.ADDITIVE,
    "*": Precedence.MULTIPLICATIVE,
    "div": Precedence.MULTIPLICATIVE,
    "idiv": Precedence.MULTIPLICATIVE,
    "mod": Precedence.MULTIPLICATIVE,
    "union": Precedence.UNION,
    "intersect": Precedence.INTERSECT,
    "except": Precedence.INTERSECT,
}

# a = b = c, 1 to 2 to 3 and the like are not allowed
NON_ASSOCIATIVE = frozenset(
    {
        Precedence.COMPARISON,
        Precedence.RANGE,
        Precedence.INSTANCE,
        Precedence.TREAT,
        Precedence.CASTABLE,
        Precedence.CAST,
    }
)

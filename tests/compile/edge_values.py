"""Atomic values at the edges of their types, and expressions over them.

A differential test: the reference evaluator and the engines answer every expression for every value
(or pair of values), many in one query. The values are elements of a stream, so nothing can be
computed before the query runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import xcql
from tests.compile.both_ways import native_sql
from tests.compile.conftest import world_store
from xcql.compile import NotNative
from xcql.xdm.serialize import escape_text

NOW = "2010-01-01"
TAGS = """<structure><tag type="snapshot" id="1" name="r"><tag type="temporal" id="2" name="i">
  <tag type="snapshot" id="3" name="v"/></tag></tag></structure>"""

# by type, as they are in the data
VALUES: Mapping[str, Sequence[str]] = {
    "xs:double": [
        "0",
        "-0",
        "1",
        "-1",
        "NaN",
        "INF",
        "-INF",
        "5e-324",
        "-2.2250738585072014E-308",
        "1.7976931348623157E308",
        "1e15",
        "1e16",
        "1e17",
        "1e18",
        "9.999999e20",
        "1e21",
        "1e22",
        "1e23",
        "123456789012345680",
        "9007199254740993",
        "4503599627370497.5",
        "0.1",
        "0.30000000000000004",
        "-0.5",
        "0.5",
        "1.5",
        "2.5",
        "-2.5",
        "999999.9",
        "1000000",
        "0.000001",
        "0.0000001",
        "-1.005",
        "1234567.891",
        "3.0000001E-5",
        "2e23",
        "100",
        "4.35",
        "0.49999999999999994",
    ],
    # their digits fit into SQL's types
    "moderate doubles": [
        "0",
        "-0",
        "1",
        "-1",
        "NaN",
        "INF",
        "-INF",
        "1e15",
        "0.1",
        "-0.5",
        "2.5",
        "999999.9",
        "-1.005",
        "1234567.891",
        "4.35",
        "0.000001",
    ],
    "xs:decimal": [
        "0",
        "-0.0",
        "1",
        "0.1",
        "-0.1",
        "2.5",
        "-2.5",
        "0.000001",
        "-0.000001",
        "12345678.123456",
        "99999999",
        "-0.5",
        "0.5",
        "1.005",
        "3",
        "1000000",
        "7.0",
        "10.10",
    ],
    # they cannot grow without overflow
    "long decimals": [
        "0.12345678901234567891",
        "-12345678901234567.12345678901234567891",
        "0.00000000000000000001",
        "99999999999999999",
        "0.5",
        "-0.99999999999999999999",
        "123456789.987654321",
    ],
    "xs:integer": [
        "0",
        "1",
        "-1",
        "7",
        "-7",
        "10",
        "999999",
        "1000000",
        "3037000499",
        "-2147483649",
        "15",
        "25",
        "-25",
    ],
    # they cannot grow without overflow
    "long integers": [
        "9223372036854775806",
        "-9223372036854775807",
        "9007199254740993",
        "1000000000000000001",
        "0",
    ],
    "xs:string": (
        "",
        " ",
        "a",
        "A",
        "aB c",
        " \t\n a  b ",
        "\u00a0a\u00a0",
        "\u0085\u2028\u007f\u009f",
        "a\r\nb",
        "Stra\u00dfe",
        "\u0130stanbul I\u0131",
        "\u039f\u0394\u039f\u03a3 \u03a3 \u03a3.",
        "\u01c4\u01c5\u01c6",
        "\ufb01\ufb03 \u0149",
        "e\u0301\u0302",
        "\u00e9",
        "\U0001f600\U0001f601",
        "\ufeffx",
        "\uffee\U00010400\ud7ff",
        "&<>\"'",
        "1",
        "-0",
        "1e6",
        "a-b-c",
        "%_\\$1",
        "true",
        "2003-02-28",
    ),
    "xs:boolean": ["true", "false", "1", "0"],
    "xs:dayTimeDuration": [
        "PT0S",
        "PT1S",
        "-PT1S",
        "PT0.000001S",
        "-PT0.000003S",
        "P1D",
        "-P1DT2H3M4.5S",
        "P10000DT1S",
        "PT100000H",
        "PT1M",
        "PT59.9S",
    ],
    "xs:yearMonthDuration": ["P0M", "P1M", "-P1M", "P1Y", "-P7M", "P9999Y", "P13M", "-P15M"],
    "xs:date": [
        "2003-02-28",
        "2004-02-29",
        "2003-12-31Z",
        "2003-12-31+14:00",
        "2003-12-31-14:00",
        "0001-01-02",
        "9999-12-30",
        "1582-10-10",
        "1970-01-01",
        "1969-12-31+05:30",
    ],
    "xs:dateTime": [
        "2003-02-28T01:02:03",
        "2003-12-31T23:59:59.999999Z",
        "2003-12-31T24:00:00",
        "1970-01-01T00:00:00",
        "2004-02-29T12:00:00.5+05:30",
        "0001-01-02T00:00:00",
        "9999-12-30T23:59:59.999999",
        "1582-10-10T00:00:00-14:00",
        "2003-10-26T02:30:00.000001",
    ],
    "xs:time": [
        "00:00:00",
        "24:00:00",
        "23:59:59.999999",
        "12:00:00+05:00",
        "12:00:00Z",
        "01:02:03.5-14:00",
    ],
}
# the target of casts, where it differs from the name of the values
_TYPES = {
    "moderate doubles": "xs:double",
    "long decimals": "xs:decimal",
    "long integers": "xs:integer",
}

_ANY = (
    "$x",
    "string($x)",
    'string-join(($x, $x), "|")',
    "$x castable as xs:string",
    "count(($x, $x))",
    "($x)[. = $x]",
    "if ($x = $x) then 1 else 2",
    "xs:untypedAtomic($x)",
    "<f a='{$x}'>{$x, $x}</f>",
)
_NUMBER = (
    "-$x",
    "+$x",
    "abs($x)",
    "floor($x)",
    "ceiling($x)",
    "round($x)",
    "round-half-to-even($x)",
    "round($x, 2)",
    "round-half-to-even($x, 2)",
    "round($x, -1)",
    "boolean($x)",
    "not($x)",
    "number($x)",
    "xs:boolean($x)",
    "xs:double($x)",
    "$x castable as xs:integer",
    "$x + 1",
    "$x * 2",
    "$x - 0.5",
    "$x div 3",
    "$x = 0",
    "$x lt 1",
    "$x ge -0.5",
    "$x = (0, 1)",
    "min(($x, 1))",
    "max(($x, 1))",
    "sum(($x, $x))",
    "avg(($x, 1))",
    "$x instance of xs:decimal",
    "switch ($x) case 0 return 'zero' case 1 return 'one' default return 'other'",
    "subsequence((1, 2, 3), $x)",
    'substring("hello", $x)',
    'substring("hello", 2, $x)',
    "math:sqrt($x)",
    "($x, $x + 1, $x) => distinct-values()",
    "index-of((0, 1, $x), $x)",
    "deep-equal($x, $x)",
)
_WHOLE_NUMBER = (
    "xs:integer($x)",
    "xs:decimal($x)",
    "$x idiv 3",
    "$x mod 3",
    "$x div 7",
    "$x * 1.5",
    'format-integer(xs:integer($x), "000")',
)
# operations that overflow for long decimals
_GROWS = re.compile(r"\$x [*+d]|sum|avg|\(\$x, \$x \+|round\(\$x, -1")
_PICTURES = tuple(
    f'format-number($x, "{picture}")' for picture in ("0", "#,##0.00", "0.###", "000.0#")
)
_DURATION = ("-1 * $x", "$x * 2", "$x * 0.1", "$x * 1.5e0", "$x div 3", "$x div 0.7", "$x + $x")
_TIME_PARTS = ("year", "month", "day", "timezone")
EXPRESSIONS: Mapping[str, Sequence[str]] = {
    "xs:double": (*_ANY, *_NUMBER, "$x mod 3", "1 div $x"),
    "moderate doubles": (*_PICTURES, "$x idiv 3", "xs:integer($x)", "round($x, -1)"),
    "xs:decimal": (*_ANY, *_NUMBER, *_WHOLE_NUMBER, *_PICTURES),
    "long decimals": (*_ANY, *(one for one in _NUMBER if not _GROWS.match(one))),
    "xs:integer": (*_ANY, *_NUMBER, *_WHOLE_NUMBER, "1 to $x mod 5", "codepoints-to-string($x)"),
    "long integers": (*_ANY, "-$x", "abs($x)", "$x mod 7", "$x idiv 7", "$x - $x", "xs:double($x)"),
    "xs:string": (
        *_ANY,
        "upper-case($x)",
        "lower-case($x)",
        "normalize-space($x)",
        "string-length($x)",
        "string-join(string-to-codepoints($x) ! string(.), ' ')",
        "codepoints-to-string(string-to-codepoints($x))",
        "substring($x, 2)",
        "substring($x, 2, 1)",
        "substring($x, 0, 3)",
        'substring-before($x, "b")',
        'substring-after($x, "a")',
        'translate($x, "a\u0301\U0001f600&amp;", "b\U0001f601")',
        'contains($x, "")',
        'contains($x, "\u0301")',
        'starts-with($x, "a")',
        'ends-with($x, "&#xA;b")',
        'replace($x, "[a-c]", "<$0>")',
        'replace($x, "\\s", "_")',
        'replace($x, ".", "x")',
        'matches($x, "^.$")',
        'matches($x, "\\w")',
        'string-join(tokenize($x), "|")',
        'string-join(tokenize($x, "b|-"), "|")',
        "encode-for-uri($x)",
        'compare($x, "a")',
        "number($x)",
        "$x castable as xs:double",
        "$x castable as xs:integer",
        "$x castable as xs:boolean",
        "$x castable as xs:date",
        "$x castable as xs:dayTimeDuration",
        "boolean($x)",
        'concat($x, "x", $x)',
        "$x || 1",
        'contains-token($x, "b")',
        'codepoint-equal($x, "a")',
        "normalize-unicode($x)",
        "reverse((1, $x))",
    ),
    "xs:boolean": (
        *_ANY,
        "not($x)",
        "number($x)",
        "xs:integer($x)",
        "$x and true()",
        "$x lt true()",
    ),
    "xs:dayTimeDuration": (
        *_ANY,
        *_DURATION,
        "days-from-duration($x)",
        "hours-from-duration($x)",
        "seconds-from-duration($x)",
        'xs:dateTime("2003-02-28T00:00:00") + $x',
        'xs:date("2003-02-28") - $x',
        '$x div xs:dayTimeDuration("PT7S")',
        '$x lt xs:dayTimeDuration("PT0.5S")',
        "sum(($x, $x))",
        "avg(($x, $x))",
    ),
    "xs:yearMonthDuration": (
        *_ANY,
        *_DURATION,
        "years-from-duration($x)",
        "months-from-duration($x)",
        'xs:dateTime("2004-02-29T00:00:00") + $x',
        'xs:date("2004-01-31") - $x',
        '$x div xs:yearMonthDuration("P7M")',
    ),
    "xs:date": (
        *_ANY,
        *(f"{part}-from-date($x)" for part in _TIME_PARTS),
        "xs:dateTime($x)",
        'xs:date("2003-02-28") - $x',
        '$x + xs:dayTimeDuration("PT25H")',
        '$x + xs:yearMonthDuration("P1M")',
        '$x lt xs:date("2003-12-31")',
        'format-date($x, "[D01].[M01].[Y0001]")',
        'adjust-date-to-timezone($x, xs:dayTimeDuration("-PT5H"))',
    ),
    "xs:dateTime": (
        *_ANY,
        *(f"{part}-from-dateTime($x)" for part in (*_TIME_PARTS, "hours", "minutes", "seconds")),
        "xs:date($x)",
        "xs:time($x)",
        'xs:dateTime("2003-02-28T00:00:00") - $x',
        '$x + xs:dayTimeDuration("PT0.000001S")',
        '$x - xs:yearMonthDuration("P1M")',
        '$x le xs:dateTime("2003-12-31T00:00:00+01:00")',
        'format-dateTime($x, "[Y0001]-[M01]-[D01] [H01]:[m01]:[s01]")',
        'adjust-dateTime-to-timezone($x, xs:dayTimeDuration("PT5H30M"))',
        "$x + 0.5",
    ),
    "xs:time": (*_ANY, "hours-from-time($x)", "seconds-from-time($x)"),
}

_COMPARED = ("$x = $y", "$x != $y", "$x lt $y", "$x ge $y", "($x, $y)[. = $y][1]")
_EXTREMES = ("min(($x, $y))", "max(($x, $y))", "distinct-values(($x, $y))")
PAIRS: Mapping[str, Sequence[str]] = {
    "xs:double": (
        *_COMPARED,
        *_EXTREMES,
        "$x + $y",
        "$x - $y",
        "$x * $y",
        "$x div $y",
        "$x mod $y",
        "sum(($x, $y))",
        "avg(($x, $y))",
    ),
    "xs:decimal": (
        *_COMPARED,
        *_EXTREMES,
        "$x + $y",
        "$x - $y",
        "$x * $y",
        "$x div $y",
        "$x mod $y",
    ),
    "xs:integer": (*_COMPARED, "$x + $y", "$x * $y", "$x div $y", "$x idiv $y", "$x mod $y"),
    "xs:string": (*_COMPARED, "compare($x, $y)", "contains($x, $y)", "substring-after($x, $y)"),
    "xs:dayTimeDuration": (*_COMPARED, "$x + $y", "$x - $y", "$x div $y"),
    "xs:yearMonthDuration": (*_COMPARED, "$x - $y", "$x div $y"),
    "xs:date": (*_COMPARED, "$x - $y"),
    "xs:dateTime": (*_COMPARED, "$x - $y"),
}

_ORDERS = tuple(
    f"for $i in ITEMS let $x := TYPED order by $x {direction} empty {empty} return $i/@n/string()"
    for direction in ("ascending", "descending")
    for empty in ("least", "greatest")
)
_GROUPS = (
    "for $i in ITEMS let $x := TYPED group by $x return <g x='{$x}' n='{$i/@n}'/>",
    "for $i in ITEMS let $x := TYPED order by $i/@n descending group by $x return <g x='{$x}'/>",
    "distinct-values(for $i in ITEMS return TYPED)",
    "distinct-values(for $i in ITEMS order by $i/@n descending return TYPED)",
)
_TOTALS = (
    "sum(for $i in ITEMS return TYPED)",
    "avg(for $i in ITEMS return TYPED)",
    "for $i in ITEMS let $x := TYPED group by $x return sum($i ! TYPED)",
    "for $i in ITEMS let $x := TYPED group by $x return avg($i ! TYPED)",
)
_LIMITS = ("min(for $i in ITEMS return TYPED)", "max(for $i in ITEMS return TYPED)")
# over all values of a type together; TYPED is the value of $i
TOGETHER: Mapping[str, Sequence[str]] = {
    "xs:double": (*_ORDERS, *_GROUPS, *_TOTALS, *_LIMITS),
    "xs:decimal": (*_ORDERS, *_GROUPS, *_TOTALS, *_LIMITS),
    "xs:integer": (*_ORDERS, *_GROUPS, *_TOTALS, *_LIMITS),
    "xs:string": (*_ORDERS, *_GROUPS, *_LIMITS),
    "xs:boolean": (*_ORDERS, *_GROUPS, *_LIMITS),
    "xs:dayTimeDuration": (*_ORDERS, *_GROUPS, *_TOTALS, *_LIMITS),
    "xs:yearMonthDuration": (*_ORDERS, *_GROUPS, *_TOTALS, *_LIMITS),
    "xs:date": (*_ORDERS, *_GROUPS, *_LIMITS),
    "xs:dateTime": (*_ORDERS, *_GROUPS, *_LIMITS),
}


def edge_store(folder: Path) -> Path:
    """A store of all values: `<i t="xs:double"><v>-0</v></i>`."""
    fillers = []
    for kind, texts in VALUES.items():
        for text in texts:
            written = escape_text(text).replace("\n", "&#xA;")
            fillers.append(f'<i t="{kind}" n="{len(fillers) + 1}"><v>{written}</v></i>')
    holes = "".join(f'<hole id="{number}"/>' for number in range(1, len(fillers) + 1))
    body = "".join(
        f'<filler id="{number}" tsid="2" validTime="2001-01-01">{one}</filler>'
        for number, one in enumerate(fillers, 1)
    )
    text = f'<f><filler id="0" tsid="1"><r>{holes}</r></filler>{body}</f>'
    return world_store(folder, {"s": text}, {"s": TAGS})


@dataclass(frozen=True, slots=True)
class Engines:
    """The evaluator and the engine of a session, which are compared over its store."""

    session: xcql.Session

    def expected(self, query: str) -> list[str]:
        file = self.session.store.parent / "s.xml"
        streams = {"s": (file, self.session.tags("s"))}
        return [one.xml for one in xcql.evaluate(query, streams=streams, now=NOW)]

    def found(self, query: str) -> list[str]:
        return self.session.query(query, now=NOW).to_xml()

    def differences(self, head: str, row: str, expressions: Sequence[str]) -> list[str]:
        """The differences in the expressions, for the tuples of some clauses; `row` names a tuple.

        Where an expression fails in the evaluator, the engine does not run it.
        """

        def query(parts: Sequence[str]) -> str:
            cells = "".join(f"<e>{{ {part} }}</e>" for part in parts)
            return f'{head} return <row n="{{ {row} }}">{cells}</row>'

        tried = [f'try {{ {one} }} catch * {{ "failed: " || $err:code }}' for one in expressions]
        wanted = _rows(self.expected(query(tried)))
        guarded = []
        for number, one in enumerate(expressions):
            failed = [name for name, cells in wanted.items() if "failed: " in cells[number]]
            names = f'" {" ".join(failed)} "'
            is_failed = f'contains({names}, concat(" ", {row}, " "))'
            guarded.append(f"if ({is_failed}) then () else ({one})" if failed else one)
        found = _rows(self.found(query(guarded)))
        assert list(found) == list(wanted)
        return [
            f"{head} [{name}] {one}: {wanted[name][number]} but {found[name][number]}"
            for number, one in enumerate(expressions)
            for name in wanted
            if "failed: " not in wanted[name][number]
            and wanted[name][number] != found[name][number]
        ]


_CELL = re.compile(r"<e>(.*?)</e>|<e/>", re.DOTALL)


def _rows(items: Sequence[str]) -> dict[str, list[str]]:
    """The cells of each row as they were written, with empty elements in one form."""
    rows = {}
    for item in items:
        name = item.partition('n="')[2].partition('"')[0]
        cells = [one[1] or "" for one in _CELL.finditer(item)]
        rows[name] = [one.replace("></f>", "/>") for one in cells]
    return rows


def typed(kind: str, node: str) -> str:
    return f"{_TYPES.get(kind, kind)}({node}/v)"


def is_native(expression: str, kind: str) -> bool:
    """Whether SQL expresses all of it, for operands of this type."""
    cast = _TYPES.get(kind, kind)
    head = f'for $v in ("1", "2") let $x := {cast}($v), $y := {cast}($v) return '
    try:
        native_sql(head + expression)
    except NotNative:
        return False
    return True

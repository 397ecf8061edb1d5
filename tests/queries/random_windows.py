"""Random window clauses: every kind of start and end, over atomic values and nodes."""

from __future__ import annotations

from random import Random
from typing import NamedTuple


class _Source(NamedTuple):
    """A sequence, and how to get a number from an item; `{}` is the variable."""

    sequence: str
    value: str
    is_nodes: bool = False


_READINGS = 'stream("station")//reading'
# sources on their own, and those that depend on a variable of an outer clause, `$o`
_ALONE = (
    _Source("(3, 1, 4, 1, 5, 9, 2, 6)", "{}"),
    _Source("(2.5, 1.0, 2.5)", "{}"),
    _Source("()", "{}"),
    _Source("7", "{}"),
    _Source('("b", "a", "ccc", "")', "string-length({})"),
    _Source('("b", 1, 2.5, true())', "string-length(string({}))"),
    _Source("(1 to 12)[. mod 3 ne 0]", "{}"),
    _Source(_READINGS, "number({}/speed)", is_nodes=True),
    _Source(f"{_READINGS}/temperature", "string-length({})", is_nodes=True),
    _Source(f"{_READINGS}/temperature/string()", "string-length({})"),
    _Source(f"{_READINGS}/speed/xs:decimal(.)", "{}"),
    _Source(f"reverse({_READINGS})", "number({}/speed)", is_nodes=True),
    _Source(
        f"(for $r in {_READINGS} order by number($r/speed) descending, vtFrom($r) return $r)",
        "number({}/speed)",
        is_nodes=True,
    ),
    _Source('stream("station")//(mode | zone)', "string-length({})", is_nodes=True),
    _Source('(stream("station")//zone, stream("station")//mode)', "string-length({})", True),
    _Source('stream("station")//station', "count({}/reading)", is_nodes=True),
    _Source('stream("station")//station/@id', "string-length({})", is_nodes=True),
    _Source(
        f"for $r in {_READINGS} return <n>{{ $r/speed/text() }}</n>",
        "string-length({})",
        is_nodes=True,
    ),
)
_OUTER = (
    ('for $o in stream("station")//station', "$o/reading", "number({}/speed)", True),
    ('for $o in stream("station")//station', "$o/mode", "string-length({})", True),
    ('for $o in stream("station")//station', "$o/reading/speed/xs:decimal(.)", "{}", False),
    ('for $o at $n in stream("station")//station', "1 to $n", "{}", False),
    ("for $o in (0, 3, 5)", "1 to $o", "{}", False),
    ("for $o in (2, 4)", f"{_READINGS}[position() <= $o]", "number({{}}/speed)", True),
    ('for $o in stream("station")//station order by $o/name descending, vtFrom($o)',
     "($o/reading, $o/mode)", "string-length({})", True),
    ('for $o in stream("station")//station group by $z := string($o/zone)',
     "$o/reading", "number({}/speed)", True),
)  # fmt: skip


def query(number: int) -> str:
    """The query of a number."""
    random = Random(number)
    outer, source = "", random.choice(_ALONE)
    if random.random() < 0.4:
        outer, sequence, value, is_nodes = random.choice(_OUTER)
        source = _Source(sequence, value.replace("{{}}", "{}"), is_nodes)
    kind = random.choice(("tumbling", "tumbling", "sliding"))
    clause, names = _clause(random, source, kind)
    rest = _rest(random, source, names)
    text = f"{outer} {clause} {rest}".strip()
    match random.randrange(6):
        case 0 if outer:
            first, inner = text.split(" for ", 1) if text.count(" for ") == 1 else (text, "")
            return f"{first} return <o>{{ for {inner} }}</o>" if inner else text
        case 1:
            return f"<all>{{ {text} }}</all>"
        case 2:
            return f"let $all := ({text}) return (count($all), $all[last()])"
    return text


def _clause(random: Random, source: _Source, kind: str) -> tuple[str, list[str]]:
    """A window clause, and the numbers that clauses after it can use."""
    start, numbers = _condition(random, source, "s", [])
    end = ""
    if kind == "sliding" or random.random() < 0.75:
        words = random.choice(("end", "only end"))
        condition, more = _condition(random, source, "e", numbers)
        end = f" {words} {condition}"
        numbers += more
    sequence = source.sequence
    return f"for {kind} window $w in {sequence} start {start}{end}", numbers


def _condition(
    random: Random, source: _Source, own: str, before: list[str]
) -> tuple[str, list[str]]:
    """A condition with some of its variables, and the numbers that these are."""
    kinds = [("", own), ("at", f"{own}_at"), ("previous", f"{own}_before"), ("next", f"{own}_next")]
    chosen = [pair for pair in kinds if random.random() < 0.6]
    names = " ".join(f"{word} ${name}".strip() for word, name in chosen)
    numbers = [
        f"${name}" if word == "at" else source.value.format(f"${name}") for word, name in chosen
    ]
    if source.value != "{}" and "number(" not in source.value:
        # functions of one item fail for none, and are 0 for none: a comparison never fails
        numbers = [
            one if word == "at" or not word else f"sum(${name} ! {source.value.format('.')})"
            for one, (word, name) in zip(numbers, chosen, strict=True)
        ]
    return f"{names} when {_test(random, numbers, before)}".strip(), numbers


def _test(random: Random, own: list[str], before: list[str]) -> str:
    known = [*own, *before]
    match random.randrange(8):
        case 0:
            return "true()"
        case 1 if random.random() < 0.3:
            return "false()"
        case 2 if own and before:
            one, other = random.choice(own), random.choice(before)
            sign = random.choice(("=", ">=", ">", "<"))
            return f"{one} - {other} {sign} {random.randrange(4)}"
        case 3 if known:
            return f"{random.choice(known)} mod {random.choice((2, 3))} = {random.randrange(2)}"
        case 4 if len(known) > 1:
            one, other = random.sample(known, 2)
            return f"{one} {random.choice(('<', '>', '<=', 'ne', '!='))} {other}"
        case 5 if known:
            limit = random.choice((1, 4, 9))
            return f"empty({random.choice(known)}) or {random.choice(known)} > {limit}"
    if not known:
        return "true()"
    return f"{random.choice(known)} {random.choice(('>', '<', '='))} {random.choice((1, 2, 4, 5))}"


def _rest(random: Random, source: _Source, numbers: list[str]) -> str:
    """Clauses after the window clause, and what is returned."""
    values = [f"({one})" for one in numbers] or ["count($w)"]
    item = source.value.format(".")
    parts = [
        "count($w)",
        f"sum($w ! {item})",
        "count($w[2])",
        "string-join($w ! string(), '|')",
        f"max($w ! {item})",
        f"count($w[{item} > 2])",
        "string($w[last()])",
        "count(tail($w))",
        "string-join(for $x at $i in $w where $i mod 2 = 1 return string($x), ',')",
        random.choice(values),
    ]
    if source.is_nodes:
        parts += ["count($w/..)", "count($w/*)", "$w[1]", "string-join($w/* ! name(), ' ')"]
    chosen = random.sample(parts, 3)
    result = f"<w a='{{{chosen[0]}}}' b='{{{chosen[1]}}}'>{{{chosen[2]}}}</w>"
    if "$w[1]" in chosen[:2]:
        result = f"<w>{{{chosen[0]}, {chosen[1]}, {chosen[2]}}}</w>"
    match random.randrange(8):
        case 0:
            return f"where count($w) > 1 return {result}"
        case 1:
            return f"order by count($w) descending return {result}"
        case 2:
            return "group by $n := count($w) return <g n='{$n}'>{count($w)}</g>"
        case 3:
            return f"count $c return <c n='{{$c}}'>{result}</c>"
        case 4:
            return "return $w"
        case 5:
            inner = "for tumbling window $v in $w start at $p when $p mod 2 = 1"
            return f"return <v>{{ {inner} return count($v) }}</v>"
    return f"return {result}"

"""Text that some stage on the way to an answer might misinterpret, and queries full of it.

Everything is drawn from a seed: `world(seed)` is the streams of a store, `query(world, number)`
is one query over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from xml.sax.saxutils import escape, quoteattr

# what `${env:...}` would show if it were substituted
CANARY = "XCQL_TEST_CANARY"
SECRET = "s3cr'et\"canary"

# text for literals, values, ids and names of streams and files
TEXTS = (
    "${env:XCQL_TEST_CANARY}",
    "${system:java.home}",
    "${spark.app.name}",
    "$${env:XCQL_TEST_CANARY}}",
    "{x}",
    "__SQLGLOT__LB__",
    "two\n  lines",
    "{{x}}",
    "{0}",
    "{",
    "}",
    "{s_a}",
    ":now",
    ":x",
    "?",
    "'",
    "''",
    '"',
    "`",
    "``",
    "\\",
    "\\\\",
    "\\'",
    "\\n",
    "\\u0041",
    "\\$1",
    "'; DROP TABLE x; --",
    "/*",
    "*/",
    "/*+ BROADCAST(x) */",
    "--",
    "# no comment",
    "%s",
    "%1$s",
    "%",
    "%20",
    "$1",
    "$",
    "\\1",
    "(?i)a",
    "[a-z]*",
    ".*",
    "^$",
    "$.a[0]",
    "yyyy-MM-dd'T'HH",
    "NULL",
    "null",
    "true",
    "now",
    "start",
    "-0",
    "NaN",
    "1e3",
    " x ",
    "",
    "a\tb",
    "a b",
    "é",
    "ﬁ",
    "ß",
    "e\u0301",
    "\U0001f600",
    "XCQL|0|x",
    "<xcql-error e30=>",
    "xcql_table_0_",
    "xcql_parts_",
    "xcql_evaluate_1(",
    "r'x'",
    "X'00'",
    "http://localhost:1/x",
    "file:///etc/passwd",
    "]]>",
    "&lt;",
    "<a/>",
    "&",
)
# names of variables, elements and attributes
NAMES = (
    *"abdefghijklmnopqrstuvwxyz_AKI",
    "ſ",
    "ı",
    "İ",
    "é",
    "a.b",
    "a-b",
    "x_2",
    "x.2",
    "_text",
    "_start",
    "_length",
    "element",
    "element_key",
    "item",
    "item_key",
    "item.key",
    "items",
    "key",
    "key_0",
    "parent",
    "number",
    "filler",
    "raw",
    "places",
    "place",
    "place_key",
    "holes",
    "hole",
    "tag",
    "since",
    "until",
    "namespaces",
    "around",
    "answer",
    "part",
    "piece",
    "unit",
    "one",
    "rank",
    "text",
    "inner_text",
    "inner_state",
    "col1",
    "now",
    "position",
    "select",
    "from",
    "where",
    "join",
    "lateral",
    "view",
    "table",
    "values",
    "null",
    "true",
    "case",
    "end",
    "and",
    "not",
    "in",
    "is",
    "as",
    "left",
    "order",
    "group",
    "interval",
    "date",
    "timestamp",
    "array",
    "struct",
    "map",
    "user",
    "env",
    "args",
    "sqlQuery",
)


@dataclass(frozen=True, slots=True)
class World:
    """A stream with such names and values, and what a query can use of it."""

    seed: int
    stream: str
    root: str
    tag: str  # temporal
    leaf: str  # inside it
    attribute: str
    fragments: str
    tags: str


def world(seed: int) -> World:
    draw = Random(f"world {seed}")
    stream = draw.choice([one for one in TEXTS if one.strip() == one and one])
    # an element called `hole` is always a hole
    root, tag, leaf = draw.sample([one for one in NAMES if one != "hole"], 3)
    attribute = draw.choice(NAMES)
    ids = draw.sample([one for one in TEXTS if one.strip() == one and one], 4)
    tsids = draw.sample([one for one in TEXTS if one.strip() == one and one], 3)
    versions = [
        _filler(ids[n], tsids[1], f"2003-0{month}-01", _element(draw, tag, leaf, attribute))
        for n in range(4)
        for month in range(1, draw.randint(2, 4))
    ]
    holes = "".join(f"<hole id={quoteattr(one)}/>" for one in ids)
    first = _filler("0", tsids[0], "2003-01-01", f"<{root}>{holes}</{root}>")
    tags = (
        f'<stream:structure><tag type="snapshot" id={quoteattr(tsids[0])} name="{root}">'
        f'<tag type="temporal" id={quoteattr(tsids[1])} name="{tag}">'
        f'<tag type="snapshot" id={quoteattr(tsids[2])} name="{leaf}"/></tag></tag>'
        "</stream:structure>"
    )
    fragments = f"<fragments>{first}{''.join(versions)}</fragments>"
    return World(seed, stream, root, tag, leaf, attribute, fragments, tags)


def _filler(id: str, tsid: str, time: str, body: str) -> str:
    attributes = f"id={quoteattr(id)} tsid={quoteattr(tsid)} validTime={quoteattr(time)}"
    return f"<filler {attributes}>{body}</filler>"


def _element(draw: Random, tag: str, leaf: str, attribute: str) -> str:
    leaves = "".join(
        f"<{leaf}>{escape(draw.choice((*TEXTS, '1', '2.5', '17')))}</{leaf}>"
        for _ in range(draw.randint(0, 3))
    )
    value = quoteattr(draw.choice(TEXTS), {"\t": "&#9;"})
    return f"<{tag} {attribute}={value}>{leaves}</{tag}>"


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    variables: dict[str, str]


def query(world: World, number: int) -> Query:
    """A query that has such text wherever text is allowed."""
    draw = Random(f"query {world.seed} {number}")
    x, y, z = draw.sample(NAMES, 3)
    stream = literal(world.stream)
    shape = _SHAPES[number % len(_SHAPES)] if number < len(_SHAPES) else draw.choice(_SHAPES)
    text = shape.format(
        s=f"stream({stream})",
        root=world.root,
        tag=world.tag,
        leaf=world.leaf,
        attribute=world.attribute,
        x=f"${x}",
        y=f"${y}",
        z=f"${z}",
        name=draw.choice(NAMES),
        t=literal(draw.choice(TEXTS)),
        u=literal(draw.choice(TEXTS)),
        given="$given",
    )
    variables = {}
    if "$given" in text:
        text = f"declare variable $given external; {text}"
        variables["given"] = draw.choice([one for one in TEXTS if not one.startswith("<")])
    return Query(text, variables)


def literal(value: str) -> str:
    """A string literal of XQuery."""
    return '"' + value.replace("&", "&amp;").replace('"', '""') + '"'


_SHAPES = (
    "{s}//{leaf}/concat(., {t}, {u})",
    "{s}//{tag}[@{attribute} = {t}]/@{attribute}/string()",
    "for {x} in {s}//{tag}, {y} in ({t}, {u}) return concat({x}/@{attribute}, {y})",
    "for {x} at {y} in {s}//{leaf} where {x} != {t} order by {x} descending, {y} return"
    " <{name} {name}='{{{x}}}'>{{{y}, {u}}}</{name}>",
    "for {x} in {s}//{leaf} group by {y} := string({x}) order by {y} return ({y}, count({x}))",
    "for {x} in {s}//{tag} let {y} := {x}/{leaf} return string-join(({y}, {t}), {u})",
    "{s}//{leaf}/replace(., '[a-z]+', {t})",
    "{s}//{leaf}/tokenize(., {t})",
    "{s}//{leaf}/translate(., {t}, {u})",
    "{s}//{leaf}[contains(., {t})]/substring-after(., {t})",
    "for {x} in {s}//{tag}/{leaf} return element {{'{name}'}} {{attribute {name} {{{x}}}, {t}}}",
    "some {x} in {s}//{leaf}, {y} in ({t}, {u}) satisfies {x} = {y}",
    "declare function local:f({x}, {y}) {{ ({x}, {y}, {t}) }}; local:f({s}//{leaf}/string(), {u})",
    "{s}//{leaf}/concat(., {given})",
    "for {x} in {s}//{leaf}[. = {given} or contains(., {t})] return ({x}, {given})",
    "for {x} in {s}//{tag}?[2003-01-15] return <{name}>{{{x}/*, {t}}}</{name}>",
    "for {x} in {s}//{tag}#[1, last] return (vtFrom({x}), {x}/@{attribute}/string(), {t})",
    "for {x} in {s}//{leaf} let {y} := number({x}) return (round({y}, 2), {y} + 1)",
    "for tumbling window {x} in {s}//{leaf}/string() start at {y} when {y} mod 2 = 1"
    " return string-join({x}, {t})",
    "let {x} := map {{ {t}: {s}//{leaf}/string(), {u}: {t} }} return {x}({t})",
    "for {x} in {s}//{leaf} return try {{ xs:integer({x}) }} catch * {{ concat({t}, {x}) }}",
    "for {x} in {s}//{leaf} return if (contains({x}, {t})) then"
    " error(xs:QName('{name}'), {u}, {x}) else {u}",
    "{s}//{leaf}/xs:integer(.)",
    "for {x} in {s}//{leaf}, {y} in {s}//{tag} where {x} = {y}/@{attribute} return {x}",
    "count({s}//{name}), {s}//@{name}/string(), {s}/{root}/{tag}[{leaf} = {t}]/{leaf}/text()",
    "for {x} in {s}//{tag} let {y} := {x}/{leaf}[1], {z} := {x}/.. return"
    " <a>{{{y}, count({z}), {t}}}</a>",
    "for {x} in distinct-values({s}//{leaf}) order by {x} return concat({x}, {t})",
    "{s}//{tag}/matches(@{attribute}, {t})",
    "({s}//{leaf}/upper-case(.), {s}//{leaf}/normalize-space({t}), {s}//{leaf}/encode-for-uri(.))",
    "for {x} in {s}//{leaf} return (string-to-codepoints({x})[1], compare({x}, {t}), {x} lt {u})",
)

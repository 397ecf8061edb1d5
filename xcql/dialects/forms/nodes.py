"""Nodes in SQL: what identifies and orders them, and their XML text."""

from __future__ import annotations

from sqlglot import exp

from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import let, template
from xcql.dialects.trees import (
    Sql,
    binary,
    call,
    case_,
    cast,
    constant,
    number,
    text_literal,
)

forms = Forms()

forms.calls(bytes_length="octet_length")
forms.templates(
    {
        "text_of_span raw start length": "CAST(substring(raw, start + 1, length) AS STRING)",
        "key_text key": "hex(key)",
        # the key of the filler that a place is in: without the four bytes of the hole
        "parent_key key": "substring(key, 1, length(key) - 4)",
        # where the hole of a place begins in the filler that it is in
        "hole_offset key": """CAST(conv(hex(substring(key, length(key) - 3, 4)), 16, 10)
          AS INT)""",
        # the fillers around one, from the outermost: their keys, and the offsets of the holes
        "places_above key": """CASE WHEN length(key) > 4 THEN transform(
          sequence(1, CAST((length(key) - 4) / 8 AS INT)), level -> named_struct(
            'key', substring(key, 1, 8 * level - 4),
            'offset', CAST(conv(hex(substring(key, 8 * level - 3, 4)), 16, 10) AS INT))) END""",
        # the place, in the filler at a depth, that leads to this key; NULL if that is not around it
        "place_above key depth": """CASE WHEN length(key) > 8 * depth + 4
          THEN substring(key, 1, 8 * depth + 8) END""",
        # a number as four bytes, which compare as the numbers do
        "four_bytes value": "unhex(lpad(hex(value), 8, '0'))",
    }
)


MARKUP = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"))
# what XML's serialisation writes as references everywhere, as a class of a regular expression
CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028"
NAME_OF_TAG = r"^<[^\s/>]+"
VALUE = r"""(?:"[^"]*"|'[^']*')"""
_NAME_AND_ATTRIBUTES = rf"^<[^\s/>]+(?:\s+[^\s=/>]+\s*=\s*{VALUE})*"
EMPTY_PAIR = r"(<[^<>/!?][^<>]*+)(?<!/)></[^<>]++>"
_COMMENTS_AND_REST = r"(?s)<!--.*?-->|<\?.*?\?>|(?:[^<]++|<(?![!?]))++"
# a lifespan in the data, after any other attributes
OLD_LIFESPAN = (
    rf"^(<[^\s/>]+(?:\s+(?!(?:vtFrom|vtTo)[\s=])[^\s=]+\s*=\s*{VALUE})*)"
    rf"\s+(?:vtFrom|vtTo)\s*=\s*{VALUE}"
)


# keys: the places of nodes, as bytes that compare in document order


@forms
def node_key(key: Sql, offset: Sql) -> Sql:
    return call("concat", key, forms["four_bytes"](offset))


@forms
def copy_key(key: Sql, *numbers: Sql) -> Sql:
    """The key of a copy of a filler, from that of its parent or place."""
    return call("concat", key, *map(forms["four_bytes"], numbers))


@forms
def key_after(key: Sql) -> Sql:
    return call("concat", key, constant(b"\xff"))


@forms
def key_below(key: Sql, name: Sql) -> Sql:
    return call("concat", key, cast(name, "BINARY"))


@forms
def escape_text(value: Sql) -> Sql:
    """Text as written between tags; `xcql.xdm.serialize` says which characters are references."""
    for sign, written in MARKUP:
        value = call("replace", value, text_literal(sign), text_literal(written))
    return _with_references(value, CONTROLS)


@forms
def escape_attribute(value: Sql) -> Sql:
    """Text as written between the double quotes of an attribute."""
    for sign, written in (*MARKUP, ('"', "&quot;")):
        value = call("replace", value, text_literal(sign), text_literal(written))
    return _with_references(value, CONTROLS + r"\t\n")


def _with_references(text: Sql, signs: str) -> Sql:
    """The text with character references for some rare characters."""
    return template(
        """CASE WHEN regexp_like(t, any_sign) THEN
          aggregate(array_distinct(regexp_extract_all(t, any_sign, 0)), t,
            (written, sign) -> replace(written, sign, concat('&#x', hex(ascii(sign)), ';')))
        ELSE t END""",
        t=text,
        any_sign=text_literal(f"[{signs}]"),
    )


def _name_of_tag(text: Sql) -> Sql:
    return call("regexp_extract", text, text_literal(NAME_OF_TAG), number(0))


@forms
def name_of_tag(text: Sql) -> Sql:
    """The name at the start of an element or a processing instruction."""
    name = text_literal(r"^<\??([^\s/>?]+)")
    return call("regexp_extract", text, name, number(1))


def _after_name(text: Sql) -> Sql:
    return call("regexp_replace", text, text_literal(NAME_OF_TAG), text_literal(""))


@forms
def with_lifespan(text: Sql, namespaces: Sql, begin: Sql, end: Sql) -> Sql:
    """The text of an element with a lifespan after its attributes, and declarations before."""
    body = template(
        """concat(
          regexp_extract(tag_text, name_of_tag, 0), namespaces,
          substr(tag_attributes, length(regexp_extract(tag_text, name_of_tag, 0)) + 1),
          ' vtFrom="', begin_text, '" vtTo="', end_text, '"',
          substr(tag_text, length(tag_attributes) + 1))""",
        name_of_tag=text_literal(NAME_OF_TAG),
        namespaces=namespaces,
        begin_text=begin,
        end_text=end,
    )
    attributes = template(
        "regexp_extract(tag_text, up_to_end, 0)", up_to_end=text_literal(_NAME_AND_ATTRIBUTES)
    )
    return let(text, "tag_text", let(attributes, "tag_attributes", body))


@forms
def element_around(start: Sql, content: Sql, end: Sql) -> Sql:
    """An element with its content, or an empty element; `start` lacks its `>`."""
    body = template(
        """CASE WHEN element_content = '' THEN '/>'
          ELSE concat('>', element_content, end_tag) END""",
        end_tag=end,
    )
    return call("concat", start, let(content, "element_content", body))


@forms
def empty_elements(text: Sql, commented: Sql) -> Sql:
    """The text with `<a/>` for each `<a></a>` that an empty hole has left.

    Between the signs of a tag in the serialiser's form no others stand; comments may hold anything.
    """
    pattern, written = text_literal(EMPTY_PAIR), text_literal("$1/>")
    if isinstance(commented, exp.Boolean) and not commented.this:
        return call("regexp_replace", text, pattern, written)
    return template(
        """array_join(transform(regexp_extract_all(t, parts, 0), part ->
          CASE WHEN startswith(part, '<!') OR startswith(part, '<?') THEN part
            ELSE regexp_replace(part, pattern, written) END), '')""",
        t=text,
        parts=text_literal(_COMMENTS_AND_REST),
        pattern=pattern,
        written=written,
    )


@forms
def with_namespaces(text: Sql, namespaces: Sql) -> Sql:
    if namespaces == text_literal(""):
        return text
    return case_(
        binary("=", namespaces, text_literal("")),
        text,
        call("concat", _name_of_tag(text), namespaces, _after_name(text)),
    )


@forms
def without_lifespan(text: Sql) -> Sql:
    for _ in range(2):
        text = call("regexp_replace", text, text_literal(OLD_LIFESPAN), text_literal("$1"))
    return text


@forms
def pieces(raw: Sql, holes: Sql, start: Sql, length: Sql) -> Sql:
    """The text between the holes in a span: positions of the holes before (-1: none), and text."""
    text = "CAST(substring(raw, CAST({0} + 1 AS INT), CAST({1} - ({0}) AS INT)) AS STRING)"
    end = "(start + length)"
    first_end = f"coalesce(get(found, 0).start, {end})"
    next_start = f"coalesce(get(found, i + 1).start, {end})"
    found = f"filter(holes, hole -> hole.start >= start AND hole.start < {end})"
    rest = f"""transform(found, (hole, i) -> named_struct('position', CAST(hole.start AS INT),
      'text', {text.format("(hole.start + hole.length)", next_start)}))"""
    first = f"""array(named_struct('position', CAST(-1 AS INT),
      'text', {text.format("start", first_end)}))"""
    span = {"start": start, "length": length}
    body = template(f"concat({first}, {rest})", raw=raw, **span)
    return let(template(found, holes=holes, **span), "found", body)

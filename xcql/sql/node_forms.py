"""Nodes in SQL: what identifies and orders them, and their XML text."""

from __future__ import annotations

from sqlglot import exp

from xcql.sql.dialect import (
    Sql,
    binary,
    both,
    call,
    case_,
    cast,
    column,
    constant,
    form,
    identifier,
    lambda_,
    let,
    text_literal,
)
from xcql.sql.templates import said

_MARKUP = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"))
# what XML's serialisation writes as references everywhere, as a class of a regular expression
_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028"
NAME_OF_TAG = r"^<[^\s/>]+"
VALUE = r"""(?:"[^"]*"|'[^']*')"""
_NAME_AND_ATTRIBUTES = rf"^<[^\s/>]+(?:\s+[^\s=/>]+\s*=\s*{VALUE})*"
_EMPTY_PAIR = r"(<[^<>/!?][^<>]*+)(?<!/)></[^<>]++>"
_COMMENTS_AND_REST = r"(?s)<!--.*?-->|<\?.*?\?>|(?:[^<]++|<(?![!?]))++"
# a lifespan that came with the data, after whatever other attributes stand before it
_OLD_LIFESPAN = (
    rf"^(<[^\s/>]+(?:\s+(?!(?:vtFrom|vtTo)[\s=])[^\s=]+\s*=\s*{VALUE})*)"
    rf"\s+(?:vtFrom|vtTo)\s*=\s*{VALUE}"
)


@form
def text_of_bytes(raw: Sql) -> Sql:
    return cast(raw, "STRING")


@form
def text_of_span(raw: Sql, start: Sql, length: Sql) -> Sql:
    return cast(
        call("substring", raw, exp.Add(this=start, expression=exp.Var(this="1")), length), "STRING"
    )


@form
def node_key(key: Sql, offset: Sql) -> Sql:
    return call("concat", key, four_bytes(offset))


@form
def key_after(key: Sql) -> Sql:
    return call("concat", key, constant(b"\xff"))


def four_bytes(number: Sql) -> Sql:
    """A number as four bytes, which compare as the numbers do."""
    return call("unhex", call("lpad", call("hex", number), exp.Var(this="8"), text_literal("0")))


def number_of_bytes(value: Sql) -> Sql:
    return cast(call("conv", call("hex", value), exp.Var(this="16"), exp.Var(this="10")), "INT")


@form
def key_below(key: Sql, name: Sql) -> Sql:
    return call("concat", key, cast(name, "BINARY"))


@form
def escape_text(value: Sql) -> Sql:
    """Text as it stands between tags; see `xcql.xdm.serialize` for what is a reference there."""
    for sign, written in _MARKUP:
        value = call("replace", value, text_literal(sign), text_literal(written))
    return _with_references(value, _CONTROLS)


@form
def escape_attribute(value: Sql) -> Sql:
    """Text as it stands between the double quotes of an attribute."""
    for sign, written in (*_MARKUP, ('"', "&quot;")):
        value = call("replace", value, text_literal(sign), text_literal(written))
    return _with_references(value, _CONTROLS + r"\t\n")


def _with_references(text: Sql, signs: str) -> Sql:
    """The text with a character reference for each of some characters, which are rare."""
    return said(
        """CASE WHEN regexp_like(t, any_sign) THEN
          aggregate(array_distinct(regexp_extract_all(t, any_sign, 0)), t,
            (written, sign) -> replace(written, sign, concat('&#x', hex(ascii(sign)), ';')))
        ELSE t END""",
        t=text,
        any_sign=text_literal(f"[{signs}]"),
    )


def _name_of_tag(text: Sql) -> Sql:
    return call("regexp_extract", text, text_literal(NAME_OF_TAG), exp.Var(this="0"))


def _after_name(text: Sql) -> Sql:
    return call("regexp_replace", text, text_literal(NAME_OF_TAG), text_literal(""))


@form
def with_lifespan(text: Sql, namespaces: Sql, begin: Sql, end: Sql) -> Sql:
    """The text of an element with a lifespan after its attributes, and declarations before."""
    body = said(
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
    attributes = said(
        "regexp_extract(tag_text, up_to_end, 0)", up_to_end=text_literal(_NAME_AND_ATTRIBUTES)
    )
    return let(text, "tag_text", let(attributes, "tag_attributes", body))


@form
def element_around(start: Sql, content: Sql, end: Sql) -> Sql:
    """An element with content, or an empty one where there is none; `start` lacks its `>`."""
    body = said(
        """CASE WHEN element_content = '' THEN '/>'
          ELSE concat('>', element_content, end_tag) END""",
        end_tag=end,
    )
    return call("concat", start, let(content, "element_content", body))


@form
def empty_elements(text: Sql, commented: Sql) -> Sql:
    """The text with `<a/>` for each `<a></a>`, which is left where nothing came into a hole.

    Between the signs of a tag in the serialiser's form no others stand; comments may hold anything.
    """
    pattern, written = text_literal(_EMPTY_PAIR), text_literal("$1/>")
    if isinstance(commented, exp.Boolean) and not commented.this:
        return call("regexp_replace", text, pattern, written)
    return said(
        """array_join(transform(regexp_extract_all(t, parts, 0), part ->
          CASE WHEN startswith(part, '<!') OR startswith(part, '<?') THEN part
            ELSE regexp_replace(part, pattern, written) END), '')""",
        t=text,
        parts=text_literal(_COMMENTS_AND_REST),
        pattern=pattern,
        written=written,
    )


@form
def with_namespaces(text: Sql, namespaces: Sql) -> Sql:
    if namespaces == text_literal(""):
        return text
    return case_(
        binary("=", namespaces, text_literal("")),
        text,
        call("concat", _name_of_tag(text.copy()), namespaces.copy(), _after_name(text.copy())),
    )


@form
def without_lifespan(text: Sql) -> Sql:
    for _ in range(2):
        text = call("regexp_replace", text, text_literal(_OLD_LIFESPAN), text_literal("$1"))
    return text


@form
def pieces(raw: Sql, holes: Sql, start: Sql, length: Sql) -> Sql:
    """The text between the holes in a span: positions of the holes before (-1: none), and text."""
    end = exp.Paren(this=exp.Add(this=start.copy(), expression=length))
    hole = column("hole")

    def of(what: Sql, name: str) -> Sql:
        return exp.Dot(this=what, expression=identifier(name))

    inside = lambda_(
        "hole",
        both(
            binary(">=", of(hole, "start"), start.copy()),
            binary("<", of(hole.copy(), "start"), end),
        ),
    )
    found = call("filter", holes, inside)

    def text(begin: Sql, finish: Sql) -> Sql:
        size_ = exp.Sub(this=finish, expression=begin.copy())
        return cast(
            call(
                "substring",
                raw.copy(),
                cast(exp.Add(this=begin, expression=exp.Var(this="1")), "INT"),
                cast(size_, "INT"),
            ),
            "STRING",
        )

    def piece(position: Sql, content: Sql) -> Sql:
        return call(
            "named_struct",
            text_literal("position"),
            cast(position, "INT"),
            text_literal("text"),
            content,
        )

    next_start = call(
        "coalesce",
        of(
            call("get", column("found"), exp.Add(this=column("i"), expression=exp.Var(this="1"))),
            "start",
        ),
        end.copy(),
    )
    after = exp.Paren(
        this=exp.Add(this=of(column("h"), "start"), expression=of(column("h"), "length"))
    )
    rest = call(
        "transform",
        column("found"),
        lambda_("h i", piece(of(column("h"), "start"), text(after, next_start))),
    )
    first_end = call(
        "coalesce", of(call("get", column("found"), exp.Var(this="0")), "start"), end.copy()
    )
    body = call(
        "concat",
        call("array", piece(exp.Var(this="-1"), text(exp.Paren(this=start.copy()), first_end))),
        rest,
    )
    return let(found, "found", body)

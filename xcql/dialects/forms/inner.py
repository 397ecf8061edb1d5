"""Elements and texts inside mixed content, found in its XML text when a query needs them.

The text is that of one element, well-formed. It is cut into tokens, which are gone through once;
places are offsets of bytes in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import let, template
from xcql.dialects.trees import Sql, text_literal

forms = Forms()


# comments, CDATA sections, processing instructions, tags, text; the repetitions are possessive, so
# that no text is too long
_TAG = r"""<(?:[^>"']++|"[^"]*+"|'[^']*+')*+>"""
_TOKEN = rf"(?s)<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|{_TAG}|[^<]++"
_NAME = r"^<([^\s/>]+)"
TOKEN, TAG, NAME = re.compile(_TOKEN), re.compile(_TAG), re.compile(_NAME)
_IS_START = "substr(inner_token, 1, 1) = '<' AND substr(inner_token, 2, 1) NOT IN ('/', '!', '?')"
_IS_END = "startswith(inner_token, '</')"
_CLOSES = "endswith(inner_token, '/>')"
_IS_TEXT = "substr(inner_token, 1, 1) <> '<' OR startswith(inner_token, '<![CDATA[')"


@forms
def inner_children(text: Sql, *names: Sql) -> Sql:
    """The child elements whose local names are among the given ones.

    Each is a struct of the place where it starts and where its parent does, its name as it is
    written, and its XML text.
    """
    return _elements(text, "= 1", names)


@forms
def inner_descendants(text: Sql, *names: Sql) -> Sql:
    """The descendant elements, as for `inner_children`, in document order."""
    return _elements(text, ">= 1", names)


def _elements(text: Sql, depth: str, names: tuple[Sql, ...]) -> Sql:
    places = {f"name{number}": name for number, name in enumerate(names)}
    wanted = f"IN ({', '.join(places)})"

    def found(start: str, parent: str, name: str) -> str:
        return f"""concat(inner_state.found, array(named_struct(
            'start', {start}, 'parent', {parent}, 'name', {name},
            'text', CAST(substring(CAST(inner_text AS BINARY), {start} + 1,
              inner_state.place + octet_length(inner_token) - {start}) AS STRING))))"""

    here, above = "element_at(inner_state.open, -1)", "element_at(inner_state.open, -2)"
    name = "regexp_extract(inner_token, name_of_tag, 1)"
    body = template(
        f"""sort_array(aggregate(
          regexp_extract_all(inner_text, tokens, 0),
          named_struct('place', 0,
            'open', slice(array(named_struct('start', 0, 'name', '')), 1, 0),
            'found', slice(array(
              named_struct('start', 0, 'parent', 0, 'name', '', 'text', '')), 1, 0)),
          (inner_state, inner_token) -> named_struct(
            'place', inner_state.place + octet_length(inner_token),
            'open', CASE
              WHEN {_IS_END} THEN slice(inner_state.open, 1, size(inner_state.open) - 1)
              WHEN {_IS_START} AND NOT {_CLOSES} THEN concat(inner_state.open,
                array(named_struct('start', inner_state.place, 'name', {name})))
              ELSE inner_state.open END,
            'found', CASE
              WHEN {_IS_END} AND size(inner_state.open) - 1 {depth}
                AND substring_index({here}.name, ':', -1) {wanted}
              THEN {found(f"{here}.start", f"{above}.start", f"{here}.name")}
              WHEN {_IS_START} AND {_CLOSES} AND size(inner_state.open) {depth}
                AND substring_index({name}, ':', -1) {wanted}
              THEN {found("inner_state.place", f"{here}.start", name)}
              ELSE inner_state.found END),
          inner_state -> inner_state.found))""",
        tokens=text_literal(_TOKEN),
        name_of_tag=text_literal(_NAME),
        **places,
    )
    return _with_text(text, body)


@forms
def string_of_xml(text: Sql) -> Sql:
    """The string value of an element; it is parsed only if it has more than tags and text."""
    string = template(
        """CASE WHEN contains(inner_text, '&') OR contains(inner_text, '<!')
            OR contains(inner_text, '<?') OR contains(inner_text, end_of_line)
          THEN xpath_string(inner_text, 'string(/)')
          ELSE regexp_replace(inner_text, tag, '') END""",
        end_of_line=text_literal("\r"),
        tag=text_literal(_TAG),
    )
    return _with_text(text, string)


@forms
def local_part(name: Sql) -> Sql:
    """A name without its prefix."""
    return template("substring_index(name, ':', -1)", name=name)


@forms
def inner_texts(text: Sql) -> Sql:
    """The text nodes that are children of an element: structs of their places and values.

    CDATA sections are part of the text around them; comments and processing instructions are not.
    """
    texts = template(
        f"""aggregate(
          regexp_extract_all(inner_text, tokens, 0),
          named_struct('place', 0, 'depth', 0, 'start', 0, 'run', '',
            'found', slice(array(named_struct('start', 0, 'text', '')), 1, 0)),
          (inner_state, inner_token) -> named_struct(
            'place', inner_state.place + octet_length(inner_token),
            'depth', CASE
              WHEN {_IS_END} THEN inner_state.depth - 1
              WHEN {_IS_START} AND NOT {_CLOSES} THEN inner_state.depth + 1
              ELSE inner_state.depth END,
            'start', CASE WHEN inner_state.run = '' THEN inner_state.place
              ELSE inner_state.start END,
            'run', CASE WHEN inner_state.depth = 1 AND ({_IS_TEXT})
              THEN concat(inner_state.run, inner_token) ELSE '' END,
            'found', CASE WHEN inner_state.run = '' OR {_IS_TEXT} THEN inner_state.found
              ELSE concat(inner_state.found,
                array(named_struct('start', inner_state.start, 'text', inner_state.run))) END),
          inner_state -> inner_state.found)""",
        tokens=text_literal(_TOKEN),
    )
    # a parser resolves entities, CDATA sections and line ends
    read = template(
        """filter(transform(texts, inner_run -> named_struct('start', inner_run.start, 'text',
            CASE WHEN regexp_like(inner_run.text, signs)
              THEN xpath_string(concat('<x>', inner_run.text, '</x>'), 'string(/)')
              ELSE inner_run.text END)),
          inner_run -> inner_run.text <> '')""",
        texts=texts,
        signs=text_literal("[&<\r]"),
    )
    return _with_text(text, read)


@forms
def inner_values(text: Sql, xpath: Sql, *names: Sql) -> Sql:
    """The values that an XPath finds, if elements with some names start one after the other.

    Looking for them takes a small part of the time that parsing takes.
    """
    values = template(
        "CASE WHEN regexp_like(inner_text, tags) THEN xpath(plain, path)"
        " ELSE slice(array(''), 1, 0) END",
        tags=text_literal(tags_in_order(name.this for name in names)),
        plain=_without_cdata(),
        path=xpath,
    )
    return _with_text(text, values)


def tags_in_order(names: Iterable[str]) -> str:
    """A pattern for texts in which elements with these names start one after the other.

    It always moves on to the next tag and never backtracks, so no text is too long for it.
    """
    tags = [f"<{re.escape(name)}" for name in names]
    return "^" + "".join(f"(?:[^<]++|(?!{tag})<)*+{tag}" for tag in tags)


def _without_cdata() -> Sql:
    """The text with CDATA sections as plain text: XPath treats them as separate nodes."""
    content = "substr(inner_token, 10, length(inner_token) - 12)"
    for sign, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        content = f"replace({content}, '{sign}', '{written}')"
    return template(
        f"""CASE WHEN contains(inner_text, '<![CDATA[')
          THEN array_join(transform(regexp_extract_all(inner_text, tokens, 0), inner_token ->
            CASE WHEN startswith(inner_token, '<![CDATA[') THEN {content}
              ELSE inner_token END), '')
          ELSE inner_text END""",
        tokens=text_literal(_TOKEN),
    )


def _with_text(text: Sql, body: Sql) -> Sql:
    return let(template("x", x=text), "inner_text", body)

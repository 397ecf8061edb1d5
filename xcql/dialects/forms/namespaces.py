"""The namespaces in scope of an element inside a filler, from the start tags around it."""

from __future__ import annotations

from xcql.dialects.forms.nodes import VALUE
from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import let, template
from xcql.dialects.trees import Sql, text_literal
from xcql.shred.namespaces import NO_DEFAULT

forms = Forms()


# possessive: otherwise Java uses stack space for each repetition of the group
_START_TAG = rf"^<(?:{VALUE}|[^>\"']++)*+>"
_ATTRIBUTE = rf"\s[^\s=]+\s*=\s*{VALUE}"
_DECLARED = r"^\s(xmlns(?::[^\s=]+)?)\s*="


def _declarations(start_tag: Sql) -> Sql:
    """The attributes of a start tag that declare namespaces, as they are written."""
    return template(
        "filter(regexp_extract_all(tag, attribute, 0), one -> regexp_like(one, declared))",
        tag=start_tag,
        attribute=text_literal(_ATTRIBUTE),
        declared=text_literal(_DECLARED),
    )


@forms
def namespaces_inside(raw: Sql, around: Sql, own: Sql, *starts: Sql) -> Sql:
    """The declarations that an element inherits: the nearest one of each prefix.

    `around` are those around the filler, `own` is the text of the element, `starts` are where the
    elements begin that it stands in, from the outermost.
    """
    found = [
        template(
            "regexp_extract_all(tag, attribute, 0)", tag=around, attribute=text_literal(_ATTRIBUTE)
        )
    ]
    for start in starts:
        rest = template("CAST(substring(raw, start + 1) AS STRING)", raw=raw, start=start)
        found.append(_declarations(_start_tag(rest)))
    every = template(
        f"concat({', '.join(f'tag{n}' for n, _ in enumerate(found))})", **_named(found)
    )
    nearest = template(
        """array_join(filter(every, (one, place) ->
            NOT exists(slice(every, place + 2, size(every)),
              nearer -> regexp_extract(nearer, declared, 1) = regexp_extract(one, declared, 1))
            AND NOT exists(here,
              mine -> regexp_extract(mine, declared, 1) = regexp_extract(one, declared, 1))),
            '')""",
        declared=text_literal(_DECLARED),
    )
    inside = let(every, "every", let(_declarations(_start_tag(own)), "here", nearest))
    return template(
        "CASE WHEN contains(CAST(raw AS STRING), 'xmlns') THEN inside ELSE around END",
        raw=raw,
        inside=inside,
        around=around,
    )


@forms
def without_no_default(around: Sql) -> Sql:
    """Declarations for the top of an answer: nothing around it has a default namespace."""
    return template("replace(around, nothing, '')", around=around, nothing=text_literal(NO_DEFAULT))


def _start_tag(text: Sql) -> Sql:
    return template("regexp_extract(text, tag, 0)", text=text, tag=text_literal(_START_TAG))


def _named(parts: list[Sql]) -> dict[str, Sql]:
    return {f"tag{number}": part for number, part in enumerate(parts)}

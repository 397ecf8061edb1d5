"""Characters behind the text: references, doubled quotes, line ends."""

from __future__ import annotations

import re

from xcql.diagnostics import error
from xcql.source import Span

_PREDEFINED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_REFERENCE = re.compile(r"&(#x[0-9A-Fa-f]+;|#[0-9]+;|[^\s&;\"'<]*;?)")


def normalize_line_ends(text: str) -> str:
    """As XML asks: every line end is a line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def string_value(span: Span) -> str:
    """The value of a string literal, which the span covers with its quotes."""
    text, quote = span.text, span.text[0]
    end = 1
    parts = []
    for match in _REFERENCE.finditer(text, 1, len(text) - 1):
        parts += [
            _plain(text[end : match.start()], quote),
            reference_value(
                Span(span.source, span.start + match.start(), span.start + match.end())
            ),
        ]
        end = match.end()
    return "".join([*parts, _plain(text[end:-1], quote)])


def _plain(text: str, quote: str) -> str:
    return normalize_line_ends(text).replace(quote * 2, quote)


def braced_uri(span: Span) -> str:
    """The namespace of `Q{uri}local` or `Q{uri}*`: references resolved, white space collapsed."""
    text = span.text[: span.text.rindex("}")]
    end = 2
    parts = []
    for match in _REFERENCE.finditer(text, end):
        parts += [
            text[end : match.start()],
            reference_value(
                Span(span.source, span.start + match.start(), span.start + match.end())
            ),
        ]
        end = match.end()
    return " ".join("".join([*parts, text[end:]]).split())


def reference_value(span: Span) -> str:
    """The character that `&lt;`, `&#65;` or `&#x41;` stands for."""
    name = span.text[1:]
    if not name.endswith(";") or name == ";":
        raise error("XPST0003", "a lone '&' cannot stand here", span, hints=["write it as '&amp;'"])
    name = name[:-1]
    if name in _PREDEFINED:
        return _PREDEFINED[name]
    if not name.startswith("#"):
        raise error(
            "XPST0003",
            f"'&{name};' is no reference that XQuery knows",
            span,
            hints=["there are &lt; &gt; &amp; &quot; &apos; and numbers such as &#233;"],
        )
    if not re.fullmatch(r"#(x[0-9A-Fa-f]+|[0-9]+)", name):
        raise error(
            "XPST0003",
            f"'&{name};' is no number of a character",
            span,
            hints=["write it as in &#233; or &#xE9;"],
        )
    digits = name[2:] if name.startswith("#x") else name[1:]
    # more digits than any character needs: no need to compute with them
    code = int(digits, 16 if name.startswith("#x") else 10) if len(digits.lstrip("0")) < 9 else -1
    if not is_xml_character(code):
        raise error("XQST0090", f"'&{name};' stands for no character that XML allows", span)
    return chr(code)


def is_xml_character(code: int) -> bool:
    return (
        code in (0x9, 0xA, 0xD)
        or 0x20 <= code <= 0xD7FF
        or 0xE000 <= code <= 0xFFFD
        or 0x10000 <= code <= 0x10FFFF
    )

"""The characters that the text stands for: references, doubled quotes, line ends."""

from __future__ import annotations

import re
from collections.abc import Callable

from xcql.diagnostics import error
from xcql.source import Span
from xcql.syntax.names import fold_space

_PREDEFINED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_REFERENCE = re.compile(r"&(#x[0-9A-Fa-f]+;|#[0-9]+;|[^\s&;\"'<]*;?)")


def normalize_line_ends(text: str) -> str:
    """Turn every line end into a line feed, as XML requires."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def string_value(span: Span) -> str:
    """The value of a string literal; the span includes the quotes."""
    quote = span.text[0]
    return _resolved(
        Span(span.source, span.start + 1, span.end - 1),
        lambda text: normalize_line_ends(text).replace(quote * 2, quote),
    )


def braced_uri_value(span: Span) -> str:
    """The URI of `Q{uri}name`; the span covers the whole name."""
    closing = span.text.index("}")
    return fold_space(_resolved(Span(span.source, span.start + 2, span.start + closing), str))


def _resolved(span: Span, plain: Callable[[str], str]) -> str:
    """A text with its references resolved; `plain` converts the text between them."""
    text = span.text
    end = 0
    parts = []
    for match in _REFERENCE.finditer(text):
        reference = Span(span.source, span.start + match.start(), span.start + match.end())
        parts += [plain(text[end : match.start()]), reference_value(reference)]
        end = match.end()
    return "".join([*parts, plain(text[end:])])


def reference_value(span: Span) -> str:
    """The character that `&lt;`, `&#65;` or `&#x41;` stands for."""
    name = span.text[1:]
    if not name.endswith(";") or name == ";":
        raise error("XPST0003", "unescaped '&' is not allowed", span, hints=["write it as '&amp;'"])
    name = name[:-1]
    if name in _PREDEFINED:
        return _PREDEFINED[name]
    if not name.startswith("#"):
        raise error(
            "XPST0003",
            f"'&{name};' is not a character reference of XQuery",
            span,
            hints=["use &lt; &gt; &amp; &quot; &apos; or a number such as &#233;"],
        )
    if not re.fullmatch(r"#(x[0-9A-Fa-f]+|[0-9]+)", name):
        raise error(
            "XPST0003",
            f"'&{name};' is not a valid character number",
            span,
            hints=["write it like &#233; or &#xE9;"],
        )
    digits = name[2:] if name.startswith("#x") else name[1:]
    # more digits than any character needs: skip the conversion
    code = int(digits, 16 if name.startswith("#x") else 10) if len(digits.lstrip("0")) < 9 else -1
    if not is_xml_character(code):
        raise error("XQST0090", f"'&{name};' is not a character that XML allows", span)
    return chr(code)


def is_xml_character(code: int) -> bool:
    return (
        code in (0x9, 0xA, 0xD)
        or 0x20 <= code <= 0xD7FF
        or 0xE000 <= code <= 0xFFFD
        or 0x10000 <= code <= 0x10FFFF
    )

"""matches, replace, tokenize, analyze-string."""

from __future__ import annotations

import re
from collections.abc import Iterator

from xcql.diagnostics import error
from xcql.evaluate.functions.strings import xml_split
from xcql.evaluate.registry import NAMESPACES, CallContext, function
from xcql.evaluate.regular_expressions import Regex, Wanted, compile_regex
from xcql.xdm.builder import TreeBuilder
from xcql.xdm.names import QName
from xcql.xdm.nodes import Node

_REFERENCE = re.compile(r"\\\\|\\\$|\$[0-9]+|[\\$]")


@function("fn:matches(xs:string?, xs:string, [xs:string]) as xs:boolean")
def matches(call: CallContext, text: str | None, pattern: str, flags: str = "") -> bool:
    return compile_regex(pattern, flags).is_found_in(text or "")


@function("fn:replace(xs:string?, xs:string, xs:string, [xs:string]) as xs:string")
def replace(
    call: CallContext, text: str | None, pattern: str, replacement: str, flags: str = ""
) -> str:
    regex = _not_empty(pattern, flags)
    if regex.is_literal:
        return replaced(text or "", regex, [replacement])
    return replaced(text or "", regex, replacement_parts(replacement, regex.pattern.groups))


def replaced(text: str, regex: Regex, template: list[str | int]) -> str:
    """The text with what matches replaced by texts and groups, given by their numbers."""
    wanted: Wanted = "groups" if any(isinstance(part, int) for part in template) else "where"
    pieces, position = [], 0
    for match in regex.found_in(text, wanted):
        pieces.append(text[position : match.start()])
        pieces += [
            part if isinstance(part, str) else (match.group(part) or "") for part in template
        ]
        position = match.end()
    return "".join([*pieces, text[position:]])


def _not_empty(pattern: str, flags: str) -> Regex:
    """The expression; FORX0003 if it matches the empty string."""
    regex = compile_regex(pattern, flags)
    if regex.is_found_in(""):
        raise error("FORX0003", f'the regular expression "{pattern[:80]}" matches the empty string')
    return regex


def replacement_parts(replacement: str, groups: int) -> list[str | int]:
    """A replacement as texts and group numbers."""
    parts: list[str | int] = []
    position = 0
    for match in _REFERENCE.finditer(replacement):
        parts.append(replacement[position : match.start()])
        position = match.end()
        found = match[0]
        if len(found) == 1:
            raise error(
                "FORX0004",
                f'in the replacement "{replacement[:80]}" there is a single {found}',
                hints=["write \\$ and \\\\ for the characters themselves"],
            )
        if found[0] == "\\":
            parts.append(found[1])
            continue
        digits = found[1:]
        # in $15 with fewer than 15 groups, the 5 is text
        length = len(digits)
        while length > 1 and int(digits[:length]) > groups:
            length -= 1
        number = int(digits[:length])
        parts += [number if number <= groups else "", digits[length:]]
    return [*parts, replacement[position:]]


@function("fn:tokenize(xs:string?) as xs:string*")
def tokenize_words(call: CallContext, text: str | None) -> Iterator[str]:
    return iter(xml_split(text or ""))


@function("fn:tokenize(xs:string?, xs:string, [xs:string]) as xs:string*")
def tokenize(call: CallContext, text: str | None, pattern: str, flags: str = "") -> Iterator[str]:
    return _tokens(text or "", _not_empty(pattern, flags))


def _tokens(text: str, regex: Regex) -> Iterator[str]:
    if not text:
        return
    position = 0
    for match in regex.found_in(text, "where"):
        yield text[position : match.start()]
        position = match.end()
    yield text[position:]


@function("fn:analyze-string(xs:string?, xs:string, [xs:string]) as element()")
def analyze_string(call: CallContext, text: str | None, pattern: str, flags: str = "") -> Node:
    regex = _not_empty(pattern, flags)
    subject = text or ""
    builder = TreeBuilder()
    builder.start_element(_name("analyze-string-result"), base_uri=call.static.base_uri)
    position = 0
    for match in regex.found_in(subject, "groups"):
        _text_element(builder, "non-match", subject[position : match.start()])
        builder.start_element(_name("match"))
        _write_groups(builder, match, regex.parents, 0, match.span())
        builder.end()
        position = match.end()
    _text_element(builder, "non-match", subject[position:])
    builder.end()
    return builder.result()


def _name(local: str) -> QName:
    return QName(NAMESPACES["fn"], local)


def _text_element(builder: TreeBuilder, local: str, text: str) -> None:
    if text:
        builder.start_element(_name(local))
        builder.text(text)
        builder.end()


def _write_groups(
    builder: TreeBuilder,
    match: re.Match[str],
    parents: tuple[int, ...],
    group: int,
    span: tuple[int, int],
) -> None:
    """The text of a group, with the groups inside it as elements."""
    position, end = span
    for number, parent in enumerate(parents, 1):
        start, stop = match.span(number)
        if parent != group or start < position or stop > end:
            continue
        builder.text(match.string[position:start])
        builder.start_element(_name("group"))
        builder.attribute(QName("", "nr"), str(number))
        _write_groups(builder, match, parents, number, (start, stop))
        builder.end()
        position = stop
    builder.text(match.string[position:end])

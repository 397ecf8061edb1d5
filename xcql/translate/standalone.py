"""A self-contained module: library inlined, fragments read by `doc()`, `now` fixed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from xcql.diagnostics import error
from xcql.model.tags import TagStructure
from xcql.model.time import format_time, parse_time, to_utc
from xcql.syntax.emitter import emit
from xcql.syntax.literals import StringLiteral
from xcql.syntax.prolog import ModuleImport, NamespaceDecl, VariableDecl
from xcql.translate import emission as to
from xcql.translate.api import Translation
from xcql.translate.cleaning import CleanCopy, clean_copy
from xcql.translate.library import library_text

_IMPORT = f'import module namespace {to.PREFIX} = "{to.NAMESPACE}" at "xcql.xqm";\n'
_HEAD = re.compile(r'\A.*?module namespace xcql = "urn:xcql";\n', re.DOTALL)
_NOW = re.compile(r"(declare variable \$xcql:now as xs:dateTime) external :=[^;]*;")


@dataclass(frozen=True, slots=True)
class Standalone:
    """A self-contained module, and the copies of fragment files that it needs."""

    text: str
    copies: tuple[CleanCopy, ...] = ()


def standalone(
    translation: Translation,
    fragments: Mapping[str, Path | Sequence[Path]],
    tags: Mapping[str, TagStructure],
    now: str | datetime | None = None,
    copies_in: Path | None = None,
) -> Standalone:
    """The translation as one module over fragment files, with a fixed `now`.

    A file that is not XML by itself, or that contains something that does not belong in the
    stream, gets a clean copy in the folder `copies_in`, which the module reads instead; without
    that folder, it is an error.
    """
    instant = _instant(now)
    copies: list[CleanCopy] = []
    declarations = []
    prefixes = set()
    for declaration in translation.module.declarations:
        if isinstance(declaration, NamespaceDecl):
            prefixes.add(declaration.prefix)
        name = translation.streams.get(_files_variable(declaration))
        if name is not None:
            assert isinstance(declaration, VariableDecl)
            if name not in fragments:
                raise error(
                    "XCQL0404",
                    f'there are no fragments for stream "{name}"',
                    hints=[f"give them with --fragments {name}=FILE"],
                )
            given = fragments[name]
            files = [given] if isinstance(given, Path) else list(given)
            copy = clean_copy(name, files, tags[name], instant, copies_in)
            if copy is not None:
                copies.append(copy)
            path = files[0] if copy is None else copy.path
            span = declaration.span
            uri = StringLiteral(path.absolute().as_uri(), span=span)
            value = to.standard_call("doc", uri, span=span, prefix="fn")
            declaration = replace(declaration, value=value, external=False)
        declarations.append(declaration)
    module = replace(translation.module, declarations=tuple(declarations))
    assert any(isinstance(d, ModuleImport) for d in declarations)
    text = emit(module).replace(_IMPORT, _inlined(instant, prefixes), 1)
    return Standalone(text + "\n", tuple(copies))


def _files_variable(declaration: object) -> str:
    if isinstance(declaration, VariableDecl) and declaration.external:
        return str(declaration.name)
    return ""


def _inlined(now: datetime, prefixes: set[str]) -> str:
    """The library as part of a main module, with a fixed instant of evaluation."""
    body = _HEAD.sub("", library_text())
    for prefix in prefixes & {"array", "map"}:
        body = re.sub(rf"declare namespace {prefix} = .*\n", "", body, count=1)
    body = _NOW.sub(rf'\1 := xs:dateTime("{format_time(now)}");', body)
    return f'declare namespace {to.PREFIX} = "{to.NAMESPACE}";\n{body}\n'


def _instant(now: str | datetime | None) -> datetime:
    if now is None:
        return datetime.now(UTC).replace(tzinfo=None)
    return parse_time(now) if isinstance(now, str) else to_utc(now)

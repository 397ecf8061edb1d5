"""The table in which a module declares its forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from xcql.dialects.templates import template
from xcql.dialects.trees import Sql, call, cast, matches

Form = Callable[..., Sql]
F = TypeVar("F", bound=Form)


class Forms(dict[str, Form]):
    """Operations as functions from the trees of their arguments to the tree of the result.

    A form is called like its operation, with `_` behind a name that Python has for itself.

    >>> forms = Forms()
    >>> @forms
    ... def not_(value): ...
    >>> list(forms)
    ['not']
    """

    def __call__(self, form: F) -> F:
        self[form.__name__.rstrip("_")] = form
        return form

    def calls(self, **functions: str) -> None:
        """Operations that are a function of the vocabulary."""
        self.update({name: partial(call, function) for name, function in functions.items()})

    def casts(self, **types: str) -> None:
        """Operations that cast their argument."""
        self.update({name: partial(_cast, type_) for name, type_ in types.items()})

    def patterns(self, **patterns: str) -> None:
        """Operations that match their argument with one of our own patterns."""
        self.update({name: partial(_matches, pattern) for name, pattern in patterns.items()})

    def templates(self, templates: Mapping[str, str]) -> None:
        """Operations that are a template, by name and parameters: `"idiv x y": "x DIV y"`.

        As in `template`, a parameter of one letter is a value that is computed once.
        """
        for signature, text in templates.items():
            name, *parameters = signature.split()
            self[name] = partial(_template, text, parameters)


def _cast(type_: str, value: Sql) -> Sql:
    return cast(value, type_)


def _matches(pattern: str, value: Sql) -> Sql:
    return matches(value, pattern)


def _template(text: str, parameters: list[str], *arguments: Sql) -> Sql:
    return template(text, **dict(zip(parameters, arguments, strict=True)))

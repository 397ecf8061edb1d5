"""The table in which a module declares its forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xcql.dialects.trees import Sql

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

"""Names of elements and attributes."""

from __future__ import annotations

from dataclasses import dataclass, field

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
XMLNS_NAMESPACE = "http://www.w3.org/2000/xmlns/"


@dataclass(frozen=True, slots=True)
class QName:
    """An expanded name, with the prefix it was written with.

    Two names are equal if namespace and local part are: the prefix is only for output.

    >>> QName("urn:x", "a", "p") == QName("urn:x", "a", "q")
    True
    >>> str(QName("urn:x", "a", "p"))
    'p:a'
    """

    uri: str
    local: str
    prefix: str = field(default="", compare=False)

    def __str__(self) -> str:
        """The lexical form, `prefix:local`."""
        return f"{self.prefix}:{self.local}" if self.prefix else self.local

    @property
    def clark(self) -> str:
        """The form that needs no prefix, `Q{uri}local`, as XQuery writes it."""
        return f"Q{{{self.uri}}}{self.local}"

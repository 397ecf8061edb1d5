"""Keys that are inferred from documents, and the value of a key in an element."""

from __future__ import annotations

import io

import pytest

from xcql.model.documents import read_document
from xcql.model.infer import infer_from_document, tag_structure, tree_of
from xcql.model.infer_keys import KeyWatcher
from xcql.model.keys import Key, key_value


def inferred(*documents: str) -> dict[str, str]:
    watcher, tree = KeyWatcher(), None
    for text in documents:
        document = read_document(io.BytesIO(text.encode()), "a.xml")
        if tree is None:
            tree = infer_from_document(document, watcher=watcher)
        else:
            infer_from_document(document, tree, watcher)
    return {str(one.element.name): str(one.key) for one in watcher.inferred()}


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ("<a><p><name>x</name><name>y</name></p><p><name>y</name></p></a>", "name[1]"),
        ("<a><p><name>x</name></p><p><name>x</name></p></a>", None),
        ("<a><p name='1' id='7'/><p name='2' id='8'/></a>", "@id"),
        ("<a><p><mass>1</mass></p><p><mass>2</mass></p></a>", None),
        ("<a><p><name>x</name></p></a>", None),
        ("<a>" + "".join(f"<p at='x{i}'/>" for i in range(10)) + "</a>", "@at"),
        ("<a>" + "".join(f"<p at='{i}'/>" for i in range(10)) + "</a>", None),
        (
            "<a>" + "".join(f"<p><shop_id>{i}</shop_id></p>" for i in range(3)) + "</a>",
            "shop_id[1]",
        ),
        ("<a><p><name>x</name></p><p/></a>", None),
        ("<a><p><name><b>x</b></name></p><p><name><b>y</b></name></p></a>", None),
    ],
)
def test_keys(document: str, key: str | None) -> None:
    assert inferred(document).get("p") == key


def test_the_evidence_of_several_documents() -> None:
    one = "<a><p><name>x</name></p><p><name>y</name></p></a>"
    other = "<a><p><name>x</name></p><p><name>x</name></p></a>"
    watcher = KeyWatcher()
    tree = infer_from_document(read_document(io.BytesIO(one.encode()), "a"), watcher=watcher)
    (found,) = watcher.inferred()
    assert found.evidence == "tells 2 elements in 1 parent apart"
    assert found.element is tree["p"]
    assert inferred(f"<r>{one}{other}</r>") == {}


def test_the_value_of_a_key() -> None:
    tokens = ["\x01a", "\x02k\x031", "\x01b", "\x01c", "\x04", "\x04", "\x01b", "\x02n\x032"]
    tokens += ["x", "\x08", "\x01c", "y", "\x04", "z", "\x04", "\x04"]
    values = {
        Key((), "k"): "1",
        Key((), "n"): None,
        Key(("b",)): "",
        Key(("b",), "n"): "2",
        Key(("b", "c")): "",
        Key(("c",)): None,
        Key(("b", "d")): None,
    }
    for key, value in values.items():
        assert key_value(tokens, key) == value, str(key)
    assert key_value(tokens[:2] + tokens[6:], Key(("b",))) == "xyz"


def test_a_structure_grows_and_keeps_its_ids() -> None:
    def read(text: str) -> io.BytesIO:
        return read_document(io.BytesIO(text.encode()), "a.xml")

    structure = tag_structure(infer_from_document(read("<a><b><c/></b></a>")), temporal=["//b"])
    tree = tree_of(structure)
    assert tag_structure(tree_of(structure)) == structure
    infer_from_document(read("<n><b><c/><d/><b/></b></n>"), tree)
    grown = tag_structure(tree, temporal=["//n"])
    for tag in structure:
        assert grown.by_id(tag.id).name == tag.name
        assert grown.by_id(tag.id).kind == tag.kind
    kinds = {grown.path_of(tag): (tag.id, tag.kind) for tag in grown}
    assert kinds == {
        "/a": ("1", "snapshot"),
        "/a/b": ("2", "temporal"),
        "/a/b/c": ("3", "snapshot"),
        "/a/n": ("4", "temporal"),
        "/a/n/b": ("5", "snapshot"),
        "/a/n/b/c": ("6", "snapshot"),
        "/a/n/b/d": ("7", "snapshot"),
    }

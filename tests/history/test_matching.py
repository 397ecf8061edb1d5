"""Which elements are the same: by key, content and position; insertions in the middle; moves."""

from __future__ import annotations

import io
import random
from itertools import pairwise

import pytest

from tests.history.test_changes import FIRST, document, time
from tests.model.rebuilt import canonical_text, rebuilt
from xcql.diagnostics import XcqlError
from xcql.history.changes import ChangeWriter, NewDocument
from xcql.history.latest import LatestState
from xcql.history.matching import ascending, common_sequence
from xcql.history.view import document_at
from xcql.model.fragmenter import FOOTER, HEADER, fragment
from xcql.model.fragments import ROOT_ID
from xcql.model.keys import read_keys
from xcql.model.read import read_all
from xcql.model.shapes import shape_reader
from xcql.model.tags import TagStructure, parse_tags
from xcql.model.time import format_time
from xcql.xdm.serialize import canonical

# bodies and groups nest freely; everything below the root has versions
TAGS = parse_tags(
    """<stream:structure><tag type="snapshot" id="1" name="r">
      <tag type="temporal" id="2" name="g">
        <tag ref="2"/>
        <tag type="snapshot" id="3" name="name"/>
        <tag type="snapshot" id="4" name="box"><tag type="temporal" id="6" name="b">
          <tag type="snapshot" id="7" name="name"/><tag type="snapshot" id="8" name="mass"/>
        </tag></tag>
        <tag type="temporal" id="5" name="p">
          <tag type="snapshot" id="9" name="name"/><tag type="snapshot" id="10" name="mass"/>
          <tag type="snapshot" id="11" name="size"/>
        </tag>
      </tag>
    </tag></stream:structure>"""
)


def history(
    dumps: list[str], keys: tuple[str, ...] = (), tags: TagStructure = TAGS, moves: bool = True
) -> list[bytes]:
    """The fragments of each dump; the state is never read again."""
    shape_of = shape_reader(tags, read_keys(keys, tags))
    state = LatestState()
    files = []
    for number, dump in enumerate(dumps):
        cut, output = io.BytesIO(), io.BytesIO()
        fragment(document(dump), tags, format_time(FIRST), cut)
        new = NewDocument(cut, tags, shape_of)
        changes = ChangeWriter(new, tags, state, shape_of, time(number), output, moves)
        changes.write({ROOT_ID: ROOT_ID} if number else {})
        files.append(output.getvalue())
    return files


def sent(dumps: list[str], keys: tuple[str, ...] = (), moves: bool = True) -> list[str]:
    """What is sent for the last dump: operations and ids."""
    files = history(dumps, keys, moves=moves)
    for number, dump in enumerate(dumps):
        assert rebuilt(files, TAGS, time(number)) == canonical_text(dump)
    return [f"{one.op} {one.id}" for one in read_all(files[-1], TAGS).fragments]


def p(name: str, mass: int, size: int = 1) -> str:
    return f"<p><name>{name}</name><mass>{mass}</mass><size>{size}</size></p>"


def group(*content: str) -> str:
    return f"<r><g>{''.join(content)}</g></r>"


NAMES = ("//p=name[1]",)


@pytest.mark.parametrize("keys", [(), NAMES])
def test_an_insertion_in_the_middle_is_one_insertion(keys: tuple[str, ...]) -> None:
    before = [p("a", 1), p("b", 2), p("c", 3)]
    after = [p("a", 1), p("x", 9), p("b", 2), p("c", 3)]
    assert sent([group(*before), group(*after)], keys) == ["filler 5", "filler 1"]
    assert sent([group(*after), group(*before)], keys) == ["filler 1", "remove 3"]


def test_an_edit_beside_an_insertion() -> None:
    before = [p("a", 1), p("b", 2), p("c", 3)]
    after = [p("a", 1), p("x", 9, 8), p("b", 7), p("c", 3)]
    assert sent([group(*before), group(*after)]) == ["filler 5", "filler 3", "filler 1"]


def test_elements_that_change_places_keep_their_identity() -> None:
    before = [p("a", 1), p("b", 2), p("c", 3)]
    assert sent([group(*before), group(*before[::-1])]) == ["filler 1"]


def test_a_key_inside_the_element() -> None:
    dumps = [group(p("a", 1), p("b", 2)), group(p("b", 1), p("a", 2))]
    assert sent(dumps, NAMES) == ["filler 3", "filler 2", "filler 1"]
    files = history(dumps, NAMES)
    assert b"<name>b</name><mass>1</mass>" in files[1].split(b'id="3"')[1]
    # another key is another element
    assert sent([group(p("a", 1)), group(p("b", 1))], NAMES) == [
        "filler 3",
        "filler 1",
        "remove 2",
    ]


def test_without_a_key_the_position_decides() -> None:
    assert sent([group(p("a", 1)), group(p("b", 3))]) == ["filler 2"]


def test_children_stay_with_elements_in_the_parent() -> None:
    b = [f"<b><name>{name}</name></b>" for name in "xyz"]
    dumps = [
        group(f"<box>{b[0]}</box><box>{b[1]}</box>"),
        group(f"<box>{b[2]}</box><box>{b[0]}</box><box>{b[1]}</box>"),
    ]
    assert sent(dumps) == ["filler 4", "filler 1"]


def test_a_move_to_another_parent() -> None:
    dumps = [
        f"<r><g>{p('a', 1)}{p('b', 2)}</g><g><name>2</name></g></r>",
        f"<r><g>{p('b', 2)}</g><g><name>2</name>{p('a', 1)}</g></r>",
    ]
    assert sent(dumps) == ["filler 1", "filler 4"]
    assert sent(dumps, moves=False) == ["filler 1", "filler 5", "filler 4", "remove 2"]
    # and an edit, if there is a key
    dumps[1] = dumps[1].replace("<mass>1", "<mass>5")
    assert sent(dumps, NAMES) == ["filler 1", "filler 2", "filler 4"]


def test_a_new_parent_around_an_element() -> None:
    inner = f"<g><name>in</name>{p('a', 1)}{p('b', 1)}</g>"
    dumps = [f"<r><g>{inner}</g></r>", f"<r><g><g><name>new</name>{inner}</g></g></r>"]
    assert sent(dumps) == ["filler 5", "filler 1"] or len(sent(dumps)) <= 3


def test_an_element_does_not_move_into_what_it_contained() -> None:
    def nested(*names: str) -> str:
        text = ""
        for name in reversed(names):
            text = f"<g><name>{name}</name>{p(name, 1)}{text}</g>"
        return f"<r>{text}</r>"

    dumps = [nested("a", "b", "c"), nested("a", "c", "b"), nested("a", "b", "c"), nested("c", "a")]
    files = history(dumps, ("//g=name[1]",))
    fragments = [one for file in files for one in read_all(file, TAGS).fragments]
    for number, dump in enumerate(dumps):
        view = document_at(fragments, TAGS, time(number), now=time(9))
        assert not view.rejected
        assert canonical(view.document) == canonical_text(dump)


def test_keys_that_cannot_be_used() -> None:
    for key in ("//g=p", "//p=colour", "//p=name/", "//p=name@x"):
        with pytest.raises(XcqlError) as problem:
            read_keys([key], TAGS)
        assert problem.value.code == "XCQL0260"


def _changed(body: list, random_: random.Random) -> None:
    """Edit a tree of lists in place: insert, delete, edit and move."""
    places = [body]
    for place in places:
        places += [child for child in place if isinstance(child, list)]
    place = random_.choice(places)
    kind = random_.randrange(5)
    if kind == 0 and place:
        place.pop(random_.randrange(len(place)))
    elif kind == 1 and place:
        moved = place.pop(random_.randrange(len(place)))
        places = [body]
        for other in places:
            places += [child for child in other if isinstance(child, list)]
        target = random_.choice(places)
        target.insert(random_.randrange(len(target) + 1), moved)
    elif kind == 2:
        place.insert(random_.randrange(len(place) + 1), [(random_.choice("abcd"), 1)])
    else:
        new = (random_.choice("abcdefgh"), random_.randrange(3))
        place.insert(random_.randrange(len(place) + 1), new)


def _text(body: list) -> str:
    return "".join(p(*one) if isinstance(one, tuple) else f"<g>{_text(one)}</g>" for one in body)


@pytest.mark.parametrize("keys", [(), NAMES])
def test_random_histories(keys: tuple[str, ...]) -> None:
    for seed in range(25):
        random_ = random.Random(seed)
        body: list = [[("a", 1), [("b", 2)]], ("c", 1)]
        dumps = []
        for _ in range(8):
            for _ in range(random_.randrange(1, 4)):
                _changed(body, random_)
            dumps.append(f"<r><g>{_text(body)}</g></r>")
        files = history(dumps, keys)
        fragments = [one for file in files for one in read_all(file, TAGS).fragments]
        for number, dump in enumerate(dumps):
            assert rebuilt(files, TAGS, time(number)) == canonical_text(dump), seed
            view = document_at(fragments, TAGS, time(number), now=time(99))
            assert not view.rejected
            assert canonical(view.document) == canonical_text(dump)


def test_common_sequences() -> None:
    for seed in range(200):
        random_ = random.Random(seed)
        one = [random_.choice("abc") for _ in range(random_.randrange(9))]
        other = [random_.choice("abcd") for _ in range(random_.randrange(9))]
        pairs = common_sequence(one, other)
        assert all(one[i] == other[j] for i, j in pairs)
        assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert common_sequence(range(1000), [*range(500), -1, *range(500, 1000)]) == [
        *((i, i) for i in range(500)),
        *((i, i + 1) for i in range(500, 1000)),
    ]
    assert ascending([]) == []


def test_files_are_complete() -> None:
    (file,) = history(["<r/>"])
    assert file.startswith(HEADER)
    assert file.endswith(FOOTER)

"""Random streams: small Tag Structures and fragments for them, from any `random.Random`.

Everything is drawn from the given random numbers, so a seed reproduces a stream, and Hypothesis
(`st.randoms(use_true_random=False)`) can shrink a stream that fails a test.

Names have a fixed meaning: `r` is the root, `a` and `b` hold other elements (or junk), `n` is
always a number and `w` a word; the attribute `k` is a number, too. Fillers come in any order, with
repeats, replaces and removes; holes may name a filler twice, or one that never comes. In some
streams elements have lifespans of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

NOW = "2003-01-20T00:00:00"
LAST_DAY = 23

# sums of these are exact, whatever the order of the addition
NUMBERS = ("0", "1", "2", "3", "2.5", "10", "-1", "1e1")
WORDS = ("x", "y", "x y", "Zoë", "")
JUNK = ("", "1", "2", "x")


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag to be generated, with its possible children; `recurs` if it may contain itself."""

    name: str
    kind: str
    id: int
    children: tuple[Tag, ...] = ()
    recurs: bool = False

    @property
    def inside(self) -> tuple[Tag, ...]:
        """The tags that it may contain, including itself if it recurs."""
        return (*self.children, self) if self.recurs else self.children

    def all(self) -> Iterator[Tag]:
        yield self
        for child in self.children:
            yield from child.all()

    def xml(self) -> str:
        inner = "".join(child.xml() for child in self.children)
        if self.recurs:
            inner += f'<tag ref="{self.id}"/>'
        return f'<tag type="{self.kind}" id="{self.id}" name="{self.name}">{inner}</tag>'

    def structure(self) -> str:
        """The Tag Structure with this tag as its root."""
        return f"<structure>{self.xml()}</structure>"


def random_tags(random: Random, name: str = "r", id: int = 1, depth: int = 0) -> Tag:
    """A tag with at most three levels below it."""
    if name in ("n", "w"):
        return Tag(name, random.choice(["snapshot", "snapshot", "temporal", "event"]), id)
    kind = random.choice(["snapshot", "temporal", "temporal", "event" if depth else "snapshot"])
    names: list[str] = []
    if depth < 3:
        names = random.sample(["a", "b"], random.randint(1 - min(depth, 1), 2 - depth // 2))
        names += random.sample(["n", "w"], random.randint(0, 2))
        random.shuffle(names)
    children: list[Tag] = []
    last = id
    for child in names:
        children.append(random_tags(random, child, last + 1, depth + 1))
        last = max(tag.id for tag in children[-1].all())
    recurs = depth > 0 and name not in names and random.randrange(10) == 0
    return Tag(name, kind, id, tuple(children), recurs)


def random_fragments(random: Random, root: Tag) -> str:
    """Fillers for the tags, one or two ids each, with up to three versions or events."""
    tags = list(root.all())
    ids = {tag.id: [f"{tag.id}.{n}" for n in range(random.randint(1, 2))] for tag in tags}
    ids[root.id] = ["0"]
    has_lifespans = random.randrange(8) == 0

    def element(tag: Tag, depth: int = 0) -> str:
        parts = []
        for child in tag.inside:
            for _ in range(random.choice([1, 2, 2, 3] if tag is root else [0, 1, 1, 2])):
                if random.randrange(8) == 0:
                    parts.append(random.choice(["x", "y ", "1"]))
                if child.kind != "snapshot":
                    known = ids[child.id] if random.randrange(8) else ["none"]
                    parts.append(f'<hole id="{random.choice(known)}"/>')
                elif depth < 4:
                    parts.append(element(child, depth + 1))
        if random.randrange(2):
            random.shuffle(parts)
        key = random.choice(["", ' k="1"', ' k="2"', ' k="3"'])
        if has_lifespans and random.randrange(4) == 0:
            key += _lifespan(random)
        return f"<{tag.name}{key}>{_text(random, tag)}{''.join(parts)}</{tag.name}>"

    lines = []
    for tag in tags:
        if tag.kind == "snapshot" and tag is not root:
            continue
        for id in ids[tag.id]:
            for number in range(random.randint(1, 3)):
                operation = random.choice(["filler"] * 20 + ["repeat", "replace", "remove"])
                # most streams have a root before `NOW`
                time = random_time(random, 10 if tag is root and number == 0 else LAST_DAY)
                head = f'{operation} id="{id}" tsid="{tag.id}" validTime="{time}"'
                body = "" if operation == "remove" else element(tag)
                lines.append(f"<{head}>{body}</{operation}>")
    if random.randrange(2):
        random.shuffle(lines)
    return f"<fragments>{''.join(lines)}</fragments>"


def random_time(random: Random, last: int = LAST_DAY) -> str:
    """A day, so that equal times are frequent; some are after `NOW`."""
    return f"2003-01-{random.randint(1, last):02}"


def _lifespan(random: Random) -> str:
    """Attributes that form a lifespan, or would if both were there."""
    begin, end = sorted([random_time(random), random_time(random)])
    begin = random.choice([begin, begin, "start"])
    end = random.choice([end, end, "now"])
    return random.choice([f' vtFrom="{begin}" vtTo="{end}"'] * 4 + [f' vtTo="{end}"'])


def _text(random: Random, tag: Tag) -> str:
    if tag.name == "n":
        return random.choice(NUMBERS)
    if tag.name == "w":
        return random.choice(WORDS)
    return "" if tag.inside else random.choice(JUNK)

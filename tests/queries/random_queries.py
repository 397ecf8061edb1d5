"""Random meaningful queries, typed by the Tag Structures of two random streams.

    for case in cases(seed=1, worlds=5, queries=10):
        xcql.evaluate(case.text, streams=case.streams(), now=case.now)

A query knows what its paths lead to, so it takes steps that exist, compares numbers with numbers
and words with words, and joins on values that can be equal. None of them fails, none depends on an
order that the standard leaves open (ties are stable, groups sorted, no order between trees of
separate projections), and sums are exact. `case(world, query)` reproduces a case, so two numbers
identify a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random

import xcql
from tests.queries.random_histories import (
    NOW,
    NUMBERS,
    WORDS,
    Tag,
    random_fragments,
    random_tags,
    random_time,
)

STREAMS = ("s", "t")
LEAVES = ("n", "w")


@dataclass(frozen=True, slots=True)
class World:
    """Two streams that queries run on."""

    seed: int
    roots: Mapping[str, Tag]
    fragments: Mapping[str, str]

    @property
    def tags(self) -> dict[str, str]:
        """The Tag Structure of each stream."""
        return {name: root.structure() for name, root in self.roots.items()}


@dataclass(frozen=True, slots=True)
class Case:
    """A query, and its data."""

    text: str
    world: World
    number: int
    now: str = NOW

    @property
    def name(self) -> str:
        return f"case({self.world.seed}, {self.number})"

    def streams(self) -> dict[str, tuple[str, str]]:
        """Maps names to fragments and tags, as `xcql.evaluate` takes them."""
        tags = self.world.tags
        return {name: (text, tags[name]) for name, text in self.world.fragments.items()}


def cases(seed: int, worlds: int, queries: int) -> Iterator[Case]:
    """This many worlds, starting with the given seed, with this many queries each."""
    for number in range(seed, seed + worlds):
        there = world(number)
        yield from (_case(there, query) for query in range(queries))


def case(world_seed: int, number: int) -> Case:
    """The case with these numbers."""
    return _case(world(world_seed), number)


def world(seed: int) -> World:
    random = Random(f"world {seed}")
    roots = {name: random_tags(random) for name in STREAMS}
    fragments = {name: random_fragments(random, root) for name, root in roots.items()}
    return World(seed, roots, fragments)


def _case(there: World, number: int) -> Case:
    """Generate a case; if its answer is empty, which tests little, try again at most twice."""
    random = Random(f"world {there.seed} query {number}")
    for _ in range(3):
        found = Case(random_query(random, there.roots), there, number)
        if len(xcql.evaluate(found.text, streams=found.streams(), now=found.now)):
            break
    return found


def random_query(random: Random, roots: Mapping[str, Tag]) -> str:
    """A query over streams with these root tags."""
    return _Writer(random, roots).query()


def leaf_query(random: Random, roots: Mapping[str, Tag]) -> str:
    """A query about attributes or text in time, over streams with these root tags."""
    return _Writer(random, roots).leaves()


@dataclass(frozen=True, slots=True)
class _Nodes:
    """A path as text, the tags it may lead to, and whether it yields at most one node.

    `whole` if no projection has cut off anything above it, so that it has its parents.
    """

    text: str
    tags: tuple[Tag, ...]
    one: bool = False
    whole: bool = True
    document: bool = False

    def below(self) -> dict[str, tuple[Tag, ...]]:
        """The tags of child elements, by name."""
        found: dict[str, dict[int, Tag]] = {}
        for tag in self.tags:
            for child in (tag,) if self.document else tag.inside:
                found.setdefault(child.name, {})[child.id] = child
        return {name: tuple(tags.values()) for name, tags in found.items()}

    def deep(self) -> dict[str, tuple[Tag, ...]]:
        """The tags of descendant elements, by name."""
        found: dict[str, dict[int, Tag]] = {}
        for top in self.tags:
            for tag in top.all():
                if self.document or top.recurs or tag is not top:
                    found.setdefault(tag.name, {})[tag.id] = tag
        return {name: tuple(tags.values()) for name, tags in found.items()}

    @property
    def is_timed(self) -> bool:
        """Whether all of its nodes have lifespans of their own."""
        return bool(self.tags) and all(tag.kind != "snapshot" for tag in self.tags)


class _Writer:
    """Writes one query; holds the random numbers, the streams, and the number of variables."""

    def __init__(self, random: Random, roots: Mapping[str, Tag]) -> None:
        self.random = random
        self.roots = roots
        self.variables = 0

    # -- whole queries

    def query(self) -> str:
        kinds = [self.report] * 3 + [self.join] * 3 + [self.groups] * 2
        kinds += [self.nested] * 2 + [self.aggregate, self.nodes, self.ranking, self.coincidence]
        return self.random.choice(kinds)()

    def nodes(self) -> str:
        return self.path(self.stream(), 2).text

    def aggregate(self) -> str:
        found = self.path(self.stream(), 2)
        return self.random.choice(
            [
                f"count({found.text})",
                self.total(found),
                f"<all n='{{ count({found.text}) }}'>{{ {self.total(found)} }}</all>",
                f"sort(distinct-values({found.text} ! name()))",
            ]
        )

    def report(self) -> str:
        """One `for`, with clauses that can follow it."""
        x, binding = self.bind(self.stream())
        lines = [f"for {binding}"]
        known = [x]
        if self.random.randrange(3) == 0:
            inner, binding = self.bind(x)
            lines.append(f"for {binding}")
            known.append(inner)
        if self.random.randrange(3) == 0:
            let = self.path(x, 2)
            name = self.variable()
            lines.append(f"let {name} := {let.text}")
            known.append(replace(let, text=name))
        if self.random.randrange(2):
            lines.append(f"where {self.condition(self.pick(known))}")
        ones = [nodes for nodes in known if nodes.one]
        if self.random.randrange(3) == 0:
            direction = self.random.choice(["", " descending", " empty greatest"])
            lines.append(f"stable order by {self.key(self.pick(ones))}{direction}")
        return "\n".join([*lines, f"return {self.item(self.pick(known), self.pick(ones))}"])

    def join(self) -> str:
        """Two streams, or two levels of one, joined by a common value."""
        x, left = self.bind(self.stream("s"))
        y, right = self.bind(self.stream(self.random.choice(STREAMS)))
        more = f" and {self.condition(self.pick([x, y]))}" if self.random.randrange(2) else ""
        end = f"return <j>{{ {self.content(x)}, {self.content(y)} }}</j>"
        return f"for {left},\n    {right}\nwhere {self.equal(x, y)}{more}\n{end}"

    def nested(self) -> str:
        """A FLWOR in a constructor: an outer join."""
        x, binding = self.bind(self.stream())
        y, inner = self.bind(self.stream())
        within = f"for {inner} where {self.equal(x, y)} return {self.item(y, y)}"
        if self.random.randrange(2):
            return (
                f"for {binding}\nlet $all := {within}\n"
                f"return <x k='{{ {self.text(x)} }}' n='{{ count($all) }}'>{{ $all }}</x>"
            )
        return f"for {binding}\nreturn <x k='{{ {self.text(x)} }}'>{{ {within} }}</x>"

    def groups(self) -> str:
        x, binding = self.bind(self.stream())
        key = self.random.choice([self.text, self.key])(x)
        grouped = replace(x, one=False)
        lines = [f"for {binding}", f"group by $key := {key}"]
        if self.random.randrange(3) == 0:
            lines.append(f"where count({x.text}) > 1")
        inside = self.random.choice(
            [f"count({x.text})", self.total(grouped), self.path(grouped, 1).text]
        )
        lines.append("order by $key empty least")
        return "\n".join([*lines, f"return <g key='{{ $key }}'>{{ {inside} }}</g>"])

    def ranking(self) -> str:
        x, binding = self.bind(self.stream())
        best = f"for {binding}\nstable order by {self.number(x)} descending\n"
        if self.random.randrange(2):
            most = self.random.randint(1, 3)
            return f"{best}count $i\nwhere $i <= {most}\nreturn <r n='{{ $i }}'>{{ {x.text} }}</r>"
        return f"({best}return {self.text(x)})[position() <= {self.random.randint(1, 3)}]"

    def coincidence(self) -> str:
        """Elements of one stream that are valid while some of another are."""
        x, binding = self.bind(self.stream("s"))
        other = self.path(self.stream("t"), 0)
        y = self.variable()
        margin = self.random.choice(["", " + PT12H", " + P3D"])
        during = f"{other.text}?[vtFrom({x.text}), vtTo({x.text}){margin}]"
        where = f"\nwhere {self.equal(x, replace(other, text=y, one=True))}"
        return (
            f"for {binding},\n    {y} in {during}{where if self.random.randrange(2) else ''}\n"
            f"return <c from='{{ vtFrom({y}) }}' to='{{ vtTo({y}) }}'>{{ {self.text(x)} }}</c>"
        )

    def leaves(self) -> str:
        """Attributes and text, which have the lifespans of their ancestors."""
        leaf = self.random.choice(["@k", "@k", "text()"])
        name = self.variable()
        start = self.path(self.stream(), 1)
        found = replace(start, text=f"{start.text}/{leaf}", tags=(), one=False)
        one = replace(found, text=name, one=True)
        projected = self.random.choice([f"?[{self.interval()}]"] * 3 + ["#[last]", "#[1, 2]"])
        each, above = f"for {name} in {found.text}", f"for {name} in {start.text}"
        return self.random.choice(
            [
                f"{each} return <v f='{{ vtFrom({name}) }}'>{{ {name} }}</v>",
                f"{each} return <v>{{ vtFrom({name}), vtTo({name}) }}</v>",
                f"{each} where {self.allen_test(one)} return string({name})",
                f"{each} where {self.time_test(one)} return <v>{{ {name} }}</v>",
                f"{found.text}{projected} ! <v>{{ . }}</v>",
                f"{above} return <v>{{ {name}/{leaf}{projected} ! string() }}</v>",
                f"{above}[{leaf}?[{self.interval()}]] return name({name})",
                f"count({found.text}{projected})",
            ]
        )

    # -- nodes

    def stream(self, name: str | None = None) -> _Nodes:
        name = name or self.random.choice(STREAMS)
        text = f'stream("{name}")'
        whole = True
        if self.random.randrange(7) == 0:
            text, whole = f"{text}?[{self.interval()}]", False
        return _Nodes(text, (self.roots[name],), one=True, whole=whole, document=True)

    def bind(self, source: _Nodes) -> tuple[_Nodes, str]:
        """A variable for each node of a path, and the text that binds it."""
        found = self.path(source, 1)
        name = self.variable()
        return replace(found, text=name, one=True, document=False), f"{name} in {found.text}"

    def variable(self) -> str:
        self.variables += 1
        return "$" + "xyzuvpq"[self.variables - 1]

    def path(self, start: _Nodes, most: int) -> _Nodes:
        """One step and up to `most` more, with predicates and projections."""
        found = self.step(start)
        if found.tags == start.tags and found.below() and self.random.randrange(4):
            # rarely the root itself
            found = self.step(found)
        for _ in range(self.random.randint(0, most)):
            if not found.below():
                break
            found = self.step(found)
        chance = self.random.randrange(14)
        if chance == 13:
            return self.turn(found)
        if chance == 0:
            return replace(found, text=f"{found.text}?[{self.interval()}]", whole=False)
        if chance == 1:
            versions = self.random.choice(["1", "last", "1, 2", "2, last", "last-1"])
            return replace(found, text=f"{found.text}#[{versions}]", whole=False)
        if chance == 2 and found.whole and start.text != ".":
            other = self.step(start)
            both = {tag.id: tag for tag in found.tags + other.tags}
            text = f"({found.text} | {other.text})"
            return replace(other, text=text, tags=tuple(both.values()), one=False)
        return found

    def step(self, start: _Nodes) -> _Nodes:
        """One step, usually down, sometimes with a predicate."""
        below, deep = start.below(), start.deep()
        chance = self.random.randrange(10)
        prefix = "" if start.text == "." else start.text + "/"
        if start.document and chance < 6 and len(deep) > 1:
            name = self.random.choice([name for name in "aabbnw" if name in deep])
            found = _Nodes(f"{start.text}//{name}", deep[name])
        elif not start.document and deep and chance < 2:
            name = self.random.choice(list(deep))
            found = _Nodes(f"{prefix or './'}/{name}", deep[name])
        elif below and (chance < 9 or start.document):
            name = self.random.choice(list(below))
            found = _Nodes(f"{prefix}{name}", below[name])
        elif below:
            tags = {tag.id: tag for tags in below.values() for tag in tags}
            found = _Nodes(f"{prefix}*", tuple(tags.values()))
        else:
            found = _Nodes(f"{prefix}self::*", start.tags, one=start.one)
        found = replace(found, whole=start.whole)
        if self.random.randrange(5) == 0:
            inner = replace(found, text=".", one=True)
            return replace(found, text=f"{found.text}[{self.predicate(inner)}]")
        return found

    def turn(self, start: _Nodes) -> _Nodes:
        """A step up or sideways, to nodes of unknown tags."""
        axes = ["..", "ancestor::a", "following-sibling::*", "preceding-sibling::b", "ancestor::*"]
        axes += [
            "following-sibling::n[1]",
            "preceding-sibling::*[1]",
            "following::w",
            "preceding::n",
        ]
        return _Nodes(f"{start.text}/{self.random.choice(axes)}", (), whole=start.whole)

    # -- conditions

    def predicate(self, dot: _Nodes) -> str:
        positions = ["1", "last()", "2", "position() > 1", "position() <= 2"]
        return self.random.choice(positions) if self.random.randrange(3) == 0 else self.test(dot)

    def condition(self, nodes: _Nodes) -> str:
        """A condition on nodes; if there may be several, on each or some of them."""
        if not nodes.one:
            name = self.variable()
            one = replace(nodes, text=name, one=True)
            word = self.random.choice(["some", "every"])
            return f"({word} {name} in {nodes.text} satisfies {self.test(one)})"
        if self.random.randrange(4) == 0:
            word = self.random.choice(["and", "or"])
            return f"({self.test(nodes)} {word} {self.test(nodes)})"
        return self.test(nodes)

    def test(self, one: _Nodes) -> str:
        """A condition on one node."""
        below = one.below()
        tests = [self.key_test, self.existence, self.text_test]
        if one.is_timed:
            tests += [self.time_test, self.allen_test]
        if "n" in below:
            tests += [self.number_test] * 3
        if "w" in below:
            tests += [self.word_test] * 2
        test = self.random.choice(tests)(one)
        return f"not({test})" if self.random.randrange(6) == 0 else test

    def key_test(self, one: _Nodes) -> str:
        return f"{_from(one)}@k {self.operator()} {self.random.randint(1, 3)}"

    def existence(self, one: _Nodes) -> str:
        below = list(one.below()) or ["*"]
        return f"exists({_from(one)}{self.random.choice(below)})"

    def text_test(self, one: _Nodes) -> str:
        call = self.random.choice(["contains", "starts-with"])
        return f'{call}(string({one.text}), "{self.random.choice(["x", "1", "y"])}")'

    def number_test(self, one: _Nodes) -> str:
        number = self.random.choice(NUMBERS)
        left = self.random.choice(["{}", "{}", "count({})", "sum({})", "{}[1]"])
        return f"{left.format(_from(one) + 'n')} {self.operator()} {number}"

    def word_test(self, one: _Nodes) -> str:
        sign = self.random.choice(["=", "!=", "<"])
        return f'{_from(one)}w {sign} "{self.random.choice(WORDS)}"'

    def time_test(self, one: _Nodes) -> str:
        side = self.random.choice(["vtFrom", "vtTo"])
        time = f'xs:dateTime("{random_time(self.random)}T00:00:00")'
        return f"{side}({one.text}) {self.operator()} {time}"

    def allen_test(self, one: _Nodes) -> str:
        words = "before after meets met-by overlaps overlapped-by starts started-by during contains"
        words += " finishes finished-by equals"
        first, last = sorted(random_time(self.random) for _ in range(2))
        return f"({one.text} {self.random.choice(words.split())} [{first}, {last}])"

    def equal(self, x: _Nodes, y: _Nodes) -> str:
        """A condition that joins two variables."""
        shared = [name for name in LEAVES if name in x.below() and name in y.below()]
        choices = ["{x}/@k = {y}/@k"]
        choices += [f"{{x}}/{name} = {{y}}/{name}" for name in shared] * 2
        if "n" in shared:
            choices += ["number({x}/@k) = {y}/n", "sum({x}/n) < sum({y}/n)"]
        if x.is_timed and y.is_timed:
            choices += ["({x} overlaps {y})", "({x} contains {y})", "vtFrom({x}) = vtFrom({y})"]
        return self.random.choice(choices).format(x=x.text, y=y.text)

    def operator(self) -> str:
        return self.random.choice(["=", "!=", "<", "<=", ">", ">="])

    # -- values

    def key(self, one: _Nodes) -> str:
        """One value to sort or group by."""
        return self.random.choice([self.text, self.number])(one)

    def text(self, one: _Nodes) -> str:
        choices = [f"string({one.text}/@k)", f"string({one.text})", f"name({one.text})"]
        choices += [f"concat(name({one.text}), ':', {one.text}/@k)"]
        if "w" in one.below():
            choices += [f"string-join({one.text}/w, ',')", f"upper-case(({one.text}/w)[1])"]
        return self.random.choice(choices)

    def number(self, one: _Nodes) -> str:
        choices = [f"count({one.text}/*)", f"number({one.text}/@k)"]
        if "n" in one.below():
            choices += [f"sum({one.text}/n)", f"max({one.text}/n)", f"({one.text}/n)[1] * 2"]
        return self.random.choice(choices)

    def total(self, nodes: _Nodes) -> str:
        """An aggregate over nodes."""
        if nodes.tags and all(tag.name == "n" for tag in nodes.tags):
            call = self.random.choice(["sum", "avg", "min", "max", "count"])
            return f"{call}({nodes.text})"
        if "n" in nodes.below():
            call = self.random.choice(["sum", "min", "max"])
            return f"{call}({nodes.text}/n)"
        return self.random.choice([f"sum({nodes.text}/@k)", f"count({nodes.text}/*)"])

    def content(self, one: _Nodes) -> str:
        if self.random.randrange(3) == 0:
            return self.path(one, 1).text
        return self.random.choice([one.text, self.text(one), self.number(one)])

    def item(self, nodes: _Nodes, one: _Nodes) -> str:
        """What a FLWOR returns."""
        choices = [
            nodes.text,
            self.path(nodes, 1).text,
            self.text(one),
            f"<e k='{{ {self.text(one)} }}'>{{ {self.content(one)} }}</e>",
            f"<e>{{ {one.text}/@k, {self.path(nodes, 0).text} }}</e>",
            f"element {{ name({one.text}) }} {{ {self.total(nodes)} }}",
            f"if ({self.test(one)}) then {self.text(one)} else {self.number(one)}",
            f"<v from='{{ vtFrom({one.text}) }}' to='{{ vtTo({one.text}) }}'/>",
        ]
        return self.random.choice(choices)

    def interval(self) -> str:
        first, last = sorted(random_time(self.random) for _ in range(2))
        return self.random.choice(
            [first, "now", f"{first}, {last}", f"{first}, now", f"start, {last}", "now - P5D, now"]
        )

    def pick(self, known: list[_Nodes]) -> _Nodes:
        return self.random.choice(known)


def _from(one: _Nodes) -> str:
    """The text before a step from a node."""
    return "" if one.text == "." else one.text + "/"

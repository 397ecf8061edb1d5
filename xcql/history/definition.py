"""The definition of histories: what the fragments of a stream say about each filler id over time.

Fragments may arrive in any order. A filler's versions are ordered by validTime, and each is valid
until the next; an event is valid at its instant; of a snapshot only the latest state counts. This
is section 3 of the language. Every other implementation is tested against this one.

The rules need little of a fragment: `op`, `valid_time`, and whether two bodies are equal. So they
work for whole fragments, rows of a store, and the outlines that documents are compared by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import zip_longest
from typing import Generic, NamedTuple, Protocol, TypeVar

from xcql.model.fragments import Fragment, Operation, Rejected, content_tree
from xcql.model.tags import Tag, TagKind, TagStructure
from xcql.model.time import START, to_utc
from xcql.xdm.serialize import canonical


class Arrived(Protocol):
    """The parts of a fragment that the rules need; only a `remove` may have no `valid_time`."""

    @property
    def op(self) -> Operation: ...
    @property
    def valid_time(self) -> datetime | None: ...


A = TypeVar("A", bound=Arrived)
# represents a tag: the tag itself or its number
T = TypeVar("T")
# whether two arrivals, neither of which is a remove, have canonically equal bodies
IsSame = Callable[[A, A], bool]


class Version(NamedTuple, Generic[A]):
    """A filler's element during a time interval; if `end` is None, it is still valid.

    For an event `begin` and `end` are the same.
    """

    fragment: A
    begin: datetime
    end: datetime | None


@dataclass(slots=True)
class Known(Generic[A, T]):
    """The state of one filler id: its tag, and its arrivals in order."""

    tag: T | None = None
    arrived: list[A] = field(default_factory=list)

    def add(self, arrival: A, tag: T | None) -> T | None:
        """Add the next arrival; if its tag conflicts, ignore it and return the tag of the id."""
        if tag is not None and self.tag is not None and tag != self.tag:
            return self.tag
        if arrival.valid_time is None:
            # nothing is left of the id: it may start again, even with a different tag
            self.tag = None
            self.arrived.clear()
            return None
        if tag is not None and arrival.op != "remove":
            self.tag = tag
        self.arrived.append(arrival)
        return None


class Timeline(Generic[A]):
    """The fragments of one filler id that are in effect at each instant, updated as they arrive.

    In effect at an instant is the last arrival for it, which may be a `remove`, or the events since
    the last `remove`.
    """

    __slots__ = ("_is_same", "_kind", "at")

    def __init__(self, kind: TagKind, is_same: IsSame[A]) -> None:
        self._kind = kind
        self._is_same = is_same
        self.at: dict[datetime, tuple[A, ...]] = {}

    def add(self, arrival: A) -> bool:
        """Add an arrival; return False if it only repeats what is in effect at its instant."""
        op, time = arrival.op, arrival.valid_time
        assert time is not None
        if op == "replace":
            self.at.clear()
        standing = self.at.get(time, ())
        if standing and repeats(arrival, standing, self._is_same):
            return False
        is_alone = self._kind != "event" or op == "remove"
        self.at[time] = (arrival,) if is_alone else (*standing, arrival)
        return True

    def versions(self) -> tuple[Version[A], ...]:
        """The versions, the events, or the successive states of a snapshot, in order of time."""
        times, is_event = sorted(self.at), self._kind == "event"
        return tuple(
            Version(arrival, begin, begin if is_event else end)
            for begin, end in zip_longest(times, times[1:])
            for arrival in self.at[begin]
            # a remove is an empty version: it ends the one before and is not returned
            if arrival.op != "remove"
        )


def repeats(arrival: A, standing: Sequence[A], is_same: IsSame[A]) -> bool:
    """Whether an arrival only repeats what is in effect at its instant."""
    if arrival.op == "remove":
        return bool(standing) and standing[-1].op == "remove"
    return any(other.op != "remove" and is_same(arrival, other) for other in standing)


def versions(arrived: Iterable[A], kind: TagKind, is_same: IsSame[A]) -> tuple[Version[A], ...]:
    """The versions or events of one id, in order of time, given all arrivals in order.

    A snapshot has one version, valid at all times, or none if it was removed last.
    """
    timeline = Timeline(kind, is_same)
    for arrival in arrived:
        timeline.add(arrival)
    found = timeline.versions()
    if kind != "snapshot" or not found:
        return found
    *_, last = found
    return (Version(last.fragment, START, None),) if last.end is None else ()


@dataclass(frozen=True, slots=True)
class History:
    """All versions or events of one filler id, in order of time."""

    tag: Tag
    versions: tuple[Version[Fragment], ...]


@dataclass(frozen=True, slots=True)
class Histories:
    """The histories of a stream by filler id, and the fragments that were rejected."""

    by_id: Mapping[str, History]
    rejected: tuple[Rejected, ...] = ()


def histories(fragments: Iterable[Fragment], tags: TagStructure, now: datetime) -> Histories:
    """Every filler's history as known at `now`, from fragments in order of arrival.

    Ignores fragments with a validTime after `now`: evaluating at an earlier `now` is time travel.
    """
    now = to_utc(now)
    fillers: dict[str, Known[Fragment, Tag]] = {}
    rejected: list[Rejected] = []
    for fragment in fragments:
        tag = tags.by_id(fragment.tsid) if fragment.tsid is not None else None
        known = fillers.get(fragment.id)
        if known is None:
            known = fillers[fragment.id] = Known()
        other = known.add(fragment, tag)
        if tag is not None and other is not None:
            rejected.append(tag_conflict(fragment, tag, other))
    by_id: dict[str, History] = {}
    for id, known in fillers.items():
        if known.tag is not None:
            past = [f for f in known.arrived if f.valid_time is not None and f.valid_time <= now]
            found = versions(past, known.tag.kind, have_same_content)
            if found:
                by_id[id] = History(known.tag, found)
    return Histories(by_id, tuple(rejected))


def have_same_content(fragment: Fragment, other: Fragment) -> bool:
    """Whether the elements of two fragments are canonically equal."""
    if (fragment.content, fragment.namespaces) == (other.content, other.namespaces):
        return True
    return canonical(content_tree(fragment)) == canonical(content_tree(other))


def tag_conflict(fragment: Fragment, tag: Tag, known: Tag) -> Rejected:
    """The rejection of a fragment whose id belongs to another tag."""
    reason = (
        f"the id '{fragment.id}' belongs to {known.name} (tag {known.id}), but this"
        f" {fragment.op} is {tag.name} (tag {tag.id})"
    )
    return Rejected(fragment.file, fragment.offset, "tag conflict", reason, fragment.content)

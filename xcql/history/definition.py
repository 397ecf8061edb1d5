"""Histories: what the fragments of a stream say of each filler id, put in the order of time.

Fragments may come in any order. Here the versions of a filler are put together from them: ordered
by validTime, each valid until the next; events, each valid at its instant; or, for a snapshot,
the one that counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import NamedTuple

from xcql.model.fragments import Fragment, Rejected, content_tree
from xcql.model.tags import Tag, TagStructure
from xcql.model.time import START, to_utc
from xcql.xdm.serialize import canonical


class Version(NamedTuple):
    """A filler's element for a stretch of time; with `end` None it is still valid.

    For an event `begin` and `end` are the same.
    """

    fragment: Fragment
    begin: datetime
    end: datetime | None

    def is_valid_at(self, instant: datetime) -> bool:
        """Whether this is the version at an instant; of two that meet there, the later one is."""
        return self.begin <= instant and (self.end is None or instant < self.end)


@dataclass(frozen=True, slots=True)
class History:
    """All versions of one filler id, or all its events, in the order of time."""

    tag: Tag
    versions: tuple[Version, ...]


@dataclass(frozen=True, slots=True)
class Histories:
    """The histories of a stream by filler id, and the fragments that had no place in them."""

    by_id: Mapping[str, History]
    rejected: tuple[Rejected, ...] = ()


def histories(fragments: Iterable[Fragment], tags: TagStructure, now: datetime) -> Histories:
    """Every filler's history as it is known at `now`, from fragments in their order of arrival.

    What has a validTime after `now` is left out: an earlier `now` is travelling in time.
    """
    now = to_utc(now)
    arrived: dict[str, list[Fragment]] = {}
    tag_of: dict[str, Tag] = {}
    rejected: list[Rejected] = []
    for fragment in fragments:
        id = fragment.id
        tag = tags.by_id(fragment.tsid) if fragment.tsid is not None else None
        known = tag_of.get(id)
        if tag is not None and known is not None and tag.id != known.id:
            rejected.append(tag_conflict(fragment, tag, known))
        elif fragment.op == "remove" and fragment.valid_time is None:
            # nothing is left of the id, so that it may begin anew, even as another tag
            arrived.pop(id, None)
            tag_of.pop(id, None)
        else:
            if tag is not None and fragment.op != "remove":
                tag_of[id] = tag
            arrived.setdefault(id, []).append(fragment)
    by_id: dict[str, History] = {}
    for id, tag in tag_of.items():
        past = [f for f in arrived[id] if f.valid_time is not None and f.valid_time <= now]
        versions = _events(past) if tag.kind == "event" else _versions(past)
        if tag.kind == "snapshot":
            versions = _latest(versions)
        if versions:
            by_id[id] = History(tag, versions)
    return Histories(by_id, tuple(rejected))


def _versions(arrived: Iterable[Fragment]) -> tuple[Version, ...]:
    """The versions of one id, given in order of arrival, in order of time."""
    at: dict[datetime, Fragment] = {}
    for fragment in arrived:
        time = _time(fragment)
        if fragment.op == "replace":
            at.clear()
        if time not in at or not is_repetition(fragment, at[time]):
            at[time] = fragment
    times = sorted(at)
    return tuple(
        Version(at[begin], begin, end)
        for begin, end in zip_longest(times, times[1:])
        # a remove is an empty version: it ends the one before, and there is nothing to show
        if at[begin].op != "remove"
    )


def _latest(versions: tuple[Version, ...]) -> tuple[Version, ...]:
    """The one version of a snapshot that counts, at all times; none if the last was a removal."""
    if not versions or versions[-1].end is not None:
        return ()
    return (Version(versions[-1].fragment, START, None),)


def _events(arrived: Iterable[Fragment]) -> tuple[Version, ...]:
    """The events of one id, given in order of arrival, in order of time."""
    at: dict[datetime, list[Fragment]] = {}
    for fragment in arrived:
        time = _time(fragment)
        if fragment.op == "replace":
            at.clear()
        if fragment.op == "remove":
            at.pop(time, None)
        elif not any(is_repetition(fragment, event) for event in at.get(time, ())):
            at.setdefault(time, []).append(fragment)
    return tuple(Version(event, time, time) for time in sorted(at) for event in at[time])


def is_repetition(fragment: Fragment, earlier: Fragment) -> bool:
    """Whether a fragment says, at the same instant, the same as an earlier one."""
    if "remove" in (fragment.op, earlier.op):
        return fragment.op == earlier.op
    if (fragment.content, fragment.namespaces) == (earlier.content, earlier.namespaces):
        return True
    return canonical(content_tree(fragment)) == canonical(content_tree(earlier))


def _time(fragment: Fragment) -> datetime:
    assert fragment.valid_time is not None
    return fragment.valid_time


def tag_conflict(fragment: Fragment, tag: Tag, known: Tag) -> Rejected:
    """Why a fragment has no place: its id belongs to another tag."""
    reason = (
        f"the id '{fragment.id}' belongs to {known.name} (tag {known.id}), and this"
        f" {fragment.op} is {tag.name} (tag {tag.id})"
    )
    return Rejected(fragment.file, fragment.offset, "tag conflict", reason, fragment.content)

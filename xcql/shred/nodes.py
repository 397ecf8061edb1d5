"""The table of all nodes of a data file: what a query needs to take any step inside fillers.

Beside each data file of a tag's table there is a file with the nodes of its rows: elements (also
those in mixed content), attributes, texts, comments, processing instructions and holes.

    kind      a number, see `node_paths.KINDS`
    name      the expanded name of an element or attribute, else empty
    path      the tags from the filler's element down to the node, see `node_paths`
    seq       the row that the node belongs to
    start     its byte range in `raw`: with `seq`, it identifies the node and gives document order;
    length      for an attribute, from its name to its closing quote
    parent    the start of its parent; -1 for the filler's element
    level     the number of its ancestors in the filler
    value     its string value, NULL for an element with more than text, and where texts are long

Rows are sorted by kind, name, path, seq and start.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from xcql.arrays import Ints, Numbers, column_of, numbers_of, offsets_of, taken
from xcql.model.tags import TagStructure
from xcql.shred.checksums import DICTIONARY_BYTES, Checksums, write_parquet
from xcql.shred.node_parts import NodePart, SlowReader, Steps, read_plain
from xcql.shred.node_paths import MAX_EXACT, MAX_TAGS, child_path, vague_path
from xcql.shred.shape import are_short

NODES = pa.schema(
    [
        pa.field("kind", pa.int32(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("start", pa.int32(), nullable=False),
        pa.field("length", pa.int32(), nullable=False),
        pa.field("parent", pa.int32(), nullable=False),
        pa.field("level", pa.int16(), nullable=False),
        pa.field("value", pa.string()),
    ]
)

# the columns of a tag's table from which nodes are computed
SOURCE_COLUMNS = ["raw", "namespaces", "seq"]

# rows are read in chunks of about this many bytes
_CHUNK = 4 << 20
# sets of namespaces around elements that are worth reading in bulk
_MAX_SCOPES = 16
# a file with more vague paths (only hostile ones have as many attribute names) has no nodes
_MAX_VAGUE = 4096
# a bit for every possible key is faster than sorting the keys, if they are few
_MAX_BITS = 1 << 22
_GROUP_ROWS = 1 << 17
# smaller than with level 1, which is no faster here
_COMPRESSION_LEVEL = 3
_DEEPEST = np.iinfo(np.int16).max


@dataclass(frozen=True, slots=True)
class NodeTable:
    """The nodes of some rows, and their paths.

    `table` has the columns of `NODES`, with dictionaries for the names and paths. `paths` tells for
    each path whether every node on it has its value in the table.
    """

    table: pa.Table
    paths: Mapping[str, bool]


def node_schema(columns: Iterable[tuple[str, ...]]) -> pa.Schema:
    """The columns of a table of nodes that a query needs.

    >>> node_schema([("start",), ("path",), ("tag",)]).names
    ['path', 'start']
    """
    return pa.schema([field for field in NODES if (field.name,) in set(columns)])


def nodes_of(structure: TagStructure, tsid: str, rows: pa.Table) -> NodeTable | None:
    """All nodes of rows of a tag's table, given the `SOURCE_COLUMNS`.

    None if there are too many different paths, which only hostile data has.

    >>> from xcql.model.tags import parse_tags
    >>> tags = parse_tags('<structure><tag type="snapshot" id="1" name="price"/></structure>')
    >>> raw = '<price unit="€">12</price>'.encode()
    >>> columns = {"raw": [raw], "namespaces": [""], "seq": [7]}
    >>> for row in nodes_of(tags, "1", pa.table(columns)).table.to_pylist():
    ...     print(*row.values())
    0 price 1 7 0 28 -1 0 12
    1 unit 1/@unit 7 7 10 0 1 €
    2  1/text() 7 18 2 0 1 12
    """
    tag = structure.by_id(tsid)
    assert tag is not None
    seqs, firsts = np.unique(numbers_of(rows.column("seq")), return_index=True)
    rows = taken(rows.select(["raw", "namespaces"]), firsts).combine_chunks()
    steps = Steps(structure)
    paths = _Paths(steps)
    parts, in_order = _parts(rows, steps.tag_numbers[tag.id], steps)
    part_codes = [paths.codes(part) for part in parts]
    names, final = paths.final()
    if len(names) > MAX_EXACT + _MAX_VAGUE:
        return None
    codes = np.concatenate([final[codes] for codes in part_codes])
    return _table(seqs, parts, codes, names, steps, in_order)


def write_nodes(nodes: pa.Table, path: Path) -> Checksums:
    """Write a table of nodes as a Parquet file."""
    groups = max(1, math.ceil(nodes.num_rows / _GROUP_ROWS))
    numbers = ["seq", "start", "length", "parent", "level"]
    return write_parquet(
        path,
        nodes.schema,
        [(nodes, math.ceil(nodes.num_rows / groups))],
        compression_level=_COMPRESSION_LEVEL,
        use_dictionary=["kind", "name", "path", "value"],
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        dictionary_pagesize_limit=DICTIONARY_BYTES,
    )


def _parts(rows: pa.Table, tag: int, steps: Steps) -> tuple[list[NodePart], bool]:
    """The nodes of the rows, and whether they are in the order of the rows."""
    raw, declared = (_only_chunk(rows.column(name)) for name in ("raw", "namespaces"))
    slow = np.ones(len(raw), np.bool_)
    parts: list[NodePart] = []
    scopes = list(_by_scope(declared))
    for text, those in scopes:
        bodies = raw if len(those) == len(raw) else taken(raw, those)
        for begin, end, data, borders in _chunks(bodies):
            part, is_slow = read_plain(data, borders, text, tag, steps)
            slow[those[begin:end]] = is_slow
            if part is not None:
                parts.append(replace(part, rows=those[part.rows + begin].astype(np.int32)))
    reader = SlowReader(tag, steps)
    for row in np.flatnonzero(slow).tolist():
        reader.add(row, raw[row].as_py(), declared[row].as_py())
    rest = reader.part()
    if rest is not None:
        parts.append(rest)
    return parts, rest is None and len(scopes) == 1


def _by_scope(declared: pa.StringArray) -> Iterator[tuple[str, Ints]]:
    """The most frequent sets of declarations, with their rows."""
    encoded = declared.dictionary_encode()
    codes = numbers_of(encoded.indices)
    counts = np.bincount(codes, minlength=len(encoded.dictionary))
    for code in np.argsort(-counts, kind="stable")[:_MAX_SCOPES].tolist():
        yield encoded.dictionary[code].as_py(), np.flatnonzero(codes == code)


def _chunks(raw: pa.BinaryArray) -> Iterator[tuple[int, int, bytes, Ints]]:
    """Consecutive rows: from, to, their concatenated bytes, and their offsets there."""
    borders = offsets_of(raw)
    ends = np.searchsorted(borders, np.arange(_CHUNK, int(borders[-1]) + _CHUNK, _CHUNK))
    begin = 0
    for end in np.unique(np.minimum(ends, len(raw))).tolist():
        first, last = int(borders[begin]), int(borders[end])
        data = raw.buffers()[2].slice(first, last - first).to_pybytes()
        yield begin, end, data, borders[begin : end + 1] - first
        begin = end


class _Paths:
    """The paths of all nodes of a file, with a number for each.

    In the order of levels, and of their texts in a level, the first `MAX_EXACT` paths are exact;
    the others are vague. So is everything below a vague path, because it is on a lower level. This
    does not depend on the order in which nodes are read.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        # the path of the parent of a filler's element comes first
        self._names = [""]
        self._vague_names = [""]
        self._levels = [-1]
        self._known: dict[tuple[int, int], int] = {}
        self._vague: dict[tuple[int, int], int] = {}

    def codes(self, part: NodePart) -> Numbers:
        """The number of the path of each node."""
        codes = np.full(len(part), -1, np.int32)
        # numpy sorts small numbers much faster
        levels = np.minimum(part.levels, MAX_TAGS + 1).astype(np.int16)
        order = np.argsort(levels, kind="stable")
        deepest = min(int(levels[order[-1]]), MAX_TAGS)
        borders = np.concatenate([[0], np.cumsum(np.bincount(levels))])
        left = MAX_EXACT
        for level in range(deepest + 1):
            those = order[borders[level] : borders[level + 1]]
            if level == MAX_TAGS:  # there, the path to an element has too many tags
                those = those[part.steps[those] >= len(self._steps.tags)]
            if level:
                above = codes[part.parents[those]]
                those, above = those[above >= 0], above[above >= 0]
            else:
                above = np.zeros(len(those), np.int32)
            size = len(self._steps.names)
            keys = above.astype(np.int64) * size + part.steps[those]
            different, numbers = _distinct(keys, len(self._names) * size)
            exact = self._exact([(key // size, key % size) for key in different], left, level)
            left -= len(different)
            codes[those] = exact[numbers]
            if left <= 0:
                break
        rest = np.flatnonzero(codes < 0)
        if len(rest):
            codes[rest] = self._vague_codes(part, rest)
        return codes

    def final(self) -> tuple[list[str], Numbers]:
        """The texts of the paths, sorted, and the index there of each path by its number."""
        exact = sorted(
            self._known.values(), key=lambda code: (self._levels[code], self._names[code])
        )
        texts = list(self._vague_names)
        for code in exact[:MAX_EXACT]:
            texts[code] = self._names[code]
        names = sorted(set(texts[1:]), key=self._steps.kind_and_name)
        numbers = {name: number for number, name in enumerate(names)}
        return names, np.array([-1, *(numbers[text] for text in texts[1:])], np.int32)

    def _exact(self, pairs: list[tuple[int, int]], left: int, level: int) -> Numbers:
        """The numbers of paths: parents and steps; -1 for those that are one too many."""
        names = [self._name(*pair) for pair in pairs]
        order = list(range(len(pairs)))
        if len(pairs) > left:
            order = sorted(order, key=names.__getitem__)[:left]
        codes = np.full(len(pairs), -1, np.int32)
        for number in order:
            codes[number] = self._add(pairs[number], names[number], level)
        return codes

    def _name(self, above: int, step: int) -> str:
        name = self._steps.names[step]
        return child_path(self._names[above], name) if above else name

    def _add(self, pair: tuple[int, int], name: str, level: int) -> int:
        code = self._known.get(pair)
        if code is None:
            above, step = pair
            code = self._known[pair] = len(self._names)
            step_name = self._steps.names[step]
            is_element = step < len(self._steps.tags)
            vague = (
                vague_path(step_name)
                if is_element
                else child_path(self._vague_names[above], step_name)
            )
            self._names.append(name)
            self._vague_names.append(vague)
            self._levels.append(level)
        return code

    def _vague_codes(self, part: NodePart, nodes: Ints) -> Numbers:
        names, size = self._steps.names, len(self._steps.names)
        steps = part.steps[nodes].astype(np.int64)
        is_element = steps < len(self._steps.tags)
        owners = np.where(is_element, steps, part.steps[part.parents[nodes]])
        keys = owners * (size + 1) + np.where(is_element, size, steps)
        different, numbers = _distinct(keys, size * (size + 1))
        codes = []
        for key in different:
            owner, step = divmod(key, size + 1)
            name = vague_path(names[owner], None if step == size else names[step])
            pair = owner, -1 if step == size else step
            code = self._vague.get(pair)
            if code is None:
                code = self._vague[pair] = len(self._names)
                self._names.append(name)
                self._vague_names.append(name)
                self._levels.append(-1)
            codes.append(code)
        return np.array(codes, np.int32)[numbers]


def _distinct(keys: Ints, bound: int) -> tuple[list[int], Ints | Numbers]:
    """The distinct keys below a bound, ascending, and the index of each key among them."""
    if bound > _MAX_BITS:
        found, numbers = np.unique(keys, return_inverse=True)
        return found.tolist(), numbers
    is_there = np.zeros(bound, np.bool_)
    is_there[keys] = True
    found = np.flatnonzero(is_there)
    lookup = np.zeros(bound, np.int32)
    lookup[found] = np.arange(len(found))
    return found.tolist(), lookup[keys]


def _table(
    seqs: Ints,
    parts: list[NodePart],
    codes: Numbers,
    names: list[str],
    steps: Steps,
    in_order: bool,
) -> NodeTable:
    rows = np.concatenate([part.rows for part in parts])
    values, pool = _values(parts)
    kinds = np.concatenate([part.steps for part in parts])
    values, paths = _without_long(values, pool, codes, names, kinds, steps)
    order = _order(rows, codes, len(names), in_order)
    dictionary = pa.array(names, pa.string())
    kinds_and_names = [steps.kind_and_name(name) for name in names]
    path_kinds = np.array([kind for kind, *_ in kinds_and_names], np.int32)
    path_names = pa.array([name for _, name, _ in kinds_and_names], pa.string())
    path_names = path_names.dictionary_encode()
    name_codes = numbers_of(path_names.indices).astype(np.int32)
    columns = {
        "kind": column_of(path_kinds[codes[order]]),
        "name": pa.DictionaryArray.from_arrays(
            column_of(name_codes[codes[order]]), path_names.dictionary
        ),
        "path": pa.DictionaryArray.from_arrays(column_of(codes[order]), dictionary),
        "seq": column_of(seqs[rows[order]]),
        "start": _column([part.starts for part in parts], order),
        "length": _column([part.lengths for part in parts], order),
        "parent": _column([_parent_starts(part) for part in parts], order),
        "level": _column([np.minimum(part.levels, _DEEPEST) for part in parts], order, np.int16),
        "value": taken(pool, values[order], values[order] >= 0).cast(pa.string()),
    }
    fields = [
        field.with_type(columns[field.name].type) if pa.types.is_string(field.type) else field
        for field in NODES
    ]
    return NodeTable(pa.table(list(columns.values()), schema=pa.schema(fields)), paths)


def _column(parts: list[Numbers], order: Ints, type: type[np.signedinteger] = np.int32) -> pa.Array:
    return column_of(np.concatenate(parts)[order].astype(type))


def _parent_starts(part: NodePart) -> Numbers:
    return np.where(part.parents >= 0, part.starts[part.parents], -1).astype(np.int32)


def _values(parts: list[NodePart]) -> tuple[Ints, pa.BinaryArray]:
    """The values of all nodes as indexes into one pool."""
    begins = np.cumsum([0, *(len(part.pool) for part in parts)])
    moved = [
        np.where(part.values >= 0, part.values + begin, -1)
        for part, begin in zip(parts, begins[:-1].tolist(), strict=True)
    ]
    return np.concatenate(moved), pa.concat_arrays([part.pool for part in parts])


def _without_long(
    values: Ints,
    pool: pa.BinaryArray,
    codes: Numbers,
    names: list[str],
    kinds: Numbers,
    steps: Steps,
) -> tuple[Ints, dict[str, bool]]:
    """The values except those of elements and texts on paths where they are long.

    Also returns for each path whether all of its nodes have values.
    """
    size = len(names)
    lengths = np.diff(offsets_of(pool))
    has_value = values >= 0
    counts = np.bincount(codes[has_value], minlength=size)
    sizes = np.bincount(codes[has_value], lengths[values[has_value]], size)
    is_text = np.zeros(size, np.bool_)
    is_text[codes[(kinds < len(steps.tags)) | (kinds == steps.text)]] = True
    are_long = is_text & ~np.array(
        [are_short(int(n), int(m)) for n, m in zip(counts, sizes, strict=True)], np.bool_
    )
    values = np.where(are_long[codes], -1, values)
    is_complete = np.bincount(codes[values < 0], minlength=size) == 0
    return values, dict(zip(names, is_complete.tolist(), strict=True))


def _order(rows: Numbers, codes: Numbers, paths: int, in_order: bool) -> Ints:
    """The order by path and row; the nodes of a path in a row are in document order already."""
    small = codes.astype(np.int16) if paths < 1 << 15 else codes
    if in_order:
        return np.argsort(small, kind="stable")
    by_row = np.argsort(rows, kind="stable")
    return by_row[np.argsort(small[by_row], kind="stable")]


def _only_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)

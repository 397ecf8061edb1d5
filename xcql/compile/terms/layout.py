"""The columns of several tables read as one: the fields that are needed, and their types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from xcql.shred.columns import TEXTS
from xcql.shred.shape import LENGTH, START, WAYS, Slot
from xcql.shred.tables import COMMON, table_schema

Path = tuple[str, ...]


def read_schema(shape: Slot | None, columns: Sequence[Path]) -> pa.Schema:
    """The needed fields of one tag's table, with the types in its files.

    A field that is in no file is a string, within structs, or the texts on a path. Without a
    shape, there are no files at all.
    """
    whole = COMMON if shape is None else table_schema(shape)
    asked = [path for path in columns if path != ("tag",)]
    pruned = _pruned(pa.struct(list(whole)), asked)
    return pa.schema(list(pruned))


def joint_schema(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """The columns of several tables when they are read as one.

    A field that one table lacks is NULL in its rows; a field that is an array in some tables,
    because elements repeat there, is an array in all.

    >>> one = pa.schema([("element", pa.struct([("name", pa.struct([("_text", pa.string())]))]))])
    >>> two = pa.schema([("element", pa.struct([("name", pa.list_(one.field(0).type[0].type))]))])
    >>> joint_schema([one, two]).field("element").type == two.field("element").type
    True
    """
    joint: pa.DataType = pa.struct([])
    for schema in schemas:
        joint = _joined(joint, pa.struct(list(schema)))
    return pa.schema(list(joint))


def widened(own: pa.DataType, joint: pa.DataType) -> pa.DataType:
    """The type with which to read files of type `own` to get all fields of the joint type.

    It is the joint type, except for arrays where the files have a single value.
    """
    if pa.types.is_struct(own) and pa.types.is_struct(joint):
        return pa.struct(
            [
                pa.field(
                    field.name,
                    widened(own.field(field.name).type, field.type)
                    if own.get_field_index(field.name) >= 0
                    else field.type,
                )
                for field in joint
            ]
        )
    if pa.types.is_list(joint):
        if pa.types.is_list(own):
            return pa.list_(widened(own.value_type, joint.value_type))
        return widened(own, joint.value_type)
    return joint


def _pruned(type: pa.DataType, paths: Iterable[Path], inside: str = "") -> pa.DataType:
    """The fields of a type that paths lead to; `inside` is the name of the field with that type."""
    paths = list(paths)
    if () in paths:
        return type
    if pa.types.is_list(type):
        return pa.list_(_pruned(type.value_type, paths, inside))
    below: dict[str, list[Path]] = {}
    for path in paths:
        below.setdefault(path[0], []).append(path[1:])
    fields = []
    known = [field.name for field in type] if pa.types.is_struct(type) else []
    # in the order of the table, so that code that unnests structs can rely on it
    for name in sorted(below, key=lambda name: known.index(name) if name in known else len(known)):
        rest = below[name]
        if pa.types.is_struct(type) and type.get_field_index(name) >= 0:
            fields.append(pa.field(name, _pruned(type.field(name).type, rest, name)))
        else:
            fields.append(pa.field(name, _unknown(name, rest, inside)))
    return pa.struct(fields)


def _unknown(name: str, paths: Sequence[Path], inside: str) -> pa.DataType:
    """The type of a field that is in no data."""
    if () not in paths:
        return _pruned(pa.struct([]), paths, name)
    if inside == WAYS:
        return TEXTS
    return pa.int32() if name in (START, LENGTH) else pa.string()


def _joined(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if pa.types.is_list(one) or pa.types.is_list(other):
        inner = [type.value_type if pa.types.is_list(type) else type for type in (one, other)]
        return pa.list_(_joined(*inner))
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        fields = {field.name: field for field in one}
        for field in other:
            known = fields.get(field.name)
            type = field.type if known is None else _joined(known.type, field.type)
            fields[field.name] = pa.field(field.name, type)
        return pa.struct(list(fields.values()))
    return one if pa.types.is_struct(other) and not other.num_fields else other

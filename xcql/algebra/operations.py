"""The operations that a plan can hold: one entry for each, with its types and its behaviour.

Everything else that is said about an operation goes by its name here: the dialects have a form for
it (`xcql.dialects.forms`), the compiler's functions call it, and `functions` are the functions and
operators of XQuery that it computes. The page docs/native.md is generated from this table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

# integers have 64 bits, ints have 32; an instant has no zone; durations are integers of
# microseconds or months; a constant is known when the query is compiled
Type = Literal[
    "any",
    "array",
    "boolean",
    "bytes",
    "constant",
    "date",
    "decimal",
    "double",
    "function",
    "instant",
    "int",
    "integer",
    "number",
    "struct",
    "text",
]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on values.

    The last `optional` parameters may be left out; with `variadic`, the last one may be repeated.
    `is_strict` says that the result is absent (NULL) if any argument is; other operations have a
    rule of their own. `can_fail` says that the operation itself may raise an error.
    """

    name: str
    parameters: tuple[Type, ...]
    result: Type
    optional: int = 0
    variadic: bool = False
    is_strict: bool = False
    can_fail: bool = False
    functions: tuple[str, ...] = ()

    def takes(self, count: int) -> bool:
        """Whether it can have so many arguments."""
        least = len(self.parameters) - self.optional
        return least <= count and (self.variadic or count <= len(self.parameters))

    def parameter(self, index: int) -> Type:
        """The type of an argument."""
        return self.parameters[min(index, len(self.parameters) - 1)]

    @property
    def signature(self) -> str:
        """The operation with its types: `substring_of_text(text, integer, integer?) -> text`."""
        first_optional = len(self.parameters) - self.optional
        parts = [
            f"{one}?" if index >= first_optional and not self.variadic else str(one)
            for index, one in enumerate(self.parameters)
        ]
        if self.variadic:
            parts[-1] += "*"
        return f"{self.name}({', '.join(parts)}) -> {self.result}"


# flags: `strict` and `fails`; then the functions and operators that it computes
_TABLE = """
logic
  =(any, any) -> boolean | strict | eq
  <>(any, any) -> boolean | strict | ne
  <(any, any) -> boolean | strict | lt
  <=(any, any) -> boolean | strict | le
  >(any, any) -> boolean | strict | gt
  >=(any, any) -> boolean | strict | ge
  <=>(any, any) -> boolean | | distinct-values
  and(boolean*) -> boolean | | and
  or(boolean*) -> boolean | | or
  not(boolean) -> boolean | strict | fn:not
  is_true(boolean) -> boolean
  is_null(any) -> boolean | | fn:empty
  is_not_null(any) -> boolean | | fn:exists
  present(any) -> boolean
  case(any*) -> any | | if
  coalesce(any*) -> any
  one_of(any, constant*) -> boolean | strict
  nullif(any, any) -> any
  with_name(any, function) -> any
  field(struct, constant) -> any | strict
  fail(constant, any) -> any | fails | fn:error

numbers
  +(number*) -> number | strict fails | +
  -(number, number) -> number | strict fails | -
  *(number*) -> number | strict fails | *
  %(number, number) -> number | strict fails | mod
  idiv(number, number) -> integer | strict fails | idiv
  negative(number) -> number | strict fails
  abs(number) -> number | strict fails | fn:abs
  floor(number) -> number | strict | fn:floor
  ceil(number) -> number | strict | fn:ceiling
  greatest(any*) -> any | | fn:max
  least(any*) -> any | | fn:min
  integer_divide(integer, integer) -> decimal | strict fails | div
  integer_round(integer, integer) -> integer | strict fails | fn:round
  is_nan(double) -> boolean
  is_finite(double) -> boolean
  least_if_nan(double) -> double | strict
  double_divide(double, double) -> double | | div
  double_modulo(double, double) -> double | strict | mod
  double_floor(double) -> double | strict | fn:floor
  double_ceiling(double) -> double | strict | fn:ceiling
  round_half_up(double) -> double | strict | fn:round
  round_digits(double, constant) -> double | strict | fn:round
  round_half_even(double, constant) -> double | strict | fn:round-half-to-even
  square_root(double) -> double | strict | math:sqrt
  mathematics(constant, double, double?) -> double | | math:exp math:log math:sin math:pow
  decimal_add(decimal, decimal) -> decimal | strict fails | +
  decimal_subtract(decimal, decimal) -> decimal | strict fails | -
  decimal_multiply(decimal, decimal, any) -> decimal | fails | *
  decimal_divide(decimal, decimal, any) -> decimal | fails | div
  decimal_idiv(decimal, decimal, any) -> integer | fails | idiv
  decimal_modulo(decimal, decimal, any) -> decimal | fails | mod
  decimal_negative(decimal) -> decimal | strict fails
  decimal_abs(decimal) -> decimal | strict | fn:abs
  decimal_floor(decimal) -> decimal | strict fails | fn:floor
  decimal_ceiling(decimal) -> decimal | strict fails | fn:ceiling
  decimal_round(decimal, constant) -> decimal | strict fails | fn:round
  decimal_round_half_even(decimal, constant) -> decimal | strict fails | fn:round-half-to-even
  from_millionths(integer) -> decimal | strict
  formatted_number(number, constant, constant) -> text | | fn:format-number
  filled_up(integer, constant) -> text | strict
  padded_integer(integer, int) -> text | strict | fn:format-integer

casts
  to_double(any) -> double | strict fails | xs:double
  to_integer(any) -> integer | strict fails | xs:integer
  to_int(any) -> int | strict fails
  to_decimal(any) -> decimal | strict fails | xs:decimal
  to_string(any) -> text | strict | xs:string
  to_instant(any) -> instant | strict fails
  to_date(any) -> date | strict fails
  double_text(double) -> text | strict | fn:string
  decimal_text(decimal) -> text | strict | fn:string
  is_double_text(text) -> boolean | strict
  is_integer_text(text) -> boolean | strict
  is_decimal_text(text) -> boolean | strict
  is_boolean_text(text) -> boolean | strict
  is_plain_name(text) -> boolean | strict
  is_date_text(text) -> boolean
  is_dateTime_text(text) -> boolean
  is_time_text(text) -> boolean
  is_dayTimeDuration_text(text) -> boolean | strict
  is_yearMonthDuration_text(text) -> boolean | strict
  parse_boolean(text) -> boolean | strict | xs:boolean
  parse_double(text) -> double | strict fails | fn:number xs:double
  parse_integer(text, any) -> integer | fails | xs:integer
  parse_decimal(text, any) -> decimal | fails | xs:decimal
  parse_date(text) -> date | strict fails | xs:date
  parse_dateTime(text) -> instant | strict fails | xs:dateTime
  parse_time(text) -> integer | strict fails | xs:time
  parse_dayTimeDuration(text) -> integer | fails | xs:dayTimeDuration
  parse_yearMonthDuration(text) -> integer | fails | xs:yearMonthDuration

texts
  concat(text*) -> text | strict | fn:concat ||
  contains(text, text) -> boolean | strict | fn:contains
  startswith(text, text) -> boolean | strict | fn:starts-with
  endswith(text, text) -> boolean | strict | fn:ends-with
  upper(text) -> text | strict | fn:upper-case
  lower(text) -> text | strict | fn:lower-case
  replace(text, text, text) -> text | strict
  translate(text, text, text) -> text | strict | fn:translate
  trimmed(text) -> text | strict
  collapsed(text) -> text | strict | fn:normalize-space
  length_of_text(text) -> integer | strict | fn:string-length
  octet_length(text) -> int | strict
  substring_of_text(text, integer, integer?) -> text | | fn:substring
  substring_by_doubles(text, double, double?) -> text | | fn:substring
  without_blanks_before(text) -> text | strict
  text_before(text, text) -> text | strict | fn:substring-before
  text_after(text, text) -> text | strict | fn:substring-after
  text_order(text, text) -> integer | strict | fn:compare
  text_matches(text, constant, constant) -> boolean | strict | fn:matches
  text_replaced(text, constant, constant, constant) -> text | strict | fn:replace
  text_split(text, constant, constant) -> array | strict | fn:tokenize
  codepoints(text) -> array | strict | fn:string-to-codepoints
  text_of_codepoints(array, any) -> text | | fn:codepoints-to-string
  encoded_for_uri(text) -> text | strict | fn:encode-for-uri
  has_word(text, text) -> boolean | strict | fn:contains-token

times
  instant(text) -> instant | strict fails
  before_time() -> instant | | start
  time_text(instant) -> text | strict | fn:string
  zone_of(text) -> text | strict
  zone_of_time(text) -> text | strict
  zone_length(text) -> integer | strict
  time_of_day(instant) -> integer | strict
  in_zone(instant, text) -> instant | strict
  out_of_zone(instant, text) -> instant | strict
  zoned_time_text(instant, text) -> text | strict | fn:string
  zoned_date_text(date, text) -> text | strict | fn:string
  add_microseconds(instant, integer) -> instant | strict fails | +
  add_months(instant, integer) -> instant | strict fails | +
  microseconds_between(instant, instant) -> integer | strict fails | -
  year(any) -> integer | strict | fn:year-from-dateTime fn:year-from-date
  month(any) -> integer | strict | fn:month-from-dateTime fn:month-from-date
  day(any) -> integer | strict | fn:day-from-dateTime fn:day-from-date
  hour(instant) -> integer | strict | fn:hours-from-dateTime
  minute(instant) -> integer | strict | fn:minutes-from-dateTime
  second(instant) -> integer | strict
  second_of(instant) -> decimal | strict | fn:seconds-from-dateTime
  month_name(any) -> text | | fn:format-date
  formatted_time(text, constant, constant) -> text | strict | fn:format-date fn:format-time
  seconds_of(instant) -> integer | strict
  time_buckets(integer, integer, constant) -> array
  overlaps(instant, instant, instant, instant) -> boolean | | ?[]
  counts_at(instant, instant, instant) -> boolean
  known_end(instant, instant) -> instant
  parse_validity(text, any) -> instant | fails | ?[]
  lifespan_bound(text, constant) -> instant | | fn:vtFrom fn:vtTo

durations
  day_time_text(integer) -> text | strict | fn:string
  year_month_text(integer) -> text | strict | fn:string
  times_rounded(double, integer) -> integer | strict fails | *
  divided_half_even(integer, integer) -> integer | strict fails | div
  divided_half_up(integer, integer) -> integer | strict fails | div
  times_decimal_half_even(integer, decimal) -> integer | strict fails | *
  times_decimal_half_up(integer, decimal) -> integer | strict fails | *
  by_decimal_half_even(integer, decimal) -> integer | strict fails | div
  by_decimal_half_up(integer, decimal) -> integer | strict fails | div
  duration_ratio(integer, integer) -> decimal | strict fails | div

arrays
  array(any*) -> array
  struct(any*) -> struct
  named_struct(any*) -> struct
  members(any*) -> struct
  tuple(any*) -> struct
  size(array) -> integer | | fn:count
  get(array, integer) -> any | strict
  first_of(array) -> any | strict | fn:head
  only(array, any) -> any | fails | fn:exactly-one fn:zero-or-one
  or_empty(array) -> array
  slice(array, integer, integer) -> array | strict fails | fn:subsequence
  slice_from_end(array, integer) -> array
  concat_arrays(array*) -> array | strict | ,
  flatten(array) -> array | strict
  filter(array, function) -> array | strict | predicates
  transform(array, function) -> array | strict | for
  exists(array, function) -> boolean | | some every
  aggregate(array, any, function, function?) -> any | | fn:fold-left
  sort_array(array) -> array | strict
  array_distinct(array) -> array | strict | fn:distinct-values
  array_max(array) -> any | strict | fn:max
  array_min(array) -> any | strict | fn:min
  array_sum(array) -> integer | strict fails | fn:sum
  array_sum_doubles(array) -> double | | fn:sum
  array_sum_decimals(array) -> decimal | strict fails | fn:sum
  join_texts(array, text) -> text | strict | fn:string-join
  range(integer, integer) -> array | fails | to
  window_starts(array) -> array | strict | window
  zipped(array, array) -> array

groups
  group_count(any) -> integer | | fn:count
  group_count_if(boolean) -> integer | | fn:count
  group_exists(any) -> boolean | | fn:exists
  group_any(any) -> any
  group_min(any) -> any | | fn:min
  group_max(any) -> any | | fn:max
  group_min_doubles(double, any*) -> double | | fn:min
  group_max_doubles(double, any*) -> double | | fn:max
  group_sum(any) -> number | fails | fn:sum
  group_sum_decimals(decimal) -> decimal | fails | fn:sum
  group_sum_doubles(double, any*) -> double | | fn:sum
  group_collect(any, any*) -> array
  group_join(text, any*) -> text | | fn:string-join
  group_first(any, any*) -> any
  group_last(any, any*) -> any

nodes
  bytes_length(bytes) -> int | strict
  text_of_bytes(bytes) -> text | strict
  text_of_span(bytes, int, int) -> text | strict
  node_key(bytes, int) -> bytes | strict
  copy_key(bytes, int*) -> bytes | strict
  key_after(bytes) -> bytes | strict
  key_below(bytes, text) -> bytes | strict
  key_text(bytes) -> text | strict | fn:generate-id
  parent_key(bytes) -> bytes | strict
  hole_offset(bytes) -> int | strict
  places_above(bytes) -> array | strict | ancestor::
  place_above(bytes, int) -> bytes | strict
  four_bytes(int) -> bytes | strict
  pieces(bytes, array, int, int) -> array
  escape_text(text) -> text | strict
  escape_attribute(text) -> text | strict
  with_lifespan(text, text, text, text) -> text | strict
  without_lifespan(text) -> text | strict
  with_namespaces(text, text) -> text
  without_no_default(text) -> text | strict
  namespaces_inside(bytes, text, text, int*) -> text
  namespaces_at(bytes, text, int) -> text | strict
  declared_once(text) -> text | strict
  out_of_default(text) -> text | strict
  deep_text(text) -> text | strict | fn:deep-equal
  element_around(text, text, text) -> text
  empty_elements(text, constant) -> text | strict
  inner_children(text, constant*) -> array | strict | child::
  inner_descendants(text, constant*) -> array | strict | descendant::
  inner_texts(text) -> array | strict | text()
  inner_values(text, constant, constant*) -> array
  string_of_xml(text) -> text | strict | fn:string
  local_part(text) -> text | strict
  name_of_tag(text) -> text | strict | fn:name
  xpath(text, constant) -> array
  xpath_boolean(text, constant) -> boolean

evaluated
  evaluate(constant, array*) -> array | fails
  evaluator_item(text, text, instant?, instant?) -> struct
  dynamic_text(struct) -> text
  dynamic_content(array) -> text | strict
  dynamic_truth(array) -> boolean | | fn:boolean
"""

_ENTRY = re.compile(r"  (\S+?)\((.*?)\) -> (\w+)(?: \|(.*?)(?:\| (.*))?)?$")


def _operations() -> Iterator[tuple[str, Operation]]:
    """The operations with their topics."""
    topic = ""
    for line in _TABLE.strip().splitlines():
        if not line.startswith(" "):
            topic = line or topic
            continue
        entry = _ENTRY.match(line)
        assert entry is not None, line
        yield topic, _operation(*entry.groups(default=""))


def _operation(name: str, parameters: str, result: str, flags: str, functions: str) -> Operation:
    written = [one for one in parameters.split(", ") if one]
    types = tuple(one.rstrip("?*") for one in written)
    assert {*types, result} <= set(get_args(Type)), name
    variadic = parameters.endswith("*")
    return Operation(
        name,
        types,  # type: ignore[arg-type]
        result,  # type: ignore[arg-type]
        optional=1 if variadic else sum(one.endswith("?") for one in written),
        variadic=variadic,
        is_strict="strict" in flags,
        can_fail="fails" in flags,
        functions=tuple(functions.split()),
    )


TOPICS: Mapping[str, tuple[Operation, ...]] = MappingProxyType(
    {
        topic: tuple(one for other, one in _operations() if other == topic)
        for topic in dict.fromkeys(topic for topic, _ in _operations())
    }
)
OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {one.name: one for several in TOPICS.values() for one in several}
)

"""Strings in SQL; positions count characters, and regular expressions are Java's."""

from __future__ import annotations

from xcql.sql.dialect import Sql, form, let
from xcql.sql.templates import said


@form
def text_matches(value: Sql, pattern: Sql) -> Sql:
    return said("regexp_like(x, p)", x=value, p=pattern)


@form
def text_replaced(value: Sql, pattern: Sql, replacement: Sql) -> Sql:
    return said("regexp_replace(x, p, r)", x=value, p=pattern, r=replacement)


@form
def text_split(value: Sql, pattern: Sql) -> Sql:
    """The parts between what matches; an empty text has none."""
    empty = "slice(array(''), 1, 0)"
    return let(
        value, "t", said(f"CASE WHEN t = '' THEN {empty} ELSE split(t, p, -1) END", p=pattern)
    )


@form
def codepoints(value: Sql) -> Sql:
    """The code points of a text: its bytes in UTF-32, four and four."""
    return let(
        said("hex(encode(x, 'UTF-32'))", x=value),
        "h",
        said(
            """transform(CASE WHEN h = '' THEN slice(array(1), 1, 0)
                ELSE sequence(1, CAST(length(h) AS INT), 8) END,
              i -> CAST(conv(substr(h, i, 8), 16, 10) AS BIGINT))"""
        ),
    )


@form
def text_of_codepoints(codes: Sql, otherwise: Sql) -> Sql:
    """The text that code points make; each has to be one of a character of XML.

    Decoding drops a byte order mark from the beginning, so one is put there.
    """
    return said(
        """decode(unhex(concat('0000FEFF', array_join(transform(xs, x -> CASE
            WHEN x IN (9, 10, 13) OR x BETWEEN 32 AND 55295 OR x BETWEEN 57344 AND 65533
              OR x BETWEEN 65536 AND 1114111
            THEN lpad(hex(x), 8, '0') ELSE otherwise END), ''))), 'UTF-32')""",
        xs=codes,
        otherwise=otherwise,
    )


@form
def encoded_for_uri(value: Sql) -> Sql:
    """Every byte but those of letters, digits, - _ . ~ as % and two digits."""
    return said(
        r"""regexp_replace(regexp_replace(replace(url_encode(x), '+', '%20'), '[*]', '%2A'),
        '%7E', '~')""",
        x=value,
    )


@form
def text_order(x: Sql, y: Sql) -> Sql:
    return said("CASE WHEN x < y THEN -1L WHEN x > y THEN 1L WHEN x = y THEN 0L END", x=x, y=y)


@form
def has_word(words: Sql, word: Sql) -> Sql:
    """Whether a word is among others that a blank each is between."""
    return said(
        "w <> '' AND instr(w, ' ') = 0 AND contains(concat(' ', x, ' '), concat(' ', w, ' '))",
        x=words,
        w=word,
    )


@form
def substring_by_doubles(value: Sql, start: Sql, length: Sql | None = None) -> Sql:
    """The characters from a rounded position on, and so many of them: these may be infinite."""
    end = said("b + n", b=start, n=length) if length is not None else said("1e18D")
    return said(
        """CASE
          WHEN x IS NULL OR isnan(b) OR isnan(e) OR b > 2147483647.0D OR e <= 1.0D OR e <= b THEN ''
          ELSE substr(x, CAST(greatest(b, 1.0D) AS INT),
            CAST(least(e - greatest(b, 1.0D), 2147483647.0D) AS INT))
        END""",
        x=value,
        b=start,
        e=end,
    )

"""Strings in SQL; positions count characters."""

from __future__ import annotations

from xcql.dialects.forms.casts import trimmed
from xcql.dialects.forms.registry import Forms
from xcql.dialects.templates import let, template
from xcql.dialects.trees import Sql, call, text_literal

forms = Forms()

forms.templates(
    {
        "length_of_text text": "CAST(length(text) AS BIGINT)",
        "text_before text part": """CASE WHEN part = '' OR instr(text, part) = 0 THEN ''
          ELSE substr(text, 1, instr(text, part) - 1) END""",
        "text_after text part": """CASE WHEN part = '' THEN text WHEN instr(text, part) = 0 THEN ''
          ELSE substr(text, instr(text, part) + length(part)) END""",
        "text_order x y": "CASE WHEN x < y THEN -1L WHEN x > y THEN 1L WHEN x = y THEN 0L END",
        # whether a word is in a list of words that are separated by blanks
        "has_word x w": """w <> '' AND instr(w, ' ') = 0
          AND contains(concat(' ', x, ' '), concat(' ', w, ' '))""",
        # escapes every byte except letters, digits, - _ . ~
        "encoded_for_uri x": """regexp_replace(regexp_replace(
          replace(url_encode(x), '+', '%20'), '[*]', '%2A'), '%7E', '~')""",
    }
)


@forms
def collapsed(value: Sql) -> Sql:
    return call("regexp_replace", trimmed(value), text_literal(r"[ \t\r\n]+"), text_literal(" "))


@forms
def without_blanks_before(value: Sql) -> Sql:
    return call("ltrim", text_literal(" \t\r\n"), value)


@forms
def substring_of_text(value: Sql, start: Sql, length: Sql | None = None) -> Sql:
    """From a position that may be before the text, so many characters."""
    first = "CAST(greatest(start, 1L) AS INT)"
    if length is None:
        return template(f"substr(text, {first})", text=value, start=start)
    count = "CAST(greatest(start + length - greatest(start, 1L), 0L) AS INT)"
    return template(f"substr(text, {first}, {count})", text=value, start=start, length=length)


@forms
def codepoints(value: Sql) -> Sql:
    """The code points of a text: its bytes in UTF-32, in groups of four."""
    return let(
        template("hex(encode(x, 'UTF-32'))", x=value),
        "h",
        template(
            """transform(CASE WHEN h = '' THEN slice(array(1), 1, 0)
                ELSE sequence(1, CAST(length(h) AS INT), 8) END,
              i -> CAST(conv(substr(h, i, 8), 16, 10) AS BIGINT))"""
        ),
    )


@forms
def text_of_codepoints(codes: Sql, otherwise: Sql) -> Sql:
    """The text that code points make; each has to be one of a character of XML.

    Decoding drops a byte order mark from the beginning, so one is put there.
    """
    return template(
        """decode(unhex(concat('0000FEFF', array_join(transform(xs, x -> CASE
            WHEN x IN (9, 10, 13) OR x BETWEEN 32 AND 55295 OR x BETWEEN 57344 AND 65533
              OR x BETWEEN 65536 AND 1114111
            THEN lpad(hex(x), 8, '0') ELSE otherwise END), ''))), 'UTF-32')""",
        xs=codes,
        otherwise=otherwise,
    )


@forms
def substring_by_doubles(value: Sql, start: Sql, length: Sql | None = None) -> Sql:
    """The characters from a rounded position on, and so many of them: these may be infinite."""
    end = template("b + n", b=start, n=length) if length is not None else template("1e18D")
    return template(
        """CASE
          WHEN x IS NULL OR isnan(b) OR isnan(e) OR b > 2147483647.0D OR e <= 1.0D OR e <= b THEN ''
          ELSE substr(x, CAST(greatest(b, 1.0D) AS INT),
            CAST(least(e - greatest(b, 1.0D), 2147483647.0D) AS INT))
        END""",
        x=value,
        b=start,
        e=end,
    )

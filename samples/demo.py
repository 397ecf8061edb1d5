"""The output of `make demo`: a query over the credit-card stream, evaluated at two times."""

from __future__ import annotations

from pathlib import Path

import xcql

CREDIT = Path(__file__).parent / "credit"


def main() -> None:
    query = (CREDIT / "queries" / "large-purchases.xcql").read_text(encoding="utf-8")
    streams = {"credit": (CREDIT / "fragments.xml", CREDIT / "tags.xml")}
    print(query)
    for now in ("2003-10-31", "2003-11-10"):
        print(f"The answer on {now}:")
        for item in xcql.evaluate(query, streams=streams, now=now):
            print(f"  {item.xml}")
        print()


if __name__ == "__main__":
    main()

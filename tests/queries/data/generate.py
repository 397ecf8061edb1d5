"""Writes the data sets `auctions` and `library`: always the same bytes, from the tables below.

    python tests/queries/data/generate.py

The others are written by hand. These two are shaped like XMark and DBLP, but have histories: items
that change, people who move, bids as events, auctions that close, papers that are corrected.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

# A tag: its name (`*` temporal, `!` event), and the tags in it; `^name` refers to one around it.
TEXT = ("text", "bold", ("keyword", "emph"), ("emph", "keyword"))
DESCRIPTION = ("description", TEXT, ("parlist", ("listitem", TEXT, "^parlist")))
MAILBOX = ("mailbox", ("mail", "from", "to", "date", ("text", "emph")))
ITEM = ("item*", "location", "quantity", "name", "payment", DESCRIPTION, "shipping")
ITEM += ("incategory", MAILBOX)
ANNOTATION = ("annotation", "author", DESCRIPTION, "happiness")
PERSON = ("person*", "name", "emailaddress", "phone", ("address", "street", "city", "country"))
PERSON += ("homepage", "creditcard", ("watches", "watch"))
PERSON += (("profile", "interest", "education", "gender", "business", "age"),)
BIDDER = ("bidder!", "date", "time", "personref", "increase")
OPEN = ("open_auction*", "initial", "reserve", BIDDER, "current*", "privacy", "itemref", "seller")
OPEN += (ANNOTATION, "quantity", "type", ("interval", "start", "end"))
CLOSED = ("closed_auction*", "seller", "buyer", "itemref", "price", "date", "quantity", "type")
CLOSED += (ANNOTATION,)
SITE = (
    "site",
    ("regions", ("asia", ITEM), ("europe", ITEM), ("namerica", ITEM)),
    ("categories", ("category*", "name", DESCRIPTION)),
    ("catgraph", "edge"),
    ("people", PERSON),
    ("open_auctions", OPEN),
    ("closed_auctions", CLOSED),
)
TITLE = ("title", "i", "sub")
PAPER = ("author", TITLE, "year", "pages", "ee", "cite", "crossref")
DBLP = (
    "dblp",
    ("article*", *PAPER, "journal", "volume", "number"),
    ("inproceedings*", *PAPER, "booktitle"),
    ("proceedings*", "editor", TITLE, "year", "booktitle", "publisher", "isbn"),
    ("book*", "author", "editor", TITLE, "year", "publisher", "isbn", "price*"),
    ("phdthesis*", "author", TITLE, "year", "school"),
)


def write(folder: str, tags: Any, fillers: list[tuple[str, str, str, str]]) -> None:
    """Tags and fragments of one stream; a filler is (path of its tag, id, validTime, element)."""
    ids: dict[str, int] = {}

    def lines(spec: Any, above: str, margin: str) -> list[str]:
        name, *inside = (spec,) if isinstance(spec, str) else spec
        if name.startswith("^"):
            around = [path for path in ids if path.endswith("/" + name[1:]) and path in above]
            return [f'{margin}<tag ref="{ids[around[-1]]}"/>']
        kind = {"*": "temporal", "!": "event"}.get(name[-1], "snapshot")
        name = name.rstrip("*!")
        path = f"{above}/{name}"
        ids[path] = len(ids) + 1
        head = f'{margin}<tag type="{kind}" id="{ids[path]}" name="{name}"'
        if not inside:
            return [head + "/>"]
        within = [line for child in inside for line in lines(child, path, margin + " ")]
        return [head + ">", *within, f"{margin}</tag>"]

    structure = lines(tags, "", " ")
    out = HERE / folder
    out.mkdir(parents=True, exist_ok=True)
    start = '<stream:structure xmlns:stream="urn:xcql:stream">'
    (out / "tags.xml").write_text("\n".join([start, *structure, "</stream:structure>\n"]))
    text = ["<fragments>"]
    for path, id, time, element in fillers:
        found = [number for known, number in ids.items() if known.endswith(path)]
        assert len(found) == 1, path
        operation = f'filler id="{id}" tsid="{found[0]}" validTime="{time}"'
        text.append(
            f"<{operation}>{element}</filler>"
            if element
            else f'<remove id="{id}" validTime="{time}"/>'
        )
    (out / "fragments.xml").write_text("\n".join([*text, "</fragments>\n"]))


def element(name: str, content: str = "", **attributes: str) -> str:
    head = name + "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{head}>{content}</{name}>" if content else f"<{head}/>"


def each(name: str, *contents: str) -> str:
    return "".join(element(name, content) for content in contents)


def hole(*ids: str) -> str:
    return "".join(f'<hole id="{id}"/>' for id in ids)


def item(
    id: str,
    place: str,
    quantity: str,
    name: str,
    payment: str,
    text: str,
    categories: str,
    mails: str = "",
) -> str:
    inside = each("location", place) + each("quantity", quantity) + each("name", name)
    inside += each("payment", payment) + element("description", text)
    inside += each("shipping", "Will ship internationally") if "Card" in payment else ""
    inside += "".join(element("incategory", category=f"category{c}") for c in categories)
    inside += element("mailbox", mails)
    return element("item", inside, id=id, **({"featured": "yes"} if mails else {}))


def mail(sender: str, to: str, date: str, text: str) -> str:
    inside = each("from", sender) + each("to", to) + each("date", date) + each("text", text)
    return element("mail", inside)


GOLD = "<text>a ring of <bold>solid gold</bold> from <emph>Tirana</emph></text>"
LIST = (
    "<parlist><listitem><text>body of <keyword>rose<emph>wood</emph></keyword></text></listitem>"
    "<listitem><parlist><listitem><text>four strings, <emph>two <keyword>gold</keyword></emph>"
    "</text></listitem><listitem><text>case</text></listitem></parlist></listitem></parlist>"
)
PLAIN = "<text>nothing special</text>"

ITEMS = [
    ("asia/item", "item0", "2003-01-02T00:00:00", ("China", "1", "vase", "Cash", PLAIN, "02")),
    ("asia/item", "item1", "2003-01-03T00:00:00", ("Japan", "2", "sword", "Creditcard", LIST, "1")),
    (
        "asia/item",
        "item1",
        "2003-03-01T00:00:00",
        ("Japan", "1", "old sword", "Creditcard, Cash", LIST, "12"),
    ),
    ("europe/item", "item2", "2003-01-05T00:00:00", ("Albania", "1", "ring", "Cash", GOLD, "1")),
    (
        "europe/item",
        "item3",
        "2003-01-06T00:00:00",
        (
            "Albania",
            "3",
            "lute",
            "Cash",
            LIST,
            "0",
            mail("Ann", "Bob", "01/20/2003", "is it <emph>old</emph>?")
            + mail("Bob", "Ann", "01/21/2003", "very old"),
        ),
    ),
    # moved to Greece
    ("europe/item", "item3", "2003-04-10T12:00:00", ("Greece", "2", "lute", "Cash", LIST, "0")),
    (
        "europe/item",
        "item4",
        "2003-02-01T00:00:00",
        ("Albania", "10", "stamp", "Money order", PLAIN, ""),
    ),
    (
        "namerica/item",
        "item5",
        "2003-01-07T00:00:00",
        (
            "United States",
            "1",
            "banjo",
            "Creditcard, Cash",
            PLAIN,
            "0",
            mail("Cem", "Dora", "02/03/2003", "how much?"),
        ),
    ),
    ("namerica/item", "item6", "2003-02-20T00:00:00", ("Canada", "5", "map", "", GOLD, "2")),
    # nobody refers to it
    ("namerica/item", "item99", "2003-02-20T00:00:00", ("Canada", "1", "lost", "", PLAIN, "2")),
]


def person(number: int, name: str, rest: str = "") -> str:
    mail_address = f"mailto:{name.split()[-1].lower()}@example.org"
    inside = each("name", name) + each("emailaddress", mail_address) + rest
    return element("person", inside, id=f"person{number}")


def address(street: str, city: str, country: str) -> str:
    inside = each("street", street) + each("city", city) + each("country", country)
    return element("address", inside)


def profile(income: str, interests: str, age: str = "", business: str = "No") -> str:
    inside = "".join(element("interest", category=f"category{c}") for c in interests)
    inside += each("education", "College") if "0" in interests else ""
    inside += each("business", business) + (each("age", age) if age else "")
    return element("profile", inside, **({"income": income} if income else {}))


def watches(*auctions: str) -> str:
    return element("watches", "".join(element("watch", open_auction=a) for a in auctions))


PEOPLE = [
    (
        0,
        "2003-01-01T00:00:00",
        "Jane Roe",
        address("1 High St", "Ely", "England") + profile("45000.50", "01", "34", "Yes"),
    ),
    (
        0,
        "2003-03-15T00:00:00",
        "Jane Roe",
        address("9 Quay", "Durres", "Albania")
        + each("homepage", "http://example.org/~jane")
        + profile("61000", "01", "34", "Yes"),
    ),
    (1, "2003-01-01T00:00:00", "John Smith", each("phone", "+1 (817) 272") + profile("9876", "2")),
    (
        2,
        "2003-01-10T00:00:00",
        "Ann & Co".replace("&", "&amp;"),
        each("creditcard", "1234 5678 9012") + watches("open_auction0", "open_auction2"),
    ),
    (
        3,
        "2003-01-12T00:00:00",
        "Zoë Ångström",
        address("2 Fjord", "Oslo", "Norway") + profile("130000", "", "58") + watches(),
    ),
    (4, "2003-02-01T00:00:00", "Bob", profile("", "0", "n/a")),
    (5, "2003-05-01T00:00:00", "Carl von Linden", address("3 Alm", "Graz", "Austria")),
]


def auction(
    number: int,
    bids: list[str],
    initial: str,
    seller: int,
    goods: int,
    reserve: str = "",
    kind: str = "Regular",
    happiness: str = "5",
) -> str:
    inside = each("initial", initial) + (each("reserve", reserve) if reserve else "")
    inside += hole(*bids) + hole(f"c{number}") + (each("privacy", "Yes") if seller == 1 else "")
    inside += element("itemref", item=f"item{goods}") + element("seller", person=f"person{seller}")
    note = element("author", person=f"person{seller}") + element("description", PLAIN)
    inside += element("annotation", note + each("happiness", happiness))
    inside += each("quantity", "1") + each("type", kind)
    inside += element("interval", each("start", "02/01/2003") + each("end", "06/30/2003"))
    return element("open_auction", inside, id=f"open_auction{number}")


def bid(time: str, who: int, increase: str) -> str:
    day, clock = time.split("T")
    year, month, date = day.split("-")
    inside = each("date", f"{month}/{date}/{year}") + each("time", clock)
    inside += element("personref", person=f"person{who}") + each("increase", increase)
    return element("bidder", inside)


def sale(seller: int, buyer: int, goods: int, price: str, date: str, note: str = "") -> str:
    inside = element("seller", person=f"person{seller}") + element("buyer", person=f"person{buyer}")
    inside += element("itemref", item=f"item{goods}") + each("price", price) + each("date", date)
    inside += each("quantity", "1") + each("type", "Regular")
    if note:
        author = element("author", person=f"person{buyer}")
        text = element("description", note)
        inside += element("annotation", author + text + each("happiness", "9"))
    return element("closed_auction", inside)


# auction, hole, time, who, increase
BIDS = [
    (0, "b0", "2003-02-02T10:00:00", 1, "3.00"),
    (0, "b0", "2003-02-02T10:05:00", 2, "6.00"),
    (0, "b0", "2003-02-20T09:30:15", 1, "12.00"),
    (0, "b0", "2003-03-01T00:00:00", 3, "1.50"),
    (1, "b1a", "2003-02-10T12:00:00", 0, "5"),
    (1, "b1b", "2003-02-11T12:00:00", 4, "10"),
    (1, "b1c", "2003-02-12T12:00:00", 0, "20"),
    (2, "b2", "2003-03-03T08:00:00", 2, "4.50"),
    (2, "b2", "2003-03-03T08:00:00", 3, "4.50"),
    (2, "b2", "2003-05-05T16:45:00", 1, "40"),
    (3, "b3", "2003-06-01T07:00:00", 5, "1e2"),
]
CURRENT = [
    (0, "2003-02-01T00:00:00", "15.00"),
    (0, "2003-02-02T10:00:00", "18.00"),
    (0, "2003-02-02T10:05:00", "24.00"),
    (0, "2003-02-20T09:30:15", "36.00"),
    (0, "2003-03-01T00:00:00", "37.50"),
    (1, "2003-02-05T00:00:00", "100"),
    (1, "2003-02-10T12:00:00", "105"),
    (1, "2003-02-11T12:00:00", "115"),
    (1, "2003-02-12T12:00:00", "135"),
    (2, "2003-03-01T00:00:00", "7.50"),
    (2, "2003-03-03T08:00:00", "12.00"),
    (2, "2003-05-05T16:45:00", "52.00"),
    (3, "2003-05-20T00:00:00", "200"),
    (3, "2003-06-01T07:00:00", "300"),
    (4, "2003-06-15T00:00:00", "9.99"),
]
# the first bid of auction 1 makes it stand again with one more hole, and so on; it closes in March
OPENED = [
    (0, "2003-02-01T00:00:00", auction(0, ["b0"], "15.00", 0, 2, "30.00")),
    (1, "2003-02-05T00:00:00", auction(1, [], "100", 1, 1, "120.00", "Featured")),
    (1, "2003-02-10T12:00:00", auction(1, ["b1a"], "100", 1, 1, "120.00", "Featured")),
    (1, "2003-02-11T12:00:00", auction(1, ["b1a", "b1b"], "100", 1, 1, "120.00", "Featured")),
    (1, "2003-02-12T12:00:00", auction(1, ["b1a", "b1b", "b1c"], "100", 1, 1, "120", "Featured")),
    (1, "2003-03-01T00:00:00", ""),
    (2, "2003-03-01T00:00:00", auction(2, ["b2"], "7.50", 3, 3, "", "Regular", "3")),
    (3, "2003-05-20T00:00:00", auction(3, ["b3"], "200", 0, 5, "500", "Dutch", "10")),
    (4, "2003-06-15T00:00:00", auction(4, ["b4"], "9.99", 2, 77)),
]
SOLD = [
    (0, "2003-03-01T00:00:00", sale(1, 0, 1, "135", "03/01/2003", LIST)),
    (1, "2003-03-20T00:00:00", sale(0, 1, 0, "38.50", "03/20/2003", PLAIN)),
    (2, "2003-04-02T10:00:00", sale(3, 0, 6, "40.00", "04/02/2003")),
    # the price was corrected
    (2, "2003-04-03T00:00:00", sale(3, 0, 6, "42.00", "04/02/2003")),
    (3, "2003-06-20T00:00:00", sale(2, 4, 4, "5.5e0", "06/20/2003")),
]
CATEGORIES = ["music", "war & peace".replace("&", "&amp;"), "maps"]


def auctions() -> list[tuple[str, str, str, str]]:
    regions = ""
    for region in ("asia", "europe", "namerica"):
        ids = [id for path, id, *_ in ITEMS if path.startswith(region) and id != "item99"]
        regions += element(region, hole(*dict.fromkeys(ids)))
    root = element("regions", regions)
    root += element("categories", hole("category0", "category1", "category2"))
    edges = [("0", "1"), ("1", "2"), ("0", "2")]
    arrows = [{"from": f"category{a}", "to": f"category{b}"} for a, b in edges]
    root += element("catgraph", "".join(element("edge", "", **arrow) for arrow in arrows))
    root += element("people", hole(*(f"person{n}" for n in range(6))))
    root += element("open_auctions", hole(*(f"o{n}" for n in range(5))))
    root += element("closed_auctions", hole(*(f"x{n}" for n in range(4))))
    fillers = [("/site", "0", "2003-01-01T00:00:00", element("site", root))]
    fillers += [(path, id, time, item(id, *rest)) for path, id, time, rest in ITEMS]
    for number, name in enumerate(CATEGORIES):
        inside = each("name", name) + element("description", PLAIN if number else LIST)
        body = element("category", inside, id=f"category{number}")
        fillers.append(("/category", f"category{number}", "2003-01-01T00:00:00", body))
    fillers += [("/person", f"person{n}", t, person(n, *rest)) for n, t, *rest in PEOPLE]
    fillers += [("/open_auction", f"o{n}", time, body) for n, time, body in OPENED]
    for n, time, price in CURRENT:
        fillers.append(("/current", f"c{n}", time, each("current", price)))
    fillers += [("/bidder", id, t, bid(t, who, much)) for _, id, t, who, much in BIDS]
    fillers += [("/closed_auction", f"x{n}", time, body) for n, time, body in SOLD]
    return fillers


def paper(
    kind: str, key: str, authors: str, title: str, year: str, rest: str = "", name: str = "author"
) -> str:
    inside = each(name, *filter(None, authors.split("; "))) + each("title", title)
    return element(kind, inside + each("year", year) + rest, key=key)


def where(journal: str, volume: str, number: str, pages: str) -> str:
    inside = each("pages", pages) + each("journal", journal) + each("volume", volume)
    return inside + each("number", number)


def talk(series: str, pages: str, proceedings: str = "", cites: str = "") -> str:
    inside = each("pages", pages) + each("booktitle", series)
    inside += each("crossref", proceedings) if proceedings else ""
    return inside + each("cite", *cites.split())


# id, validTime, element
PUBLICATIONS = [
    (
        "a1",
        "2005-02-01",
        paper(
            "article",
            "journals/tods/Lee03",
            "Ann Lee; John Smith",
            "Streams of XML",
            "2003",
            where("TODS", "28", "4", "517-580"),
        ),
    ),
    (
        "a2",
        "2005-02-01",
        paper(
            "article",
            "journals/vldb/Garcia04",
            "José García",
            "On H<sub>2</sub>O and <i>time</i>",
            "2004",
            where("VLDB J.", "13", "1", "3-21"),
        ),
    ),
    # the pages were wrong
    (
        "a2",
        "2005-05-01",
        paper(
            "article",
            "journals/vldb/Garcia04",
            "José García; Ann Lee",
            "On H<sub>2</sub>O and <i>time</i>",
            "2004",
            where("VLDB J.", "13", "1", "3-29"),
        ),
    ),
    (
        "a3",
        "2006-01-01",
        paper(
            "article",
            "journals/tods/Smith05",
            "Mary Smith",
            "Fragments of Fragments",
            "2005",
            where("TODS", "30", "2", "77"),
        ),
    ),
    (
        "p1",
        "2005-01-01",
        paper(
            "proceedings",
            "conf/icde/2004",
            "Li Wei",
            "ICDE 2004",
            "2004",
            each("booktitle", "ICDE") + each("publisher", "IEEE") + each("isbn", "0-7695-2065-0"),
            "editor",
        ),
    ),
    (
        "p2",
        "2005-01-01",
        paper(
            "proceedings",
            "conf/vldb/2003",
            "Ann Lee; Li Wei",
            "VLDB 2003",
            "2003",
            each("booktitle", "VLDB") + each("publisher", "Morgan Kaufmann"),
            "editor",
        ),
    ),
    (
        "i1",
        "2005-01-15",
        paper(
            "inproceedings",
            "conf/icde/Smith04",
            "John Smith",
            "Holes and Fillers",
            "2004",
            talk("ICDE", "12-23", "conf/icde/2004", "journals/tods/Lee03 conf/vldb/Lee03"),
        ),
    ),
    (
        "i2",
        "2005-01-16",
        paper(
            "inproceedings",
            "conf/vldb/Lee03",
            "Ann Lee; Bo Chen; José García",
            "Querying the <i>Past</i>",
            "2003",
            talk("VLDB", "100-111", "conf/vldb/2003", "journals/vldb/Garcia04"),
        ),
    ),
    (
        "i3",
        "2005-01-17",
        paper(
            "inproceedings",
            "conf/icde/Chen04",
            "Bo Chen",
            "Querrying Windows",
            "2004",
            talk("ICDE", "24-35", "conf/icde/2004", "conf/icde/Smith04 conf/vldb/Lee03"),
        ),
    ),
    # a misprint in the title, mended
    (
        "i3",
        "2005-03-01",
        paper(
            "inproceedings",
            "conf/icde/Chen04",
            "Bo Chen",
            "Querying Windows",
            "2004",
            talk("ICDE", "24-35", "conf/icde/2004", "conf/icde/Smith04 conf/vldb/Lee03"),
        ),
    ),
    (
        "i4",
        "2005-01-18",
        paper(
            "inproceedings",
            "conf/webdb/Smithson02",
            "Per Smithson",
            "Why Not?",
            "2002",
            talk("WebDB", "1-6"),
        ),
    ),
    # withdrawn
    (
        "i5",
        "2005-01-19",
        paper(
            "inproceedings",
            "conf/webdb/Roe04",
            "John Smith",
            "Cold Fusion in XQuery",
            "2004",
            talk("WebDB", "7-12", "", "conf/webdb/Roe04"),
        ),
    ),
    ("i5", "2005-04-01", ""),
    (
        "b1",
        "2005-01-01",
        paper(
            "book",
            "books/wiley/Stone00",
            "Ada Stone",
            "Time",
            "2000",
            each("publisher", "Wiley") + hole("q1"),
        ),
    ),
    (
        "b2",
        "2005-01-01",
        paper(
            "book",
            "books/mk/Lee01",
            "Ann Lee; Ada Stone",
            "Data & Time".replace("&", "&amp;"),
            "2001",
            each("publisher", "Morgan Kaufmann") + each("isbn", "1-55860-622-X") + hole("q2"),
        ),
    ),
    (
        "t1",
        "2005-01-01",
        paper("phdthesis", "phd/Chen05", "Bo Chen", "Windows", "2005", each("school", "Ghent")),
    ),
]
PRICES = [
    ("q1", "2005-01-01", "65.95"),
    ("q1", "2005-06-01", "59"),
    ("q1", "2006-01-01", "30.00"),
    ("q2", "2005-01-01", "112.5"),
    ("q2", "2005-09-01", "112.50"),
]


def library() -> list[tuple[str, str, str, str]]:
    ids = dict.fromkeys(id for id, *_ in PUBLICATIONS)
    fillers = [("/dblp", "0", "2005-01-01", element("dblp", hole(*ids)))]
    kinds = {
        "a": "article",
        "p": "proceedings",
        "i": "inproceedings",
        "b": "book",
        "t": "phdthesis",
    }
    fillers += [(f"/dblp/{kinds[id[0]]}", id, time, body) for id, time, body in PUBLICATIONS]
    fillers += [("/price", id, time, each("price", price)) for id, time, price in PRICES]
    return fillers


if __name__ == "__main__":
    write("auctions/auction", SITE, auctions())
    write("library/dblp", DBLP, library())

"""Nine XMark queries, hand-written with DataFrames over the tables of the same store.

They use what the compiler cannot know: that nothing has a history here, that each filler has one
place, and that prices are numbers. Tables are opened once, as in a notebook's first cell.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from xcql.model.tags import TagStructure
from xcql.store.commit import read_state

Tables = Callable[[str], list[DataFrame]]


def tables(spark: SparkSession, store: str, stream: str, tags: TagStructure) -> Tables:
    """The tables of a store by the ends of their tags' paths: one per place of a tag."""
    known = read_state(Path(store)).stream(stream)

    @cache
    def table(path: str) -> list[DataFrame]:
        places = (tag for tag in tags if tags.path_of(tag).endswith(f"/{path}"))
        ids = [tag.id for tag in places if tag.id in known.tables]
        files = ([f"{store}/{file.path}" for file in known.tables[id].files] for id in ids)
        return [spark.read.parquet(*paths) for paths in files]

    return table


def q01(table: Tables) -> DataFrame:
    (people,) = table("person")
    person = people.where(f.col("element.`@id`") == "person0")
    return person.select(f.col("element.name._text").alias("item"))


def q02(table: Tables) -> DataFrame:
    increase = f.get("element.bidder", f.lit(0))["increase"]["_text"]
    item = f.concat(f.lit("<increase>"), increase, f.lit("</increase>"))
    (auctions,) = table("open_auction")
    return auctions.orderBy(_place()).select(f.coalesce(item, f.lit("<increase/>")).alias("item"))


def q05(table: Tables) -> DataFrame:
    price = f.col("element.price._text").cast("double")
    (sales,) = table("closed_auction")
    return sales.where(price >= 40).agg(f.count("*").cast("string").alias("item"))


def q08(table: Tables) -> DataFrame:
    (sales,), (persons,) = table("closed_auction"), table("person")
    bought = sales.groupBy(f.col("element.buyer.`@person`").alias("buyer")).count()
    people = persons.select(
        _place().alias("place"),
        f.col("element.`@id`").alias("id"),
        f.col("element.name._text").alias("name"),
    )
    joined = people.join(bought, people.id == f.col("buyer"), "left")
    number = f.coalesce(f.col("count"), f.lit(0)).cast("string")
    item = f.concat(f.lit('<item person="'), f.col("name"), f.lit('">'), number, f.lit("</item>"))
    return joined.orderBy("place").select(item.alias("item"))


def q09(table: Tables) -> DataFrame:
    (sales,), (persons,), (items,) = table("closed_auction"), table("person"), table("europe/item")
    europe = items.select(
        f.col("element.`@id`").alias("item"), f.col("element.name._text").alias("found")
    )
    sold = sales.select(
        _place().alias("sale"),
        f.col("element.buyer.`@person`").alias("buyer"),
        f.col("element.itemref.`@item`").alias("item"),
    )
    found = f.concat(f.lit("<item>"), f.col("found"), f.lit("</item>"))
    purchase = f.struct("sale", f.coalesce(found, f.lit("<item/>")).alias("text"))
    bought = sold.join(europe, "item", "left").groupBy("buyer")
    purchases = bought.agg(f.sort_array(f.collect_list(purchase)).alias("purchases"))
    people = persons.select(
        _place().alias("place"),
        f.col("element.`@id`").alias("buyer"),
        f.col("element.name._text").alias("name"),
    )
    text = f.coalesce(f.concat_ws("", f.col("purchases.text")), f.lit(""))
    item = f.concat(f.lit('<person name="'), f.col("name"), f.lit('">'), text, f.lit("</person>"))
    return people.join(purchases, "buyer", "left").orderBy("place").select(item.alias("item"))


def q11(table: Tables) -> DataFrame:
    number = f.col("number").cast("string")
    item = f.concat(f.lit('<items name="'), f.col("name"), f.lit('">'), number, f.lit("</items>"))
    return _within_reach(table).orderBy("place").select(item.alias("item"))


def q12(table: Tables) -> DataFrame:
    number, person = f.col("number").cast("string"), f.col("income")
    item = f.concat(f.lit('<items person="'), person, f.lit('">'), number, f.lit("</items>"))
    rich = _within_reach(table).where(f.col("value") > 50000)
    return rich.orderBy("place").select(item.alias("item"))


def _within_reach(table: Tables) -> DataFrame:
    """Persons, with the number of auctions that begin below a fraction of their income.

    A running count over incomes and prices in one order, instead of a join of all pairs.
    """
    (auctions,), (persons,) = table("open_auction"), table("person")
    nothing = f.lit(None).cast("string")
    starts = auctions.select(
        (f.col("element.initial._text").cast("double") * 5000).alias("value"),
        f.lit(1).alias("starts"),
        f.lit(None).cast("binary").alias("place"),
        nothing.alias("name"),
        nothing.alias("income"),
    )
    income = f.col("element.profile.`@income`")
    people = persons.select(
        income.cast("double").alias("value"),
        f.lit(0).alias("starts"),
        _place().alias("place"),
        f.col("element.name._text").alias("name"),
        income.alias("income"),
    )
    # exclude persons without an income; a price equal to the income does not count
    before = Window.orderBy(f.col("value").asc_nulls_first(), "starts")
    counted = people.union(starts).withColumn("number", f.sum("starts").over(before))
    return counted.where("starts = 0")


def q14(table: Tables) -> DataFrame:
    """The text of a description is its bytes without the tags."""
    description = f.expr(
        "regexp_replace(decode(substring(raw, element.description._start + 1,"
        " element.description._length), 'UTF-8'), '<[^>]*>', '')"
    )
    item = f.col("element.name._text").alias("item")
    parts = [
        part.where(f.contains(description, f.lit("gold"))).select(item, _place().alias("place"))
        for part in table("item")
    ]
    return reduce(DataFrame.unionAll, parts).orderBy("place").select("item")


def q20(table: Tables) -> DataFrame:
    income = f.col("element.profile.`@income`").cast("double")
    (people,) = table("person")
    counts = people.agg(
        f.count_if(income >= 100000).alias("preferred"),
        f.count_if((income < 100000) & (income >= 30000)).alias("standard"),
        f.count_if(income < 30000).alias("challenge"),
        f.count_if(income.isNull()).alias("na"),
    )
    parts = [
        f.concat(f.lit(f"<{name}>"), f.col(name).cast("string"), f.lit(f"</{name}>"))
        for name in ("preferred", "standard", "challenge", "na")
    ]
    return counts.select(f.concat(f.lit("<result>"), *parts, f.lit("</result>")).alias("item"))


def _place() -> Column:
    return f.concat(f.col("places")[0]["key"], f.lpad(f.hex("number"), 8, "0").cast("binary"))


QUERIES = {
    "q01": q01,
    "q02": q02,
    "q05": q05,
    "q08": q08,
    "q09": q09,
    "q11": q11,
    "q12": q12,
    "q14": q14,
    "q20": q20,
}

(:
query: count(for $i in stream("auction")/site/closed_auctions/closed_auction where $i/price/text() >= 40 return $i/price)
tags: tests/translate/golden/auction-tags.xml
strategy: qac+
differs: for document("auction.xml") the query says stream("auction")
differs: raw_fillers_by_tsid("603") ! closed_auction for filler[@tsid=603]/closed_auction: it leaves out what the root does not lead to, and gives a filler as often as the view has it
:)
xquery version "3.1";
import module namespace xcql = "urn:xcql" at "xcql.xqm";
declare variable $auction-files as document-node()* external;
declare variable $auction-fragments :=
  xcql:fragments(
    $auction-files,
    map { "600" : "snapshot", "603" : ("temporal", "600") }
  );
count(
  for $i in xcql:raw_fillers_by_tsid($auction-fragments, "603") ! closed_auction
  where $i/price/text() >= 40
  return $i/price
)

(:
query: count(for $i in stream("auction")/site/closed_auctions/closed_auction where $i/price/text() >= 40 return $i/price)
tags: tests/translate/golden/auction-tags.xml
strategy: caq
differs: for document("auction.xml") the query says stream("auction")
differs: the view is made once, in a variable, and is a document, so that /site stays in the path
:)
xquery version "3.1";
import module namespace xcql = "urn:xcql" at "xcql.xqm";
declare variable $auction-files as document-node()* external;
declare variable $auction-fragments :=
  xcql:fragments(
    $auction-files,
    map { "600" : "snapshot", "603" : ("temporal", "600") }
  );
declare variable $auction := xcql:view(xcql:stream($auction-fragments));
count(
  for $i in $auction/site/closed_auctions/closed_auction
  where $i/price/text() >= 40
  return $i/price
)

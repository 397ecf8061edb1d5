(:
query: count(for $i in stream("auction")/site/closed_auctions/closed_auction where $i/price/text() >= 40 return $i/price)
tags: tests/translate/golden/auction-tags.xml
strategy: qac
differs: for document("auction.xml") the query says stream("auction")
differs: raw_fillers(ids) ! A for get_fillers(ids)/A where neither the lifespan of A nor its place is asked for: the fillers as they came, not copied
:)
xquery version "3.1";
import module namespace xcql = "urn:xcql" at "xcql.xqm";
declare variable $auction-files as document-node()* external;
declare variable $auction-fragments :=
  xcql:fragments(
    $auction-files,
    map { "600" : "snapshot", "603" : ("temporal", "600") }
  );
declare variable $auction := xcql:stream($auction-fragments);
count(
  for $i in
    xcql:raw_fillers(
      $auction,
      xcql:raw_fillers($auction, 0) ! site/closed_auctions/hole/@id
    )
      ! closed_auction
  where $i/price/text() >= 40
  return $i/price
)

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
declare variable $auction := local:temporalize-site(xcql:stream($auction-fragments));
declare function local:temporalize-site($stream as map(*)) as document-node() {
  document {
    for $v1 in xcql:versions($stream, "0")
    let $e1 := $v1?element
    return
      element { fn:node-name($e1) } {
        xcql:namespaces($e1),
        xcql:attributes($v1),
        for $n1 in $e1/node()
        return
          typeswitch ($n1)
            case element(closed_auctions) return
              element { fn:node-name($n1) } {
                xcql:namespaces($n1),
                $n1/@*,
                for $n2 in $n1/node()
                return
                  typeswitch ($n2)
                    case element(hole) return
                      for $v3 in xcql:versions($stream, $n2/@id)
                      return xcql:element($v3)
                    default return $n2
              }
            default return $n1
      }
  }
};
count(
  for $i in $auction/site/closed_auctions/closed_auction
  where $i/price/text() >= 40
  return $i/price
)

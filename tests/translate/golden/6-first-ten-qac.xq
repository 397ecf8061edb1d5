(:
query: stream("credit")//transaction[vendor = "ABC Inc"]#[1, 10]
tags: samples/credit/tags.xml
strategy: qac
differs: not in print; of the holes of a transaction all are filled, since they are shown
differs: raw_fillers(ids) ! A for get_fillers(ids)/A where neither the lifespan of A nor its place is asked for: the fillers as they came, not copied
:)
xquery version "3.1";
import module namespace xcql = "urn:xcql" at "xcql.xqm";
declare variable $credit-files as document-node()* external;
declare variable $credit-fragments :=
  xcql:fragments(
    $credit-files,
    map {
      "1" : "snapshot",
      "2" : ("temporal", "1"),
      "4" : ("temporal", "2"),
      "5" : ("event", "2"),
      "7" : ("temporal", "5")
    }
  );
declare variable $credit := xcql:stream($credit-fragments);
declare function local:temporalize-transaction(
  $stream as map(*),
  $items as item()*
) as item()* {
  element filler {
    for $item in $items
    return
      typeswitch ($item)
        case element(transaction) return
          element { fn:node-name($item) } {
            xcql:namespaces($item),
            $item/@*,
            for $n1 in $item/node()
            return
              typeswitch ($n1)
                case element(hole) return
                  for $v2 in xcql:versions($stream, $n1/@id) return xcql:element($v2)
                default return $n1
          }
        default return $item
  }/*
};
xcql:version_projection(
  local:temporalize-transaction(
    $credit,
    xcql:get_fillers(
      $credit,
      xcql:raw_fillers($credit, xcql:raw_fillers($credit, 0) ! creditAccounts/hole/@id)
        ! account/hole/@id
    )/transaction[vendor = "ABC Inc"]
  ),
  1,
  10
)

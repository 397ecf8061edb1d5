(:
query: samples/papers/1-6.1-charged.xcql
tags: samples/credit/tags.xml
strategy: qac
differs: temporalize around it all: the paper leaves the holes in the answer to whoever shows it
differs: raw_fillers(ids) ! A for get_fillers(ids)/A where neither the lifespan of A nor its place is asked for: the fillers as they came, not copied
:)
xquery version "3.1";
import module namespace xcql = "urn:xcql" at "xcql.xqm";
declare variable $creditSystem-files as document-node()* external;
declare variable $creditSystem-fragments :=
  xcql:fragments(
    $creditSystem-files,
    map {
      "1" : "snapshot",
      "2" : ("temporal", "1"),
      "4" : ("temporal", "2"),
      "5" : ("event", "2"),
      "7" : ("temporal", "5")
    }
  );
declare variable $creditSystem := xcql:stream($creditSystem-fragments);
declare function local:temporalize-transaction(
  $stream as map(*),
  $items as item()*
) as item()* {
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
};
local:temporalize-transaction(
  $creditSystem,
  for $t in
    xcql:get_fillers(
      $creditSystem,
      xcql:raw_fillers(
        $creditSystem,
        xcql:raw_fillers($creditSystem, 0) ! creditAccounts/hole/@id
      )
        ! account/hole/@id
    )/transaction
  where $t/amount > 1000
      and xcql:get_fillers($creditSystem, $t/hole/@id)/status = "charged"
  return $t
)

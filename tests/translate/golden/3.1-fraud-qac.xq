(:
query: samples/papers/1-3.1-fraud.xcql
tags: samples/credit/tags.xml
strategy: qac
differs: the transactions are sliced with their status in them, for the interval counts for what is inside, too; so [status = "charged"] needs no get_fillers (the print has both)
differs: the duration has its type, as the paper says of its own implementation
differs: max takes one sequence, an attribute value stands in quotes
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
for $a in
  xcql:raw_fillers($credit, xcql:raw_fillers($credit, 0) ! creditAccounts/hole/@id)
    ! account
where sum(
    xcql:interval_projection(
      local:temporalize-transaction(
        $credit,
        xcql:get_fillers($credit, $a/hole/@id)/transaction
      ),
      $xcql:now - xs:dayTimeDuration("PT1H"),
      $xcql:now
    )[status = "charged"]/amount
  )
    >= max(
      (
        xcql:interval_projection(
          xcql:get_fillers($credit, $a/hole/@id)/creditLimit,
          $xcql:now,
          $xcql:now
        )
          * 0.9,
        5000
      )
    )
return <alert><account id="{ $a/@id }">{ $a/customer }</account></alert>

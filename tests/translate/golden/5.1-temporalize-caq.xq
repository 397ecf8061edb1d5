(:
query: stream("credit")
tags: samples/credit/tags.xml
strategy: caq
paper: temporalizeCreditAccounts of section 5.1
differs: what stands in an element is gone through in its order, with text, and holes are filled where they stand; the paper puts snapshot elements first
differs: versions are taken as they came and copied once, with their lifespans; get_fillers_list would copy them before that
differs: node-name keeps a prefix as the data has it, and namespaces what is declared
differs: the function gives a document, as stream("credit") is one
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
declare variable $credit :=
  local:temporalize-creditAccounts(xcql:stream($credit-fragments));
declare function local:temporalize-creditAccounts(
  $stream as map(*)
) as document-node() {
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
            case element(hole) return
              for $v2 in xcql:versions($stream, $n1/@id)
              let $e2 := $v2?element
              return
                element { fn:node-name($e2) } {
                  xcql:namespaces($e2),
                  xcql:attributes($v2),
                  for $n2 in $e2/node()
                  return
                    typeswitch ($n2)
                      case element(hole) return
                        for $v3 in xcql:versions($stream, $n2/@id)
                        let $e3 := $v3?element
                        return
                          typeswitch ($e3)
                            case element(transaction) return
                              element { fn:node-name($e3) } {
                                xcql:namespaces($e3),
                                xcql:attributes($v3),
                                for $n3 in $e3/node()
                                return
                                  typeswitch ($n3)
                                    case element(hole) return
                                      for $v4 in xcql:versions($stream, $n3/@id)
                                      return xcql:element($v4)
                                    default return $n3
                              }
                            default return xcql:element($v3)
                      default return $n2
                }
            default return $n1
      }
  }
};
$credit

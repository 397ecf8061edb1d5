xquery version "3.1";
(:~
 : The library that translated XCQL queries call, in standard XQuery 3.1.
 :
 : A stream is a map: `fragments` in order of arrival; `fillers`, the fragments by id; `tags`, the
 : type of each tag with fillers and the tags of the enclosing fillers. The paper's names are kept:
 : get_fillers, temporalize, interval_projection, version_projection, vtFrom, vtTo.
 :
 : The fragments must be those that XCQL's reader accepts: each filler holds one element of its tag,
 : and a hole is only where its filler's tag is declared. Times may have any form that XCQL reads.
 :)
module namespace xcql = "urn:xcql";

declare namespace array = "http://www.w3.org/2005/xpath-functions/array";
declare namespace map = "http://www.w3.org/2005/xpath-functions/map";

(:~ The instant of evaluation, in UTC, without a time zone. :)
declare variable $xcql:now as xs:dateTime external := xcql:utc(fn:current-dateTime());

declare %private variable $xcql:now-text as xs:string := fn:string($xcql:now);

(:~ The beginning of time. :)
declare variable $xcql:start as xs:dateTime := xs:dateTime("0001-01-01T00:00:00");

(: ---------------------------------------------------------------- fragments and versions :)

(:~ The fragments in files, in order of arrival; fragments after an <eos/> are ignored. :)
declare function xcql:fragments($files as document-node()*, $tags as map(xs:string, xs:string+))
  as map(xs:string, item()*)
{
  map {
    "fragments" :
      for $file in $files
      let $end := ($file/*/Q{}eos)[1]
      return
        if (fn:empty($end)) then $file/*/*
        else $file/*/*[. << $end],
    "tags" : $tags
  }
};

(:~ A stream: fragments indexed by their id. :)
declare function xcql:stream($fragments as map(*)) as map(xs:string, item()*) {
  map:put($fragments, "fillers", xcql:by-id($fragments?fragments))
};

declare %private function xcql:by-id($fragments as element()*) as map(xs:string, element()+) {
  map:merge(
    for $fragment in $fragments
    return map:entry(fn:string($fragment/@id), $fragment),
    map { "duplicates" : "combine" }
  )
};

(:~
 : All versions of the fillers with these ids, in the order of the ids and then of time, as children
 : of one element, so that selections from it are in document order.
 :)
declare function xcql:get_fillers($stream as map(*), $ids as xs:anyAtomicType*)
  as element(Q{}filler)
{
  element { fn:QName("", "filler") } {
    for $id in $ids
    for $version in xcql:versions-of($stream?fillers(fn:string($id)), $stream?tags)
    return xcql:element($version)
  }
};

(:~
 : The same fillers as they arrived, in the same order: without lifespans, and a filler that several
 : ids name is the same node each time. To select from each of them, use `!`.
 :)
declare function xcql:raw_fillers($stream as map(*), $ids as xs:anyAtomicType*) as element()* {
  let $fillers := $stream?fillers
  for $id in $ids
  return xcql:raw($fillers(fn:string($id)), $stream?tags)
};

declare %private function xcql:raw($arrived as element()*, $tags as map(*)) as element()* {
  if (fn:count($arrived) = 1) then $arrived[xcql:counts(.)]
  else xcql:versions-of($arrived, $tags) ! ?element/..
};

(:~ The result of get_fillers, in a separate element for each of the elements with holes. :)
declare function xcql:get_fillers_list($stream as map(*), $elements as element()*)
  as element(Q{}fillers)
{
  element { fn:QName("", "fillers") } {
    for $element in $elements
    return xcql:get_fillers($stream, $element/Q{}hole/@id)
  }
};

(:~
 : All versions of the fillers of these tags that are reachable from the root, each as often as the
 : temporal view has it, in document order. Holes are followed in the original fragments; only
 : fragments of these tags, and of the tags that lead to them, are read.
 :)
declare function xcql:get_fillers_by_tsid($fragments as map(*), $tsids as xs:string+)
  as element(Q{}filler)
{
  element { fn:QName("", "filler") } {
    for $arrived in xcql:reached($fragments, $tsids)
    for $version in xcql:versions-of($arrived?*, $fragments?tags)
    return xcql:element($version)
  }
};

(:~
 : The same fillers as they arrived, just as often and in the same order, for paths that use neither
 : lifespans nor the position of an element.
 :)
declare function xcql:raw_fillers_by_tsid($fragments as map(*), $tsids as xs:string+)
  as element()*
{
  for $arrived in xcql:reached($fragments, $tsids)
  return xcql:raw($arrived?*, $fragments?tags)
};

(:~ The fragments of each filler of these tags reachable from the root, once per occurrence. :)
declare %private function xcql:reached($fragments as map(*), $tsids as xs:string+)
  as array(element())*
{
  let $tags := $fragments?tags
  let $needed := xcql:above($tags, $tsids)
  let $fillers := xcql:by-id($fragments?fragments[fn:string(@tsid) = ("", $needed)])
  for $root in xcql:versions-of($fillers("0"), $tags)
  return xcql:reached($root?element, $fillers, $tags, $tsids)
};

declare %private function xcql:reached(
  $element as element(), $fillers as map(*), $tags as map(*), $tsids as xs:string+
) as array(element())*
{
  for $hole in $element/descendant::Q{}hole
  let $arrived := $fillers(fn:string($hole/@id))
  return
    if (fn:empty($arrived)) then ()
    else if (xcql:tsid($arrived) = $tsids) then array { $arrived }
    else
      for $version in xcql:versions-of($arrived, $tags)
      return xcql:reached($version?element, $fillers, $tags, $tsids)
};

(:~ These tags, and all tags whose fillers lead to fillers of them. :)
declare %private function xcql:above($tags as map(*), $tsids as xs:string*) as xs:string* {
  let $parents := fn:distinct-values($tsids ! fn:tail($tags(.)))
  return
    if (fn:empty($parents[fn:not(. = $tsids)])) then $tsids
    else xcql:above($tags, fn:distinct-values(($tsids, $parents)))
};

(:~ The tag of a filler. :)
declare function xcql:tsid($stream as map(*), $id as xs:anyAtomicType) as xs:string? {
  xcql:tsid($stream?fillers(fn:string($id)))
};

declare %private function xcql:tsid($arrived as element()*) as xs:string? {
  let $tsids := $arrived/@tsid
  return
    if (fn:count($tsids) le 1) then $tsids ! fn:string(.)
    else fn:string($tsids[fn:last()])
};

(:~
 : The versions of a filler, or its events, in order of time: maps of `element`, and of `from` and
 : `to` if it has a lifespan.
 :)
declare function xcql:versions($stream as map(*), $id as xs:anyAtomicType) as map(*)* {
  xcql:versions-of($stream?fillers(fn:string($id)), $stream?tags)
};

declare %private function xcql:versions-of($arrived as element()*, $tags as map(*)) as map(*)* {
  let $kind := xcql:tsid($arrived) ! fn:head($tags(.))
  return
    if (fn:empty($kind)) then ()
    else if (fn:count($arrived) = 1) then
      if (xcql:counts($arrived))
      then xcql:version($arrived, $kind, xcql:begin(xcql:valid-time($arrived)), "now")
      else ()
    else xcql:history($arrived, $kind)
};

(:~ Whether the only fragment of an id is in the view. :)
declare %private function xcql:counts($only as element()) as xs:boolean {
  let $time := $only/@validTime
  return
    $only/* and (
      (: times in the form that XCQL writes compare correctly as text, and most have that form :)
      if (fn:translate($time, "0123456789", "") = "--T::" and fn:string-length($time) = 19)
      then $time le $xcql:now-text
      else xcql:valid-time($only) le $xcql:now
    )
};

declare %private function xcql:history($arrived as element()+, $kind as xs:string) as map(*)* {
  (: a remove without a time removes everything that arrived before it :)
  let $last := $arrived[fn:local-name(.) = "remove" and fn:empty(@validTime)][fn:last()]
  let $since := if (fn:empty($last)) then $arrived else $arrived[. >> $last]
  let $past := $since[xcql:valid-time(.) le $xcql:now]
  let $replace := $past[fn:local-name(.) = "replace"][fn:last()]
  let $counting := if (fn:empty($replace)) then $past else $past[fn:not(. << $replace)]
  let $ordered := fn:sort($counting, (), xcql:valid-time#1)
  let $times := $ordered ! xcql:valid-time(.)
  return
    if ($kind = "event") then
      for $event at $p in $ordered
      let $same := $ordered[xcql:valid-time(.) = $times[$p]]
      where fn:not(fn:local-name($event) = "remove")
        and fn:empty($same[. >> $event][fn:local-name(.) = "remove"])
        and fn:empty(
          for $twin in $same[. << $event][fn:deep-equal(*, $event/*)]
          where fn:empty($same[fn:local-name(.) = "remove"][. >> $twin and . << $event])
          return $twin
        )
      return xcql:version($event, $kind, xcql:begin($times[$p]), "now")
    else
      (: of several with the same time, the one that arrived last counts :)
      let $kept := for $p in 1 to fn:count($ordered)
                   where fn:not($times[$p] = $times[$p + 1]) return $p
      return
        if ($kind = "snapshot") then
          for $filler in $ordered[$kept[fn:last()]]
          where fn:not(fn:local-name($filler) = "remove")
          return xcql:version($filler, $kind, "start", "now")
        else
          for $p at $n in $kept
          where fn:not(fn:local-name($ordered[$p]) = "remove")
          return
            xcql:version(
              $ordered[$p], $kind, xcql:begin($times[$p]),
              (fn:string($times[$kept[$n + 1]])[. != ""], "now")[1]
            )
};

declare %private function xcql:version(
  $filler as element(), $kind as xs:string, $from as xs:string, $to as xs:string
) as map(*)
{
  if ($kind = "snapshot") then map { "element" : $filler/* }
  else map {
    "element" : $filler/*,
    "from" : if ($from = "0001-01-01T00:00:00") then "start" else $from,
    "to" : if ($kind = "event") then $from else $to
  }
};

(:~ A version's element, with its lifespan replacing any in the data. :)
declare function xcql:element($version as map(*)) as element() {
  let $element := $version?element
  return
    if (fn:empty($version?from)) then $element
    else
      element { fn:node-name($element) } {
        xcql:namespaces($element), xcql:attributes($version), $element/node()
      }
};

(:~ A version's attributes, with its lifespan. :)
declare function xcql:attributes($version as map(*)) as attribute()* {
  if (fn:empty($version?from)) then $version?element/@*
  else (
    $version?element/@*[fn:not(fn:name(.) = ("vtFrom", "vtTo"))],
    attribute vtFrom { $version?from },
    attribute vtTo { $version?to }
  )
};

(:~ The namespaces in scope of an element; the prefix `stream` does not belong to the data. :)
declare function xcql:namespaces($element as element()) as namespace-node()* {
  for $prefix in fn:in-scope-prefixes($element)
  where fn:not($prefix = ("xml", "stream"))
  return namespace { $prefix } { fn:namespace-uri-for-prefix($prefix, $element) }
};

(: ---------------------------------------------------------------- the temporal view :)

(: Translated queries have their own, non-recursive functions, generated from the Tag Structure; the
   functions below are for recursive tags. :)

(:~ Fill the holes of elements; return all other items unchanged. :)
declare function xcql:temporalize($stream as map(*), $items as item()*) as item()* {
  let $tsids := map:keys($stream?tags)
  for $item in $items
  return
    typeswitch ($item)
      case element() return xcql:filled($stream, $item, $tsids, ())
      default return $item
};

(:~
 : Fill the holes of an element that have fillers of these tags, or replace the node if it is such a
 : hole; other holes stay as they are.
 :)
declare function xcql:filled($stream as map(*), $element as element(), $tsids as xs:string*)
  as node()*
{
  xcql:filled($stream, $element, $tsids, ())
};

declare %private function xcql:filled(
  $stream as map(*), $node as node(), $tsids as xs:string*, $open as xs:string*
) as node()*
{
  if ($node/self::Q{}hole) then
    let $id := fn:string($node/@id)
    let $arrived := $stream?fillers($id)
    let $tsid := xcql:tsid($arrived)
    return
      (: a hole that names an enclosing filler is empty :)
      if (fn:empty($tsid) or $id = $open) then ()
      else if ($tsid = $tsids) then
        for $version in xcql:versions-of($arrived, $stream?tags)
        return xcql:whole($stream, $version, $tsids, ($open, $id))
      else $node
  else if ($node/descendant::Q{}hole) then
    element { fn:node-name($node) } {
      xcql:namespaces($node),
      $node/@*,
      for $child in $node/node()
      return xcql:filled($stream, $child, $tsids, $open)
    }
  else $node
};

(:~ A version's element with its holes filled, except those that name a filler in `$open`. :)
declare function xcql:whole(
  $stream as map(*), $version as map(*), $tsids as xs:string*, $open as xs:string*
) as element()
{
  let $element := $version?element
  return
    element { fn:node-name($element) } {
      xcql:namespaces($element),
      xcql:attributes($version),
      if ($element/descendant::Q{}hole) then
        for $child in $element/node()
        return xcql:filled($stream, $child, $tsids, $open)
      else $element/node()
    }
};

(: ---------------------------------------------------------------- projections :)

(:~ Whatever is valid in the closed interval, with lifespans clipped to it, as new trees. :)
declare function xcql:interval_projection(
  $items as item()*, $begin as xs:anyAtomicType?, $end as xs:anyAtomicType?
) as item()*
{
  let $interval := xcql:interval($begin, $end)
  where fn:exists($interval)
  for $item in $items
  return
    typeswitch ($item)
      case element() return xcql:sliced($item, $interval[1], $interval[2])
      case document-node() return
        document {
          for $child in $item/node()
          return xcql:sliced($child, $interval[1], $interval[2])
        }
      case attribute() | text() return
        let $lifespan := xcql:lifespan($item)
        where $lifespan[1] le $interval[2] and $lifespan[2] ge $interval[1]
        return xcql:alone($item)
      default return $item
};

(:~ Copy an attribute or a text without its parent. :)
declare %private function xcql:alone($leaf as node()) as node() {
  typeswitch ($leaf)
    case attribute() return attribute { fn:node-name($leaf) } { fn:string($leaf) }
    default return text { fn:string($leaf) }
};

declare %private function xcql:sliced(
  $node as node(), $begin as xs:dateTime, $end as xs:dateTime
) as node()?
{
  if (fn:not($node/self::element())) then $node
  else if ($node/@vtFrom and $node/@vtTo) then
    let $from := fn:max((xcql:time($node/@vtFrom), $begin))
    let $to := fn:min((xcql:time($node/@vtTo), $end))
    where $from le $to
    return
      element { fn:node-name($node) } {
        xcql:namespaces($node),
        for $attribute in $node/@*
        return
          switch (fn:name($attribute))
            case "vtFrom" return attribute vtFrom { xcql:begin($from) }
            case "vtTo" return attribute vtTo { $to }
            default return $attribute,
        for $child in $node/node()
        return xcql:sliced($child, $begin, $end)
      }
  else
    element { fn:node-name($node) } {
      xcql:namespaces($node),
      $node/@*,
      for $child in $node/node()
      return xcql:sliced($child, $begin, $end)
    }
};

(:~ The items from `$first` to `$last`; the content of each is sliced to its own lifespan. :)
declare function xcql:version_projection(
  $items as item()*, $first as xs:integer?, $last as xs:integer?
) as item()*
{
  for $item at $position in $items
  where $position ge $first and $position le $last
  return
    typeswitch ($item)
      case element() return
        let $lifespan := xcql:lifespan($item)
        return
          element { fn:node-name($item) } {
            xcql:namespaces($item),
            $item/@*,
            for $child in $item/node()
            return xcql:sliced($child, $lifespan[1], $lifespan[2])
          }
      case document-node() return
        let $lifespan := xcql:lifespan($item)
        return
          document {
            for $child in $item/node()
            return xcql:sliced($child, $lifespan[1], $lifespan[2])
          }
      case attribute() | text() return xcql:alone($item)
      default return $item
};

(: ---------------------------------------------------------------- identifiers :)

(:~
 : All elements of a document that have one of these IDs: in a temporal view an element has many
 : versions and copies. Each line of `$declared` has the type and name of an attribute, and the
 : names of its element and of that element's ancestors; xml:id needs no line.
 :)
declare function xcql:id($values as xs:string*, $node as node(), $declared as xs:string*)
  as element()*
{
  let $words := $values ! fn:tokenize(.)
  return
    xcql:document($node)//*[
      (xcql:declared(., "ID", $declared), @xml:id) ! fn:normalize-space(.) = $words
    ]
};

(:~ All attributes of a document that refer to one of these IDs. :)
declare function xcql:idref($values as xs:string*, $node as node(), $declared as xs:string*)
  as attribute()*
{
  for $element in xcql:document($node)//*
  return xcql:declared($element, ("IDREF", "IDREFS"), $declared)[fn:tokenize(.) = $values]
};

declare %private function xcql:document($node as node()) as document-node() {
  let $root := fn:root($node)
  return
    if ($root instance of document-node()) then $root
    else
      fn:error(
        fn:QName("http://www.w3.org/2005/xqt-errors", "err:FODC0001"),
        "the node is not part of a document"
      )
};

(:~ The attributes of an element that are declared to be of one of these types. :)
declare %private function xcql:declared(
  $element as element(), $types as xs:string+, $declared as xs:string*
) as attribute()*
{
  let $names := fn:reverse($element/ancestor-or-self::*) ! xcql:expanded(.)
  let $found :=
    for $line in $declared
    let $parts := fn:tokenize($line, " ")
    where $parts[1] = $types
      and (every $n in 3 to fn:count($parts) satisfies $names[$n - 2] = $parts[$n])
    return $parts[2]
  return $element/@*[xcql:expanded(.) = $found]
};

declare %private function xcql:expanded($node as node()) as xs:string {
  "Q{" || fn:namespace-uri($node) || "}" || fn:local-name($node)
};

(: ---------------------------------------------------------------- lifespans and time :)

(:~ The start of a node's lifespan. :)
declare function xcql:vtFrom($node as node()?) as xs:dateTime? {
  xcql:lifespan($node)[1]
};

(:~ The end of a node's lifespan. :)
declare function xcql:vtTo($node as node()?) as xs:dateTime? {
  xcql:lifespan($node)[2]
};

(:~
 : Start and end of a node's lifespan: its own, or else the cover of its child elements' lifespans.
 : For an attribute or a text, it is that of the nearest ancestor that has its own.
 :)
declare function xcql:lifespan($node as node()?) as xs:dateTime* {
  typeswitch ($node)
    case empty-sequence() return ()
    case element() return
      if ($node/@vtFrom and $node/@vtTo) then (xcql:time($node/@vtFrom), xcql:time($node/@vtTo))
      else xcql:cover($node/*)
    case document-node() return xcql:cover($node/*)
    default return
      let $above := $node/ancestor::*[@vtFrom and @vtTo][1]
      return if ($above) then xcql:lifespan($above) else ($xcql:start, $xcql:now)
};

declare %private function xcql:cover($elements as element()*) as xs:dateTime+ {
  if (fn:empty($elements)) then ($xcql:start, $xcql:now)
  else
    let $spans := $elements ! array { xcql:lifespan(.) }
    return (fn:min($spans ! .(1)), fn:max($spans ! .(2)))
};

(:~ Start and end of an interval; empty if a bound is empty or the start comes after the end. :)
declare function xcql:interval($begin as xs:anyAtomicType?, $end as xs:anyAtomicType?)
  as xs:dateTime*
{
  let $from := xcql:instant($begin)
  let $to := xcql:instant($end)
  return if ($from le $to) then ($from, $to) else ()
};

(:~ The instant of an interval's bound; a date means its midnight. :)
declare function xcql:instant($bound as xs:anyAtomicType?) as xs:dateTime? {
  typeswitch ($bound)
    case empty-sequence() return ()
    case xs:dateTime return xcql:utc($bound)
    case xs:date return xcql:utc(xs:dateTime($bound))
    case xs:string return xcql:time($bound)
    case xs:untypedAtomic return xcql:time(fn:string($bound))
    default return
      fn:error(fn:QName("urn:xcql", "xcql:XCQL0002"), "a bound of an interval is a time")
};

(:~ `now` in the form of fn:current-dateTime, with the zone Z. :)
declare function xcql:current-dateTime() as xs:dateTime {
  fn:adjust-dateTime-to-timezone($xcql:now, xs:dayTimeDuration("PT0S"))
};

(:~ A sum; a number added to a time counts as seconds. :)
declare function xcql:plus($a as xs:anyAtomicType?, $b as xs:anyAtomicType?) as xs:anyAtomicType? {
  if ($a instance of xs:dateTime) then $a + xcql:seconds($b)
  else if ($b instance of xs:dateTime) then xcql:seconds($a) + $b
  else $a + $b
};

(:~ A difference; a number subtracted from a time counts as seconds. :)
declare function xcql:minus($a as xs:anyAtomicType?, $b as xs:anyAtomicType?) as xs:anyAtomicType? {
  if ($a instance of xs:dateTime) then $a - xcql:seconds($b) else $a - $b
};

declare %private function xcql:seconds($value as xs:anyAtomicType?) as xs:anyAtomicType? {
  typeswitch ($value)
    case xs:numeric return $value * xs:dayTimeDuration("PT1S")
    case xs:untypedAtomic return xs:double($value) * xs:dayTimeDuration("PT1S")
    default return $value
};

declare %private function xcql:utc($time as xs:dateTime) as xs:dateTime {
  if (fn:empty(fn:timezone-from-dateTime($time))) then $time
  else
    fn:adjust-dateTime-to-timezone(
      fn:adjust-dateTime-to-timezone($time, xs:dayTimeDuration("PT0S")), ())
};

(:~ The form of an instant in the attribute vtFrom. :)
declare %private function xcql:begin($instant as xs:dateTime) as xs:string {
  if ($instant eq $xcql:start) then "start" else fn:string($instant)
};

declare %private function xcql:valid-time($fragment as element()) as xs:dateTime {
  if ($fragment/@validTime) then xcql:time($fragment/@validTime) else $xcql:start
};

(:~ Parse the text of an instant; months, days and hours may have one digit. :)
declare %private function xcql:time($text as xs:string) as xs:dateTime {
  if ($text castable as xs:dateTime) then xcql:utc(xs:dateTime($text))
  else if ($text castable as xs:date) then xcql:utc(xs:dateTime(xs:date($text)))
  else
    let $trimmed := fn:normalize-space($text)
    return
      if ($trimmed = "now") then $xcql:now
      else if ($trimmed = "start") then $xcql:start
      else
        let $parts := fn:analyze-string(
          fn:upper-case($trimmed),
          "^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?)?\s*"
            || "(?:(Z)|([+\-]\d\d)(?::?(\d\d))?)?$"
        )/fn:match/fn:group
        let $part := function($number as xs:integer, $default as xs:string) as xs:string {
          ($parts[@nr = $number]/fn:string(), $default)[1]
        }
        let $two := function($digits as xs:string) as xs:string {
          fn:substring("0" || $digits, fn:string-length($digits))
        }
        return
          if (fn:empty($parts)) then
            fn:error(fn:QName("urn:xcql", "xcql:XCQL0002"), "'" || $trimmed || "' is not a time")
          else
            xcql:utc(xs:dateTime(
              $part(1, "") || "-" || $two($part(2, "")) || "-" || $two($part(3, "")) || "T"
                || $two($part(4, "00")) || ":" || $part(5, "00") || ":" || $part(6, "00")
                || fn:string-join($parts[@nr = 7]/("." || .))
                || (if ($parts[@nr = 9]) then $part(9, "") || ":" || $part(10, "00")
                    else $part(8, ""))
            ))
};

(: ---------------------------------------------------------------- Allen's relations :)

(: An operand is the start and end of an interval, as `xcql:lifespan` and `xcql:interval` return it;
   an empty operand gives the empty sequence. :)

declare function xcql:before($a as xs:dateTime*, $b as xs:dateTime*) as xs:boolean? {
  $a[2] lt $b[1]
};

declare function xcql:after($a as xs:dateTime*, $b as xs:dateTime*) as xs:boolean? {
  xcql:before($b, $a)
};

declare function xcql:meets($a as xs:dateTime*, $b as xs:dateTime*) as xs:boolean? {
  $a[2] eq $b[1]
};

declare function xcql:met-by($a as xs:dateTime*, $b as xs:dateTime*) as xs:boolean? {
  xcql:meets($b, $a)
};

declare function xcql:overlaps($a as xs:dateTime*, $b as xs:dateTime*) as xs:boolean? {
  xcql:both($a, $b, $a[1] lt $b[1] and $b[1] lt $a[2] and $a[2] lt $b[2])
};

declare function xcql:overlapped-by($a as xs:dateTime*, $b as xs:dateTime*) as xs:boolean? {
  xcql:overlaps($b, $a)
};

declare function xcql:starts($a as xs:dateTime*, $b as xs:dateTime*) as xs:boolean? {
  xcql:both($a, $b, $a[1] eq $b[1] and $a[2] lt $b[2])
};

declare function xcql:started-by($a as xs:dateTime*, $b as xs:dateTime*) as xs:boolean? {
  xcql:starts($b, $a)
};

declare function xcql:during($a as xs:dateTime*, $b as xs:dateTime*) as xs:boolean? {
  xcql:both($a, $b, $b[1] lt $a[1] and $a[2] lt $b[2])
};

declare function xcql:contains($a as xs:dateTime*, $b as xs:dateTime*) as xs:boolean? {
  xcql:during($b, $a)
};

declare function xcql:finishes($a as xs:dateTime*, $b as xs:dateTime*) as xs:boolean? {
  xcql:both($a, $b, $a[2] eq $b[2] and $a[1] gt $b[1])
};

declare function xcql:finished-by($a as xs:dateTime*, $b as xs:dateTime*) as xs:boolean? {
  xcql:finishes($b, $a)
};

declare function xcql:equals($a as xs:dateTime*, $b as xs:dateTime*) as xs:boolean? {
  xcql:both($a, $b, $a[1] eq $b[1] and $a[2] eq $b[2])
};

declare %private function xcql:both(
  $a as xs:dateTime*, $b as xs:dateTime*, $holds as xs:boolean
) as xs:boolean?
{
  if (fn:empty($a) or fn:empty($b)) then () else $holds
};

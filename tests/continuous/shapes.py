"""Shapes of queries that work on any random world."""

from __future__ import annotations

SHAPES = {
    "selection": 'for $a in stream("s")//a where $a/n > 1 return $a',
    "path": 'stream("s")//a/n',
    "valid now": 'stream("s")//a?[now]',
    "now inside": 'for $a in stream("s")//a return <x>{$a/n?[now]/text()}</x>',
    "sliding window": (
        'for $a in stream("s")//a'
        " return <x>{count($a/b?[now-P3D, now]), $a/n?[now-P2D]/string()}</x>"
    ),
    "sliding window of the loop": 'for $b in stream("s")//b?[now-P3D, now] return string($b)',
    "fixed window": 'for $a in stream("s")//a return $a?[2003-01-05, now]/n',
    "versions": 'for $a in stream("s")//a return $a/n#[last]',
    "first version": 'for $a in stream("s")//a return <v>{$a/*#[1]}</v>',
    "nested aggregate": 'for $a in stream("s")//a return <s>{sum($a//n), count($a//w)}</s>',
    "tallies": (
        'for $a in stream("s")//a where count($a/b) > 0 return <s>{count($a/b), sum($a/b/@k),'
        " avg($a/b/@k), exists($a/b[w]), empty($a/b/w), count($a/b/@*)}</s>"
    ),
    "tallies of what may be no number": (
        'for $a in stream("s")//a return <s>{try {sum($a/b/w)} catch * {"none"}}</s>'
    ),
    "tallies with more": (
        'for $a in stream("s")//a order by count($a/b), $a/@k return <s>{count($a/b), $a/b/w}</s>'
    ),
    "a count of tallies": 'count(for $a in stream("s")//a where sum($a/b/n) > 2 return $a)',
    "nested loop": (
        'for $a in stream("s")//a return <s>{for $n in $a//n where $n > 1 return <n>{$n}</n>}</s>'
    ),
    "two loops": 'for $a in stream("s")//a, $n in $a/n where $n >= 2 return <p>{$a/@k}{$n}</p>',
    "two levels": 'for $b in stream("s")/r/a/b return <b>{$b/n, $b/w}</b>',
    "order by": 'for $a in stream("s")//a order by string($a/@k) descending return $a/n',
    "order by number": (
        'for $n in stream("s")//n order by number($n), vtFrom($n) descending return <n>{$n}</n>'
    ),
    "some": (
        'for $a in stream("s")//a where some $n in $a//n satisfies $n > 1 return <a>{$a/@k}</a>'
    ),
    "every": (
        'for $a in stream("s")//a where every $n in $a//n satisfies $n > 1 return <a>{$a/@k}</a>'
    ),
    "lifespans": 'for $a in stream("s")//a return <v>{vtFrom($a), vtTo($a)}</v>',
    "begin": 'for $n in stream("s")//n return <v>{vtFrom($n)}</v>',
    "attributes": 'for $a in stream("s")//a return <v>{$a/@*}</v>',
    "Allen": 'for $a in stream("s")//a where $a before [2003-01-12, now] return $a/@k/string()',
    "attributes in a window": (
        'for $a in stream("s")//a'
        " return <v>{$a/@k?[now-P3D, now]/string(), $a/n/@k?[now]/string()}</v>"
    ),
    "text in a window": 'for $n in stream("s")//n/text()?[now-P5D, now-P1D] return <v>{$n}</v>',
    "lifespans of attributes": 'for $k in stream("s")//a/@k return <v>{vtFrom($k), vtTo($k)}</v>',
    "Allen, of text": (
        'for $n in stream("s")//n where $n/text() before [2003-01-12, now] return <v>{$n/@k}</v>'
    ),
    "parents": 'for $n in stream("s")//n return <p k="{$n/../@k}">{name($n/..)}</p>',
    "siblings": 'for $n in stream("s")//a/n return <p>{count($n/following-sibling::*)}</p>',
    "positions": 'for $a in stream("s")/r/a return $a/n[1]',
    "position in all": 'stream("s")//n[2]',
    "predicates that look up": 'stream("s")//n[../@k = "1"]/string()',
    "predicates that look beside": 'stream("s")/r/a[count(../a) > 2]/n',
    "functions that look beside": (
        "declare function local:f($n) { count($n/../*) > 2 };"
        ' for $a in stream("s")/r/a[local:f(.)] return $a/@k/string()'
    ),
    "the first in any": 'stream("s")//*/n[1]',
    "the last of versions": 'for $a in stream("s")//a/*[last()] return name($a)',
    "mapped": 'stream("s")//a ! (n, string(@k))',
    "the clock": 'for $a in stream("s")//a return <v>{now()}</v>',
    "predicates": 'stream("s")//a[@k = "1"]/b[n]/string()',
    "let first": 'let $x := 2 for $a in stream("s")//a where $a/@k = $x return $a/w/text()',
    "count": 'count(stream("s")//a[n > 1])',
    "sum": 'sum(stream("s")//n)',
    "average": 'avg(for $a in stream("s")//a return $a/n)',
    "exists": 'exists(stream("s")//a/n?[now])',
    "most": 'max(stream("s")//a/n)',
    "group by": (
        'for $a in stream("s")//a group by $k := string($a/@k)'
        ' return <g k="{$k}">{count($a), sum($a/n)}</g>'
    ),
    "group by and order": (
        'for $a in stream("s")//a for $n in $a/n group by $v := number($n), $k := $a/@k'
        " order by $v descending return <g>{$v, string($k), count($a)}</g>"
    ),
    "group by what is in a window": (
        'for $a in stream("s")//a where $a/n?[now-P9D, now-P2D]'
        " group by $c := count($a/b?[now-P4D, now]) return <g>{$c, $a/@k/string()}</g>"
    ),
    "group by in a window": (
        'for $b in stream("s")//b let $w := $b?[now-P4D, now] group by $k := string($b/@k)'
        ' return <g k="{$k}">{count($w)}</g>'
    ),
    "join": (
        'for $a in stream("s")//a, $b in stream("t")//b where $a/@k = $b/@k'
        " return <j>{$a/n, $b/n}</j>"
    ),
    "join in a predicate": (
        'for $a in stream("s")//a return <j>{count(stream("t")//b[@k = $a/@k])}</j>'
    ),
    "join in a nested loop": (
        'for $a in stream("s")//a return <j k="{$a/@k}">{for $b in stream("t")//b'
        " where $b/n = $a/n and $b/@k return <b>{$b/w}</b>}</j>"
    ),
    "join with itself": (
        'for $a in stream("s")//a for $b in stream("s")//b where $b/@k = $a/@k'
        " return <j>{string($a/n[1]), string($b/n[1])}</j>"
    ),
    "join by some": (
        'for $a in stream("s")//a where not(some $b in stream("t")//b?[vtFrom($a), now]'
        " satisfies $b/@k = $a/@k) return <j>{$a/@k}</j>"
    ),
    "join in a window": (
        'for $a in stream("s")//a, $b in stream("t")//b?[vtFrom($a)-P2D, vtFrom($a)+P2D]'
        " where $a/@k = $b/@k return <j>{$a/@k, string($b)}</j>"
    ),
    "join by time": (
        'for $a in stream("s")//a, $b in stream("t")//b?[vtFrom($a), vtFrom($a)+P3D]'
        " where $b/n >= $a/n return <j>{$a/@k, string($b)}</j>"
    ),
    "join by time in some": (
        'for $a in stream("s")//b where some $b in stream("t")//b?[vtFrom($a)-P1D, vtTo($a)]'
        " satisfies $b/@k return <j>{$a/@k}</j>"
    ),
    "join without a key": 'for $a in stream("s")//a return <j>{$a/@k, count(stream("t")//b)}</j>',
    "constructed": '<all>{for $a in stream("s")//a return $a/n}</all>',
}

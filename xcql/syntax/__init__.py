"""The syntax tree of XCQL: small immutable nodes, each with the span it came from.

| module | holds |
| --- | --- |
| `node` | `SyntaxNode`, walking, `Transformer` |
| `literals`, `operators`, `path`, `functions`, `flwor`, `control`, `construct` | expressions |
| `temporal` | what XCQL adds to XQuery |
| `types` | sequence types and node tests |
| `prolog` | modules and declarations |
| `precedence` | how tightly each operator binds |
| `emitter` | tree to XQuery text |

Two trees are equal if they have the same meaning; spans don't count.

Tests: tests/syntax/test_roundtrip.py
"""

"""The reference evaluator: what every query means, in Python, without Spark.

A query's syntax tree is compiled to Python closures (`scope.compile_expression`), one module a
topic, and run over the nodes of `xcql.xdm`. Atomic values are elementpath's.
"""

from xcql.evaluate.api import evaluate, prepare
from xcql.evaluate.result import Result, ResultItem

__all__ = ["Result", "ResultItem", "evaluate", "prepare"]

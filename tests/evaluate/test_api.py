"""`xcql.evaluate`: its arguments and its result."""

from __future__ import annotations

import datetime
import importlib
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

import xcql
from tests.evaluate.answers import answer, failure
from xcql.evaluate import prepare
from xcql.xdm.parse import parse_xml

VARIABLE = "declare variable $x external; "


class TestInputs:
    def test_context_is_text_a_path_or_a_node(self, tmp_path: Path) -> None:
        file = tmp_path / "a.xml"
        file.write_text("<a>1</a>")
        for given in ("<a>1</a>", file, str(file), parse_xml("<a>1</a>"), b"<a>1</a>"):
            assert answer("/a/string()", given) == "1"
        assert answer(". + 1", 41) == "42"

    @pytest.mark.parametrize(
        ("value", "kind"),
        [
            ("text", "xs:string"),
            ("<a/>", "document-node()"),
            (True, "xs:boolean"),
            (1, "xs:integer"),
            (Decimal("1.5"), "xs:decimal"),
            (1.5, "xs:double"),
            (datetime.datetime(2003, 1, 2), "xs:dateTime"),
            (datetime.date(2003, 1, 2), "xs:date"),
            (datetime.time(1, 2), "xs:time"),
            (datetime.timedelta(hours=1), "xs:dayTimeDuration"),
            (b"x", "xs:base64Binary"),
            ([1, [2, "a"]], "xs:anyAtomicType+"),
            (None, "empty-sequence()"),
            ({"a": [1, 2]}, "map(xs:string, xs:integer+)"),
        ],
    )
    def test_variables_get_the_type_of_their_value(self, value: object, kind: str) -> None:
        query = f"{VARIABLE}$x instance of {kind}"
        assert answer(query, variables={"x": value}) == "true"

    def test_a_path_is_a_document(self, tmp_path: Path) -> None:
        file = tmp_path / "a.xml"
        file.write_text("<a>1</a>")
        assert answer(VARIABLE + "$x/a", variables={"x": file}) == "<a>1</a>"
        assert failure(VARIABLE + "$x", variables={"x": tmp_path / "no"}).code == "XCQL0300"

    def test_text_is_text_even_if_it_is_a_path(self, tmp_path: Path) -> None:
        assert answer(VARIABLE + "$x", variables={"x": str(tmp_path)}) == str(tmp_path)

    def test_a_declared_type_is_checked(self) -> None:
        query = "declare variable $x as xs:integer external; $x"
        assert failure(query, variables={"x": "a"}).code == "XPTY0004"

    def test_defaults(self) -> None:
        query = "declare variable $x external := 5; $x"
        assert answer(query) == "5"
        assert answer(query, variables={"x": 6}) == "6"
        assert answer(query, variables={"unused": 1}) == "5"

    def test_values_without_a_counterpart(self) -> None:
        assert failure(VARIABLE + "$x", variables={"x": object()}).code == "XCQL0006"

    def test_bad_xml(self) -> None:
        assert failure(".", "<a>").code == "FODC0006"


class TestExternalFunctions:
    def test_arguments_are_python_values(self) -> None:
        seen: list[object] = []

        def note(*values: object) -> list[object]:
            seen.extend(values)
            return [len(values), "ok"]

        query = "note(<a>x</a>, 1, (), (1, 2), xs:dateTime('2003-01-02T00:00:00'), true())"
        assert answer(query, functions={"note": note}) == "6 ok"
        moment = datetime.datetime(2003, 1, 2)
        assert seen == ["x", 1, None, [1, 2], moment, True]

    def test_external_functions_are_values_too(self) -> None:
        functions = {"double": lambda x: int(x) * 2}
        assert answer("for-each((1, 2), double#1), 3 => double()", functions=functions) == "2 4 6"

    def test_external_functions_can_be_declared(self) -> None:
        query = "declare function local:double($x as xs:integer) as xs:integer external;"
        functions = {"double": lambda x: x * 2}
        assert answer(query + "local:double(2)", functions=functions) == "4"
        assert failure(query + "local:double('a')", functions=functions).code == "XPTY0004"

    def test_errors_of_external_functions_have_a_position(self) -> None:
        problem = failure("1 + broken()", functions={"broken": lambda: 1 // 0})
        assert (problem.code, problem.column) == ("XCQL0005", 5)

    def test_unknown_functions_get_a_suggestion(self) -> None:
        problem = failure("triangluate()", functions={"triangulate": lambda: 1})
        assert problem.diagnostic.hints == ("did you mean triangulate()?",)


class TestResult:
    def test_is_a_sequence_of_items(self) -> None:
        result = xcql.evaluate(
            "1, 'a&amp;b', <a>x</a>, <a b='c'/>/@b, text {'<'}, <!--c-->, <?p q?>"
        )
        kinds = [(item.kind, item.xml, item.string) for item in result]
        assert kinds == [
            ("atomic", "1", "1"),
            ("atomic", "a&amp;b", "a&b"),
            ("element", "<a>x</a>", "x"),
            ("attribute", 'b="c"', "c"),
            ("text", "&lt;", "<"),
            ("comment", "<!--c-->", "c"),
            ("pi", "<?p q?>", "q"),
        ]
        assert len(result) == 7
        assert result[0].value == 1
        assert result[2:3].serialize() == "<a>x</a>"
        assert result[:2].serialize() == "1\na&amp;b"

    def test_documents_and_namespaces(self) -> None:
        result = xcql.evaluate("document {<a/>}, namespace p {'u'}")
        assert [(item.kind, item.xml) for item in result] == [
            ("document", "<a/>"),
            ("namespace", 'xmlns:p="u"'),
        ]

    def test_functions_cannot_be_written(self) -> None:
        result = xcql.evaluate("concat#2")
        assert result[0].kind == "function"
        with pytest.raises(xcql.XcqlError, match="SENR0001"):
            result.serialize()

    def test_repr_is_short(self) -> None:
        assert repr(xcql.evaluate("1 to 100")) == "<Result of 100: 1, 2, 3, 4, 5, …>"


def test_a_prepared_query_runs_many_times() -> None:
    query = prepare("declare variable $n external; declare variable $m := $n * 2; $m + 1")
    assert [xcql.evaluate(query, variables={"n": n}).values for n in (1, 2)] == [[3], [5]]


def test_one_evaluation_inside_another() -> None:
    functions = {"inner": lambda: xcql.evaluate("1 + 1").values}
    assert answer("inner() + 1", functions=functions) == "3"


def test_the_package_and_the_function_share_a_name() -> None:
    importlib.import_module("xcql.evaluate.api")
    assert xcql.evaluate("1").values == [1]
    program = "import xcql.evaluate.api, xcql; print(xcql.evaluate('1 + 1'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "<Result of 1: 2>", done.stderr


def test_documents_are_read_once() -> None:
    sample = (Path(__file__).parents[2] / "samples/credit/tags.xml").as_uri()
    assert answer(f"doc('{sample}') is doc('{sample}'), count(doc('{sample}')//tag)") == "true 8"

"""What rules share of a graph."""

from bot.checker.data.assigned import Assigned
from bot.checker.graph import Graph
from bot.checker.paths.passing import Passing
from tests.checker.proved import library

MAIN = "flow: main\nsteps:\n  a: {ask: A, buttons: {One: /one, Two: next}}\n  b: {run: /two}\n"
ONE = "flow: one\nsteps:\n  a: {ask: A, buttons: {Back: /main/b, Out: end}}\n"
TWO = "flow: two\nsteps:\n  a: {say: A, then: next}\n  b: {say: B}\n"


def test_a_fact_is_worked_out_once_for_all_rules() -> None:
    graph = Graph(library(MAIN, ONE, TWO))
    assert graph.fact(Passing) is graph.fact(Passing)
    assert graph.fact(Assigned) is graph.fact(Assigned)


def test_another_graph_has_its_own_facts() -> None:
    assert Graph(library(ONE, MAIN, TWO)).fact(Passing) is not Graph(library(ONE, MAIN, TWO)).fact(Passing)


def test_a_flow_goes_over_to_those_that_a_target_of_it_names_and_not_to_those_that_it_runs() -> None:
    assert Graph(library(MAIN, ONE, TWO)).crossed == {"main": {"one"}, "one": {"main"}, "two": set()}

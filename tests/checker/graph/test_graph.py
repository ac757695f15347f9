"""The parts of a graph that rules share."""

from bot.checker.graph import Graph
from tests.checker.proved import library

MAIN = "flow: main\nsteps:\n  a: {ask: A, buttons: {One: /one, Two: next}}\n  b: {run: /two}\n"
ONE = "flow: one\nsteps:\n  a: {ask: A, buttons: {Back: /main/b, Out: end}}\n"
TWO = "flow: two\nsteps:\n  a: {say: A, then: next}\n  b: {say: B}\n"


def test_a_flow_goes_over_to_those_that_a_target_of_it_names_and_not_to_those_that_it_runs() -> None:
    assert Graph(library(MAIN, ONE, TWO)).crossed == {"main": {"one"}, "one": {"main"}, "two": set()}


def test_back_leads_over_any_number_of_steps_to_each_question_that_was_left() -> None:
    flow = """
flow: main
steps:
  first: {ask: First?, words: {help: {then: help}}}
  second: {ask: Second?, words: {help: {then: help}}, then: end}
  help: {say: Help., then: more}
  more: {say: More., then: last}
  last: {say: Last., then: back}
"""
    graph = Graph(library(flow))
    back = {edge.target for edge in graph.edges["main", "last"]}
    assert back == {None, ("main", "first"), ("main", "second")}

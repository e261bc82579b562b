"""pass-give, pass-list, pass-withdraw, gate-ask."""

from __future__ import annotations

from tidewater.clock import read_span, read_stamp
from tidewater.commands.command import argument, command
from tidewater.outcome import Outcome, refused, settled
from tidewater.planning.gates import ask_gate, plan_crew_pass, withdraw
from tidewater.records.harbour_pass import GRADES, HarbourPass


@command(
    "pass-give",
    argument("holder"),
    argument("--grade", choices=GRADES, default="visitor"),
    argument("--from", dest="begins", default="", metavar="TIME"),
    argument("--for", dest="span", default="1d", metavar="SPAN"),
    argument("--quay", dest="quays", action="append", default=[]),
    argument("--call", type=int, default=0, help="a crew's pass follows its call"),
    help="give somebody a pass",
)
def pass_give(arguments, harbour) -> Outcome:
    number = harbour.passes.next_number()
    if arguments.call:
        call = harbour.calls.fetch_one(arguments.call)
        given = plan_crew_pass(number, arguments.holder, call)
        return given.then(lambda made: settled(harbour.passes.store(made)))
    if not arguments.begins:
        return refused("say from when the pass is valid, or for which call")
    begins = read_stamp(arguments.begins)
    ends = begins + read_span(arguments.span)
    made = HarbourPass(number, arguments.holder, arguments.grade, begins, ends, tuple(arguments.quays)).checked()
    return settled(harbour.passes.store(made))


@command("pass-list", argument("--holder", default=""), help="list the passes")
def pass_list(arguments, harbour) -> Outcome:
    passes = harbour.passes.fetch_many(holder=arguments.holder)
    if not passes:
        return refused("no such pass was given")
    return settled(passes)


@command("pass-withdraw", argument("number", type=int), help="take a pass back")
def pass_withdraw(arguments, harbour) -> Outcome:
    taken = withdraw(harbour.passes.fetch_one(arguments.number))
    return taken.then(lambda gone: settled(harbour.passes.store(gone)))


@command(
    "gate-ask",
    argument("holder"),
    argument("quay"),
    argument("moment", metavar="TIME"),
    help="ask whether the gate opens",
)
def gate_ask(arguments, harbour) -> Outcome:
    moment = read_stamp(arguments.moment)
    passes = harbour.passes.fetch_many(holder=arguments.holder)
    return ask_gate(passes, arguments.holder, arguments.quay, moment)

"""What discussions send to their models, beside the original from PyPI: input tokens, cacheable share, price.

    cargo build --release -p althing
    python3 bench/tokens.py [--althing PATH] [--methods standard,delphi] [--calls standard] [--save FILE]
    python3 bench/tokens.py --selftest

Both programs hold the same discussions: the same three questions, models, turns and answers (see
scripted_answers.py), each in an empty home folder with nothing but a recording upstream on loopback. A token is
four characters of message contents. The cacheable share is the longest beginning that each prompt has in common
with an earlier prompt to the same model in the same discussion; its bound is the text that this model was shown
before, in any order (see prompt_share.py). Nothing here depends on the speed of the machine.

Needs Python 3.11 with venv. The original is installed from PyPI into target/peers/quorum-bench on first use.
The bench judges and never fails: the aims at the end say what is met.
"""

import argparse
import json
import sys
import tempfile
import threading
from pathlib import Path

import prompt_share
import quorum
import scripted_answers
from recording_upstream import RecordingUpstream
from scripted_answers import METHODS, MODELS, TURNS_PER_MODEL

PROGRAMS = ["original", "althing"]
DISCUSSION_SECONDS_MAX = 120

SHORT_QUESTION = "Should a town of 30,000 people replace its buses by shared taxis?"
MEDIUM_QUESTION = (
    "Our team of nine maintains a billing service that was written eleven years ago. Half of it is well tested, the "
    "other half is not, and only two people dare to change that half. Should we rewrite the untested half in the next "
    "two quarters, put it behind a new interface and leave it alone, or buy a product and migrate the customers over "
    "a year? Say what you would do first on Monday."
)
LONG_QUESTION = (
    "A hospital with 420 beds plans how to schedule its nurses from next year on. Today every ward writes its own "
    "plan by hand, six weeks ahead, and changes it about forty times a month because somebody is ill. The union asks "
    "for plans that are fixed eight weeks ahead and for a premium on every change; the management wants one pool of "
    "nurses for all wards and plans that a program writes every night. A trial with the pool on three wards lowered "
    "the hours of agency staff by 18 percent in five months, and in the same time two experienced nurses left and "
    "named the pool as their reason. A trial with fixed plans on two other wards raised the satisfaction in a survey "
    "from 3.1 to 3.9 of 5, with 41 of 60 answering, and agency hours rose by 7 percent. The budget allows either the "
    "program, about 210,000 a year with training, or 4.5 more nurses, but not both. The law asks for eleven hours "
    "between two shifts and the plans of last year broke that 96 times. Three wards need special skills that take "
    "half a year to learn, so their nurses cannot be replaced by anybody from a pool. What should the hospital do in "
    "the first year, what should it measure to know whether it was right, and at which figures should it turn back?"
)
QUESTIONS = [SHORT_QUESTION, MEDIUM_QUESTION, LONG_QUESTION]

# The aims: of standard alone, and of every method.
STANDARD_INPUT_MAX = 0.85
STANDARD_SHARE_MIN = 0.55
STANDARD_COST_MAX = 0.45
INPUT_MAX = 1.0
SHARE_OF_BOUND_MIN = 0.9


class Script:
    """Answers the calls of one discussion after another."""

    def __init__(self):
        self.kinds = []

    def begin_discussion(self, method, seats):
        self.kinds = scripted_answers.list_kinds(method, seats, TURNS_PER_MODEL * seats)

    def name_kind(self, number):
        """Returns the kind of a call; one beyond the method's own is of the last kind."""
        return self.kinds[min(number, len(self.kinds) - 1)]

    def write_answer(self, number, model, nth):
        return scripted_answers.write_answer(self.name_kind(number), model, nth)


def count_seats(method):
    """Returns how many models sit: oxford needs an even number."""
    return 4 if method == "oxford" else 3


def run_discussion(backend, question, method, seats):
    """Holds one discussion over the Quorum protocol and returns its synthesis event."""
    options = {"method": method, "max_turns": TURNS_PER_MODEL * seats, "synthesizer_mode": "first"}
    params = {"question": question, "model_ids": MODELS[:seats], "options": options}
    # A backend that hangs is ended, and the loop below then meets the end of its output.
    watchdog = threading.Timer(DISCUSSION_SECONDS_MAX, backend.child.kill)
    watchdog.start()
    synthesis = None
    try:
        wanted = backend.send("run_discussion", params)
        while True:
            message = backend.line()
            if message.get("method") == "phase_complete":
                backend.send("resume_discussion", {})
            elif message.get("method") == "synthesis":
                synthesis = message["params"]
            elif message.get("id") == wanted:
                if "error" in message:
                    raise SystemExit(f"{method}: the discussion failed: {message['error']}")
                return synthesis
    finally:
        watchdog.cancel()


def record_discussions(program, argv, methods):
    """Returns the calls of all discussions of one program, by method and question."""
    script = Script()
    recorded = {}
    with RecordingUpstream(MODELS, script.write_answer) as upstream, tempfile.TemporaryDirectory() as home:
        env = quorum.environment(home, upstream.url) | {"OPENAI_MODELS": ",".join(MODELS)}
        backend = quorum.Backend(argv, env, home)
        backend.call("initialize", {})
        for method in methods:
            seats = count_seats(method)
            for at, question in enumerate(QUESTIONS):
                script.begin_discussion(method, seats)
                upstream.take_calls()
                synthesis = run_discussion(backend, question, method, seats)
                calls = upstream.take_calls()
                recorded[method, at] = calls
                if not synthesis:
                    print(f"note: {program} ended {method} without a synthesis")
                if len(calls) != len(script.kinds):
                    print(f"note: {program} made {len(calls)} calls for {method}, not {len(script.kinds)}")
        backend.end()
    return recorded


def add_up(recorded, method, questions=range(len(QUESTIONS))):
    """Returns the totals of a method over some questions, all of them unless told."""
    totals = prompt_share.Totals()
    for at in questions:
        totals.add_discussion(recorded[method, at])
    return totals


def find_worst_ratio(recorded, method):
    """Returns our input by the original's for the question where it is largest."""

    def ratio(at):
        original, ours = (add_up(recorded[program], method, [at]) for program in PROGRAMS)
        return ours.input / original.input

    return max(map(ratio, range(len(QUESTIONS))))


def print_figures(totals):
    """Prints one line per method; where two figures stand together, the first is the original's."""
    heads = ["method", "calls", "input tokens", "ratio", "cacheable", "bound", "share/bound", "input price",
             "whole price"]
    widths = [10, 8, 15, 5, 11, 11, 11, 11, 11]
    print(" | ".join(head.ljust(width) for head, width in zip(heads, widths)))
    for method, (original, ours) in totals.items():
        row = [
            method,
            f"{original.calls}, {ours.calls}",
            f"{original.input_tokens():.0f}, {ours.input_tokens():.0f}",
            f"{ours.input / original.input:.2f}",
            f"{original.cacheable_share():.2f}, {ours.cacheable_share():.2f}",
            f"{original.bound_share():.2f}, {ours.bound_share():.2f}",
            f"{share_of_bound(original):.2f}, {share_of_bound(ours):.2f}",
            f"{ours.input_cost() / original.input_cost():.2f}",
            f"{ours.whole_cost() / original.whole_cost():.2f}",
        ]
        print(" | ".join(cell.rjust(width) if at else cell.ljust(width)
                         for at, (cell, width) in enumerate(zip(row, widths))))
    for method, (original, ours) in totals.items():
        print(f"{method}: prices in input tokens: input {original.input_cost():.0f}, {ours.input_cost():.0f}; "
              f"whole {original.whole_cost():.0f}, {ours.whole_cost():.0f}; "
              f"output tokens {original.output / prompt_share.CHARS_PER_TOKEN:.0f}, "
              f"{ours.output / prompt_share.CHARS_PER_TOKEN:.0f}")


def share_of_bound(totals):
    """Returns how much of what a cache could save it does save."""
    return prompt_share.divide(totals.cacheable, totals.bound)


def print_aims(totals, worst):
    """Prints every aim with its figure and whether it is met."""

    def judge_most(what, figure, aim):
        print(f"{'met' if figure <= aim else 'MISSED':6} {what}: {figure:.3f}, at most {aim:.2f}")

    def judge_least(what, figure, aim):
        print(f"{'met' if figure >= aim else 'MISSED':6} {what}: {figure:.3f}, at least {aim:.2f}")

    if "standard" in totals:
        original, ours = totals["standard"]
        judge_most("standard, input tokens of the original's", ours.input / original.input, STANDARD_INPUT_MAX)
        judge_least("standard, cacheable share", ours.cacheable_share(), STANDARD_SHARE_MIN)
        price = ours.input_cost() / original.input_cost()
        judge_most("standard, price of input of the original's", price, STANDARD_COST_MAX)
    for method, ratio in worst.items():
        judge_most(f"{method}, input tokens of the original's for the worst question", ratio, INPUT_MAX)
    for method, (_, ours) in totals.items():
        judge_least(f"{method}, cacheable share of its bound", share_of_bound(ours), SHARE_OF_BOUND_MIN)
    for method, (original, ours) in totals.items():
        if original.calls != ours.calls:
            print(f"MISSED {method}: {original.calls} and {ours.calls} calls cannot be compared")


def print_calls(program, method, calls):
    """Prints every call of a discussion with the earlier speeches that its prompt quotes."""
    script = Script()
    script.begin_discussion(method, count_seats(method))
    print(f"\n{program}, {method}, first question; speeches by the number of their call, x2 where quoted twice")
    print("call | kind        | model | roles | system | other | all   | cacheable | shown before | quotes")
    for at, call in enumerate(calls):
        own = [other.prompt for other in calls[: at + 1] if other.model == call.model]
        text = "\n".join(content for _, content in call.prompt)
        quotes = []
        for earlier in calls[:at]:
            nth = sum(other.model == earlier.model for other in calls[: earlier.number])
            times = text.count(scripted_answers.find_trace(script.name_kind(earlier.number), earlier.model, nth))
            quotes += [f"{earlier.number + 1}" + (f"x{times}" if times > 1 else "")] if times else []
        system = sum(len(content) for role, content in call.prompt if role == "system")
        everything = prompt_share.count_characters(call.prompt)
        roles = "".join(role[0] for role, _ in call.prompt)
        print(f"{at + 1:4} | {script.name_kind(at):11} | {call.model:5} | {roles:5} | {system:6} | "
              f"{everything - system:5} | {everything:5} | {prompt_share.count_cacheable(own)[-1]:9} | "
              f"{prompt_share.count_shown_before(own)[-1]:12} | {' '.join(quotes)}")


def save_calls(path, recorded):
    """Writes every prompt as a line of JSON."""
    with open(path, "w", encoding="utf-8") as file:
        for program, discussions in recorded.items():
            for (method, question), calls in discussions.items():
                for call in calls:
                    row = {"program": program, "method": method, "question": question, **vars(call)}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")


def find_althing(path):
    """Returns the program to measure: the one named, else the newest kind that was built."""
    folder = quorum.ROOT / "target"
    choices = [Path(path)] if path else [folder / "release/althing", folder / "debug/althing"]
    for choice in choices:
        if choice.exists():
            return str(choice.resolve())
    raise SystemExit(f"cannot find {' or '.join(map(str, choices))}: build it with cargo build --release -p althing, "
                     "or name one with --althing")


def read_methods(names):
    """Returns the methods of a comma list, all of them for none."""
    methods = names.split(",") if names else METHODS
    unknown = [method for method in methods if method not in METHODS]
    if unknown:
        raise SystemExit(f"there is no method {unknown[0]}; there are {', '.join(METHODS)}")
    return methods


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--althing", metavar="PATH", help="the program to measure (target/release, then target/debug)")
    parser.add_argument("--methods", metavar="LIST", help="comma list of methods (all seven)")
    parser.add_argument("--calls", metavar="LIST", help="also print every call of these methods")
    parser.add_argument("--save", metavar="FILE", help="write all recorded prompts to FILE, one line of JSON each")
    parser.add_argument("--selftest", action="store_true", help="check the computations and the answers, then end")
    arguments = parser.parse_args()
    if arguments.selftest:
        prompt_share.check_computations()
        scripted_answers.check_answers()
        return
    methods = read_methods(arguments.methods)
    shown = read_methods(arguments.calls) if arguments.calls else []
    althing = find_althing(arguments.althing)
    quorum.install()
    # Without its throttle and its pauses the original asks the same and is done sooner.
    argvs = {"original": quorum.kinds()["undelayed"], "althing": [althing, "--ipc"]}
    recorded = {program: record_discussions(program, argvs[program], methods) for program in PROGRAMS}
    if arguments.save:
        save_calls(arguments.save, recorded)
    totals = {method: [add_up(recorded[program], method) for program in PROGRAMS] for method in methods}
    print(f"{len(QUESTIONS)} questions, answers of {scripted_answers.ANSWER_CHARS} characters; "
          "first the original, then althing")
    print_figures(totals)
    print()
    print_aims(totals, {method: find_worst_ratio(recorded, method) for method in methods})
    for method in shown:
        for program in PROGRAMS:
            if (method, 0) in recorded[program]:
                print_calls(program, method, recorded[program][method, 0])


if __name__ == "__main__":
    sys.exit(main())

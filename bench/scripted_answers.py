"""Writes what the models of a bench say: the same text for every program, in the form the turn asks for.

Both programs hold the same methods with the same turns, so the number of a call tells what kind of turn it is;
no prompt is read. A text has the labels of both programs' forms where these differ. Every answer has exactly
ANSWER_CHARS characters, so that no program gains by what its models say.
"""

import hashlib
import random

ANSWER_CHARS = 1333
# Turns per model in a free discussion; the default of both programs.
TURNS_PER_MODEL = 2

METHODS = ["standard", "oxford", "advocate", "socratic", "delphi", "brainstorm", "tradeoff"]
MODELS = ["alpha", "beta", "gamma", "delta"]

# `{}` becomes prose, `{other}` and `{another}` names of others, `{n}` a number of one or two digits.
FORMS = {
    "answer": "{}\n\n{}\n\n{}",
    "critique": "AGREEMENTS: {} {other} says so too.\nDISAGREEMENTS: {} That is where {another} errs.\nMISSING: {}",
    "talk": "{}\n\n{other}, this concerns you: {} {another} should say how.",
    "position": "POSITION: {} {}\nCONFIDENCE: HIGH 8{n}",
    "synthesis": "CONSENSUS: PARTIAL\nAGREED: {}\nSYNTHESIS: {}\nDIFFERENCES: {}\nEVOLUTION: {}",
    "speech": "{}\n\n{}\n\n{}",
    "rebuttal": "{}\n\n{other} claims more than was shown: {}\n\n{}",
    "judgement": "CONSENSUS: FOR\nAGREED: {}\nSYNTHESIS: {}\nDIFFERENCES: {}\nEVOLUTION: {}",
    "examination": "{}\n\n{} So what would you say to a person who lost by it?",
    "defence": "{}\n\n{} {other} would have to show more than that.",
    "verdict": "SURVIVED: {}\nFAILED: {}\nUNRESOLVED: {}\nVERDICT: {}",
    "look back": "{}\n\n{}",
    "aporia": "APORIA: PARTIAL\nAPORIA_REACHED: PARTIAL\nAGREED: {}\nSYNTHESIS: {}\nOPEN QUESTIONS: {}\n"
    "OPEN_QUESTIONS: {}\nEVOLUTION: {}\nTHESIS_EVOLUTION: {}",
    "estimate": "ESTIMATE: {n} weeks, between 1 and 90\nCONFIDENCE: MEDIUM 6{n}\nKEY ASSUMPTIONS:\n- {}\n- {}\n"
    "REASONING: {}",
    "revision": "REVISED ESTIMATE: {n} weeks, between 1 and 90\nCONFIDENCE: MEDIUM 6{n}\nREVISION RATIONALE: {}\n"
    "REASONING: {}",
    "aggregate": "CONVERGENCE: PARTIAL\nAGREED: {}\nAGGREGATED ESTIMATE: {}\nSYNTHESIS: {}\nKEY FACTORS: {}\n"
    "OUTLIER PERSPECTIVES: {}\nDIFFERENCES: {}\nEVOLUTION: {}",
    "ideas": "1. {}\n2. {}\n3. {}\n4. {}\n5. {}\n6. {}",
    "builds": "1. From 2 and 5: {}\n2. From 1 and 9: {}\n3. From 7: {}",
    "picks": "PICK 1: 2 because {}\nPICK 2: 7 because {}\nPICK 3: 1{n} because {}",
    "selection": "SELECTED IDEAS: 3\n\nIDEA 1: {}\nIDEA 2: {}\nIDEA 3: {}\n\nALTERNATIVES: {}\n"
    "ALTERNATIVE DIRECTIONS: {}",
    "frame": "ALTERNATIVE A: Keep what there is\nDESCRIPTION: {}\n\nALTERNATIVE B: Buy a service\nDESCRIPTION: {}\n\n"
    "ALTERNATIVE C: {model}'s own way\nDESCRIPTION: {}",
    "criteria": "CRITERION 1: Cost: {}\nCRITERION 2: Risk: {}\nCRITERION 3: Time to effect: {}\n"
    "CRITERION 4: {model}'s measure: {}",
    "scores": "SCORES:\n| | A | B | C | D |\n|---|---|---|---|---|\n| 1 | 7 | 5 | 4 | 3 |\n| 2 | 6 | 4 | 8 | 5 |\n"
    "| 3 | 3 | 8 | 6 | 7 |\n| 4 | 5 | 6 | 7 | 4 |\nEVALUATION NOTES: {}\nREASONING: {}",
    "decision": "ALIGNMENT: NO\nRECOMMENDATION: Buy a service\nAGREED: {}\nAGGREGATED SCORES: A 5, B 6, C 6\n"
    "KEY TRADEOFFS: {}\nTRADEOFFS: {}\nANALYSIS: {}\nWHEN TO CHOOSE DIFFERENTLY: {}\nOTHERWISE: {}",
}

SENTENCES = """
The figures of the last two years point the other way, though they cover only the larger sites.
A small trial would settle this in a month and costs less than the meeting about it.
What is cheap to undo should be tried first, and what is not should wait for evidence.
Most of the effect comes from one cause that nobody has measured on its own.
The people who do the work daily were not asked, and they know where it breaks.
A rule that everybody bends is worse than none, because it hides what really happens.
The saving is real but it arrives late, while the effort is due at once.
If demand falls by a third the whole argument turns round within a quarter.
There is a difference between a thing that fails seldom and one that fails quietly.
The comparison leaves out what it costs to keep the present state alive.
Two of the three sources rest on the same survey, so they count as one.
Training takes longer than planned in nearly every case that was written down.
The strongest objection is about who bears the risk, and that can be arranged.
An average says little here, since half of the cases lie far from it.
It works in small groups because people know each other, which does not scale.
The contract ends in spring, so a decision before winter keeps every door open.
Whoever owns the data can leave later, and whoever does not can only complain.
Security was treated as a feature, yet it limits every one of the options.
The first step is the same on both ways, so it can begin without a decision.
Nothing in the record shows that speed was ever the thing that users missed.
What looks like resistance is often a missing tool or an unclear order.
The price per unit falls only above a volume that this place never reached.
A fixed date without a fixed scope has worked, and the reverse never has.
One failure in public would cost more than all of the savings together.
The older method is slower but everybody can check its result by hand.
Half of the benefit needs no new machine at all, only another sequence of steps.
It is likely that the effect fades once the attention of the first weeks is gone.
The neighbours tried it and kept it, which is weak evidence but not none.
Maintenance is the larger part of the bill and it is missing from the offer.
There are good reasons to wait, but the delay itself should have an end.
A second supplier is insurance, and its premium is the work of switching.
The claim holds for beginners, and for experts it is the other way round.
Any answer that hides its assumptions will be trusted for the wrong reasons.
The limit is not money but the number of people who can judge the outcome.
If the measure becomes the aim it will stop to measure anything within a year.
The worst case is bearable, and that matters more than the expected one.
""".strip().splitlines()


def list_kinds(method, seats, turns):
    """Returns the kind of every turn of a discussion, in order."""
    examinations = max(2 * (seats - 1), turns)
    rounds = max(3, turns // 2)
    return {
        "standard": ["answer"] * seats + ["critique"] * seats + ["talk"] * turns + ["position"] * seats + ["synthesis"],
        "oxford": ["speech"] * seats + ["rebuttal"] * seats + ["speech"] * 2 + ["judgement"],
        "advocate": ["speech"] * (seats - 1) + ["examination", "defence"] * examinations + ["verdict"],
        "socratic": ["speech"] + ["examination", "defence"] * rounds + ["look back"] * seats + ["aporia"],
        "delphi": ["estimate"] * seats + ["revision"] * 2 * seats + ["aggregate"],
        "brainstorm": ["ideas"] * seats + ["builds"] * seats + ["picks"] * seats + ["selection"],
        "tradeoff": ["frame"] * seats + ["criteria"] * seats + ["scores"] * seats + ["decision"],
    }[method]


def write_prose(generator, chars):
    """Returns one line of exactly `chars` characters, out of sentences in an order of its own."""
    text = " ".join(generator.sample(SENTENCES, len(SENTENCES)))
    while len(text) < chars:
        text += " " + generator.choice(SENTENCES)
    return text[: chars - 1].rstrip(" ,.").ljust(chars, ".")


def fill_form(kind, model, nth):
    """Returns the fixed pieces of an answer and the prose between them, one piece more than prose."""
    generator = random.Random(hashlib.sha256(f"{kind}/{model}/{nth}".encode()).digest())
    others = [name.capitalize() for name in MODELS[:3] if name != model]
    form = FORMS[kind].replace("{other}", others[nth % 2]).replace("{another}", others[1 - nth % 2])
    form = form.replace("{model}", model.capitalize()).replace("{n}", str(generator.randint(1, 9)))
    pieces = form.split("{}")
    slots = len(pieces) - 1
    room = ANSWER_CHARS - sum(map(len, pieces))
    lengths = [room // slots] * (slots - 1) + [room // slots + room % slots]
    return pieces, [write_prose(generator, chars) for chars in lengths]


def write_answer(kind, model, nth):
    """Returns what `model` says as its turn number `nth` (from 0), of exactly ANSWER_CHARS characters."""
    pieces, prose = fill_form(kind, model, nth)
    return pieces[0] + "".join(text + piece for text, piece in zip(prose, pieces[1:]))


def find_trace(kind, model, nth):
    """Returns the part of an answer by which it is found again in a prompt: its first prose, without names."""
    return fill_form(kind, model, nth)[1][0]


def check_answers():
    """Checks length, variety and order of what is said."""
    seen = set()
    for method in METHODS:
        seats = 4 if method == "oxford" else 3
        kinds = list_kinds(method, seats, TURNS_PER_MODEL * seats)
        for kind in set(kinds):
            for model in MODELS[:seats]:
                answer = write_answer(kind, model, 2)
                if len(answer) != ANSWER_CHARS or answer != write_answer(kind, model, 2):
                    raise SystemExit(f"selftest: {kind} of {model} has {len(answer)} characters or changes")
                seen.add((kind, model, answer))
                if answer.count(find_trace(kind, model, 2)) != 1:
                    raise SystemExit(f"selftest: {kind} leaves no trace")
    if len({answer for _, _, answer in seen}) != len(seen):
        raise SystemExit("selftest: two turns say the same")
    if len(list_kinds("standard", 3, 6)) != 16:
        raise SystemExit("selftest: a standard discussion has 16 calls")
    print("selftest: the answers hold")

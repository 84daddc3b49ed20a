//! What could go wrong, and what is the evidence?

use super::Lines;

pub(super) const LINES: Lines = Lines {
    claim: &[
        "I would not have {whom} {act} yet, because nobody has shown what it costs when it goes \
         wrong.",
        "Before {who} should {act}, I want to hear of one case where it failed, and why.",
        "{Who} can {act} if there is a way back, and so far nobody has described one.",
        "I trust neither {a} nor {b} until somebody names the trouble that each of them causes.",
        "Choosing between {a} and {b} is the easy part, and living with the wrong one is the \
         other part.",
        "On {amount} any single number is a guess, so I would give a wide range and say what it \
         rests on.",
        "I expect every first figure for {amount} to be too kind and would double it before \
         believing it.",
        "On {why} I would first check that the thing is so before explaining it.",
        "The usual story about {why} may be true, but being usual is not evidence.",
        "On {topic} I would hold back until we have something better than a good feeling.",
        "My answer on {topic} is a careful maybe, with the weight on the second word.",
        "I see more confidence than evidence on {topic}, my own included.",
    ],
    reason: &[
        "The {key} part looks simple because nobody here has had to repair it yet.",
        "What I have heard about {topic} leaves out what happens in the second year.",
        "Those who regret the {key} side rarely write about it, so what we hear is the good half.",
        "Mistakes about {topic} tend to show late, when they are expensive.",
        "Nobody has said how we would notice that the {key} part is failing.",
        "A {key} plan that names no risk has not been read by its author.",
    ],
    limit: &[
        "I am wrong if trying the {key} part is so cheap that doubt costs more than failure.",
        "One measured case that went well would move me on {topic}.",
        "My caution on the {key} side has a price too, and I cannot put a number on it.",
        "I know of no figures on {topic}, which is my point and also my weakness.",
    ],
    agree: &[
        "“{phrase}” survives my objections, {name}, which is more than most things said about \
         {topic} do.",
        "I have tried to break {name}'s “{phrase}” on the {key} part and could not.",
        "{name} has a point with “{phrase}”, as long as the {key} side stays small.",
        "On “{phrase}” I side with {name}, although it says less about {topic} than it seems to.",
    ],
    doubt: &[
        "{name}, what would have to happen for “{phrase}” to turn out false on the {key} part?",
        "“{phrase}” is a hope, {name}, and on {topic} we need at least one thing that is not.",
        "{name} says “{phrase}” as if the {key} side had no bad days.",
        "I would believe {name}'s “{phrase}” sooner if it came with one {key} case that went \
         badly.",
        "The weak spot in “{phrase}”, {name}, is that it assumes we notice {key} trouble in time.",
        "If {name} is wrong about “{phrase}”, somebody else pays for the {key} part, and nobody \
         has asked them.",
    ],
    point: &[
        "My point on {topic} is that we have compared hopes and not results.",
        "Before anything else I want one sentence on how the {key} part ends if it fails.",
        "The claim that needs testing is the one about {topic} that all of us like.",
        "I would settle for a way back on the {key} side, written down before the first step.",
        "Bad news about {topic} would be easy to collect, and nobody has gone to look.",
        "What still stands between us on the {key} question is who carries the loss.",
        "One bad {key} story, told honestly, would move me more than ten good reasons.",
    ],
    missing: &[
        "Nobody has described what failure on the {key} part would look like.",
        "Those who changed their minds about {topic} are missing from this table.",
        "We have no way to tell luck from skill on the {key} side.",
    ],
    ask: &[
        "What would you have to see to admit that you were wrong about {topic}?",
        "Which of your reasons for the {key} part would survive if the outcome were bad?",
        "How do you know that, and would the same evidence look different to somebody who \
         disagrees about {topic}?",
        "Who pays if the {key} side fails, and have they been asked?",
        "What is the strongest objection on {topic} that you have heard and not answered?",
        "If the {key} part is such a good idea, why has it not been done already?",
    ],
    reply: &[
        "I cannot prove it, {name}, and “{phrase}” is right to press on the {key} part where I \
         have only caution.",
        "To “{phrase}” I say that I would rather be slow on {topic} than sure, {name}.",
        "{name}, if “{phrase}” could be shown for the {key} side, I would drop the objection and \
         keep the habit.",
        "The answer to “{phrase}” is that I do not know, {name}, and that nobody here does on \
         {topic}.",
        "I give {name} that “{phrase}” weakens my case on the {key} part, though not the need \
         for a way back.",
    ],
    position: &[
        "I still want evidence on {topic}, but I no longer object to a trial that is small and \
         can be stopped.",
        "Where I stand on {topic} is a yes on condition, and the condition is a written way back.",
        "I remain unconvinced on {topic}, though less than when we began.",
    ],
    ideas: &[
        "A pre-mortem in which everybody writes down what we got wrong about {topic}",
        "A {key} trial with the ending described before the beginning",
        "A paid doubter who has one week to find a {key} failure",
        "A rule that the {key} part is measured by somebody who does not profit from it",
        "A fire drill that undoes the {key} part once, on a quiet day",
        "A drawer for every {key} promise, opened again in six months",
    ],
    change: &[
        "What could sink it is that nobody owns the {key} side after the first week.",
        "Its strength is that it tests what we believe about {topic} instead of praising it.",
        "I would write down beforehand which {key} result counts as a failure.",
        "It needs one person who likes to be wrong about {topic}.",
    ],
    alternatives: &[
        "A {key} pilot with an end",
        "A {key} review first",
        "The {key} status quo",
        "A {key} refusal",
    ],
    criteria: &[
        "Price of {key} mistakes",
        "Quality of {key} evidence",
        "{Key} exits",
        "{Key} harm to others",
        "{Key} surprises",
        "Early {key} warnings",
    ],
};

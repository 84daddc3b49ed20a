//! Alternatives and context.

use super::Lines;

pub(super) const LINES: Lines = Lines {
    claim: &[
        "{Who} could {act}, but it depends on what comes next more than on the thing itself.",
        "That {who} could {act} is one option among three, beside doing less and doing nothing.",
        "I would have {whom} {act} only after a look at two other ways to the same result.",
        "There is usually a third door beside {a} and {b}, and I would look behind it first.",
        "Whether {a} or {b} fits depends on the surroundings more than on either of them.",
        "The answer to {amount} depends on who is asked and where, so I would collect three \
         cases before naming one.",
        "I would find somebody who has already counted {amount} and start from their number.",
        "There may be several reasons at once behind {why}, and the useful question is which of \
         them matters here.",
        "On {why} I would ask who else has looked at it, and from which side.",
        "The answer on {topic} turns on the setting, so I would map the setting first.",
        "I would ask who has had to decide about {topic} before us and what they chose instead.",
        "There is more than one way to read the question of {topic}, and we should pick one \
         before we answer.",
    ],
    reason: &[
        "The {key} part means one thing for beginners and another for people who have done it \
         twice.",
        "Somebody in another field has thought about {topic} under a different name.",
        "What surrounds the {key} question decides more than the question does.",
        "A choice about {topic} looks different to the one who pays, the one who works and the \
         one who waits.",
        "Two neighbours of the {key} side have not been mentioned, namely doing it later and \
         having it done.",
        "The way we talk about {topic} already rules out some of the better answers.",
    ],
    limit: &[
        "I am wrong if there is no time to look around and the {key} part has to be settled today.",
        "Asking around about {topic} can become a way of never arriving, and I am prone to it.",
        "If the setting of the {key} question is already fixed, then my detour is only a detour.",
        "I have no map of the {key} country, only the suspicion that one exists.",
    ],
    agree: &[
        "{name}'s “{phrase}” opens a {key} door that I had walked past.",
        "I would keep “{phrase}” from {name}, since it stays true of the {key} part in more than \
         one setting.",
        "“{phrase}” is common ground, {name}, whatever we decide on {topic}.",
        "What {name} says with “{phrase}” fits the {key} side and a few things next to it.",
    ],
    doubt: &[
        "{name}, “{phrase}” may hold here, but I can picture a {key} setting that turns it around.",
        "Beside {name}'s “{phrase}” I would put the option of leaving the {key} part to somebody \
         who has done it.",
        "“{phrase}” answers one reading of the {key} question, {name}, and there is a second one.",
        "{name} is looking at the {key} side from close by with “{phrase}”, and I would take ten \
         steps back.",
        "Who else would say “{phrase}”, {name}, and who would laugh at it when it comes to \
         {topic}?",
        "I would not choose yet between “{phrase}” and its opposite, {name}, because the {key} \
         part may allow both.",
    ],
    point: &[
        "My point on {topic} is that we have two camps and at least four options.",
        "The disagreement about the {key} part goes away once we say for whom.",
        "I would look at how the {key} part ends elsewhere before we argue about how it begins.",
        "There is a smaller neighbour of the {key} question that we could answer today.",
        "Somebody will have to tell a newcomer what we think about {topic}, and that is a fair \
         test of each answer here.",
        "We can drop the options on the {key} side that nobody would choose for themselves.",
        "What would change my mind on {topic} is hearing that the setting is already fixed.",
    ],
    missing: &[
        "Nobody has said for whom the {key} part is meant.",
        "We have talked about {topic} without asking what it sits next to.",
        "The view of the person who inherits the {key} side is missing.",
    ],
    ask: &[
        "In which setting would you give the opposite answer on {topic}?",
        "What did you rule out before you arrived at the {key} part, and why so early?",
        "Who has settled a {key} question like this without ever calling it that?",
        "If the {key} side were forbidden tomorrow, what would you do instead?",
        "For whom exactly is the {key} part good, and who is left out?",
        "What will people say about {topic} ten years from now?",
    ],
    reply: &[
        "It depends on the setting, {name}, and “{phrase}” is where the {key} part would differ \
         from one place to the next.",
        "{name}, “{phrase}” makes my answer on {topic} narrower, and probably better.",
        "To “{phrase}” I can give two answers on {topic}, {name}, and I stand by the more modest \
         one.",
        "“{phrase}” rules out one of my options on the {key} side, {name}, and leaves the other \
         two standing.",
        "I would answer {name}'s “{phrase}” differently for a {key} beginner, which tells me \
         that my claim was too broad.",
    ],
    position: &[
        "On {topic} I would go ahead where the setting allows it and keep one other option warm.",
        "Where I stand on {topic} is that the answer is good for some and should say for whom.",
        "I have come closer to the others on {topic}, with one alternative kept in sight.",
    ],
    ideas: &[
        "A guest from another trade who spends a day on {topic} and says what is odd",
        "A map of everything next to the {key} part, drawn by people who do not know it",
        "The reverse of the usual {key} advice, followed for a week to see what is missed",
        "A letter about the {key} side from somebody who inherits it in ten years",
        "Two {key} diaries, kept by people who disagree and compared at the end",
        "A museum of abandoned {key} attempts, with a label under each",
    ],
    change: &[
        "I would keep it open until an outsider has said something about {topic}.",
        "It travels well beyond the {key} part, which is why I like it.",
        "I would do it next to a second one and compare what each says about {topic}.",
        "Tell the people whom the {key} part concerns before they hear of it.",
    ],
    alternatives: &[
        "A borrowed {key} recipe",
        "A smaller {key} scope",
        "A {key} mix",
        "A {key} detour",
    ],
    criteria: &[
        "{Key} surroundings",
        "Other {key} options left",
        "Fairness of the {key} bill",
        "{Key} ageing",
        "{Key} welcome by newcomers",
        "Distance to the {key} neighbours",
    ],
};

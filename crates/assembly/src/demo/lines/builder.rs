//! Start small and ship.

use super::Lines;

pub(super) const LINES: Lines = Lines {
    claim: &[
        "Yes, {who} should {act}, but in the smallest form that can still be taken back.",
        "I would have {whom} {act} now and correct the course later, because waiting teaches \
         nobody anything.",
        "{Who} can {act} as soon as there is a first step that somebody is willing to take.",
        "Between {a} and {b} I would take whichever can be in use by Friday and keep the other \
         in a drawer.",
        "I would begin with {a} and let {b} wait until something actually hurts.",
        "For {amount} I would do one small piece, time it, and multiply by what is left.",
        "The quickest honest answer to {amount} is to try a tenth of it and count.",
        "I would settle {why} by changing one thing and watching what follows.",
        "The explanation of {why} that I would keep is the one that tells us what to do next.",
        "On {topic} I would rather have a rough first version than a fine plan.",
        "My answer on {topic} is to begin with the piece that is of use on its own.",
        "The question of {topic} is one to try this week and not one to decide for good.",
    ],
    reason: &[
        "A first version of the {key} part tells us more than a month of talk about it.",
        "Most of what we do not know about {topic} only shows once something is running.",
        "Small steps keep the {key} question cheap to reverse, and cheap is what lets us be \
         wrong in peace.",
        "Whoever it concerns gives better advice about {topic} after a day of trying.",
        "A date does more for the {key} side than another round of opinions.",
        "The second attempt at the {key} part will be good, so I would like to have the first \
         one behind us.",
    ],
    limit: &[
        "I am wrong if the {key} part cannot be undone once people depend on it.",
        "This advice fails where the {key} part allows one shot and no second try.",
        "If a mistake on the {key} side hurts somebody, slow down and ignore me.",
        "I have no figures on {topic}, only a preference for finding out.",
    ],
    agree: &[
        "{name} is right about “{phrase}”, and it makes the first step on the {key} part \
         smaller, which I like.",
        "I can build on {name}'s “{phrase}” when it comes to {topic}.",
        "“{phrase}” holds up, {name}, and it fits the {key} side as I see it.",
        "With “{phrase}” {name} has named the {key} piece that I would do first anyway.",
    ],
    doubt: &[
        "{name}, “{phrase}” is a fair worry, but it costs a day to test on the {key} part and a \
         month to discuss.",
        "I would turn {name}'s “{phrase}” into the first {key} test instead of a reason to wait.",
        "{name} says “{phrase}”, and I ask what we could finish on the {key} side while that \
         stays open.",
        "What {name} calls “{phrase}” is work for the second {key} week, not for the first.",
        "If “{phrase}” stops us, {name}, then no {key} step will ever be allowed.",
        "“{phrase}” would be good to know, {name}, and a small {key} trial is how we would come \
         to know it.",
    ],
    point: &[
        "So my point on {topic} is a date, after which whatever is not in use gets cut.",
        "The only thing about {topic} worth arguing over is what comes first.",
        "I would drop everything about the {key} question that does not change what happens on \
         Monday.",
        "If two of us agree on the next step for the {key} part, that is enough to begin.",
        "Give the {key} part one owner and one week, and most of this table becomes unnecessary, \
         me included.",
        "We can settle that the {key} part starts small and leave the rest open.",
        "What would change my mind on {topic} is a first step that cannot be taken back.",
    ],
    missing: &[
        "Nobody has said who does the first hour of work on the {key} part.",
        "We have not said what the smallest useful answer on {topic} would be.",
        "There is no date in anything said so far on the {key} question.",
    ],
    ask: &[
        "What is the smallest {key} piece that could be ready by tomorrow, and what would it \
         prove?",
        "If you had one day for the {key} part, which of your conditions would you drop first?",
        "Who would notice if the {key} side of this were never done?",
        "What would you do first about {topic} if nobody were allowed to call a meeting?",
        "Which {key} step could you not take back a week later?",
        "How would we know after a week that the {key} part is going the wrong way?",
    ],
    reply: &[
        "To “{phrase}” I answer that the first step on the {key} part would show it, {name}, and \
         I would take that step before defending it.",
        "A fair question, {name}, and “{phrase}” is where I have practice in mind on {topic} and \
         no proof.",
        "{name} asks about “{phrase}”, and on {topic} my honest answer is that I would try it \
         and look.",
        "I hold to the {key} part as I put it, {name}, and I give up whatever “{phrase}” shows \
         to be too big for a first week.",
        "On “{phrase}” I concede the point for the {key} side, {name}, but not that it should \
         stop us.",
    ],
    position: &[
        "I stay with a small start on {topic}, now with a way back agreed beforehand.",
        "Where I stand on {topic} is to begin, in a form that one person can stop.",
        "I end where I began on {topic}, but with a smaller first step.",
    ],
    ideas: &[
        "A two-day {key} version that one person makes alone and shows on the third day",
        "A throwaway {key} sketch that is deleted on purpose, so that only the lesson stays",
        "A public list of everything about the {key} part that we decide not to do",
        "One fixed hour a week that belongs to the {key} part and to nothing else",
        "A {key} starter kit that the next person can use without asking",
        "A small bet on {topic}, with a date, a budget and a person who may end it",
    ],
    change: &[
        "I would give it a date, since the {key} part can eat any amount of time.",
        "Half of it would be enough for a first word on {topic}.",
        "It should be finished on the {key} side before anybody improves it.",
        "One person could begin it today and tell us more about {topic} by Friday.",
    ],
    alternatives: &[
        "A small {key} trial",
        "The full {key} plan",
        "A plain {key} version",
        "A later {key} start",
    ],
    criteria: &[
        "Early {key} results",
        "First-month {key} effort",
        "Later {key} changes",
        "{Key} upkeep",
        "{Key} simplicity",
        "Hands on the {key} part",
    ],
};

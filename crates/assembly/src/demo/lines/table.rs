//! What anybody at the table may have to say: leads, looking back, conclusions, lists and figures.

type Pool = &'static [&'static str];

pub(in crate::demo) const LEAD: Pool = &[
    "{name}, you said “{phrase}” when we spoke about {topic}.",
    "Your answer on the {key} part contains the words “{phrase}”, {name}.",
    "I keep coming back to “{phrase}”, {name}, whenever we reach the {key} part.",
    "On {topic} a good deal rests on “{phrase}”, {name}.",
    "Suppose that “{phrase}” is true of the {key} side, {name}.",
    "Let us stay with “{phrase}” for a moment, {name}, as far as the {key} question goes.",
    "“{phrase}” sounds settled, {name}, and about {topic} little is.",
];
pub(in crate::demo) const BESIDE: Pool = &[
    "{name} has said “{phrase}”, and I add to it what concerns the {key} part.",
    "Beside {name}'s “{phrase}” I put a second ground on {topic}.",
    "To “{phrase}” from {name} I would only add the {key} side of it.",
];
pub(in crate::demo) const LOOK_BACK: Pool = &[
    "What is left to say about {topic} is less than what we began with, and {name}'s “{phrase}” \
     made it so.",
    "Looking back on the {key} part, “{phrase}” from {name} was the turn of the conversation.",
    "The assumption that came to light about {topic} is the one behind {name}'s “{phrase}”.",
    "Of all that was said on the {key} question, {name}'s “{phrase}” held best.",
    "The whole talk about {topic} leaned on “{phrase}” from {name}, more than it seemed at the \
     time.",
];
pub(in crate::demo) const UNKNOWN: Pool = &[
    "Nobody could say for whom the {key} part is meant.",
    "How we would notice that we are wrong about {topic} went unanswered.",
    "What stayed open is who decides that the {key} side is finished.",
    "It was never settled with what an answer on {topic} should be compared.",
    "Nobody knows yet what the {key} part costs those who are not at this table.",
];
pub(in crate::demo) const SPLIT: Pool = &[
    "because the voices share a direction on {topic} and part over the pace",
    "as all of them would try the {key} part and none would swear to it",
];
pub(in crate::demo) const DECIDED: Pool = &[
    "because more of that case on {topic} was left standing",
    "since its strongest point on the {key} part went unanswered",
];
pub(in crate::demo) const ALIGNED: Pool = &[
    "because all tables favour the same answer on {topic}",
    "since every table puts the same {key} answer first",
];
pub(in crate::demo) const TORN: Pool = &[
    "because the tables favour different answers on {topic}",
    "since the tables put different {key} answers first",
];
pub(in crate::demo) const AGREED: Pool = &[
    "- A small start on the {key} part, in a form that can be stopped",
    "- Nobody objected to “{phrase}” from {name} as an answer on {topic}",
    "- The {key} side needs somebody who may end it",
    "- More can be found out about {topic} by trying than by talking",
];
pub(in crate::demo) const BOTTOM: Pool = &[
    "The bottom line is that {who} may {act} on a small scale, with the way back written down \
     first.",
    "Between {a} and {b} the table would take the one that is easier to leave again.",
    "For {amount} the table trusts a range found by trying a small part, and no single figure.",
    "On {why} the table keeps two explanations and the test that would tell them apart.",
    "The bottom line on {topic} is a small step that can be taken back, and a look around before \
     the second.",
];
pub(in crate::demo) const REFUSED: Pool = &[
    "The motion that {who} should {act} is not carried, since its costs were named and not \
     answered.",
    "The motion on {topic} is not carried, since its costs were named and not answered.",
];
pub(in crate::demo) const INSIGHT: Pool = &[
    "What decides it is “{phrase}”, from {name}, because it holds for the {key} part whoever \
     turns out to be right.",
    "The insight that carries it came from {name} with “{phrase}”, and it applies to the {key} \
     side either way.",
];
pub(in crate::demo) const SCRIPTED: Pool = &[
    "These voices are scripted, so seat a real model before you act on {topic}.",
    "Scripted voices know nothing about {topic}, so let real models have the last word.",
];
pub(in crate::demo) const DIFFER: Pool = &[
    "{name} holds to “{phrase}” and {other} to “{words}”, and only a trial of the {key} part \
     would settle it.",
    "Between {name}'s “{phrase}” and {other}'s “{words}” the table did not choose, and evidence \
     on {topic} would.",
    "How far “{phrase}” from {name} reaches stays disputed on {topic}.",
];
pub(in crate::demo) const FAILED: Pool = &[
    "- The wider reading of “{phrase}” from {name}, which broke on the {key} part",
    "- The hope that “{phrase}” from {name} would settle the question of {topic}",
];
pub(in crate::demo) const EVOLUTION: Pool = &[
    "{name} moved towards a smaller claim on {topic} after “{words}” from {other}.",
    "The views on the {key} part came closer when {other} said “{words}”, and {name} gave way a \
     little.",
    "{name} narrowed “{phrase}” on the way to an answer on {topic}.",
];
pub(in crate::demo) const ASSUME: Pool = &[
    "- The {key} part stays roughly what it is today",
    "- Whoever decides about {topic} can also change it again",
    "- Nothing outside the {key} question changes first",
    "- Somebody looks at the {key} part again within a year",
    "- The {key} side is judged by the people whom it concerns",
    "- What we are told about {topic} is meant as it is said",
];
/// By level: high, medium, low.
pub(in crate::demo) const SURE: [Pool; 3] = [
    &[
        "because a small {key} step can be taken back if I am wrong",
        "since a week would show whether I am wrong about {topic}",
        "as my case on the {key} part survived the table so far",
    ],
    &[
        "because it depends on the {key} setting, which I do not know",
        "since two answers on {topic} still look possible to me",
        "as I argue about {topic} from habit and not from figures",
    ],
    &[
        "because nobody has shown anything on the {key} side yet",
        "since a guess about {topic} stays a guess when it is repeated",
        "until somebody tries the {key} part and reports back",
    ],
];
pub(in crate::demo) const ODDS: Pool = &[
    "as my odds that we still like a yes on {topic} in a year, by feel alone",
    "for the {key} part working out, and I would be surprised by less than half of that",
    "in favour on {topic}, give or take fifteen",
];
pub(in crate::demo) const TIMES: Pool = &[
    "times the first honest guess at {amount}, and twice that at the most",
    "times whatever a small trial says about {amount}",
    "times the most hopeful figure for {amount}, give or take a half",
];
pub(in crate::demo) const PANEL_ODDS: Pool = &["in favour as the panel's odds on {topic}"];
pub(in crate::demo) const PANEL_TIMES: Pool = &["times a first honest guess at {amount}"];
pub(in crate::demo) const UNMOVED: Pool = &[
    "because what I heard changes how I would say it and not how far the {key} part goes",
    "as nothing new has been said about {topic}",
    "since we now differ on the {key} question by less than our own doubt",
    "because I had already counted the {key} risks that were named",
    "as my reasons on {topic} were repeated more than they were answered",
    "since the one new thing on the {key} side cuts both ways",
    "because an average is no reason to move on {topic}",
];
pub(in crate::demo) const STEPS: Pool = &[
    "The first step is a morning on the {key} part with the door closed.",
    "It begins with a list of those whom {topic} concerns.",
    "To start, somebody has to say in one line what the {key} side should show.",
    "The first step is to choose the day on which the {key} part is looked at again.",
    "It can begin as soon as one person offers to be responsible on {topic}.",
];
pub(in crate::demo) const PICKED: Pool = &[
    "because “{phrase}” from {name} could be begun on the {key} side tomorrow",
    "for “{phrase}”, where {name} found the cheap end of the {key} question",
    "since “{phrase}” from {name} would tell us something about {topic} either way",
    "as “{phrase}” from {name} is the odd {key} idea that may turn out right",
    "since nobody would miss a week spent on “{phrase}” from {name}, whatever becomes of {topic}",
    "because with “{phrase}” {name} asks most of the {key} part and least of us",
    "for “{phrase}” from {name}, which makes people look at {topic} who would not have looked",
];
pub(in crate::demo) const SELECTED: Pool = &[
    "“{phrase}”, as {name} has it, with the {key} part kept small enough to stop.",
    "“{phrase}”, from {name}, done once before anybody makes it a {key} rule.",
    "“{phrase}”, after {name}, with an outsider to say how the {key} side went.",
    "“{phrase}”, an idea of {name}, for as long as it teaches us something about {topic}.",
    "“{phrase}”, proposed by {name}, with the {key} notes open to everybody.",
];
pub(in crate::demo) const KEPT: Pool = &[
    "“{phrase}” from {name} is worth keeping for the next talk about {topic}.",
    "Few chose “{phrase}” from {name}, and the {key} part may yet need it.",
];
pub(in crate::demo) const JOINS: Pool = &[
    "a dated {key} trial, begun with “{phrase}” from {name}",
    "an outside jury on {topic}, which starts from “{phrase}” as {name} has it",
    "a {key} handover, so that “{phrase}” from {name} reaches the next people too",
    "a week of the opposite {key} habit, compared with “{phrase}” from {name}",
    "a shared {key} notebook, opened with “{phrase}” from {name}",
    "a yearly {key} fair, with “{phrase}” from {name} as its first stand",
    "a quarrel about {topic} held in public, with “{phrase}” from {name} as the opening",
];
pub(in crate::demo) const ABOUT: Pool = &[
    "it keeps an answer on {topic} within reach at the lowest price",
    "it trades speed on the {key} part for a calmer start",
    "it makes the decision on {topic} a bet with a known stake",
    "it leaves room to change one's mind about the {key} side",
];
pub(in crate::demo) const COUNTS: Pool = &[
    "a high score means less regret about {topic} in a year",
    "a high score means that a {key} mistake is seen early",
    "a high score means a clear difference between the answers on {topic}",
    "a high score means that those who live with the {key} side would agree",
    "a high score means that an outsider could check the {key} part",
    "a high score means that new opinions on {topic} change little",
];
pub(in crate::demo) const OTHERWISE: Pool = &[
    "If the {key} part turns out to be urgent or hard to undo, the runner-up is the better choice.",
    "Where somebody nearby has already decided about {topic}, take the runner-up and borrow from \
     them.",
];
pub(in crate::demo) const CHOSEN: Pool = &[
    "as the answer on {topic} that is easiest to leave again",
    "which asks least of the {key} side before it shows something",
];
pub(in crate::demo) const GENERAL: Pool = &[
    "On this the {key} part matters more than the rest.",
    "Here too I would take a small step on {topic} and a second look.",
    "I would judge this by what it does to the {key} side.",
    "My view on this follows from what I said about {topic}.",
];
pub(in crate::demo) const GREETING: Pool = &[
    "{Topic} to you too.",
    "I heard {topic}, which is a good start.",
    "{Topic} reached me safely.",
];
pub(in crate::demo) const INVITE: Pool = &[
    "After {topic} comes a question, and then I will take a side.",
    "Give me something to disagree about, since {topic} leaves me no room.",
    "There is not much to say for or against {topic}, so ask me something.",
];

#[cfg(test)]
pub(in crate::demo) const ALL: &[Pool] = &[
    LEAD,
    BESIDE,
    LOOK_BACK,
    UNKNOWN,
    SPLIT,
    DECIDED,
    ALIGNED,
    TORN,
    AGREED,
    BOTTOM,
    REFUSED,
    INSIGHT,
    SCRIPTED,
    DIFFER,
    FAILED,
    EVOLUTION,
    ASSUME,
    SURE[0],
    SURE[1],
    SURE[2],
    ODDS,
    TIMES,
    PANEL_ODDS,
    PANEL_TIMES,
    UNMOVED,
    STEPS,
    PICKED,
    SELECTED,
    KEPT,
    JOINS,
    ABOUT,
    COUNTS,
    OTHERWISE,
    CHOSEN,
    GENERAL,
    GREETING,
    INVITE,
];

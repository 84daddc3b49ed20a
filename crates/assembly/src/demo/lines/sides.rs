//! The two sides of a motion, whoever has to argue them.

/// The sentences of one side.
pub(in crate::demo) struct SideLines {
    pub claim: &'static [&'static str],
    pub reason: &'static [&'static str],
    pub doubt: &'static [&'static str],
    pub close: &'static [&'static str],
    pub concede: &'static [&'static str],
}

pub(in crate::demo) const FOR: SideLines = SideLines {
    claim: &[
        "I speak for the motion that {who} should {act}, and I need only show that it is the \
         better of two imperfect roads.",
        "That {who} should {act} is the one answer here that can be begun, watched and corrected.",
        "The case for {a} before {b} is that it can be begun, watched and corrected.",
        "On {topic} I take the side of yes, and I begin with what a no would cost.",
        "The motion on {topic} deserves a yes, because the alternative is to go on as before and \
         call it caution.",
    ],
    reason: &[
        "Whoever waits on the {key} part learns nothing from waiting.",
        "The {key} burden falls mostly on those who choose it, which is where a burden belongs.",
        "Nothing about the {key} side forbids a way back, so the risk is one that can be ended.",
        "Whoever says no on {topic} must also answer for what happens then.",
        "A good argument for the {key} part is that its faults would be seen early.",
        "The {key} price can be paid in small coin, and one may stop at any coin.",
        "Even a failed {key} attempt leaves something that can be used again.",
        "Those who know most about {topic} would be the first to see whether it works.",
    ],
    doubt: &[
        "{name}'s strongest point is “{phrase}”, but it counts against haste on {topic} and not \
         against the motion.",
        "If “{phrase}” were enough to stop the {key} part, {name}, it would stop everything else \
         as well.",
        "{name} says “{phrase}”, which describes the first {key} week and not the second.",
        "I accept “{phrase}” as a warning on the {key} side, {name}, and a warning is not a \
         refusal.",
    ],
    close: &[
        "The debate on {topic} turns on whether a risk that can be ended should stop a gain that \
         cannot be had otherwise.",
        "What decides the motion on {topic} is that one side offered a step and the other \
         offered a pause.",
    ],
    concede: &[
        "{name}'s “{phrase}” still stands, and whoever goes ahead with the {key} part should \
         keep it on the wall.",
        "I leave “{phrase}” to {name} as the best thing said against us on {topic}.",
    ],
};

pub(in crate::demo) const AGAINST: SideLines = SideLines {
    claim: &[
        "I speak against the motion that {who} should {act}, because wanting the result is not a \
         reason for the road.",
        "Before {who} should {act}, the other side has to show more than good intentions.",
        "I speak against {a} as the answer, because {b} has not been given a fair hearing.",
        "On {topic} I take the side of no, and I ask only that the cost be counted.",
        "The motion on {topic} deserves a no, since the best reasons offered for it are hopes.",
    ],
    reason: &[
        "The price of the {key} part is paid later and by others.",
        "What is easy to begin on the {key} side is often hard to leave.",
        "The attention that goes to the {key} side is missing somewhere else, and nobody has \
         said where.",
        "If the answer on {topic} were plain, we would have cases to point at instead of reasons \
         to give.",
        "A quiet argument against the {key} part is that doing without it has worked so far.",
        "Whoever begins the {key} part will defend it afterwards, whether it works or not.",
        "A small start on the {key} side is how most large mistakes begin.",
        "Nobody has offered a measure of success on {topic}, so failure could not be told from \
         progress.",
    ],
    doubt: &[
        "{name}'s strongest point is “{phrase}”, and it holds only while nothing goes wrong on \
         the {key} side.",
        "“{phrase}” assumes that we notice trouble with the {key} part in time, {name}, and that \
         is the very thing in doubt.",
        "{name} offers “{phrase}”, which would be just as true of the opposite answer on {topic}.",
        "I can grant {name} “{phrase}” and the {key} side still does not follow.",
    ],
    close: &[
        "The debate on {topic} turns on who pays if the hope is disappointed, and to that we \
         have heard no answer.",
        "What decides the motion on {topic} is that its defenders described a beginning and \
         never an end.",
    ],
    concede: &[
        "{name}'s “{phrase}” is the point that I could not remove, and it speaks for a small \
         {key} trial at most.",
        "I leave standing {name}'s “{phrase}” as the best thing said for the other answer on \
         {topic}.",
    ],
};

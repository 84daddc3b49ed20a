//! What a fault of one target means for its route: one table.

use althing_stdx::{Fault, Kind};
use std::time::Duration;

/// The longest a target is left alone, whatever it asked for: limits are often lifted earlier than
/// announced.
pub(crate) const COOL_MAX: Duration = Duration::from_secs(15 * 60);
/// How long a target rests that is out of breath and does not say for how long.
pub(crate) const COOL_DEFAULT: Duration = Duration::from_secs(2);
/// How long an account rests whose key was refused or whose money is gone, and a target whose
/// server does not know the model. A person has to do something about these.
pub(crate) const COOL_PERMANENT: Duration = Duration::from_secs(60);

/// Which calls a rest concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// This model at this endpoint with this key.
    Place,
    /// Every model at this endpoint with this key.
    Account,
}

/// A rest for a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cool {
    pub scope: Scope,
    pub wait: Duration,
    /// Whether the provider asked for it. What it did not ask for is only kept where there is
    /// another target to go to.
    pub asked: bool,
}

/// What follows from a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Whether another target may do better.
    pub falls_back: bool,
    pub cool: Option<Cool>,
    /// Whether it is the server's failure, and counts against it.
    pub trips: bool,
}

const STOPS: Rule = Rule { falls_back: false, cool: None, trips: false };
const GOES_ON: Rule = Rule { falls_back: true, ..STOPS };

/// The table:
///
/// | fault | next target | rest | counts against the server |
/// |---|---|---|---|
/// | cancelled, refused, our own limits on runs | no | – | no |
/// | rate limited | yes | this place, as asked | no |
/// | overloaded | yes | this place, as asked | yes |
/// | network, timed out | yes | – | yes |
/// | another answer that is an error: 5xx or none at all | yes | – | yes |
/// | the same with 4xx: this request at this server | yes | – | no |
/// | bad key, no credit | yes | the account | no |
/// | unknown model | yes | this place | no |
/// | context too long: the next may take more | yes | – | no |
/// | invalid: here only ever the target's own address | yes | – | no |
/// | busy, not found, internal: ours, before anything was sent | yes | – | no |
///
/// A refusal is an answer: nobody shops around for a model that says yes.
pub(crate) fn rule(fault: &Fault) -> Rule {
    let cool = |scope, wait| Some(Cool { scope, wait, asked: false });
    match fault.kind {
        Kind::Cancelled | Kind::Refused | Kind::UnknownMethod | Kind::TooFew | Kind::CostLimit => {
            STOPS
        }
        Kind::RateLimited => Rule { cool: asked(fault), ..GOES_ON },
        Kind::Overloaded => Rule { cool: asked(fault), trips: true, ..GOES_ON },
        Kind::Network | Kind::TimedOut => Rule { trips: true, ..GOES_ON },
        Kind::Upstream => {
            Rule { trips: fault.status.is_none_or(|status| status >= 500), ..GOES_ON }
        }
        Kind::BadKey | Kind::NoCredit => {
            Rule { cool: cool(Scope::Account, COOL_PERMANENT), ..GOES_ON }
        }
        Kind::UnknownModel => Rule { cool: cool(Scope::Place, COOL_PERMANENT), ..GOES_ON },
        Kind::ContextTooLong
        | Kind::InvalidParams
        | Kind::Busy
        | Kind::NotFound
        | Kind::Internal => GOES_ON,
    }
}

fn asked(fault: &Fault) -> Option<Cool> {
    let wait = fault.retry_after.map_or(COOL_DEFAULT, |wait| wait.min(COOL_MAX));
    Some(Cool { scope: Scope::Place, wait, asked: fault.retry_after.is_some() })
}

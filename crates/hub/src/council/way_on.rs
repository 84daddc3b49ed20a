//! How a council that did not come to its plan goes on.

use althing_assembly::event::Ending;
use althing_stdx::Kind;

/// The command with which a run that ended so is worth another try; none where it is not.
pub fn way_on(run: &str, ending: &Ending) -> Option<String> {
    let options = match ending {
        Ending::Completed => return None,
        Ending::Cancelled => "",
        Ending::Failed(failure) => match failure.kind {
            // Too few plans, no verdict, no time: who failed is asked again.
            Kind::TooFew | Kind::Upstream | Kind::TimedOut => " --retry-failed",
            Kind::CostLimit => " --max-cost USD",
            _ => return None,
        },
    };
    Some(format!("althing resume {run}{options}"))
}

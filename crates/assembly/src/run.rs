//! One run from its first event to its last.

use crate::event::{Ending, Failure, What};
use crate::floor::Floor;
use althing_stdx::{Kind, Result};

/// Holds the discussion of `floor` until it is over or `cancel` resolves, and records how it ended.
/// Only a log that cannot be written is an error: every other end is an [`Ending`].
pub async fn hold(floor: &Floor, cancel: impl Future<Output = ()>) -> Result<Ending> {
    open(floor).await?;
    let ending = tokio::select! {
        biased;
        () = cancel => Ending::Cancelled,
        done = (floor.method.run)(floor) => match done {
            Ok(()) => Ending::Completed,
            Err(fault) if fault.kind == Kind::Internal => return Err(fault),
            Err(fault) => Ending::Failed(Failure::from(&fault)),
        },
    };
    floor.append(What::RunEnded { ending: ending.clone(), totals: floor.totals() }).await?;
    Ok(ending)
}

async fn open(floor: &Floor) -> Result<()> {
    let past = floor.past();
    if past.is_empty {
        return floor.append(What::RunStarted(Box::new(floor.opening.clone()))).await;
    }
    let max_cost_usd = floor.opening.max_cost_usd;
    floor.append(What::RunResumed { kept: past.kept(), max_cost_usd }).await?;
    for turn in past.open.keys() {
        floor.append(What::TurnInterrupted { turn: *turn }).await?;
    }
    Ok(())
}

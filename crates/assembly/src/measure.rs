//! Numbers about a discussion that do not come from a model.

use crate::event::{Parts, Sureness};
use crate::floor::Spoken;

/// The last confidence each seat stated in `speeches`, in seat order.
pub fn confidences(speeches: &[Spoken]) -> Vec<Sureness> {
    let mut last: Vec<Sureness> = Vec::new();
    for speech in speeches {
        let (Parts::Position { confidence, .. } | Parts::Estimate { confidence, .. }) =
            &speech.parts
        else {
            continue;
        };
        let Some(confidence) = *confidence else { continue };
        last.retain(|sure| sure.seat != speech.seat);
        let (model, name) = (speech.model.clone(), speech.name.clone());
        last.push(Sureness { seat: speech.seat, model, name, confidence });
    }
    last.sort_by_key(|sure| sure.seat);
    last
}

/// Mean of the scores, rounded; none where nobody stated one.
pub fn mean(confidences: &[Sureness]) -> Option<u8> {
    let sum: u32 = confidences.iter().map(|sure| u32::from(sure.confidence.score)).sum();
    let count = confidences.len() as u32;
    (count > 0).then(|| ((sum + count / 2) / count) as u8)
}

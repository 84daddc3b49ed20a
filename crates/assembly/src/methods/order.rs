//! Who comes next, where seats may have left.

use crate::floor::{Floor, Seat};

/// Turns around a list of seats, passing over those that are out.
#[derive(Default)]
pub(super) struct Rotation {
    next: usize,
}

impl Rotation {
    /// The next of `seats` that is still asked; `may` can pass over more.
    pub fn next<'a>(
        &mut self,
        floor: &Floor,
        seats: &[&'a Seat],
        may: impl Fn(&Seat) -> bool,
    ) -> Option<&'a Seat> {
        let from = self.next;
        let places = (0..seats.len()).map(|step| (from + step) % seats.len());
        let place = places.into_iter().find(|at| floor.is_in(seats[*at]) && may(seats[*at]))?;
        self.next = place + 1;
        Some(seats[place])
    }
}

/// Who takes over from `seat`: the next one around the table that spoke when last asked, else the
/// next one that is still asked.
pub(super) fn successor<'a>(floor: &'a Floor, seat: &Seat) -> Option<&'a Seat> {
    let (before, after) = floor.seats().split_at(seat.index);
    let around = || after.iter().skip(1).chain(before);
    around().find(|next| floor.is_living(next)).or_else(|| around().find(|next| floor.is_in(next)))
}

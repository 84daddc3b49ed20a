//! Conversations that wait for their next turn: what the model had read of them is kept in memory,
//! so that a prompt is never read again from its beginning because another came between. Pure:
//! which one to take, which to keep, which to drop.

/// Going back to a saved conversation copies memory; that many tokens must be gained by it.
const GAIN_TOKENS_MIN: usize = 16;
/// Fewer tokens than this are read again faster than they are worth keeping.
const SAVE_TOKENS_MIN: usize = 64;
/// Conversations at once; the one that waited longest is dropped beyond that.
const SAVED_MAX: usize = 64;

/// One conversation that waits.
#[derive(Debug)]
struct Saved<T, S> {
    tokens: Vec<T>,
    state: S,
    bytes: usize,
}

/// The conversations that wait, the one that waited longest first.
#[derive(Debug)]
pub struct PromptCache<T, S> {
    saved: Vec<Saved<T, S>>,
    bytes_max: usize,
}

/// What to do before a prompt is read.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    /// Whether what the context holds now is saved first.
    pub save: bool,
    /// Whether a saved conversation begins more like the prompt than the context does.
    pub restore: bool,
}

impl<T: PartialEq, S> PromptCache<T, S> {
    pub fn new(bytes_max: usize) -> PromptCache<T, S> {
        PromptCache { saved: Vec::new(), bytes_max }
    }

    /// Plans for a prompt, with what the context holds now.
    pub fn plan(&self, held: &[T], prompt: &[T]) -> Plan {
        let kept = count_common(held, prompt);
        let best = self.find_best(prompt).map_or(0, |(_, common)| common);
        let restore = best >= kept + GAIN_TOKENS_MIN;
        let lost = if restore { held.len() } else { held.len() - kept };
        let is_saved = self.saved.iter().any(|it| it.tokens.starts_with(held));
        Plan { save: self.bytes_max > 0 && lost >= SAVE_TOKENS_MIN && !is_saved, restore }
    }

    /// Keeps a conversation; those it continues and the oldest make room.
    pub fn save(&mut self, tokens: Vec<T>, state: S, bytes: usize) {
        if bytes > self.bytes_max {
            return;
        }
        self.saved.retain(|it| !tokens.starts_with(&it.tokens));
        let is_full = |saved: &Vec<Saved<T, S>>| {
            saved.len() >= SAVED_MAX
                || saved.iter().map(|it| it.bytes).sum::<usize>() + bytes > self.bytes_max
        };
        while !self.saved.is_empty() && is_full(&self.saved) {
            self.saved.remove(0);
        }
        self.saved.push(Saved { tokens, state, bytes });
    }

    /// Returns the conversation that begins most like the prompt, as the one used last.
    pub fn restore(&mut self, prompt: &[T]) -> Option<(&[T], &S)> {
        let (at, _) = self.find_best(prompt)?;
        let found = self.saved.remove(at);
        self.saved.push(found);
        self.saved.last().map(|it| (it.tokens.as_slice(), &it.state))
    }

    fn find_best(&self, prompt: &[T]) -> Option<(usize, usize)> {
        let common = self.saved.iter().map(|it| count_common(&it.tokens, prompt));
        common.enumerate().max_by_key(|(_, common)| *common).filter(|(_, common)| *common > 0)
    }
}

/// Returns how many tokens two conversations have in common from their beginning.
pub fn count_common<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A conversation: `shared` tokens that all have, and some of its own.
    fn talk(shared: usize, own: char, length: usize) -> Vec<char> {
        std::iter::repeat_n('s', shared).chain(std::iter::repeat_n(own, length)).collect()
    }

    #[test]
    fn alternating_conversations_keep_what_was_read() {
        let mut cache = PromptCache::new(1_000);
        let (a, b) = (talk(100, 'a', 100), talk(100, 'b', 100));
        // The first switch saves what is lost; the shared beginning needs no restoring.
        assert_eq!(cache.plan(&a, &b), Plan { save: true, restore: false });
        cache.save(a.clone(), "a", 200);
        let longer = talk(100, 'a', 130);
        assert_eq!(cache.plan(&b, &longer), Plan { save: true, restore: true });
        cache.save(b.clone(), "b", 200);
        assert_eq!(cache.restore(&longer), Some((a.as_slice(), &"a")));
        // What is saved already is not saved again.
        assert_eq!(cache.plan(&a, &b), Plan { save: false, restore: true });
    }

    #[test]
    fn a_conversation_that_goes_on_is_left_where_it_is() {
        let cache = PromptCache::<char, ()>::new(1_000);
        let nothing = Plan { save: false, restore: false };
        assert_eq!(cache.plan(&[], &talk(0, 'a', 500)), nothing);
        assert_eq!(cache.plan(&talk(0, 'a', 500), &talk(0, 'a', 600)), nothing);
        // An answer that is asked for again loses little.
        assert_eq!(cache.plan(&talk(400, 'a', 40), &talk(400, 'b', 40)), nothing);
        let off = PromptCache::<char, ()>::new(0);
        assert_eq!(off.plan(&talk(0, 'a', 500), &talk(0, 'b', 500)), nothing);
    }

    #[test]
    fn the_oldest_and_the_continued_make_room() {
        let mut cache = PromptCache::new(500);
        cache.save(talk(0, 'a', 100), 1, 200);
        cache.save(talk(0, 'b', 100), 2, 200);
        cache.save(talk(0, 'b', 150), 3, 250);
        assert_eq!(cache.restore(&talk(0, 'a', 9)).map(|(_, state)| *state), Some(1));
        cache.save(talk(0, 'c', 100), 4, 200);
        assert_eq!(cache.restore(&talk(0, 'b', 9)), None, "the one unused longest is gone");
        cache.save(talk(0, 'd', 100), 5, 501);
        assert_eq!(cache.restore(&talk(0, 'd', 9)), None, "what cannot fit is not kept");
        assert_eq!(cache.restore(&talk(0, 'c', 9)).map(|(_, state)| *state), Some(4));
    }
}

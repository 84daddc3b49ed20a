//! Which Althings a request has come through. Each one adds itself to what it sends to providers, so
//! that an Althing which is its own provider, directly or by way of another, notices at the first
//! turn instead of asking itself for ever.

use althing_stdx::{Fault, Result};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use std::sync::Arc;

/// The names of instances, separated by commas, in the order in which they were passed.
pub const HEADER: HeaderName = HeaderName::from_static("x-althing-hops");
/// Althings that a request may have come through. One on a machine behind another one's is two;
/// with more than this it is refused, since something leads round in a circle.
pub const HOPS_MAX: usize = 4;
/// Characters of an instance's name.
const NAME_CHARS_MAX: usize = 32;
/// Loop Detected: no client tries again with the same words, as after a 429.
const STATUS: u16 = 508;

tokio::task_local! {
    /// What the request that is being answered came through.
    static BEHIND: Hops;
}

/// The way of a request up to here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hops(Arc<str>);

impl Hops {
    /// What the header says; none: it is no Althing that asks.
    fn read(headers: &HeaderMap) -> Result<Option<Hops>> {
        let mut names = Vec::new();
        for value in headers.get_all(HEADER) {
            let text = value.to_str().map_err(|_| malformed())?;
            names.extend(text.split(',').map(str::trim));
        }
        let is_name = |name: &&str| {
            let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
            is_word && (1..=NAME_CHARS_MAX).contains(&name.len())
        };
        match names.as_slice() {
            [] => Ok(None),
            names if names.iter().all(is_name) => Ok(Some(Hops(names.join(", ").into()))),
            _ => Err(malformed()),
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split(", ")
    }

    /// Does some work of a request that came this way: whatever is sent meanwhile carries it on.
    pub async fn during<F: Future>(self, work: F) -> F::Output {
        BEHIND.scope(self, work).await
    }

    /// As `during`, for one step of something that goes on after its request was answered.
    pub fn step<T>(&self, work: impl FnOnce() -> T) -> T {
        BEHIND.sync_scope(self.clone(), work)
    }
}

/// The work with the way of the request that is being answered now, for tasks of their own.
pub fn carry<F: Future + Send>(work: F) -> impl Future<Output = F::Output> + Send {
    let hops = BEHIND.try_with(Hops::clone).ok();
    async move {
        match hops {
            Some(hops) => hops.during(work).await,
            None => work.await,
        }
    }
}

/// One gateway among all there are. Its name means nothing, and is another one next time.
#[derive(Debug, Clone)]
pub(crate) struct Instance(HeaderValue);

impl Instance {
    pub(crate) fn new() -> Instance {
        let name = format!("{:016x}", fastrand::u64(..));
        // Hexadecimal digits always fit.
        Instance(HeaderValue::from_str(&name).unwrap_or(HeaderValue::from_static("0")))
    }

    /// The header of a request that is sent now.
    pub(crate) fn stamp(&self) -> HeaderValue {
        let behind = |hops: &Hops| format!("{}, {}", hops.0, self.name());
        let stamped = BEHIND.try_with(behind).ok();
        let stamped = stamped.and_then(|text| HeaderValue::from_str(&text).ok());
        stamped.unwrap_or_else(|| self.0.clone())
    }

    /// The way of a request that comes in, which must not lead round in a circle.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<Option<Hops>> {
        let Some(hops) = Hops::read(headers)? else { return Ok(None) };
        if hops.names().any(|name| name == self.name()) {
            return Err(refusal(
                "this request was sent by this very Althing, which is its own provider: take the \
                 provider or the target that leads back here away (`althing providers list`, \
                 `althing routes show`), or unset its BASE_URL where `althing serve` is started",
            ));
        }
        match hops.names().count() {
            count if count > HOPS_MAX => Err(refusal(format!(
                "this request has come through {count} Althings, and {HOPS_MAX} are the limit: one \
                 of them leads back to another; look at their providers and aliases"
            ))),
            _ => Ok(Some(hops)),
        }
    }

    fn name(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

fn refusal(why: impl std::fmt::Display) -> Fault {
    Fault::invalid(why).status(STATUS)
}

fn malformed() -> Fault {
    Fault::invalid(format!("{HEADER}: names of letters and digits, separated by commas"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        let value = |text: &&str| (HEADER, HeaderValue::from_str(text).unwrap());
        values.iter().map(value).collect()
    }

    #[tokio::test]
    async fn what_came_through_others_is_stamped_with_all_of_them() {
        let [ada, bob] = [(); 2].map(|()| Instance::new());
        assert_eq!(ada.stamp(), ada.0);
        let hops = bob.admit(&headers(&[ada.name()])).unwrap().unwrap();
        let both = format!("{}, {}", ada.name(), bob.name());
        let stamped = hops.during(async { bob.stamp() }).await;
        assert_eq!(stamped, both.as_str());
        let fault = ada.admit(&headers(&[&both])).unwrap_err();
        assert_eq!(fault.status, Some(508));
        assert!(fault.message.contains("is its own provider"), "{fault}");
    }

    #[tokio::test]
    async fn tasks_and_steps_of_a_request_stay_on_its_way() {
        let (ada, bob) = (Instance::new(), Instance::new());
        let hops = bob.admit(&headers(&[ada.name()])).unwrap().unwrap();
        let both = format!("{}, {}", ada.name(), bob.name());
        let in_task = bob.clone();
        let spawned = async { tokio::spawn(carry(async move { in_task.stamp() })).await.unwrap() };
        assert_eq!(hops.clone().during(spawned).await, both.as_str());
        assert_eq!(hops.step(|| bob.stamp()), both.as_str());
        assert_eq!(bob.stamp(), bob.0, "nothing sticks to the task");
    }

    #[test]
    fn too_many_hops_and_odd_ones_are_refused() {
        let ada = Instance::new();
        for (values, status) in [
            (&["a1, b2, c3, d4"][..], None),
            (&["a1, b2", "c3,d4"], None),
            (&["a1, b2, c3, d4, e5"], Some(508)),
            (&["a1", "b2", "c3", "d4", "e5"], Some(508)),
            (&[""], Some(0)),
            (&["a b"], Some(0)),
            (&["x123456789012345678901234567890123"], Some(0)),
        ] {
            let refused = ada.admit(&headers(values)).err();
            let got = refused.map(|fault| fault.status.unwrap_or(0));
            assert_eq!(got, status, "{values:?}");
        }
        assert_eq!(ada.admit(&HeaderMap::new()), Ok(None));
    }
}

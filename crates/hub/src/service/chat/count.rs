//! A voice whose calls are counted, however they end.

use crate::agents;
use crate::book::Library;
use crate::lineup::{Sitting, price_of};
use crate::service::metrics::{Metrics, Sample};
use crate::windows;
use althing_assembly::demo::{self, Pace};
use althing_chat::{Ask, Delta, Model, Speaking, Usage};
use althing_gateway::route::Answered;
use althing_gateway::{Gateway, Price, Prices, Routed, Target};
use althing_stdx::{Fault, Kind, Result};
use futures_util::StreamExt;
use futures_util::stream::{self, Stream};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The voice of a seat.
pub(crate) struct Counted {
    voice: Voice,
    library: Arc<Library>,
    metrics: Option<Arc<Metrics>>,
    first: Who,
    /// Tokens of the window, for servers that size it per request.
    context_tokens: Option<u64>,
    /// The seat where such a server sits and nobody has decided the window yet.
    undecided: Option<Arc<Sitting>>,
}

#[derive(Clone)]
enum Voice {
    Routed(Routed),
    /// One model that has no substitute: also an agent or a demo voice.
    Alone(Arc<dyn Model>),
}

impl Voice {
    /// Speaks, with who answered put into `answered` where that is not clear before.
    fn speak(&self, ask: Ask, answered: Answered) -> Speaking {
        match self {
            Voice::Routed(voice) => voice.speak_into(ask, answered),
            Voice::Alone(voice) => voice.speak(ask),
        }
    }
}

/// Whose call it is.
#[derive(Clone)]
struct Who {
    provider: String,
    model: String,
    price: Option<Price>,
}

impl Who {
    fn of(prices: &Prices, target: &Target) -> Who {
        Who {
            provider: target.endpoint.id.clone(),
            model: target.model.clone(),
            price: price_of(prices, target),
        }
    }
}

impl Counted {
    /// The voice of `sitting`; nothing is counted unless `by` says where.
    pub fn new(
        library: &Arc<Library>,
        sitting: &Sitting,
        affinity: Option<u64>,
        pace: Pace,
    ) -> Result<Counted> {
        Counted::over(library, library.gateway(), sitting, affinity, pace)
    }

    /// As `new`, through this gateway.
    fn over(
        library: &Arc<Library>,
        gateway: &Gateway,
        sitting: &Sitting,
        affinity: Option<u64>,
        pace: Pace,
    ) -> Result<Counted> {
        let config = library.book().config.clone();
        let (voice, first) = match (sitting.targets.first(), &sitting.agent) {
            (Some(target), _) => {
                let voice = gateway.route(&sitting.id, sitting.targets.clone(), affinity);
                (Voice::Routed(voice), Who::of(&config.prices, target))
            }
            (None, Some(agent)) => {
                let agent = agents::open(library.means(), &config, agent);
                let (provider, model) = sitting.id.split_once(':').unwrap_or((&sitting.id, ""));
                let who = Who { provider: provider.into(), model: model.into(), price: None };
                (Voice::Alone(Arc::new(agent)), who)
            }
            (None, None) => {
                let name = sitting.id.strip_prefix(demo::PREFIX).unwrap_or(&sitting.id);
                let no_voice = || Fault::new(Kind::UnknownModel, format!("no demo voice '{name}'"));
                let voice = demo::voice(name, pace).ok_or_else(no_voice)?;
                let provider = demo::PREFIX.trim_end_matches(':').to_string();
                let price = Some(Price::ZERO);
                (Voice::Alone(voice), Who { provider, model: name.into(), price })
            }
        };
        let is_undecided = windows::is_sized_by_request(sitting);
        Ok(Counted {
            voice,
            library: library.clone(),
            metrics: None,
            first,
            context_tokens: windows::wanted_tokens(&config, sitting),
            undecided: is_undecided.then(|| Arc::new(sitting.clone())),
        })
    }

    /// The voice of a seat in a discussion. It waits for a provider that asks for it: a discussion is
    /// lost where a single call would only be made again.
    pub fn seated(library: &Arc<Library>, sitting: &Sitting, pace: Pace) -> Result<Counted> {
        // Its turns stay together, wherever the first one was answered.
        let (gateway, affinity) = (library.gateway().clone().patient(), Some(fastrand::u64(..)));
        let voice = Counted::over(library, &gateway, sitting, affinity, pace)?;
        Ok(match sitting.targets.as_slice() {
            [only] => {
                let alone = library.gateway().model(&only.endpoint, &only.model);
                Counted { voice: Voice::Alone(alone), ..voice }
            }
            _ => voice,
        })
    }

    /// Asks for a window of so many tokens; none: as is decided at each call.
    pub fn sized(self, context_tokens: Option<u64>) -> Counted {
        match context_tokens {
            Some(_) => Counted { context_tokens, undecided: None, ..self },
            None => self,
        }
    }

    /// Counts there.
    pub fn by(mut self, metrics: Arc<Metrics>) -> Counted {
        self.metrics = Some(metrics);
        self
    }

    /// The id of a voice that always answers itself: an agent, a demo voice.
    pub(super) fn lone_id(&self) -> Option<String> {
        match &self.voice {
            Voice::Routed(_) => None,
            Voice::Alone(voice) => Some(voice.id().to_string()),
        }
    }

    /// As `speak`, and who answered.
    pub fn speak_noting(&self, mut ask: Ask) -> (Speaking, Answered) {
        let answered = Answered::default();
        let undecided = self.undecided.as_ref().filter(|_| ask.context_tokens.is_none());
        ask.context_tokens = ask.context_tokens.or(self.context_tokens);
        let speaking = match undecided {
            Some(sitting) => self.speak_sized(sitting.clone(), ask, answered.clone()),
            None => self.voice.speak(ask, answered.clone()),
        };
        let meter = Meter {
            library: self.library.clone(),
            metrics: self.metrics.clone(),
            first: self.first.clone(),
            answered: answered.clone(),
            usage: Usage::default(),
            end: End::NotAsked,
        };
        (Call { speaking, meter }.boxed(), answered)
    }

    /// Decides the window first, and then speaks.
    fn speak_sized(&self, sitting: Arc<Sitting>, ask: Ask, answered: Answered) -> Speaking {
        let (voice, library) = (self.voice.clone(), self.library.clone());
        let speaking = async move {
            let decided = windows::chat_tokens(&library, &sitting).await;
            let context_tokens = decided.or(ask.context_tokens);
            voice.speak(Ask { context_tokens, ..ask }, answered)
        };
        stream::once(speaking).flatten().boxed()
    }
}

impl Model for Counted {
    fn id(&self) -> &str {
        match &self.voice {
            Voice::Routed(voice) => voice.id(),
            Voice::Alone(voice) => voice.id(),
        }
    }

    fn is_noisy(&self) -> bool {
        match &self.voice {
            Voice::Routed(voice) => voice.is_noisy(),
            Voice::Alone(voice) => voice.is_noisy(),
        }
    }

    fn speak(&self, ask: Ask) -> Speaking {
        self.speak_noting(ask).0
    }
}

/// A call under way.
struct Call {
    speaking: Speaking,
    meter: Meter,
}

impl Stream for Call {
    type Item = Result<Delta>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Delta>>> {
        if self.meter.end == End::NotAsked {
            self.meter.end = End::UnderWay;
        }
        let item = ready!(self.speaking.poll_next_unpin(cx));
        self.meter.note(&item);
        Poll::Ready(item)
    }
}

/// How far a call has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Nobody has listened yet, so nothing was sent.
    NotAsked,
    /// Where it stays when its client leaves.
    UnderWay,
    Answered,
    Failed,
}

/// Counts one call when it is over, which may be in the middle of it.
struct Meter {
    library: Arc<Library>,
    metrics: Option<Arc<Metrics>>,
    first: Who,
    answered: Answered,
    usage: Usage,
    end: End,
}

impl Meter {
    fn note(&mut self, item: &Option<Result<Delta>>) {
        match item {
            Some(Ok(Delta::Usage(usage))) => self.usage.update(*usage),
            Some(Ok(Delta::Stop(_))) => {
                self.end = End::Answered;
                self.library.answered(&self.who().provider);
            }
            // An answer that ends without a stop broke off.
            Some(Err(_)) | None if self.end == End::UnderWay => self.end = End::Failed,
            _ => {}
        }
    }

    fn who(&self) -> Who {
        match self.answered.get() {
            Some(target) => Who::of(&self.library.book().config.prices, target),
            None => self.first.clone(),
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let Some(metrics) = self.metrics.as_ref().filter(|_| self.end != End::NotAsked) else {
            return;
        };
        let Who { provider, model, price } = self.who();
        metrics.record(Sample {
            provider,
            model,
            failed: self.end == End::Failed,
            usage: self.usage,
            cost_usd: price.and_then(|price| price.cost(&self.usage)),
        });
    }
}

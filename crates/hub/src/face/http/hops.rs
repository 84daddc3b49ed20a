//! Requests that other Althings send: refused where they lead round in a circle, and carried on
//! with their way where not.

use super::reply::{Reply, refusal};
use super::shape::Shape;
use althing_gateway::Hops;
use althing_stdx::Fault;
use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use hyper::header::HeaderValue;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Answers a request with its way, which whatever is asked for it carries on.
pub(super) async fn answer(hops: Hops, work: impl Future<Output = Reply>) -> Reply {
    let reply = hops.clone().during(work).await;
    reply.map(|body| Body::new(Carried { hops, body }))
}

/// The official SDKs try errors of servers again unless they are told not to.
pub(super) fn refuse(shape: Shape, fault: &Fault) -> Reply {
    let mut reply = refusal(shape, fault);
    reply.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
    reply
}

/// An answer whose making goes on while it is sent.
struct Carried {
    hops: Hops,
    body: Body,
}

impl HttpBody for Carried {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Carried { hops, body } = &mut *self;
        hops.step(|| Pin::new(body).poll_frame(cx))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

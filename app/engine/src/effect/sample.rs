//! The sampling effect: asks the model, streams its answer to the bus, and says each finished
//! item to the driver. One request; whether to try again is the core's decision.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::coop::consume_budget;
use tokio::time::{Instant, timeout_at};
use windlass_core::{
    Assembled, Assembler, Caps, EffectKey, FailureKind, Input, Item, Retry, SampleFailure,
    SampleNews, StreamEvent,
};
use windlass_ports::{CancelSignal, Clock, Provider, ProviderError, SampleRequest, Streaming};

use super::Voice;
use crate::arguments::Checker;
use crate::bus::Bus;
use crate::event::{Live, LiveKind};
use crate::size;

/// The longest message of a failure, in bytes; the rest of it is dropped.
const MESSAGE: usize = 8 * 1_024;

/// What a sampling effect runs on.
pub(crate) struct SampleEffect {
    pub(crate) key: EffectKey,
    pub(crate) request: SampleRequest,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) checker: Arc<Checker>,
    pub(crate) bus: Bus,
    pub(crate) caps: Caps,
}

impl SampleEffect {
    /// Runs to the last word.
    pub(crate) async fn run(self, voice: Voice, cancel: CancelSignal) {
        let mut assembler = Assembler::new(self.caps);
        let ended = tokio::select! {
            ended = self.stream(&mut assembler, &voice) => ended,
            () = cancel.cancelled() => Err(cancelled()),
        };
        let news = match ended {
            Ok(news) => news,
            Err(mut failure) => {
                size::cut(&mut failure.message, MESSAGE);
                vec![SampleNews::Failed {
                    failure,
                    partial: assembler.partial(),
                }]
            }
        };
        voice.say(self.inputs(news), true).await;
    }

    fn inputs(&self, news: Vec<SampleNews>) -> Vec<Input> {
        let key = self.key;
        news.into_iter()
            .map(|news| Input::Sampled { key, news })
            .collect()
    }

    /// Streams the answer. What comes back are the last words: the items of the last read and the
    /// end of the answer.
    async fn stream(
        &self,
        assembler: &mut Assembler,
        voice: &Voice,
    ) -> Result<Vec<SampleNews>, SampleFailure> {
        let limits = &self.request.limits;
        let end = after_ms(limits.sample_ms);
        let within = |ms: u64| after_ms(ms).min(end);
        let head = self.provider.sample(self.request.clone());
        let mut stream = timeout_at(within(limits.connect_ms), head)
            .await
            .map_err(|_| timeout("the provider has not begun to answer", limits.connect_ms))?
            .map_err(ProviderError::into_failure)?;
        let (mut wait_ms, mut what) = (limits.first_byte_ms, "the provider's stream has not begun");
        let mut events = Vec::new();
        loop {
            let step = timeout_at(within(wait_ms), stream.next(&mut events))
                .await
                .map_err(|_| timeout(what, wait_ms.min(limits.sample_ms)))?
                .map_err(ProviderError::into_failure);
            let news = self.take(assembler, &mut events)?;
            match step? {
                Streaming::End => return self.whole(assembler, news),
                Streaming::More if assembler.ended() => return Ok(news),
                Streaming::More if news.is_empty() => {}
                Streaming::More => voice.say(self.inputs(news), false).await,
            }
            (wait_ms, what) = (limits.idle_ms, "the provider's stream has stood still");
            // A stream that always has something ready must still be stopped, and still ends.
            consume_budget().await;
            if Instant::now() >= end {
                return Err(timeout(
                    "the model has answered, without an end,",
                    limits.sample_ms,
                ));
            }
        }
    }

    /// An answer is whole only with its end.
    fn whole(
        &self,
        assembler: &Assembler,
        news: Vec<SampleNews>,
    ) -> Result<Vec<SampleNews>, SampleFailure> {
        if assembler.ended() {
            return Ok(news);
        }
        let message = "the provider's stream ended without the end of its answer";
        Err(SampleFailure::new(
            FailureKind::Truncated,
            Retry::Soon,
            message,
        ))
    }

    /// Assembles what one read brought: deltas go to the bus, items into the news.
    fn take(
        &self,
        assembler: &mut Assembler,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Vec<SampleNews>, SampleFailure> {
        let mut assembled = Vec::with_capacity(events.len());
        for event in events.drain(..) {
            assembler.push(event, &mut assembled).map_err(|overflow| {
                let message = format!("{overflow}: raise the cap or ask for less");
                SampleFailure::new(FailureKind::TooLarge, Retry::Never, message)
            })?;
        }
        let mut news = Vec::new();
        let mut live = Vec::new();
        let heard = self.bus.heard();
        let ts = self.clock.now();
        for part in assembled {
            match part {
                Assembled::Delta(delta) if heard => live.push(Live {
                    session: self.request.session.clone(),
                    turn: self.request.turn,
                    ts,
                    kind: LiveKind::Delta {
                        started: self.request.started,
                        delta,
                    },
                }),
                Assembled::Delta(_) => {}
                Assembled::Item(item) => news.push(SampleNews::Item(self.checked(item))),
                Assembled::Ended {
                    stop,
                    usage,
                    response_id,
                } => news.push(SampleNews::Ended {
                    stop,
                    usage,
                    response_id,
                }),
            }
        }
        self.bus.live(live);
        Ok(news)
    }

    /// The item, with what is wrong with its arguments if it is a call.
    fn checked(&self, item: Item) -> Item {
        let Item::Call(mut call) = item else {
            return item;
        };
        if let Some(fault) = self.checker.fault(&call.name, &call.arguments) {
            Arc::make_mut(&mut call).fault = Some(fault);
        }
        Item::Call(call)
    }
}

/// The moment so many milliseconds from now; without one that can be told, in 30 years.
fn after_ms(ms: u64) -> Instant {
    let now = Instant::now();
    let far = Duration::from_hours(24 * 365 * 30);
    now.checked_add(Duration::from_millis(ms).min(far))
        .unwrap_or(now)
}

fn timeout(what: &str, ms: u64) -> SampleFailure {
    let message = format!("{what} for {ms} ms");
    SampleFailure::new(FailureKind::Timeout, Retry::Soon, message)
}

fn cancelled() -> SampleFailure {
    let message = "the turn was asked to stop while the model answered";
    SampleFailure::new(FailureKind::Cancelled, Retry::Never, message)
}

//! Frames: parses a server's stream into the engine's events. Pure.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use windlass_engine::core::{CallId, Delta, Seq, SessionId, Timestamp, TurnId};
use windlass_engine::ports::{StoreErrorKind, codec};
use windlass_engine::{Event, LiveEvent, LiveKind, StoreStatus};
use windlass_http::{SseCaps, SseParser};

/// Most bytes of one event: a fact has up to 16 MiB, and JSON may need six bytes for each.
const MAX_EVENT_BYTES: usize = 128 * 1024 * 1024;

/// Frame of the stream.
#[derive(Debug)]
pub(super) enum StreamFrame {
    Event(Event),
    /// The client lagged: the rest follows from the cursor.
    Lagged {
        missed: u64,
    },
    /// The server ended the stream, with this reason.
    End(String),
}

/// Parses the stream of one connection.
#[derive(Debug)]
pub(super) struct FrameParser {
    sse: SseParser,
}

impl Default for FrameParser {
    fn default() -> Self {
        let caps = SseCaps {
            line: MAX_EVENT_BYTES,
            event: MAX_EVENT_BYTES,
            stream: u64::MAX,
            lines: u64::MAX,
            events: u64::MAX,
            ..SseCaps::default()
        };
        Self { sse: SseParser::new(caps) }
    }
}

impl FrameParser {
    /// Parses a chunk, and returns the frames that it completes.
    ///
    /// # Errors
    /// A description of invalid input.
    pub(super) fn push(&mut self, mut chunk: &[u8]) -> Result<Vec<StreamFrame>, String> {
        let mut frames = Vec::new();
        loop {
            let (used, event) = self.sse.next(chunk).map_err(|error| error.to_string())?;
            let Some(event) = event else {
                return Ok(frames);
            };
            frames.extend(frame(event.name, event.data)?);
            chunk = chunk.get(used..).unwrap_or_default();
        }
    }
}

/// Parses a frame; `None` for an unknown kind, which a newer server may send.
fn frame(name: &[u8], data: &[u8]) -> Result<Option<StreamFrame>, String> {
    Ok(Some(match name {
        b"fact" => {
            let fact = codec::decode(data).map_err(|error| format!("a fact: {error}"))?;
            StreamFrame::Event(Event::Fact(Arc::new(fact).into()))
        }
        b"live" => match live(data)? {
            Some(live) => StreamFrame::Event(Event::Live(vec![live].into())),
            None => return Ok(None),
        },
        b"store" => {
            let store: StoreFrame = json(data)?;
            StreamFrame::Event(Event::Store(store.into()))
        }
        b"lagged" => {
            let lag: LagFrame = json(data)?;
            StreamFrame::Lagged { missed: lag.missed }
        }
        b"end" => {
            let end: EndFrame = json(data)?;
            StreamFrame::End(end.reason)
        }
        _ => return Ok(None),
    }))
}

#[derive(Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
enum StoreFrame {
    Works,
    Failed { reason: String },
}

impl From<StoreFrame> for StoreStatus {
    fn from(frame: StoreFrame) -> Self {
        let StoreFrame::Failed { reason } = frame else {
            return Self::Works;
        };
        Self::Failed(match reason.as_str() {
            "full" => StoreErrorKind::Full,
            "read_only" => StoreErrorKind::ReadOnly,
            "unavailable" => StoreErrorKind::Unavailable,
            "ended" => StoreErrorKind::Ended,
            _ => StoreErrorKind::Io,
        })
    }
}

#[derive(Deserialize)]
struct LagFrame {
    missed: u64,
}

#[derive(Deserialize)]
struct EndFrame {
    reason: String,
}

/// Envelope of a live event, which is in no log.
#[derive(Deserialize)]
struct LiveEnvelope {
    session: SessionId,
    turn: TurnId,
    ts: Timestamp,
    kind: String,
    body: LiveBody,
    #[serde(default)]
    #[expect(dead_code, reason = "it is read so that it must be null or a number")]
    seq: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct LiveBody {
    started: Option<Seq>,
    call: Option<CallId>,
    slot: Option<u32>,
    text: Option<String>,
    name: Option<String>,
}

fn live(data: &[u8]) -> Result<Option<LiveEvent>, String> {
    let LiveEnvelope { session, turn, ts, kind, body, .. } = json(data)?;
    let whole = |kind: Option<LiveKind>| kind.ok_or("a live event lacks a part of its body");
    let text = body.text;
    let delta =
        |made: fn(u32, String) -> Delta, said: Option<String>| {
            let kind = body.started.zip(body.slot).zip(said).map(|((started, slot), said)| {
                LiveKind::Delta { started, delta: made(slot, said) }
            });
            whole(kind)
        };
    let kind = match kind.as_str() {
        "TextDelta" => delta(|slot, text| Delta::Text { slot, text }, text)?,
        "RefusalDelta" => delta(|slot, text| Delta::Refusal { slot, text }, text)?,
        "ReasoningDelta" => delta(|slot, text| Delta::Reasoning { slot, text }, text)?,
        "ArgumentsDelta" => delta(|slot, text| Delta::Arguments { slot, text }, text)?,
        "CallDelta" => delta(|slot, name| Delta::Call { slot, name }, body.name)?,
        "CallProgress" => {
            whole(body.call.zip(text).map(|(call, text)| LiveKind::Progress { call, text }))?
        }
        _ => return Ok(None),
    };
    Ok(Some(LiveEvent { session, turn, ts, kind }))
}

fn json<'a, T: Deserialize<'a>>(data: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(data).map_err(|error| format!("cannot read the server's event: {error}"))
}

#[cfg(test)]
mod tests {
    use windlass_engine::core::SessionId;

    use super::*;

    fn lives() -> Vec<LiveEvent> {
        let delta = |delta| LiveKind::Delta { started: Seq(4), delta };
        let text = String::from("one\n\"two\"\u{1f980}");
        [
            delta(Delta::Text { slot: 0, text: text.clone() }),
            delta(Delta::Refusal { slot: 1, text: text.clone() }),
            delta(Delta::Reasoning { slot: 2, text: text.clone() }),
            delta(Delta::Call { slot: 3, name: "read".into() }),
            delta(Delta::Arguments { slot: 3, text: text.clone() }),
            LiveKind::Progress { call: CallId(7), text },
        ]
        .map(|kind| LiveEvent {
            session: SessionId::new("s").unwrap(),
            turn: TurnId(3),
            ts: Timestamp(9),
            kind,
        })
        .into()
    }

    #[test]
    fn each_live_event_reads_as_it_is_written_however_it_is_cut() {
        let mut stream = Vec::from("retry: 1000\n\n: beat\n\n");
        for live in lives() {
            let text = serde_json::to_string(&live).unwrap();
            stream.extend(format!("event: live\ndata: {text}\n\n").into_bytes());
        }
        stream.extend(
            b"event: from-later\ndata: {}\n\nevent: end\ndata: {\"reason\":\"draining\"}\n\n",
        );
        for size in [1, 7, stream.len()] {
            let mut frames = FrameParser::default();
            let chunks = stream.chunks(size).flat_map(|chunk| frames.push(chunk).unwrap());
            let mut came = Vec::new();
            let mut ends = 0;
            for frame in chunks {
                if let StreamFrame::Event(Event::Live(all)) = &frame {
                    came.extend(all.iter().cloned());
                    continue;
                }
                assert!(matches!(frame, StreamFrame::End(reason) if reason == "draining"));
                ends += 1;
            }
            assert_eq!(came, lives());
            assert_eq!(ends, 1);
        }
    }

    #[test]
    fn what_is_no_event_of_ours_is_said() {
        for bad in [
            "event: fact\ndata: {}\n\n",
            "event: live\ndata: {\"x\":1}\n\n",
            "event: end\ndata: 7\n\n",
        ] {
            assert!(FrameParser::default().push(bad.as_bytes()).is_err(), "{bad}");
        }
        let lacking = "event: live\ndata: {\"v\":1,\"session\":\"s\",\"seq\":null,\"turn\":1,\"ts\":1,\
                       \"kind\":\"TextDelta\",\"body\":{\"started\":1,\"slot\":0}}\n\n";
        assert!(FrameParser::default().push(lacking.as_bytes()).is_err());
    }
}

//! The head of a message: what a message of a log says in its header `Windlass`, as JSON.
//!
//! Each message tells where the log stands with it, so the last message of a subject tells the end
//! of the log, its owner and its summary, whatever it is.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use windlass_core::{Seq, SessionId};
use windlass_kit_log::LogEnd;
use windlass_ports::{ChainLink, SessionSummary};

/// The name of the header.
pub(crate) const HEADER: &str = "Windlass";

/// The version that is written, and the newest that is read. Summaries have bytes since version 2.
const VERSION: u32 = 2;

/// Kind of a message in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessageKind {
    /// A writer took the session. No fact.
    Claim,
    /// Its writer gave the session back. No fact.
    Release,
    /// The session was erased: what stands before is no part of any log. No fact.
    Erase,
    /// Facts, one text form a line; or the last piece of them.
    Facts,
    /// A piece of facts that a message cannot hold. It counts only once the last piece follows.
    Piece,
}

/// The head of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessageHeader {
    #[serde(rename = "v")]
    pub(crate) version: u32,
    #[serde(rename = "k")]
    pub(crate) kind: MessageKind,
    /// The epoch of the claim.
    #[serde(rename = "e")]
    pub(crate) epoch: u64,
    /// The node that wrote it.
    #[serde(rename = "h")]
    pub(crate) holder: String,
    /// The link of the log's last fact, without padding.
    #[serde(rename = "l")]
    pub(crate) link: String,
    /// The log in short, where there is one.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<SessionSummary>,
    /// Number of facts of the append, in all its pieces; 0 if there are none.
    #[serde(rename = "n", default, skip_serializing_if = "is_zero")]
    pub(crate) count: u64,
    /// Position of the piece within its append.
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    pub(crate) piece: Option<PiecePosition>,
}

/// Position of a piece within its append.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PiecePosition {
    /// The link that the append leads to: no piece of one append passes for one of another.
    pub(crate) to: String,
    /// Index, from 0.
    #[serde(rename = "i")]
    pub(crate) index: u32,
    /// Number of pieces.
    #[serde(rename = "of")]
    pub(crate) of: u32,
    /// Bytes of the append before this piece.
    #[serde(rename = "at")]
    pub(crate) at: u64,
}

/// Reason why the head of a message cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeaderError {
    /// A newer engine wrote it.
    Newer(u32),
    /// It is not what was written.
    Broken(&'static str),
}

/// Fields that heads of all versions share.
#[derive(Deserialize)]
struct HeaderVersion {
    v: u32,
}

impl MessageHeader {
    /// The node that holds the session with this as its last message, while that node lives.
    pub(crate) fn held_by(self) -> Option<String> {
        match self.kind {
            MessageKind::Claim | MessageKind::Facts | MessageKind::Piece => Some(self.holder),
            MessageKind::Release | MessageKind::Erase => None,
        }
    }

    /// A head of a log that stands at an end.
    pub(crate) fn new(kind: MessageKind, epoch: u64, holder: &str, end: &LogEnd) -> Self {
        Self {
            version: VERSION,
            kind,
            epoch,
            holder: holder.to_owned(),
            link: URL_SAFE_NO_PAD.encode(end.link.0),
            summary: end.summary.clone(),
            count: 0,
            piece: None,
        }
    }

    /// The last position of the log.
    pub(crate) fn last(&self) -> Seq {
        self.summary.as_ref().map_or(Seq::ZERO, |all| all.last)
    }

    /// The link of the log's last fact.
    pub(crate) fn link(&self) -> Option<ChainLink> {
        let bytes = URL_SAFE_NO_PAD.decode(&self.link).ok()?;
        Some(ChainLink(bytes.try_into().ok()?))
    }

    /// The end of the log.
    ///
    /// # Errors
    /// When the link is none, or that of a log without a fact is not its first.
    pub(crate) fn end(&self, session: &SessionId) -> Result<LogEnd, HeaderError> {
        let link = self.link().ok_or(HeaderError::Broken("its link is none"))?;
        let end = LogEnd { last: self.last(), link, summary: self.summary.clone() };
        if end.last == Seq::ZERO && end != LogEnd::empty(session) {
            return Err(HeaderError::Broken("it is of another session"));
        }
        Ok(end)
    }

    /// The position before the first fact of the append it belongs to.
    pub(crate) fn after(&self) -> Seq {
        match self.kind {
            MessageKind::Facts => Seq(self.last().0.saturating_sub(self.count)),
            MessageKind::Piece | MessageKind::Claim | MessageKind::Release | MessageKind::Erase => {
                self.last()
            }
        }
    }

    /// The header's text: one line.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a header's text.
    pub(crate) fn read(text: Option<&str>) -> Result<Self, HeaderError> {
        let text = text.ok_or(HeaderError::Broken("it has no header Windlass"))?;
        let head = serde_json::from_str::<Self>(text);
        match head {
            Ok(head) if (1..=VERSION).contains(&head.version) => Ok(head),
            _ => match serde_json::from_str::<HeaderVersion>(text) {
                Ok(HeaderVersion { v }) if v > VERSION => Err(HeaderError::Newer(v)),
                _ => Err(HeaderError::Broken("its header Windlass cannot be read")),
            },
        }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> MessageHeader {
        let session = SessionId::new("s").unwrap();
        MessageHeader::new(MessageKind::Claim, 3, "node-1", &LogEnd::empty(&session))
    }

    #[test]
    fn a_head_is_one_line_and_comes_back() {
        let session = SessionId::new("s").unwrap();
        let text = head().text();
        assert!(!text.contains(['\r', '\n']));
        assert_eq!(MessageHeader::read(Some(&text)), Ok(head()));
        assert_eq!(head().end(&session), Ok(LogEnd::empty(&session)));
    }

    #[test]
    fn a_head_of_another_session_is_none() {
        let other = SessionId::new("t").unwrap();
        assert!(matches!(head().end(&other), Err(HeaderError::Broken(_))));
    }

    #[test]
    fn a_newer_head_is_told_from_a_broken_one() {
        let newer = r#"{"v":3,"new":true}"#;
        assert_eq!(MessageHeader::read(Some(newer)), Err(HeaderError::Newer(3)));
        for text in [None, Some(""), Some("{}"), Some(r#"{"v":1}"#)] {
            assert!(matches!(MessageHeader::read(text), Err(HeaderError::Broken(_))), "{text:?}");
        }
    }
}

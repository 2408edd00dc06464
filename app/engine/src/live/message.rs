//! Message: live events of a session as one node sends them to the others, in JSON.
//!
//! Text is sent with its offset in its part, so that a receiver that has some of it adds only the
//! rest. A part of an answer is identified by its run and its slot. The text of a call is its name
//! followed by its arguments. A message that is too long is sent as several.

use serde::{Deserialize, Serialize};
use windlass_core::{CallId, Epoch, Seq, Timestamp, TurnId};

/// Version of this form. Messages of other versions are dropped.
const VERSION: u8 = 1;

/// Live message from one node to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodeMessage {
    v: u8,
    /// Claim of the sender.
    #[serde(rename = "e")]
    pub(crate) epoch: Epoch,
    /// Position up to which the sender knows that the log is durable.
    #[serde(rename = "d")]
    pub(crate) durable: Seq,
    #[serde(rename = "ts")]
    pub(crate) at: Timestamp,
    /// Streaming run, if there is one.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<MessageRun>,
    #[serde(rename = "p", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) pieces: Vec<TextPiece>,
    /// Complete parts of the run, each with the index of its item; `None` if it has no item.
    #[serde(rename = "w", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) whole: Vec<(u32, Option<u32>)>,
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub(crate) report: Option<ReportPiece>,
    /// Marks the first message of a catch-up; `last` marks its last one.
    #[serde(rename = "b", default, skip_serializing_if = "is_not")]
    pub(crate) first: bool,
    #[serde(rename = "l", default, skip_serializing_if = "is_not")]
    pub(crate) last: bool,
}

/// Run of a sample at the time of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MessageRun {
    #[serde(rename = "t")]
    pub(crate) turn: TurnId,
    #[serde(rename = "s")]
    pub(crate) started: Seq,
    /// Number of its durable items.
    #[serde(rename = "i")]
    pub(crate) items: u32,
    /// True if no text of the run was sent before.
    #[serde(rename = "n", default, skip_serializing_if = "is_not")]
    pub(crate) begins: bool,
}

/// Text of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TextPiece {
    #[serde(rename = "s")]
    pub(crate) slot: u32,
    #[serde(rename = "k")]
    pub(crate) kind: PartKind,
    /// Offset in the part, in bytes.
    #[serde(rename = "o")]
    pub(crate) offset: u64,
    #[serde(rename = "t")]
    pub(crate) text: String,
}

/// Kind of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PartKind {
    #[serde(rename = "t")]
    Text,
    #[serde(rename = "f")]
    Refusal,
    #[serde(rename = "r")]
    Reasoning,
    /// Call, with the number of bytes of its text that are its name.
    #[serde(rename = "c")]
    Call(u64),
}

/// Text of a call's last report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReportPiece {
    #[serde(rename = "t")]
    pub(crate) turn: TurnId,
    #[serde(rename = "c")]
    pub(crate) call: CallId,
    /// Length of the report in bytes.
    #[serde(rename = "n")]
    pub(crate) bytes: u64,
    #[serde(rename = "o")]
    pub(crate) offset: u64,
    #[serde(rename = "w")]
    pub(crate) text: String,
}

fn is_not(flag: &bool) -> bool {
    !*flag
}

impl NodeMessage {
    /// Creates a message that only announces the durable position.
    pub(crate) fn new(epoch: Epoch, durable: Seq, at: Timestamp, run: Option<MessageRun>) -> Self {
        Self {
            v: VERSION,
            epoch,
            durable,
            at,
            run,
            pieces: Vec::new(),
            whole: Vec::new(),
            report: None,
            first: false,
            last: false,
        }
    }

    /// Reads a message. `None` if it has another form or version.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let message: Self = serde_json::from_slice(text).ok()?;
        (message.v == VERSION).then_some(message)
    }

    /// Sends the message, in texts of at most this many bytes each. Returns true if all of it was
    /// sent. Pieces that are too long even at the smallest size are dropped.
    pub(crate) fn send(self, most: usize, tell: &mut impl FnMut(&[u8])) -> bool {
        match serde_json::to_vec(&self) {
            Ok(text) if text.len() <= most => {
                tell(&text);
                true
            }
            Ok(_) => match self.split() {
                Some((one, other)) => one.send(most, tell) & other.send(most, tell),
                None => false,
            },
            Err(_) => false,
        }
    }

    /// Splits the message into two that are equivalent to it; `None` if it cannot be split.
    fn split(mut self) -> Option<(Self, Self)> {
        let mut rest = self.clone();
        let pieces = self.pieces.len();
        if pieces > 0 {
            rest.report = None;
        }
        if pieces > 1 {
            rest.pieces = self.pieces.split_off(pieces / 2);
            self.whole = Vec::new();
        } else if let (Some(one), Some(other)) = (self.pieces.first_mut(), rest.pieces.first_mut())
            && let Some(text) = halve(&mut one.text)
        {
            other.offset = one.offset.saturating_add(one.text.len() as u64);
            other.text = text;
            self.whole = Vec::new();
        } else if pieces > 0 && !self.whole.is_empty() {
            self.whole = Vec::new();
            rest.pieces = Vec::new();
        } else if self.whole.len() > 1 {
            rest.whole = self.whole.split_off(self.whole.len() / 2);
        } else if let (Some(one), Some(other)) = (&mut self.report, &mut rest.report)
            && let Some(text) = halve(&mut one.text)
        {
            other.offset = one.offset.saturating_add(one.text.len() as u64);
            other.text = text;
        } else {
            return None;
        }
        if let Some(run) = &mut rest.run {
            run.begins = false;
        }
        (rest.first, self.last) = (false, false);
        Some((self, rest))
    }
}

/// Removes and returns the second half of a text; `None` if it has fewer than two characters.
fn halve(text: &mut String) -> Option<String> {
    let half = match text.floor_char_boundary(text.len() / 2) {
        0 => text.chars().next().map_or(0, char::len_utf8),
        half => half,
    };
    (half > 0 && half < text.len()).then(|| text.split_off(half))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(texts: &[&str]) -> NodeMessage {
        let run = MessageRun { turn: TurnId(2), started: Seq(3), items: 1, begins: true };
        let piece = |(slot, text): (usize, &&str)| TextPiece {
            slot: u32::try_from(slot).unwrap(),
            kind: PartKind::Text,
            offset: 7,
            text: (*text).to_owned(),
        };
        NodeMessage {
            pieces: texts.iter().enumerate().map(piece).collect(),
            whole: vec![(0, Some(1)), (1, None)],
            first: true,
            last: true,
            ..NodeMessage::new(Epoch(5), Seq(9), Timestamp(11), Some(run))
        }
    }

    fn told(message: NodeMessage, most: usize) -> (bool, Vec<NodeMessage>) {
        let mut texts = Vec::new();
        let whole = message.send(most, &mut |text: &[u8]| {
            assert!(text.len() <= most);
            texts.push(text.to_vec());
        });
        let read = texts.iter().map(|text| NodeMessage::read(text).unwrap());
        (whole, read.collect())
    }

    #[test]
    fn a_message_reads_as_it_was_told() {
        let message = message(&["one \"and\"", "\u{1}zwei\n"]);
        assert_eq!(told(message.clone(), 4_096), (true, vec![message]));
    }

    #[test]
    fn what_is_too_long_goes_out_in_pieces_that_join() {
        let text = "\u{2}\"x\u{20ac}".repeat(3_000);
        for texts in [vec![text.as_str()], vec!["a", &text, "b"], vec![&text; 3]] {
            let whole = message(&texts);
            let (all, parts) = told(whole.clone(), 4_096);
            assert!(all && parts.len() > 4);
            let mut joined = vec![String::new(); texts.len()];
            for piece in parts.iter().flat_map(|part| &part.pieces) {
                let so_far = &mut joined[usize::try_from(piece.slot).unwrap()];
                assert_eq!(piece.offset, 7 + so_far.len() as u64);
                so_far.push_str(&piece.text);
            }
            assert_eq!(joined, texts);
            let last = parts.len() - 1;
            for (place, part) in parts.iter().enumerate() {
                let begins = part.run.unwrap().begins;
                assert_eq!((part.first, begins), (place == 0, place == 0));
                assert_eq!(part.last, place == last);
                // A part is announced as complete after all of its text.
                assert_eq!(part.whole.is_empty(), place != last);
            }
        }
    }

    #[test]
    fn parts_that_are_whole_and_reports_go_out_in_pieces_too() {
        let mut many = message(&["x"]);
        many.whole = (0..5_000).map(|slot| (slot, Some(slot))).collect();
        let (all, parts) = told(many.clone(), 4_096);
        let whole: Vec<_> = parts.into_iter().flat_map(|part| part.whole).collect();
        assert!(all && whole == many.whole);
        let text = "\u{3}".repeat(4_096);
        let mut reports = message(&[]);
        reports.whole = Vec::new();
        reports.report = Some(ReportPiece {
            turn: TurnId(2),
            call: CallId(4),
            bytes: 4_096,
            offset: 0,
            text: text.clone(),
        });
        let (all, parts) = told(reports, 4_096);
        let mut joined = String::new();
        for report in parts.into_iter().filter_map(|part| part.report) {
            assert_eq!(report.offset, joined.len() as u64);
            joined.push_str(&report.text);
        }
        assert!(all && joined == text);
    }

    #[test]
    fn what_does_not_go_out_in_the_smallest_pieces_is_said_to_be_dropped() {
        assert_eq!(told(message(&["x"]), 10), (false, vec![]));
    }

    #[test]
    fn what_is_none_of_ours_is_not_read() {
        let good = serde_json::to_string(&message(&["x"])).unwrap();
        assert!(NodeMessage::read(good.as_bytes()).is_some());
        let other = good.replace("\"v\":1", "\"v\":2");
        for bad in ["", "{}", "nonsense", other.as_str(), &good[..good.len() - 1]] {
            assert_eq!(NodeMessage::read(bad.as_bytes()), None, "{bad}");
        }
    }
}

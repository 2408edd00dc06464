//! Names: which streams and subjects a place has, and how a session's id becomes one token.

use windlass_core::SessionId;
use windlass_ports::{ChainLink, MailboxCommandId};

/// Prefix of all subjects.
const ROOT: &str = "windlass";

/// Kinds of messages of an inbox.
pub(crate) const COMMAND: &str = "letter";
pub(crate) const ACKNOWLEDGEMENT: &str = "reply";

/// The names of one place.
#[derive(Debug, Clone)]
pub(crate) struct SubjectNames {
    place: String,
    /// Number of streams that hold the logs.
    pub(crate) shards: u32,
}

impl SubjectNames {
    pub(crate) fn new(place: &str, shards: u32) -> Self {
        let place = place.to_owned();
        Self { place, shards }
    }

    /// The shard that a session's log is in.
    pub(crate) fn shard(&self, session: &SessionId) -> u32 {
        let ChainLink(digest) = ChainLink::genesis(session);
        let [a, b, c, d, ..] = digest;
        u32::from_be_bytes([a, b, c, d]) % self.shards.max(1)
    }

    pub(crate) fn log_stream(&self, shard: u32) -> String {
        format!("WINDLASS_{}_LOG_{shard}", self.place)
    }

    /// The subjects of one shard's logs.
    pub(crate) fn log_subjects(&self, shard: u32) -> String {
        format!("{ROOT}.{}.log.{shard}.*", self.place)
    }

    pub(crate) fn log_subject(&self, session: &SessionId) -> String {
        let shard = self.shard(session);
        format!("{ROOT}.{}.log.{shard}.{}", self.place, token(session))
    }

    /// Returns the subject of notices, outside of all streams, that a log has grown.
    pub(crate) fn wake_subject(&self, session: &SessionId) -> String {
        format!("{ROOT}.{}.wake.{}", self.place, token(session))
    }

    pub(crate) fn lease_stream(&self) -> String {
        format!("WINDLASS_{}_LEASES", self.place)
    }

    pub(crate) fn lease_subjects(&self) -> Vec<String> {
        vec![self.lease_subject_of_all(), self.clock_subject()]
    }

    pub(crate) fn lease_subject_of_all(&self) -> String {
        format!("{ROOT}.{}.lease.*", self.place)
    }

    pub(crate) fn lease_subject(&self, name: &str) -> String {
        format!("{ROOT}.{}.lease.{}", self.place, encode(name))
    }

    /// Returns the subject that is written to learn the server's time.
    pub(crate) fn clock_subject(&self) -> String {
        format!("{ROOT}.{}.clock", self.place)
    }

    pub(crate) fn checkpoint_stream(&self) -> String {
        format!("WINDLASS_{}_SNAPSHOTS", self.place)
    }

    pub(crate) fn checkpoint_subjects(&self) -> String {
        format!("{ROOT}.{}.snapshot.*.*", self.place)
    }

    /// The piece of a session's snapshot; `*` for all of them.
    pub(crate) fn checkpoint_subject(&self, session: &SessionId, piece: &str) -> String {
        format!("{ROOT}.{}.snapshot.{}.{piece}", self.place, token(session))
    }

    pub(crate) fn blob_stream(&self) -> String {
        format!("WINDLASS_{}_BLOBS", self.place)
    }

    pub(crate) fn blob_subjects(&self) -> String {
        format!("{ROOT}.{}.blob.>", self.place)
    }

    /// Returns a subject of a session's blobs: `name.` and a digest, `part.` and a piece of one,
    /// `open.` and an upload.
    pub(crate) fn blob_subject(&self, session: &SessionId, rest: &str) -> String {
        format!("{ROOT}.{}.blob.{}.{rest}", self.place, token(session))
    }

    pub(crate) fn mailbox_stream(&self) -> String {
        format!("WINDLASS_{}_INBOX", self.place)
    }

    pub(crate) fn mailbox_subjects(&self) -> String {
        self.mailbox_subject("*", None, None)
    }

    /// A letter or its reply, by the kind; with none named, or `*`, all of them.
    pub(crate) fn mailbox_subject(
        &self,
        kind: &str,
        session: Option<&SessionId>,
        letter: Option<&MailboxCommandId>,
    ) -> String {
        let all = || "*".to_owned();
        let session = session.map_or_else(all, token);
        let letter = letter.map_or_else(all, |letter| encode(letter.as_str()));
        format!("{ROOT}.{}.inbox.{kind}.{session}.{letter}", self.place)
    }

    /// Returns the subject that records the claim under which letters were delivered last.
    pub(crate) fn fence_subject(&self, session: &SessionId) -> String {
        format!("{ROOT}.{}.inbox.fence.{}.-", self.place, token(session))
    }

    /// Returns the subject of notices, outside of all streams, that a letter was left; `None` for
    /// all sessions.
    pub(crate) fn arrival_subject(&self, session: Option<&SessionId>) -> String {
        let session = session.map_or_else(|| "*".to_owned(), token);
        format!("{ROOT}.{}.came.{session}", self.place)
    }

    /// Returns the subject of notices, outside of all streams, that a session with work left was
    /// released; `None` for all sessions.
    pub(crate) fn freed_subject(&self, session: Option<&SessionId>) -> String {
        let session = session.map_or_else(|| "*".to_owned(), token);
        format!("{ROOT}.{}.freed.{session}", self.place)
    }

    /// Returns the subject of notices, outside of all streams, that a letter was answered.
    pub(crate) fn acknowledged_subject(
        &self,
        session: &SessionId,
        letter: &MailboxCommandId,
    ) -> String {
        let letter = encode(letter.as_str());
        format!("{ROOT}.{}.replied.{}.{letter}", self.place, token(session))
    }

    /// Returns the subject of live events from the node that drives a session.
    pub(crate) fn live_subject(&self, session: &SessionId) -> String {
        format!("{ROOT}.{}.live.{}", self.place, token(session))
    }

    /// Returns the subject on which nodes announce their subscriptions.
    pub(crate) fn interest_subject(&self) -> String {
        format!("{ROOT}.{}.hears", self.place)
    }
}

/// Of a subject of an inbox: the kind, the session, and the token of the letter's id.
pub(crate) fn parse_mailbox_subject(subject: &str) -> Option<(&str, Option<SessionId>, &str)> {
    let (before, letter) = subject.rsplit_once('.')?;
    let (before, session) = before.rsplit_once('.')?;
    let (_, kind) = before.rsplit_once('.')?;
    let session = decode(session).and_then(|session| SessionId::new(&session).ok());
    Some((kind, session, letter))
}

/// Returns true if a text can name a place: 1 to 32 characters of A-Z a-z 0-9 _ -.
pub(crate) fn is_place(text: &str) -> bool {
    (1..=32).contains(&text.len()) && text.bytes().all(is_plain)
}

/// The session of a log's subject.
pub(crate) fn session_of(subject: &str) -> Option<SessionId> {
    let (_, token) = subject.rsplit_once('.')?;
    SessionId::new(&decode(token)?).ok()
}

fn token(session: &SessionId) -> String {
    encode(session.as_str())
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// A text as one token of a subject: what a subject may not hold stands as `=` and two digits.
pub(crate) fn encode(text: &str) -> String {
    let mut token = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_plain(byte) {
            token.push(char::from(byte));
        } else {
            token.push_str(&format!("={byte:02X}"));
        }
    }
    token
}

pub(crate) fn decode(token: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'=' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_token_and_comes_back() {
        for text in ["a", "A_b-9", "a.b", "a.b.c", "0.", "_=".trim_end_matches('=')] {
            let session = SessionId::new(text).unwrap();
            let names = SubjectNames::new("p", 4);
            let subject = names.log_subject(&session);
            assert_eq!(subject.split('.').count(), 5, "{subject}");
            assert_eq!(session_of(&subject), Some(session));
        }
        for text in ["", "a b", "*", ">", "=", "ü", "a\r\n"] {
            let token = encode(text);
            assert!(token.bytes().all(|b| is_plain(b) || b == b'='), "{token}");
            assert_eq!(decode(&token).as_deref(), Some(text));
        }
    }

    #[test]
    fn a_letter_is_found_by_its_subject() {
        let names = SubjectNames::new("p", 4);
        let session = SessionId::new("a.b").unwrap();
        let letter = MailboxCommandId::new("c.d").unwrap();
        let subject = names.mailbox_subject(COMMAND, Some(&session), Some(&letter));
        assert_eq!(subject, "windlass.p.inbox.letter.a=2Eb.c=2Ed");
        assert_eq!(parse_mailbox_subject(&subject), Some((COMMAND, Some(session), "c=2Ed")));
        assert_eq!(names.mailbox_subjects(), "windlass.p.inbox.*.*.*");
    }

    #[test]
    fn sessions_are_spread_over_all_shards() {
        let names = SubjectNames::new("p", 4);
        let mut seen = [0; 4];
        for number in 0..400 {
            let session = SessionId::new(&format!("s{number}")).unwrap();
            seen[names.shard(&session) as usize] += 1;
        }
        assert!(seen.iter().all(|count| *count > 60), "{seen:?}");
    }

    #[test]
    fn a_place_is_a_plain_word() {
        assert!(is_place("windlass") && is_place("a_B-9"));
        assert!(!is_place("") && !is_place("a.b") && !is_place(&"a".repeat(33)));
    }
}

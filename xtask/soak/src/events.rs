//! Server-sent events, cut out of a stream of bytes.

use bytes::Bytes;

/// An event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<u64>,
    pub(crate) kind: String,
    pub(crate) data: String,
}

/// Bytes of events that are not whole yet.
#[derive(Debug, Default)]
pub(crate) struct Events(Vec<u8>);

impl Events {
    /// Adds bytes, and returns the events that are whole then.
    pub(crate) fn add(&mut self, bytes: &Bytes) -> Vec<Event> {
        self.0.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(at) = self.0.windows(2).position(|pair| pair == b"\n\n") {
            let rest = self.0.split_off(at + 2);
            let event = std::mem::replace(&mut self.0, rest);
            events.push(Event::read(&String::from_utf8_lossy(&event)));
        }
        events
    }
}

impl Event {
    fn read(text: &str) -> Self {
        let mut event = Self::default();
        for line in text.lines() {
            match line.split_once(": ") {
                Some(("id", id)) => event.id = id.parse().ok(),
                Some(("event", kind)) => kind.clone_into(&mut event.kind),
                Some(("data", data)) => event.data.push_str(data),
                _ => {}
            }
        }
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_wherever_the_bytes_were_cut() {
        let text = b"retry: 100\n\nid: 7\nevent: fact\ndata: {}\n\n: beat\n\n";
        for cut in 0..text.len() {
            let mut events = Events::default();
            let (before, after) = text.split_at(cut);
            let mut all = events.add(&Bytes::copy_from_slice(before));
            all.extend(events.add(&Bytes::copy_from_slice(after)));
            all.retain(|event| !event.kind.is_empty());
            let fact = Event { id: Some(7), kind: "fact".into(), data: "{}".into() };
            assert_eq!(all, [fact], "cut at {cut}");
        }
    }
}

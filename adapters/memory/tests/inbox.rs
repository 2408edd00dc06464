//! Holds the inbox in memory to the promises of the inbox port.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use windlass_core::SessionId;
use windlass_memory::MemoryStore;
use windlass_ports::{LogStore, Mailbox, MailboxCommand, MailboxCommandId, MailboxErrorKind};
use windlass_testkit::inbox::{InboxFixture, Opened};

struct Memory {
    store: Arc<MemoryStore>,
    brief: Arc<MemoryStore>,
}

impl Memory {
    fn new() -> Self {
        Self {
            store: Arc::new(MemoryStore::new()),
            brief: Arc::new(MemoryStore::new().with_ack_retention(400)),
        }
    }
}

fn opened(store: &Arc<MemoryStore>) -> Opened {
    Opened { store: store.clone(), inbox: Arc::new(store.mailbox()) }
}

#[async_trait::async_trait]
impl InboxFixture for Memory {
    async fn open(&self) -> Opened {
        opened(&self.store)
    }

    async fn open_brief(&self) -> Option<Opened> {
        Some(opened(&self.brief))
    }
}

windlass_testkit::inbox_suite!(Memory::new());

#[tokio::test]
async fn letters_and_replies_have_the_room_of_the_store() {
    let store = MemoryStore::with_limit(1_000);
    let (inbox, id) = (store.mailbox(), SessionId::new("s").unwrap());
    let letter = |id: &str, bytes: usize| MailboxCommand {
        id: MailboxCommandId::new(id).unwrap(),
        bytes: vec![0; bytes].into(),
    };
    let epoch = store.claim(&id).await.unwrap().epoch;
    inbox.send(&id, &letter("a", 600)).await.unwrap();
    let refused = inbox.send(&id, &letter("b", 401)).await.unwrap_err();
    assert_eq!(refused.kind, MailboxErrorKind::Full);
    let beside = SessionId::new("beside").unwrap();
    let refused = inbox.send(&beside, &letter("b", 401)).await.unwrap_err();
    assert_eq!(refused.kind, MailboxErrorKind::Full);
    let a = MailboxCommandId::new("a").unwrap();
    let refused = inbox.acknowledge(&id, epoch, &a, &[0; 401]).await.unwrap_err();
    assert_eq!(refused.kind, MailboxErrorKind::Full);
    inbox.acknowledge(&id, epoch, &a, &[0; 400]).await.unwrap();
    inbox.send(&id, &letter("b", 600)).await.unwrap();
    store.erase(&id, epoch).await.unwrap();
    inbox.send(&id, &letter("c", 1_000)).await.unwrap();
}

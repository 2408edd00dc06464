//! What is stored shows nothing, and nothing that was changed, moved or replaced is read.

use windlass::core::{Epoch, Fact, FactFormat, RecordedFact, Scope, SealedFact, SessionOpened};
use windlass::encrypted::rotate;
use windlass::ports::{SessionFilter, StoreErrorKind, StoredCheckpoint, Tenants};
use windlass_testkit::store::{numbered_facts, sample_facts};

use super::*;

const OTHER: &str = "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

/// A memory store, its keys, and an encrypted store over it.
struct World {
    inner: Arc<MemoryStore>,
    storage: Arc<MemoryKeys>,
    store: Arc<dyn LogStore>,
}

impl World {
    async fn new() -> Self {
        let (inner, storage) = (Arc::new(MemoryStore::new()), Arc::<MemoryKeys>::default());
        let store = over(inner.clone(), storage.clone()).await;
        Self { inner, storage, store }
    }

    /// Opens the store as a process with these master keys does.
    async fn opened_with(&self, masters: &str) -> EncryptedStore {
        let masters = MasterKeys::parse(masters).unwrap();
        let keys = SessionKeys::new(self.storage.clone(), masters);
        EncryptedStore::open(self.inner.clone(), keys).await.unwrap()
    }

    async fn append(&self, name: &str, count: u64) -> Epoch {
        let id = id(name);
        let claim = self.store.claim(&id).await.unwrap();
        let facts = numbered_facts(&id, Seq::ZERO, count);
        self.store.append(&id, claim.epoch, Seq::ZERO, &facts).await.unwrap();
        claim.epoch
    }

    /// Copies the stored facts of a session to another one, changed.
    async fn forge(
        &self,
        from: &str,
        to: &str,
        change: impl Fn(&mut Vec<RecordedFact>),
    ) -> SessionId {
        let mut facts = self.inner.read(&id(from), Seq::ZERO, 99).await.unwrap();
        change(&mut facts);
        let to = id(to);
        let claim = self.inner.claim(&to).await.unwrap();
        self.inner.erase(&to, claim.epoch).await.unwrap();
        let claim = self.inner.claim(&to).await.unwrap();
        let facts = facts.into_iter().zip(1..).map(|(fact, seq)| {
            Arc::new(RecordedFact { session: to.clone(), seq: Seq(seq), ..fact })
        });
        let facts: Vec<_> = facts.collect();
        self.inner.append(&to, claim.epoch, Seq::ZERO, &facts).await.unwrap();
        to
    }
}

async fn kind(store: &dyn LogStore, session: &SessionId) -> StoreErrorKind {
    store.read(session, Seq::ZERO, 99).await.unwrap_err().kind
}

/// The same fact, of a tenant whose name tells nothing: names of tenants are stored in plain text.
fn of_acme(recorded: Arc<RecordedFact>) -> Arc<RecordedFact> {
    let mut recorded = RecordedFact::clone(&recorded);
    if let Fact::SessionOpened(opened) = &mut recorded.fact
        && let Scope::Principal { principal, claims, .. } = (*opened.owner).clone()
    {
        let owner = Scope::Principal { tenant: "acme".to_owned(), principal, claims };
        *opened = SessionOpened { owner: owner.into(), ..opened.clone() };
    }
    Arc::new(recorded)
}

#[tokio::test]
async fn nothing_of_a_log_is_stored_in_plain_text() {
    let folder = TempDir::new().unwrap();
    let inner = Arc::new(FileStore::open(folder.path().join("store")).unwrap());
    let store = over(inner, keys_in(&folder.path().join("keys"))).await;
    let id = id("s");
    let claim = store.claim(&id).await.unwrap();
    let facts: Vec<_> = sample_facts(&id).into_iter().map(of_acme).collect();
    store.append(&id, claim.epoch, Seq::ZERO, &facts).await.unwrap();
    let checkpoint = StoredCheckpoint {
        seq: Seq(1),
        version: "v".to_owned(),
        bytes: b"plain checkpoint".to_vec(),
    };
    store.write_checkpoint(&id, &checkpoint).await.unwrap();
    assert_eq!(store.read_checkpoint(&id, "v").await.unwrap(), Some(checkpoint));
    store.release(&id, claim.epoch).await.unwrap();
    drop(store);
    let mut files = 0;
    let mut folders = vec![folder.path().to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let bytes = std::fs::read(&path).unwrap();
            for word in
                ["0123456789abcdef", "quoted", "plain checkpoint", "CallStarted", "ItemAdded"]
            {
                let found = bytes.windows(word.len()).any(|part| part == word.as_bytes());
                assert!(!found, "{word} is in {}", path.display());
            }
        }
    }
    assert!(files >= 3, "{files} files");
}

#[tokio::test]
async fn a_listing_needs_no_key_and_shows_tenant_and_open_work() {
    let world = World::new().await;
    let id = id("s");
    let claim = world.store.claim(&id).await.unwrap();
    let facts = sample_facts(&id);
    world.store.append(&id, claim.epoch, Seq::ZERO, &facts).await.unwrap();
    let listed = world.inner.sessions(SessionFilter::ALL_TENANTS, None, 9).await.unwrap();
    let plain = windlass::ports::SessionSummary::after(None, facts.iter().map(AsRef::as_ref));
    assert_eq!(listed[0].summary, plain);
    let tenant = plain.unwrap().tenant.unwrap().to_string();
    let own = SessionFilter::of(Tenants::One(tenant));
    assert_eq!(world.store.sessions(&own, None, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_was_moved_changed_or_replaced_is_not_read() {
    let world = World::new().await;
    world.append("one", 4).await;
    world.append("two", 4).await;
    let swap = |facts: &mut Vec<RecordedFact>| facts.swap(1, 2);
    let cut_in = |facts: &mut Vec<RecordedFact>| drop(facts.remove(1));
    let time = |facts: &mut Vec<RecordedFact>| facts[2].ts.0 += 1;
    let size = |facts: &mut Vec<RecordedFact>| {
        let sealed = facts[2].format.sealed.clone().unwrap();
        let sealed = SealedFact { bytes: sealed.bytes + 1, ..(*sealed).clone() };
        facts[2].format.sealed = Some(Arc::new(sealed));
    };
    let text = |facts: &mut Vec<RecordedFact>| {
        let mut sealed = (**facts[3].format.sealed.as_ref().unwrap()).clone();
        let last = sealed.text.pop().unwrap();
        sealed.text.insert(9, last);
        facts[3].format.sealed = Some(Arc::new(sealed));
    };
    type Change<'a> = &'a dyn Fn(&mut Vec<RecordedFact>);
    let changes: [Change<'_>; 5] = [&swap, &cut_in, &time, &size, &text];
    for change in changes {
        let changed = world.forge("one", "one", change).await;
        let kind = kind(&*world.store, &changed).await;
        assert!(matches!(kind, StoreErrorKind::Corrupt { .. }), "{kind:?}");
        // The log of before, for the next one.
        let claim = world.inner.claim(&changed).await.unwrap();
        world.store.erase(&changed, claim.epoch).await.unwrap();
        world.append("one", 4).await;
    }
    // A whole log under another session's id, which has a key of its own.
    let moved = world.forge("one", "two", |_| {}).await;
    let kind_of_moved = kind(&*world.store, &moved).await;
    assert!(matches!(kind_of_moved, StoreErrorKind::Corrupt { .. }), "{kind_of_moved:?}");
    // Plain facts instead of encrypted ones.
    let plain = world
        .forge("one", "one", |facts| {
            facts.iter_mut().for_each(|fact| fact.format = FactFormat::CURRENT);
        })
        .await;
    assert_eq!(kind(&*world.store, &plain).await, StoreErrorKind::WrongKey);
}

#[tokio::test]
async fn without_its_key_a_log_is_not_read_and_not_changed() {
    let world = World::new().await;
    let epoch = world.append("s", 3).await;
    let id = id("s");
    world.store.release(&id, epoch).await.unwrap();
    let other = world.opened_with(OTHER).await;
    assert_eq!(kind(&other, &id).await, StoreErrorKind::WrongKey);
    let claim = other.claim(&id).await.unwrap();
    let next = numbered_facts(&id, Seq(3), 1);
    let refused = other.append(&id, claim.epoch, Seq(3), &next).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::WrongKey);
    assert!(refused.to_string().contains("master key"), "{refused}");
    other.release(&id, claim.epoch).await.unwrap();
    assert_eq!(world.store.read(&id, Seq::ZERO, 9).await.unwrap().len(), 3);
    // Without the encryption, no engine continues what is stored.
    let stored = world.inner.read(&id, Seq::ZERO, 1).await.unwrap();
    assert!(windlass::core::evolve_first(&stored[0]).is_err());
    // With the key destroyed, the log is there and cannot be read, nor continued.
    world.storage.hide_key(&id).await.unwrap();
    world.storage.destroy_hidden_key(&id).await.unwrap();
    let later = world.opened_with(MASTER).await;
    assert_eq!(kind(&later, &id).await, StoreErrorKind::WrongKey);
    let claim = later.claim(&id).await.unwrap();
    let refused = later.append(&id, claim.epoch, Seq(3), &next).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::WrongKey);
    assert!(world.storage.sessions().await.unwrap().is_empty(), "no key was made");
}

#[tokio::test]
async fn after_a_rotation_the_old_master_key_is_not_needed() {
    let world = World::new().await;
    for name in ["a", "b"] {
        let epoch = world.append(name, 2).await;
        world.store.release(&id(name), epoch).await.unwrap();
    }
    let both = MasterKeys::parse(&format!("{OTHER} {MASTER}")).unwrap();
    let rotation = rotate(&*world.storage, &both).await.unwrap();
    assert_eq!((rotation.rotated, rotation.current, rotation.failed.len()), (2, 0, 0));
    let rotation = rotate(&*world.storage, &both).await.unwrap();
    assert_eq!((rotation.rotated, rotation.current), (0, 2));
    let (new, old) = (world.opened_with(OTHER).await, world.opened_with(MASTER).await);
    for name in ["a", "b"] {
        assert_eq!(new.read(&id(name), Seq::ZERO, 9).await.unwrap().len(), 2);
        assert_eq!(kind(&old, &id(name)).await, StoreErrorKind::WrongKey);
    }
    // Keys of an unknown master key are left alone.
    let alone = MasterKeys::parse(MASTER).unwrap();
    let rotation = rotate(&*world.storage, &alone).await.unwrap();
    assert_eq!((rotation.rotated, rotation.failed.len()), (0, 2));
    assert_eq!(new.read(&id("a"), Seq::ZERO, 9).await.unwrap().len(), 2);
}

#[tokio::test]
async fn erasing_destroys_the_key_also_if_it_was_interrupted() {
    let world = World::new().await;
    let epoch = world.append("s", 2).await;
    let id = id("s");
    let copy = world.inner.read(&id, Seq::ZERO, 9).await.unwrap();
    // A process that ends before the log is erased: the session is as it was.
    world.storage.hide_key(&id).await.unwrap();
    let next = world.opened_with(MASTER).await;
    assert_eq!(next.read(&id, Seq::ZERO, 9).await.unwrap().len(), 2);
    assert!(world.store.erase(&id, Epoch(epoch.0 + 1)).await.is_err(), "a stale claim");
    assert_eq!(world.store.read(&id, Seq::ZERO, 9).await.unwrap().len(), 2);
    world.store.erase(&id, epoch).await.unwrap();
    assert!(world.storage.sessions().await.unwrap().is_empty());
    assert!(world.storage.hidden().await.unwrap().is_empty());
    // The copy in a backup has no key any more.
    let claim = world.inner.claim(&id).await.unwrap();
    let copy: Vec<_> = copy.into_iter().map(Arc::new).collect();
    world.inner.append(&id, claim.epoch, Seq::ZERO, &copy).await.unwrap();
    assert_eq!(kind(&*world.store, &id).await, StoreErrorKind::WrongKey);
    world.inner.erase(&id, claim.epoch).await.unwrap();
    // A process that ends after the log was erased: the next one destroys the key.
    let epoch = world.append("s", 1).await;
    world.storage.hide_key(&id).await.unwrap();
    world.inner.erase(&id, epoch).await.unwrap();
    world.opened_with(MASTER).await;
    assert!(world.storage.hidden().await.unwrap().is_empty());
}

#[tokio::test]
async fn keys_without_a_log_are_destroyed_on_request() {
    let world = World::new().await;
    for name in ["kept", "gone"] {
        world.append(name, 1).await;
    }
    let claim = world.inner.claim(&id("gone")).await.unwrap();
    world.inner.erase(&id("gone"), claim.epoch).await.unwrap();
    let store = world.opened_with(MASTER).await;
    assert_eq!(store.destroy_unused_keys().await.unwrap(), 1);
    assert_eq!(world.storage.sessions().await.unwrap(), [id("kept")]);
    assert_eq!(store.read(&id("kept"), Seq::ZERO, 9).await.unwrap().len(), 1);
}

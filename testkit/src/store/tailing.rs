//! Cases of following a log. A store that declares no tail is held to refusing it.
//!
//! Nothing here waits for a race to be won: a wait that must end has a limit far above what it
//! takes, and one that must go on is looked at for a moment, which no sound store can fail.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::timeout;
use windlass_core::{Seq, SessionId};
use windlass_ports::{Fencing, LogStore, StoreError, StoreErrorKind};

use super::StoreFixture;
use super::violation::{Checked, Violation, done, ensure, refused, run, run_in_parallel};
use super::writer::{Writer, session};

/// How long a follower waits at most: far longer than a fixture's patience.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long a wait that must go on is looked at.
const MOMENT: Duration = Duration::from_millis(40);
/// The longest time that may be declared, in milliseconds.
const MOST_MS: u64 = 30_000;

/// A writer whose log can be followed, with three facts, and the time that is declared.
struct Followed {
    writer: Writer,
    declared: Duration,
    /// Within how long what must happen at once has happened.
    limit: Duration,
}

impl Followed {
    /// None where the store follows no logs, and says so.
    async fn new(at: &dyn StoreFixture) -> Result<Option<Self>, Violation> {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(3)).await?;
        let Some(declared) = store.capabilities().tail_delay_ms else {
            let tailed = store.tail(&writer.id, Seq::ZERO, Duration::ZERO).await;
            let what = "following a log, which is not declared,";
            refused(tailed, &StoreErrorKind::Unsupported, what)?;
            return Ok(None);
        };
        ensure!(
            declared <= MOST_MS,
            "the store declares that it tells what others append within {declared} ms: that is \
             not following"
        );
        let declared = Duration::from_millis(declared);
        Ok(Some(Self { writer, declared, limit: at.patience() }))
    }

    async fn tail(&self, after: Seq, patience: Duration) -> Result<Seq, StoreError> {
        let Writer { store, id, .. } = &self.writer;
        store.tail(id, after, patience).await
    }
}

/// Where the log already ends after the position, the answer comes at once and tells the end.
pub fn a_tail_answers_at_once_where_the_log_goes_on(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some(followed) = Followed::new(at).await? else {
            return Ok(());
        };
        for after in [0, 1, 2].map(Seq) {
            for patience in [Duration::ZERO, PATIENCE] {
                let limit = followed.limit;
                let answer = timeout(limit, followed.tail(after, patience)).await;
                let Ok(answer) = answer else {
                    return Err(Violation::new(format!(
                        "a tail after {after} of a log that ends at 3 still waits after {limit:?}"
                    )));
                };
                let last = done(answer, &format!("following after {after}"))?;
                ensure!(
                    last == Seq(3),
                    "a tail after {after} of a log that ends at 3 answers {last}"
                );
            }
        }
        Ok(())
    })
}

/// Whoever waits is woken by an append of the same store object that goes beyond the position, also
/// where many wait and some have gone; and not by one that does not go beyond it.
pub fn a_tail_wakes_at_an_append(at: &dyn StoreFixture) -> Checked {
    run_in_parallel(async {
        let Some(followed) = Followed::new(at).await? else {
            return Ok(());
        };
        let Followed { mut writer, limit, .. } = followed;
        for _ in 0..3 {
            let last = writer.last();
            let mut gone = followers(&writer.store, &writer.id, [last; 4]);
            let mut next = followers(&writer.store, &writer.id, [last; 4]);
            let mut after_next = followers(&writer.store, &writer.id, [last.plus(1); 4]);
            still_wait(&mut next, last).await?;
            gone.abort_all();
            writer.append(writer.next(1)).await?;
            answer(&mut next, last, limit).await?;
            still_wait(&mut after_next, last.plus(1)).await?;
            writer.append(writer.next(2)).await?;
            answer(&mut after_next, last.plus(1), limit).await?;
        }
        writer.check().await
    })
}

/// Whoever waits in another store object at the same place, where there may be one, is woken within
/// the declared time.
pub fn a_tail_wakes_at_an_append_of_another_store_object(at: &dyn StoreFixture) -> Checked {
    run_in_parallel(async {
        let Some(Followed { mut writer, declared, limit }) = Followed::new(at).await? else {
            return Ok(());
        };
        if writer.store.capabilities().fencing == Fencing::Object {
            return Ok(());
        }
        let other = match at.open_beside().await {
            Ok(other) => other,
            Err(error) if error.kind == StoreErrorKind::Locked => return Ok(()),
            Err(error) => {
                let what = "a second store object at the same place";
                return Err(Violation::new(format!("{what} did not open: {error}")));
            }
        };
        for _ in 0..3 {
            let last = writer.last();
            let mut waiting = followers(&other, &writer.id, [last; 2]);
            still_wait(&mut waiting, last).await?;
            writer.append(writer.next(1)).await?;
            answer(&mut waiting, last, declared + limit).await?;
        }
        writer.check().await
    })
}

type Followers = JoinSet<Result<Seq, StoreError>>;

/// Followers of a log, each after a position.
fn followers<const N: usize>(
    store: &Arc<dyn LogStore>,
    id: &SessionId,
    after: [Seq; N],
) -> Followers {
    let mut followers = JoinSet::new();
    for after in after {
        let (store, id) = (store.clone(), id.clone());
        followers.spawn(async move { store.tail(&id, after, PATIENCE).await });
    }
    followers
}

/// Holds followers to waiting on.
async fn still_wait(followers: &mut Followers, after: Seq) -> Checked {
    match timeout(MOMENT, followers.join_next()).await {
        Err(_) => Ok(()),
        Ok(ended) => Err(Violation::new(format!(
            "a tail after {after} of a log that ends there answers {ended:?} before its patience \
             is over"
        ))),
    }
}

/// Holds followers to answering soon, with what lies after their position.
async fn answer(followers: &mut Followers, after: Seq, soon: Duration) -> Checked {
    let begun = Instant::now();
    while !followers.is_empty() {
        let left = soon.saturating_sub(begun.elapsed());
        let Ok(Some(ended)) = timeout(left, followers.join_next()).await else {
            return Err(Violation::new(format!(
                "{} tails after {after} still wait {soon:?} after an append behind it",
                followers.len()
            )));
        };
        let last = ended.map_err(|error| Violation::new(format!("a tail died: {error}")))?;
        let last = done(last, "following a log")?;
        ensure!(last > after, "a tail after {after} was woken and answers {last}");
    }
    Ok(())
}

/// When the patience is over and the log does not go on, the answer is the last position, and does
/// not come earlier.
pub fn a_tail_answers_when_patience_is_over(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some(followed) = Followed::new(at).await? else {
            return Ok(());
        };
        for after in [3, 4, u64::MAX].map(Seq) {
            for patience in [0, 1, 60].map(Duration::from_millis) {
                let begun = Instant::now();
                let limit = followed.limit;
                let answer = timeout(limit, followed.tail(after, patience)).await;
                let Ok(answer) = answer else {
                    return Err(Violation::new(format!(
                        "a tail with a patience of {patience:?} still waits after {limit:?}"
                    )));
                };
                let last = done(answer, &format!("following after {after}"))?;
                let took = begun.elapsed();
                ensure!(
                    last == Seq(3),
                    "a tail after {after} of a log that ends at 3 answers {last}"
                );
                ensure!(
                    took >= patience,
                    "a tail with a patience of {patience:?} gave up after {took:?}"
                );
            }
        }
        Ok(())
    })
}

/// A session that does not exist is not followed.
pub fn a_tail_of_no_session_is_unknown(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some(Followed { writer, limit, .. }) = Followed::new(at).await? else {
            return Ok(());
        };
        let claimed = Writer::new(&writer.store, "only-claimed").await?;
        for id in [session("never-seen")?, claimed.id] {
            let tailed = timeout(limit, writer.store.tail(&id, Seq::ZERO, MOMENT)).await;
            let Ok(tailed) = tailed else {
                return Err(Violation::new(format!(
                    "a tail of {id}, which does not exist, still waits after {limit:?}"
                )));
            };
            refused(
                tailed,
                &StoreErrorKind::Unknown,
                &format!("following {id}, which does not exist,"),
            )?;
        }
        Ok(())
    })
}

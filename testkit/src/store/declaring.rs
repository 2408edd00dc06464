//! Cases about what a store declares: a wrong declaration fails either way.

use windlass_core::Seq;
use windlass_ports::{ChainLink, Fencing, SessionClaim, StoreErrorKind};

use super::StoreFixture;
use super::facts::numbered_facts;
use super::violation::{Checked, Violation, done, ensure, run};
use super::writer::Writer;

/// Verifying tells the last link of the chain over the log's text forms, as every store defines it.
///
/// # Errors
/// A violation when it is another.
pub fn the_chain_is_that_of_the_log(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        for count in [1, 3] {
            writer.append(writer.next(count)).await?;
            let verified = done(store.verify(&writer.id).await, "verifying")?;
            let facts = done(store.read(&writer.id, Seq::ZERO, 10).await, "reading")?;
            let chain = ChainLink::of_log(&writer.id, &facts);
            let chain = chain.map_err(|error| Violation::new(error.to_string()))?;
            ensure!(
                verified.chain == chain,
                "the log's chain ends in {chain}, and verifying tells {}",
                verified.chain
            );
        }
        Ok(())
    })
}

/// A claim fences off the writers of another store object at the same place exactly where the
/// store declares it: of two objects that both claim a session, one at most appends to its log.
///
/// # Errors
/// A violation when it is otherwise.
pub fn other_writers_are_fenced_as_declared(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let declared = store.capabilities().fencing;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(1)).await?;
        let fenced = match beside(at, &writer).await? {
            Beside::Refused => Fencing::AllWriters,
            // A store object that knows nothing of the other one still takes the log to end where
            // it left it.
            Beside::Writes(last) => {
                if writes(&writer, writer.last()).await || writes(&writer, last).await {
                    Fencing::Object
                } else {
                    Fencing::AllWriters
                }
            }
        };
        ensure!(
            fenced == declared,
            "the fencing of {declared:?} is declared, and two store objects find that of {fenced:?}"
        );
        Ok(())
    })
}

/// Returns true if the first writer's append after a position is taken.
async fn writes(writer: &Writer, after: Seq) -> bool {
    let facts = numbered_facts(&writer.id, after, 1);
    writer.offer(after, &facts).await.is_ok()
}

/// What becomes of another store object's attempt to write the same session.
enum Beside {
    /// It may not.
    Refused,
    /// It may; its log now ends here.
    Writes(Seq),
}

async fn beside(at: &dyn StoreFixture, writer: &Writer) -> Result<Beside, Violation> {
    let other = match at.open_beside().await {
        Ok(other) => other,
        Err(error) if error.kind == StoreErrorKind::Locked => return Ok(Beside::Refused),
        Err(error) => {
            let what = "a second store object at the same place";
            return Err(Violation::new(format!("{what} could not be opened: {error}")));
        }
    };
    let SessionClaim { epoch, last, .. } = match other.claim(&writer.id).await {
        Ok(claimed) => claimed,
        Err(error) if error.kind == StoreErrorKind::Locked => return Ok(Beside::Refused),
        Err(error) => {
            let what = "claiming in a second store object";
            return Err(Violation::new(format!("{what} failed: {error}")));
        }
    };
    let facts = numbered_facts(&writer.id, last, 1);
    let appended = other.append(&writer.id, epoch, last, &facts).await;
    done(appended, "appending in a second store object that has claimed")?;
    Ok(Beside::Writes(last.plus(1)))
}

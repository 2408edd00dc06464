//! `windlass erase`: a session's log, what is kept beside it, its snapshot.

use windlass::core::Seq;

use crate::args::Erase;
use crate::exit::{Exit, Failure};
use crate::present::tell;
use crate::wiring::Site;

pub(super) async fn erase(args: Erase) -> Result<Exit, Failure> {
    let site = Site::new(&args.place)?;
    let opened = site.open_to_read().await?;
    let id = &args.session;
    if !opened.store.capabilities().erase {
        let words = format!(
            "{} does not erase sessions: copy those that are to stay to another store, and remove \
             this one",
            site.store
        );
        return Err(Failure::new(Exit::Store, words));
    }
    // A claim would begin a session that is not there.
    opened.store.read(id, Seq::ZERO, 1).await?;
    if !args.yes {
        let words = format!(
            "session {id} in {} would be gone for good, with its log and its outputs: say --yes",
            site.store
        );
        return Err(Failure::usage(words));
    }
    let claim = opened.store.claim(id).await?;
    // First what the log names: erased the other way round, nothing would say that it is there.
    let beside = opened.blobs.erase(id).await;
    let erased = match beside {
        Ok(()) => opened
            .store
            .erase(id, claim.epoch)
            .await
            .map_err(Failure::from),
        Err(error) => Err(Failure::new(Exit::Store, error.to_string())),
    };
    if let Err(mut failure) = erased {
        opened.store.release(id, claim.epoch).await?;
        failure
            .message
            .push_str(". It is not erased: erase it again");
        return Err(failure);
    }
    tell(&format!("session {id} is erased"));
    Ok(Exit::Completed)
}

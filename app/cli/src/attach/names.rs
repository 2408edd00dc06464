//! Sessions of a server by their id, the beginning of it, or the word `last`.

use serde::Deserialize;
use windlass_engine::core::SessionId;

use super::{RemoteServer, RequestFailure};
use crate::exit::Failure;

/// Word for the session that changed last.
const LAST: &str = "last";

/// Session of a listing.
#[derive(Deserialize)]
struct Listed {
    id: SessionId,
}

/// Page of a listing.
#[derive(Deserialize)]
struct ListedPage {
    sessions: Vec<Listed>,
}

impl RemoteServer {
    /// Returns the id of the session that is meant. An existing id wins.
    ///
    /// # Errors
    /// [`Failure`] when none or several sessions are meant, or the server does not answer.
    pub(crate) async fn find(&self, name: &str) -> Result<SessionId, Failure> {
        let found = self.named(name).await.map_err(RequestFailure::into_failure)?;
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] if name == LAST => Err(Failure::usage("there is no session yet to continue")),
            [] => Err(Failure::usage(format!("there is no session {name:?}"))),
            [one, other, ..] => Err(Failure::usage(format!(
                "{name:?} names several sessions, for example {one} and {other}: give more of the id"
            ))),
        }
    }

    /// Returns at most two sessions, one alone if the name is its whole id.
    async fn named(&self, name: &str) -> Result<Vec<SessionId>, RequestFailure> {
        let listed = async |path: &str| {
            let page: ListedPage = self.get(path).await?;
            Ok(page.sessions.into_iter().map(|one| one.id).collect::<Vec<_>>())
        };
        let Ok(whole) = SessionId::new(name) else {
            return Ok(Vec::new());
        };
        match self.session(whole).get::<Listed>("").await {
            Ok(exact) => return Ok(vec![exact.id]),
            Err(failure) if failure.is_refusal() => {}
            Err(failure) => return Err(failure),
        }
        if name == LAST {
            return listed("/v1/sessions?order=changed&limit=1").await;
        }
        // Ids are listed in their order, and those that begin so follow it.
        let after = listed(&format!("/v1/sessions?after={name}&limit=2")).await?;
        Ok(after.into_iter().filter(|id| id.as_str().starts_with(name)).collect())
    }
}

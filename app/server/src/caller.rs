//! The caller: on whose behalf a request acts. Put into the request once its token is known.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use windlass::core::Scope;

use crate::access::{Grant, Right, TokenHash};
use crate::problem::{Code, Problem};
use crate::tenant::Tenant;

/// On whose behalf a request acts.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) tenant: Arc<Tenant>,
    pub(crate) grant: Arc<Grant>,
    /// The token that it came with: a stream ends when that is known no more.
    pub(crate) token: TokenHash,
}

impl Caller {
    /// The scope that it acts with.
    pub(crate) fn scope(&self) -> &Scope {
        &self.grant.scope
    }

    /// Goes on only if it may do this.
    pub(crate) fn may(&self, right: Right) -> Result<(), Problem> {
        if self.grant.rights.has(right) {
            return Ok(());
        }
        let name = match right {
            Right::Read => "read",
            Right::Run => "run",
            Right::Approve => "approve",
        };
        let detail = format!("the token has not the right {name:?}: use one that has");
        Err(Problem::new(Code::Forbidden, detail))
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| Problem::new(Code::Unauthorized, "send Authorization: Bearer TOKEN"))
    }
}

//! Login of a build without the feature `oauth`: there is none.

use std::path::Path;
use std::sync::Arc;

use windlass_kit_http::Secret;

use crate::config::McpServer;
use crate::connection::MakeWire;
use crate::name::ServerName;
use crate::server::LoginStatus;

/// Login at one server, which does not exist.
pub(crate) enum Login {}

impl Login {
    pub(crate) fn of(
        _: &ServerName,
        _: &McpServer,
        _: Option<&Path>,
        _: &MakeWire,
    ) -> Option<Arc<Self>> {
        None
    }

    pub(crate) async fn token(self: &Arc<Self>) -> Option<Secret> {
        match **self {}
    }

    pub(crate) async fn renewed(self: &Arc<Self>, _: &Secret) -> Option<Secret> {
        match **self {}
    }

    pub(crate) async fn wants_more(&self, _: u16, _: &str) -> bool {
        match *self {}
    }

    pub(crate) fn demand(&self) -> Option<String> {
        match *self {}
    }

    pub(crate) fn status(&self) -> Option<LoginStatus> {
        match *self {}
    }
}

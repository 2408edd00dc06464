//! Connection: the server of a conversation, in this process or elsewhere.

use std::path::PathBuf;
use std::time::Duration;

use windlass_http::Secret;
use windlass_server::Server;

use crate::args::ChatArgs;
use crate::attach::RemoteServer;
use crate::exit::Failure;
use crate::wiring::{self, Adapters, IN_PROCESS_HOST, OwnServer};

/// Time for the process to end beyond that of its server.
const SPARE: Duration = Duration::from_secs(1);

/// Server of a conversation.
pub(super) struct Connection {
    pub(super) server: RemoteServer,
    /// Server in this process; `None` for one elsewhere.
    pub(super) own: Option<OwnConnection>,
}

/// Server in this process.
pub(super) struct OwnConnection {
    pub(super) server: Server,
    pub(super) workspace: PathBuf,
    /// Name of the profile that confines commands.
    pub(super) sandbox: String,
    /// Time limit for the end of the process once it leaves.
    drain: Duration,
    node: Option<wiring::node::Node>,
}

impl OwnConnection {
    /// Releases the sessions. Turns that are open continue when they are resumed.
    pub(super) async fn leave(self) {
        // A store that does not answer keeps nobody at the terminal.
        crate::command::end_within(self.drain + SPARE);
        self.server.hand_off().await;
        if let Some(node) = self.node {
            node.leave().await;
        }
    }
}

/// Connects to the server that the arguments name, or composes one in this process.
pub(super) async fn connect(args: &ChatArgs, adapters: &Adapters) -> Result<Connection, Failure> {
    if let Some(address) = &args.server {
        let token = crate::command::server_token(args.token_file.as_deref())?;
        return Ok(Connection { server: RemoteServer::new(address, token)?, own: None });
    }
    let site = adapters.workspace(&args.place)?;
    let profile = args.shape.sandbox.profile.as_deref();
    let sandbox = wiring::sandbox(profile, &site, &site.workspace, &[])?.profile.name.clone();
    let workspace = site.workspace;
    let OwnServer { server, token, node, drain } =
        wiring::compose_own(&args.serve_args(), adapters).await?;
    let wire = server.in_process();
    let remote = RemoteServer::over(wire, &format!("http://{IN_PROCESS_HOST}"), Secret::new(token));
    Ok(Connection {
        server: remote,
        own: Some(OwnConnection { server, workspace, sandbox, drain, node }),
    })
}

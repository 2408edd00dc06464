//! `windlass mcp serve`: runs sessions for one MCP client over standard input and output.

use std::time::Duration;

use tokio::io::{stdin, stdout};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::serve::end_within;
use crate::args::McpServeArgs;
use crate::exit::{ExitKind, Failure};
use crate::wiring::{self, Adapters, OwnServer};

/// Time for the runtime to end beyond that of the server.
const SPARE: Duration = Duration::from_secs(1);

pub(super) async fn serve(args: McpServeArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let stop = StopSignals::listen()?;
    let OwnServer { server, token, node, drain } =
        wiring::compose_own(&args.into(), adapters).await?;
    let stopped = async move {
        stop.wait().await;
        end_within(drain + SPARE);
    };
    let watched = server.clone();
    let serving = async {
        let served = Box::pin(server.serve_mcp(&token, (stdin(), stdout()), stopped)).await;
        if let Some(node) = node {
            node.leave().await;
        }
        served
    };
    tokio::select! {
        served = serving => match served {
            Ok(()) => Ok(ExitKind::Completed),
            Err(error) => Err(Failure::new(
                ExitKind::Failed,
                format!("cannot speak with the client: {error}; it must speak MCP"),
            )),
        },
        reason = watched.store_ended() => {
            let words = format!("{reason}. This process ends; resume continues the turns");
            Err(Failure::new(ExitKind::Store, words))
        }
    }
}

/// Signals that end the server.
struct StopSignals([Signal; 3]);

impl StopSignals {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind: SignalKind| {
            signal(kind).map_err(|error| {
                Failure::new(ExitKind::Failed, format!("cannot listen for signals: {error}"))
            })
        };
        Ok(Self([
            listen(SignalKind::interrupt())?,
            listen(SignalKind::terminate())?,
            listen(SignalKind::hangup())?,
        ]))
    }

    /// Waits for the first one.
    async fn wait(self) {
        let [mut interrupt, mut terminate, mut hang_up] = self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
    }
}

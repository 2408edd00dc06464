//! `windlass serve`: runs sessions for any number of clients over HTTP.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::closed;
use crate::args::ServeArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_error, print_line, print_notice};
use crate::wiring::{self, Adapters, ComposedServer, Reload};

pub(super) async fn serve(args: ServeArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    if args.new_token {
        return new_token();
    }
    // From here on a signal is a message to the server, not the end of the process.
    let signals = ServerSignals::listen()?;
    let ComposedServer { server, listener, link, reload, recovery, node, drain } =
        wiring::compose(&args, adapters).await?;
    let (tell_stop, mut stop) = mpsc::channel(1);
    let (tell_again, mut again) = mpsc::channel(1);
    tokio::spawn(signals.run(reload, tell_stop, tell_again));
    print_notice(&link);
    for tenant in recovery {
        tokio::spawn(tenant.run());
    }
    let stopped = async move {
        let _ = stop.recv().await;
        end_within(drain);
    };
    let watched = server.clone();
    let serving = async {
        let served = server.serve(listener, stopped).await;
        // Other nodes continue the sessions that did not come to rest in time.
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
                format!("cannot accept connections any more: {error}; restart the server"),
            )),
        },
        Some(exit) = again.recv() => Ok(exit),
        // Whoever supervises the process starts it again, and every turn continues.
        reason = watched.store_ended() => Err(Failure::new(
            ExitKind::Store,
            format!("{reason}. This process ends; the next one continues the turns"),
        )),
    }
}

/// Ends the process after this time. It has stopped by then unless its store, or a node's, does not
/// answer: nothing that was acknowledged is lost by that.
pub(crate) fn end_within(time: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(time);
        print_error("the store did not close in time: the process ends without it");
        std::process::exit(i32::from(ExitKind::Completed.code()));
    });
}

fn new_token() -> Result<ExitKind, Failure> {
    let token = wiring::fresh_token()?;
    let hash = windlass_server::TokenHash::of(&token);
    print_line(&format!("token  {token}\nsha256 {hash}")).map_err(closed)?;
    Ok(ExitKind::Completed)
}

/// Signals of a server.
struct ServerSignals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl ServerSignals {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind: SignalKind| {
            signal(kind).map_err(|error| {
                Failure::new(ExitKind::Failed, format!("cannot listen for signals: {error}"))
            })
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Reads the configuration again on SIGHUP. The first other signal stops the server, and the
    /// second ends the process.
    async fn run(mut self, reload: Reload, stop: mpsc::Sender<()>, again: mpsc::Sender<ExitKind>) {
        let mut asked = false;
        loop {
            let exit = tokio::select! {
                _ = self.hang_up.recv() => {
                    match reload.reload() {
                        Ok(words) => print_notice(&words),
                        Err(failure) => print_error(&format!("{}; nothing was changed", failure.message)),
                    }
                    continue;
                }
                _ = self.interrupt.recv() => ExitKind::Interrupted,
                _ = self.terminate.recv() => ExitKind::Terminated,
            };
            // A receiver that has stopped listening has ended already.
            if asked {
                let _ = again.send(exit).await;
                return;
            }
            asked = true;
            let _ = stop.send(()).await;
        }
    }
}

//! `windlass attach`: shows a session of a server in this terminal.

use std::path::Path;

use windlass_engine::core::Seq;
use windlass_http::Secret;

use crate::args::AttachArgs;
use crate::attach::{AttachOptions, RemoteServer};
use crate::exit::{ExitKind, Failure};
use crate::signals::Signals;

/// Environment variable with the token.
const TOKEN: &str = "WINDLASS_TOKEN";
/// Most bytes of a token file.
const MOST: u64 = 4096;

pub(super) async fn attach(args: AttachArgs) -> Result<ExitKind, Failure> {
    let token = token(args.token_file.as_deref())?;
    let server = RemoteServer::new(&args.server, token)?;
    let watching = AttachOptions { after: args.after.map(Seq), once: args.once, json: args.json };
    let (mut signals, again) = Signals::listen()?;
    let attached = async {
        let session = server.session(server.find(&args.session).await?);
        crate::attach::attach(session, watching).await
    };
    tokio::select! {
        exit = attached => exit,
        // The session continues: nothing that was started here remains.
        came = signals.next() => Ok(came.exit),
        came = again.recv() => Ok(came.exit),
    }
}

pub(crate) fn token(file: Option<&Path>) -> Result<Secret, Failure> {
    let text = match file {
        Some(path) => {
            let unread = |error: std::io::Error| {
                Failure::usage(format!("cannot read the token file {}: {error}", path.display()))
            };
            let held = std::fs::metadata(path).map_err(unread)?;
            if held.len() > MOST {
                let words =
                    format!("the token file {} is too large to hold a token", path.display());
                return Err(Failure::usage(words));
            }
            std::fs::read_to_string(path).map_err(unread)?
        }
        None => crate::secrets::value(TOKEN).ok_or_else(|| {
            Failure::usage(format!(
                "the server's token is missing: put it into {TOKEN}, or name its file with \
                 --token-file"
            ))
        })?,
    };
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let words = "the token is empty or has an invalid character";
        return Err(Failure::new(ExitKind::Provider, words));
    }
    Ok(Secret::new(token))
}

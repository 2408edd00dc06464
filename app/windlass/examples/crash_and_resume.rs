//! Crash and resume: a process is killed in the middle of a turn, and the next one finishes the turn.
//!
//! This program starts itself as the process that dies. Its tool is idempotent: the call that was
//! running runs again under the same key, so the shop ships each order once.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use windlass::{EffectClass, Result, Tool, ToolContext, Windlass, tool};

/// Ships an order.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Ship {
    order: u32,
}

/// Ships orders by a file for each key: a second file of the same key is the same order. In a process
/// that is to die, the second order never comes to its end.
fn shop(folder: &Path, dies: bool) -> Tool {
    let folder = folder.to_owned();
    tool("ship", EffectClass::Idempotent, move |context: ToolContext, Ship { order }| {
        let file = folder.join(format!("{}.order", context.idempotency_key.replace(':', "-")));
        async move {
            println!("shipping {order}");
            std::fs::write(file, order.to_string())?;
            if dies && order == 2 {
                std::future::pending::<()>().await;
            }
            Ok(format!("order {order} is on its way"))
        }
    })
}

async fn open(folder: &Path, dies: bool) -> Result<Windlass> {
    let store = format!("file:{}", folder.join("sessions").display());
    Ok(windlass::builder("demo").store(store).tool(shop(folder, dies)).open().await?)
}

#[tokio::main]
async fn main() -> Result {
    if let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) {
        let orders = open(&folder, true).await?.conversation("orders")?;
        orders.run(r#"repeat 3: ship {"order": {step}}"#).await?;
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let mut first = Command::new(std::env::current_exe()?);
    let mut first = first.arg(folder.path()).stdout(Stdio::piped()).spawn()?;
    for line in BufReader::new(first.stdout.take().ok_or("no output")?).lines() {
        let line = line?;
        println!("first process: {line}");
        if line == "shipping 2" {
            first.kill()?;
        }
    }
    println!("first process: {}", first.wait()?);

    let answer = open(folder.path(), false).await?.resume("orders").await?;
    println!("{answer}");
    let files = std::fs::read_dir(&folder)?.filter_map(|file| Some(file.ok()?.path()));
    let orders = files.filter(|path| path.extension().is_some_and(|kind| kind == "order"));
    println!("{} orders were shipped", orders.count());
    Ok(())
}

//! Many tenants: one runtime and one store, and no tenant sees the sessions of another.

#![allow(clippy::print_stdout, reason = "an example prints")]

use windlass::{Error, Scope};

#[tokio::main]
async fn main() -> windlass::Result {
    let windlass = windlass::builder("demo").open().await?;
    let ann = windlass.scoped(Scope::principal("acme", "ann"));
    let bob = windlass.scoped(Scope::principal("umbrella", "bob"));
    let answer = ann.conversation("plans")?.run("slowly: our plans are secret").await?;
    println!("acme reads: {answer}");
    match bob.resume("plans").await {
        Err(Error::Start(error)) => println!("umbrella reads: {error}"),
        Ok(_) | Err(_) => return Err("a tenant has read the session of another".into()),
    }
    Ok(())
}

//! The examples run to their ends against the demo model.

#[path = "../examples/many_tenants.rs"]
mod many_tenants;
#[path = "../examples/streaming.rs"]
mod streaming;

#[test]
fn many_tenants() -> windlass::Result {
    many_tenants::main()
}

#[test]
fn streaming() -> windlass::Result {
    streaming::main()
}

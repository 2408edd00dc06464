//! Tests of the whole store below its port: failing disks and loss of power.

pub(crate) mod faults;
mod many;
mod power;
mod summaries;
mod taking_over;
mod witness;

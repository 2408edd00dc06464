//! The model passes the suite, and each case finds a fault.

use std::sync::Arc;

use windlass_ports::Sandbox;

use super::SandboxFault::{
    AcceptsContradictions, LeavesProcesses, LosesEnvironment, NetworkOn, NoFileLimit, NoTemporary,
    OtherStrength, ReadsAll, ReadsHidden, Signals, WritesAll, WritesNothing, WritesProtected,
};
use super::{CASES, Checked, ModelSandbox, SandboxFault, SandboxFixture};
use crate::suite::every_case_bites;

struct Fixture(Option<SandboxFault>);

impl SandboxFixture for Fixture {
    fn open(&self) -> Arc<dyn Sandbox> {
        Arc::new(ModelSandbox { fault: self.0 })
    }
}

#[test]
fn the_model_passes() {
    for (name, case) in CASES {
        case(&Fixture(None)).unwrap_or_else(|violation| panic!("{name}: {violation}"));
    }
}

#[test]
fn each_case_finds_a_fault() -> Checked {
    let bites = [
        ("a_program_gets_what_its_launch_says", LosesEnvironment, "the program got"),
        ("writable_roots_are_written", WritesNothing, "writes in a writable root"),
        ("nothing_else_is_written", WritesAll, "writes outside of the writable roots"),
        ("protected_paths_are_only_read", WritesProtected, "changes a protected path"),
        ("hidden_paths_are_not_read", ReadsHidden, "shows a hidden path"),
        ("hidden_paths_are_not_read", WritesAll, "changes a hidden path"),
        ("other_roots_are_not_read", ReadsAll, "reads outside of the readable roots"),
        ("temporary_files_have_a_folder", NoTemporary, "TMPDIR is a writable folder"),
        ("the_network_is_off_unless_granted", NetworkOn, "with the network Off"),
        ("processes_outside_are_not_signalled", Signals, "was ended"),
        ("files_stay_within_their_limit", NoFileLimit, "and its limit is"),
        ("nothing_outlives_the_program", LeavesProcesses, "outlives the program"),
        ("nothing_outlives_the_killed_launch", LeavesProcesses, "outlives the killed process"),
        ("a_contradiction_starts_nothing", AcceptsContradictions, "contradicts itself"),
        ("the_strength_is_stated", OtherStrength, "and a launch has off"),
    ];
    let bitten = every_case_bites(CASES, &bites, |case, fault| case(&Fixture(Some(*fault))));
    // The leftovers of the faulty sandboxes write into folders that are gone, and end.
    bitten
}

//! The laws, over random worlds of answers, failures, crashes and interrupts.

use proptest::prelude::*;
use windlass_testkit::world::{Machine, Script, check_all, random};

proptest! {
    // What fails is printed as a script, which belongs into `tests/turns.rs`.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hold_in_random_worlds(script in random::script(60)) {
        if let Err(broken) = check_all(Machine::CORE, &script) {
            return Err(TestCaseError::fail(broken.to_string()));
        }
    }

    #[test]
    fn scripts_read_as_they_are_written(script in random::script(20)) {
        let read: Result<Script, String> = script.to_string().parse();
        prop_assert_eq!(read, Ok(script));
    }
}

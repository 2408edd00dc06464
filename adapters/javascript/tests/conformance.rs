//! JavaScript is held to the program port's promises.

mod support;

use support::Script;

windlass_testkit::program_suite!(Script);

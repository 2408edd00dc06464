//! Limits of a program. Each limit ends in a typed fault at the same step every time.

/// The most branches of parallel forms that run at the same time over a whole program, and with that the
/// most calls of one step. Further ones begin as these end.
pub const SIDE_BY_SIDE: usize = 64;

/// The limits of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The steps that a program may take, the work inside of functions counted by size.
    pub steps: u64,
    /// The bytes that a program may allocate over its whole run; what is freed is not given back, so
    /// that the count is exact and bounds what can be resident.
    pub memory_bytes: u64,
    /// Largest depth of nested calls.
    pub calls_deep: u32,
    /// Largest depth of nested values; at most 1000.
    pub values_deep: u32,
    /// Most rounds of one loop; 0 means that only the steps limit it.
    pub loop_rounds: u32,
    /// The tool calls of one run.
    pub tool_calls: u32,
    /// The characters kept of one printed line.
    pub print_chars: usize,
    /// The bytes that a program may print in all.
    pub prints_bytes: usize,
    /// The bytes of a program's text.
    pub program_bytes: usize,
    /// The parts that a program's result and the session's definitions may have together, shared parts
    /// counted each time.
    pub retained_parts: u64,
    /// Largest depth of nested forms in a program's text; at most 200.
    pub forms_deep: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            steps: 10_000_000,
            memory_bytes: 128 << 20,
            calls_deep: 2_000,
            values_deep: 200,
            loop_rounds: 1_000,
            tool_calls: 1_000,
            print_chars: 2_000,
            prints_bytes: 256 << 10,
            program_bytes: 64 << 10,
            retained_parts: 4 << 20,
            forms_deep: 100,
        }
    }
}

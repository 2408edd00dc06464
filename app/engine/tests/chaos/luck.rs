//! Luck: all chance in a seed comes from here. It also counts how much has happened: whatever
//! happens draws from it.

use std::sync::{Arc, Mutex};

use windlass_testkit::Gate;

/// A source of chance. Clones draw from the same source.
#[derive(Clone)]
pub(crate) struct Luck(Arc<Mutex<Source>>);

struct Source {
    counter: u64,
    /// Opens after so many more draws.
    awaited: Option<(u64, Gate)>,
}

impl Luck {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Source {
            counter: seed.wrapping_mul(0x2545_f491_4f6c_dd1d),
            awaited: None,
        })))
    }

    /// The finaliser of SplitMix64 over a counter.
    pub(crate) fn draw(&self) -> u64 {
        let mut source = self.0.lock().unwrap();
        source.counter = source.counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = source.counter;
        if let Some((left, gate)) = &mut source.awaited {
            *left = left.saturating_sub(1);
            if *left == 0 {
                gate.open();
            }
        }
        drop(source);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A gate that opens after so many more draws. It takes the place of the last one.
    pub(crate) fn gate_after(&self, draws: u64) -> Gate {
        let gate = Gate::new();
        self.0.lock().unwrap().awaited = Some((draws, gate.clone()));
        gate
    }

    /// No draw opens a gate any more.
    pub(crate) fn no_gate(&self) {
        self.0.lock().unwrap().awaited = None;
    }

    /// Opens the gate that awaits its draws. Answers whether there is one.
    pub(crate) fn open_now(&self) -> bool {
        let source = self.0.lock().unwrap();
        let gate = source.awaited.as_ref().map(|(_, gate)| gate);
        gate.inspect(|gate| gate.open()).is_some()
    }

    /// A number below `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        self.draw() % end.max(1)
    }

    /// Whether something happens that happens so many times of 100.
    pub(crate) fn percent(&self, of_100: u64) -> bool {
        self.below(100) < of_100
    }
}

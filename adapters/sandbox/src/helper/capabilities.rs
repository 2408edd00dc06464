//! Capabilities of an administrator's processes: those for files stay, the others go.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
    set_capabilities,
};

use super::{Step, step};

const RETAINED: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

pub(super) fn reduce() -> Step<()> {
    let now = capabilities(None).map_err(step("read its capabilities"))?;
    for capability in CapabilitySet::all().difference(RETAINED).iter() {
        // Without the right to do so there is none to remove: `no_new_privs` prevents gaining any.
        let _ = remove_capability_from_bounding_set(capability);
    }
    let left = CapabilitySets {
        effective: now.effective.intersection(RETAINED),
        permitted: now.permitted.intersection(RETAINED),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, left).map_err(step("reduce its capabilities"))
}

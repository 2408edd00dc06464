//! Capabilities of an administrator's processes: those for files stay, the others go.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    remove_capability_from_bounding_set, set_capabilities,
};

use super::{Step, step};

const RETAINED: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Capabilities that the next stage uses in a new user namespace.
const PASSED_ON: [CapabilitySet; 2] = [CapabilitySet::SYS_ADMIN, CapabilitySet::NET_ADMIN];

/// Has the next program that is started keep the capabilities that it needs. An ordinary user's program
/// otherwise starts with none, also in a namespace of that user's.
pub(super) fn pass_on() -> Step<()> {
    let now = capabilities(None).map_err(step("read its capabilities"))?;
    let inheritable = PASSED_ON.into_iter().fold(now.inheritable, CapabilitySet::union);
    set_capabilities(None, CapabilitySets { inheritable, ..now })
        .map_err(step("pass on its capabilities"))?;
    for capability in PASSED_ON {
        configure_capability_in_ambient_set(capability, true)
            .map_err(step("pass on its capabilities"))?;
    }
    Ok(())
}

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

//! A network of the command's own: loopback, and nothing else.

use nix::sched::{CloneFlags, unshare};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

use super::{Step, step};

/// Index of the loopback interface of a new namespace (`include/net/net_namespace.h`).
const LOOPBACK: u32 = 1;

// The message and its answer are described in `man 7 netlink` and `man 7 rtnetlink`.
const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLMSG_ERROR: u16 = 2;
const IFF_UP: u32 = 1;
/// Bytes of a header and of a message about an interface.
const LENGTH: u32 = 32;

/// Enters a new network, with its loopback interface up.
pub(super) fn enter() -> Step<()> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(step("make a network"))?;
    switch_on().map_err(step("switch loopback on"))
}

fn switch_on() -> rustix::io::Result<()> {
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    send(&kernel, &request(), SendFlags::empty())?;
    let mut answer = [0; 256];
    let (length, _) = recv(&kernel, &mut answer[..], RecvFlags::empty())?;
    outcome(answer.get(..length).unwrap_or_default())
}

fn request() -> Vec<u8> {
    let mut message = Vec::new();
    message.extend(LENGTH.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    // Sequence, sender, family, padding and type.
    message.extend([0; 4 + 4 + 1 + 1 + 2]);
    for word in [LOOPBACK, IFF_UP, IFF_UP] {
        message.extend(word.to_ne_bytes());
    }
    message
}

/// Reads the answer, which is an error of which the number 0 means success.
fn outcome(answer: &[u8]) -> rustix::io::Result<()> {
    let kind = answer.get(4..6).and_then(|bytes| Some(u16::from_ne_bytes(bytes.try_into().ok()?)));
    let code =
        answer.get(16..20).and_then(|bytes| Some(i32::from_ne_bytes(bytes.try_into().ok()?)));
    match (kind, code) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(code)) => Err(Errno::from_raw_os_error(code.saturating_neg())),
        (Some(_) | None, _) => Err(Errno::PROTO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_length_that_it_states() {
        assert_eq!(request().len(), 32);
        let mut refused = vec![0; 20];
        refused[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
        assert_eq!(outcome(&refused), Ok(()));
        refused[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(outcome(&refused), Err(Errno::PERM));
        assert_eq!(outcome(&refused[..8]), Err(Errno::PROTO));
    }
}

//! The listener of the proxy, on its way from the command's network to the process that serves it.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

use super::{Step, step};

/// Returns a channel with an end for each of two stages.
pub(super) fn channel() -> Step<(OwnedFd, OwnedFd)> {
    let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    pair.map_err(step("make a channel"))
}

/// Has the next program that is started inherit an end, and returns the number that it has there.
pub(super) fn pass_on(end: &OwnedFd) -> Step<RawFd> {
    fcntl_setfd(end, FdFlags::empty()).map_err(step("pass on a channel"))?;
    Ok(end.as_raw_fd())
}

/// Returns the inherited end of this number.
pub(super) fn inherited(number: RawFd) -> Step<OwnedFd> {
    // Only the kernel can turn a number into a descriptor that is owned.
    let itself = pidfd_open(getpid(), PidfdFlags::empty()).map_err(step("open itself"))?;
    let end = pidfd_getfd(&itself, number, PidfdGetfdFlags::empty());
    let end = end.map_err(step("take its channel"))?;
    nix::unistd::close(number).map_err(step("close its channel"))?;
    Ok(end)
}

/// Listens in the network of this process, hands the listener over, and returns its port.
pub(super) fn listen(channel: &OwnedFd) -> Step<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(step("listen"))?;
    let port = listener.local_addr().map_err(step("listen"))?.port();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    let handed = [listener.as_fd()];
    message.push(SendAncillaryMessage::ScmRights(&handed));
    let sent = sendmsg(channel, &[IoSlice::new(&[0])], &mut message, SendFlags::empty());
    sent.map(|_| port).map_err(step("hand over its listener"))
}

/// Waits for a listener; `None` if the other end has closed.
pub(super) fn take(channel: &OwnedFd) -> Step<Option<TcpListener>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let parts = &mut [IoSliceMut::new(&mut byte)];
    recvmsg(channel, parts, &mut message, RecvFlags::CMSG_CLOEXEC)
        .map_err(step("take the listener of the command"))?;
    let mut handed = message.drain().filter_map(|part| match part {
        RecvAncillaryMessage::ScmRights(mut all) => all.next(),
        RecvAncillaryMessage::ScmCredentials(_) | _ => None,
    });
    Ok(handed.next().map(TcpListener::from))
}

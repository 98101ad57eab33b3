//! System calls that a stop interrupted, and that are made again.

use libc::user_regs_struct;

/// Returns the registers with which a stopped thread continues by itself: an interrupted system call is repeated
/// with the same arguments, as the kernel does for a thread that is resumed.
///
/// Calls with a timeout of their own then wait for the whole timeout again: they return later than they should, but
/// never too early.
pub(crate) fn resume_registers(
    mut general: user_regs_struct,
    code_before: [u8; 7],
) -> user_regs_struct {
    const RESTART: std::ops::RangeInclusive<i64> = -516..=-512;
    if !RESTART.contains(&general.rax.cast_signed()) || general.orig_rax.cast_signed() < 0 {
        return general;
    }
    general.rax = match general.orig_rax.cast_signed() {
        libc::SYS_restart_syscall => number_before(code_before).unwrap_or(general.orig_rax),
        _ => general.orig_rax,
    };
    general.rip -= SYSCALL_BYTES;
    general
}

/// Calls that end with `EINTR` when a thread is stopped for a debugger, although no signal was handled: signal(7),
/// "Interruption of system calls and library functions by stop signals", and calls of the same kernel functions that
/// it does not list. Calls on sockets are among them when a timeout is set for the socket.
///
/// Not `connect`, which continues in the background: a repeated call would report a timeout as another error.
const NOT_RESTARTED: [i64; 24] = [
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_io_getevents,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_io_uring_enter,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_preadv2,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwritev2,
    libc::SYS_sendfile,
    libc::SYS_splice,
];

/// Returns the registers with which the kernel repeats a call that our stop interrupted; `None` for all other calls.
///
/// The return code is the one by which calls request this themselves. The kernel checks it when the thread is resumed,
/// and checks for signals only then: a handler that runs still ends the call with `EINTR`.
pub(crate) fn with_restart(general: user_regs_struct) -> Option<user_regs_struct> {
    const UNLESS_HANDLED: i64 = -514;
    let is_interrupted = general.rax.cast_signed() == -i64::from(libc::EINTR);
    let is_meant = is_interrupted && NOT_RESTARTED.contains(&general.orig_rax.cast_signed());
    is_meant.then(|| user_regs_struct { rax: UNLESS_HANDLED.cast_unsigned(), ..general })
}

const SYSCALL_BYTES: u64 = 2;

/// Returns the number of the system call at the end of these instructions: `mov eax, NUMBER; syscall`.
fn number_before(code: [u8; 7]) -> Option<u64> {
    let [0xB8, a, b, c, d, 0x0F, 0x05] = code else { return None };
    Some(u32::from_le_bytes([a, b, c, d]).into())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const POLL: [u8; 7] = [0xB8, 7, 0, 0, 0, 0x0F, 0x05];

    pub(crate) fn stopped(number: i64, returned: i64) -> user_regs_struct {
        // SAFETY: a struct of integers, for which zero is a value.
        let zero: user_regs_struct = unsafe { std::mem::zeroed() };
        let (rax, orig_rax) = (returned.cast_unsigned(), number.cast_unsigned());
        user_regs_struct { rax, orig_rax, rip: 0x1002, rsp: 0x7000, ..zero }
    }

    /// Checks the address and the number with which a thread continues by itself.
    #[track_caller]
    fn check_resume_registers(number: i64, returned: i64, expected: (u64, i64)) {
        let general = resume_registers(stopped(number, returned), POLL);
        assert_eq!((general.rip, general.rax.cast_signed()), expected);
    }

    #[test]
    fn an_interrupted_call_is_made_again() {
        check_resume_registers(0, -512, (0x1000, 0));
        check_resume_registers(libc::SYS_poll, -516, (0x1000, libc::SYS_poll));
        // The number that the kernel stored at an earlier stop; the original number is in the code.
        check_resume_registers(libc::SYS_restart_syscall, -516, (0x1000, libc::SYS_poll));
        check_resume_registers(libc::SYS_poll, 3, (0x1002, 3));
        check_resume_registers(-1, -512, (0x1002, -512));
    }

    /// Regression: the call was repeated unconditionally; now the kernel decides, so that a handler that runs
    /// meanwhile ends the call.
    #[test]
    fn a_call_that_the_kernel_does_not_start_again_is_made_again() {
        let restarted = |number, returned| with_restart(stopped(number, returned)).map(|it| it.rax);
        let eintr = -i64::from(libc::EINTR);
        let code = Some((-514_i64).cast_unsigned());
        assert_eq!(restarted(libc::SYS_epoll_wait, eintr), code);
        assert_eq!(restarted(libc::SYS_recvfrom, eintr), code);
        assert_eq!(restarted(libc::SYS_epoll_wait, 1), None);
        assert_eq!(restarted(libc::SYS_connect, eintr), None);
        // The state after the end of a handler.
        assert_eq!(restarted(-1, eintr), None);
        check_resume_registers(libc::SYS_epoll_wait, -514, (0x1000, libc::SYS_epoll_wait));
    }
}

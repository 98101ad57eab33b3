//! Signal actions and masks, by direct system calls.
//!
//! The functions of the C library are replaced by ours for the program ([`crate::guard`]); the calls of this crate
//! must bypass them.
#![allow(unsafe_code, reason = "system calls and a signal frame")]

use std::arch::global_asm;
use std::io;

/// Size in bytes of a signal set, as the kernel defines it.
const SET_BYTES: usize = 8;
const SA_RESTORER: usize = 0x0400_0000;

// Unwinders recognize the end of a signal frame by exactly these instructions.
global_asm!(
    ".pushsection .text.sintonia_live_restore, \"ax\", @progbits",
    ".hidden sintonia_live_restore",
    ".globl sintonia_live_restore",
    ".type sintonia_live_restore, @function",
    "nop",
    "sintonia_live_restore:",
    ".byte 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00",
    "syscall",
    ".size sintonia_live_restore, . - sintonia_live_restore",
    ".popsection",
);

unsafe extern "C" {
    fn sintonia_live_restore();
}

/// Type of our signal handlers.
pub(super) type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// Signal action, in the kernel's layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelSigaction {
    /// `SIG_DFL`, `SIG_IGN` or a function.
    pub(crate) handler: usize,
    /// `SA_*` flags.
    pub(crate) flags: usize,
    /// Return address of the handler.
    pub(crate) restorer: usize,
    /// Signals blocked while the handler runs.
    pub(crate) mask: u64,
}

impl KernelSigaction {
    /// Returns an action of ours: system calls are restarted, and only the signal itself is blocked.
    pub(super) fn ours(handler: Handler) -> Self {
        Self {
            handler: handler as usize,
            flags: (libc::SA_SIGINFO | libc::SA_RESTART) as usize | SA_RESTORER,
            restorer: sintonia_live_restore as *const () as usize,
            mask: 0,
        }
    }

    /// Returns the action on the stack that the program has for signals, if it has one: its own stack may be the cause.
    pub(super) fn on_own_stack(self) -> Self {
        Self { flags: self.flags | libc::SA_ONSTACK as usize, ..self }
    }

    /// Returns the action with a restorer, as the program's library would have set one.
    pub(super) fn with_restorer(self) -> Self {
        let is_function = ![libc::SIG_DFL, libc::SIG_IGN].contains(&self.handler);
        if !is_function || self.restorer != 0 {
            return self;
        }
        let restorer = sintonia_live_restore as *const () as usize;
        Self { restorer, flags: self.flags | SA_RESTORER, ..self }
    }

    /// Current action of a signal.
    pub(super) fn of(signal: i32) -> io::Result<Self> {
        let mut action = Self::default();
        // SAFETY: `action` has the kernel's layout, and a null pointer asks for no change.
        let answer = unsafe {
            libc::syscall(libc::SYS_rt_sigaction, signal, 0_usize, &raw mut action, SET_BYTES)
        };
        if answer == 0 { Ok(action) } else { Err(io::Error::last_os_error()) }
    }

    /// Sets this action for a signal.
    pub(super) fn set(&self, signal: i32) -> io::Result<()> {
        // SAFETY: `self` has the kernel's layout; handlers are ours or those the program had set.
        let answer = unsafe {
            libc::syscall(libc::SYS_rt_sigaction, signal, &raw const *self, 0_usize, SET_BYTES)
        };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Returns the bit of a signal in a set.
pub(crate) const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Blocks or unblocks signals for the calling thread; async-signal-safe.
pub(super) fn change_mask(how: i32, signals: u64) {
    // SAFETY: the set has the kernel's size; the old one is not asked for.
    unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const signals, 0_usize, SET_BYTES);
    }
}

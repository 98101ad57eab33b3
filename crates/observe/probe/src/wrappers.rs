//! Generated wrappers, and the few instructions in front of each.
#![allow(non_snake_case, reason = "the names of the functions are MPI's and Fortran's")]
#![allow(unsafe_code, reason = "wrappers cross the boundary between languages")]
#![allow(clippy::cast_sign_loss, reason = "factors are counts")]
#![allow(clippy::missing_safety_doc, reason = "the contract of each function is MPI's")]

use crate::call::{CountArray, Done, MonitoredCall, OwnStatus};
use crate::collectives;
use crate::communicators::{self, Scope};
use crate::handle::Handle;
use crate::{datatypes, fortran, next, process};
use std::arch::naked_asm;
use std::ffi::c_int;

/// Exports `$symbol`: stores the return address (the call site) for the body and jumps to the body with all
/// arguments in place, however many there are. Bodies let exceptions pass that the program's own error
/// handlers throw through its MPI library.
macro_rules! trampoline {
    ($symbol:literal, $name:ident, $body:ident) => {
        #[unsafe(export_name = $symbol)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "mov r11, qword ptr [rip + sintonia_tls@GOTTPOFF]",
                "mov rax, qword ptr [rsp]",
                "mov qword ptr fs:[r11], rax",
                "mov qword ptr fs:[r11 + 8], rsp",
                "jmp {body}",
                body = sym $body,
            )
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));

//! Machine code of a passage: the routine that a site's stub jumps to, and the thunk that hijacked functions return to.
//!
//! A stub leaves `[rax][return address of the function]` on the stack and the address of the site's `Context` in rax.
//! The return address lies in the *slot*; its shadow (`shadow`) holds `[return address, context]` while the function
//! returns to `sintonia_thunk`. That address is put into the slot by a call just before the thunk, and the thunk
//! returns by `ret`, so that the processor predicts both returns.
//! so that the processor predicts both returns.
//!
//! # Invariants
//! - Every register and flag is preserved, even those that a callee may change by the ABI: gcc's `-fipa-ra` relies on
//!   the registers that the function itself does not touch.
//! - The ring is used as by `ring::ThreadWriter::push`: `busy` is set first, then `written` is read.
//! - `sintonia_thunk` is unwound by its own frame description: the real return address is in the shadow of the slot
//!   below the canonical frame address. The frame is a signal frame that gives the address less one, because a frame
//!   of size zero would otherwise be taken for its caller.
#![allow(unsafe_code, reason = "machine code")]

mod outside;

use crate::context::{
    ARMED_ENTRY, ARMED_EXIT, COUNT_ENTRY, COUNT_EXIT, Context, ENTRY, EXIT, HIJACK, PointContext,
    REPLACED,
};
use crate::passage::{act_at_entry, act_at_exit, attach, leave_unwound};
use crate::shadow::{DIRECTORY, add_chunk};
use events::function::EXIT_BY_TAIL_CALL;
use events::{EventRecord, FunctionKind};
use ring::RingCursor;
use std::arch::global_asm;
use std::ffi::c_int;
use std::mem::offset_of;

/// Offset of the saved rdx from the stack pointer of the code that gathers attributes, in the frame of a passage.
pub(crate) const GATHER_RDX: i64 = 56;
/// The same offset of the saved rax.
pub(crate) const GATHER_RAX: i64 = 72;
/// The same offset of the first argument on the stack.
pub(crate) const GATHER_STACK_ARGUMENTS: i64 = 88;

unsafe extern "C" {
    fn sintonia_passage();
    fn sintonia_thunk();
}

/// Address of the routine for sites with something to do.
pub(crate) fn routine() -> usize {
    sintonia_passage as *const () as usize
}

/// Address of the thunk that hijacked functions return to.
pub(crate) fn thunk() -> usize {
    sintonia_thunk as *const () as usize
}

/// Returns whether the processor checks return addresses against a shadow stack.
pub(crate) fn is_return_guarded() -> bool {
    const ARCH_SHSTK_STATUS: c_int = 0x5005;
    let mut features = 0_u64;
    // SAFETY: the system writes one word, or fails where it does not know the question.
    let answer =
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SHSTK_STATUS, &raw mut features) };
    answer == 0 && features & 1 != 0
}

// One block: the compiler may reorder several, and macros are known only after their definition. `sintonia_save`
// saves the registers used. From then on: r10 the context, r12 the number of the passage; rax, rbx, rdx, rbp and
// r11 are free. The flags are kept in ah and al: `pushf` and `popf` cost ten times as much.
global_asm!(
    ".macro sintonia_save",
    "push rdx",
    "push rbx",
    "push rbp",
    "push r10",
    "push r11",
    "push r12",
    ".cfi_adjust_cfa_offset 48",
    "mov r10, rax",
    "lahf",
    "seto al",
    "push rax",
    ".cfi_adjust_cfa_offset 8",
    ".endm",
    ".macro sintonia_restore",
    "pop rax",
    "add al, 0x7f",
    "sahf",
    "pop r12",
    "pop r11",
    "pop r10",
    "pop rbp",
    "pop rbx",
    "pop rdx",
    ".endm",
    // Counts a passage if passages are counted; sets r12 to its number, or 0.
    ".macro sintonia_count flag, hits",
    "xor r12d, r12d",
    "test byte ptr [r10 + {flags}], \\flag",
    "jz .Lsintonia_counted\\@",
    "mov r12d, 1",
    "lock xadd qword ptr [r10 + \\hits], r12",
    "inc r12",
    ".Lsintonia_counted\\@:",
    ".endm",
    // Calls a Rust function with the context and the number of the passage.
    ".macro sintonia_outside function",
    "lea rax, [rip + \\function]",
    "call sintonia_outside_body",
    ".endm",
    // Sets rdx to the shadow of the slot in rbx. Jumps to `without` if the directory entry is zero.
    ".macro sintonia_shadow without",
    "mov rdx, rbx",
    "shr rdx, 24",
    "movabs rax, {directory}",
    "mov rdx, qword ptr [rax + 8 * rdx]",
    "test rdx, rdx",
    "jz \\without",
    "and ebx, 0xffffff",
    "lea rdx, [rdx + 2 * rbx]",
    ".endm",
    // Appends the records of a point; does nothing without a ring, and counts records without room as dropped.
    ".macro sintonia_append event, records, capture, exit_kind",
    "mov r11, qword ptr [rip + sintonia_instrument_tls@GOTTPOFF]",
    "mov r11, qword ptr fs:[r11]",
    "test r11, r11",
    "jz .Lsintonia_attach\\@",
    ".Lsintonia_cursor\\@:",
    "cmp qword ptr [r11 + {busy}], 0",
    "jne .Lsintonia_drop\\@",
    "mov qword ptr [r11 + {busy}], 1",
    "mov rbp, qword ptr [r11 + {written}]",
    "mov edx, dword ptr [r10 + \\records]",
    "lea rdx, [rdx + rbp - 1]",
    "mov rax, rdx",
    "sub rax, qword ptr [r11 + {acknowledged}]",
    "cmp rax, qword ptr [r11 + {mask}]",
    "ja .Lsintonia_full\\@",
    ".Lsintonia_room\\@:",
    "mov rbx, rbp",
    "and rbx, qword ptr [r11 + {mask}]",
    "shl rbx, 6",
    "add rbx, qword ptr [r11 + {ring}]",
    "rdtsc",
    "shl rdx, 32",
    "or rax, rdx",
    "mov qword ptr [rbx + {ticks}], rax",
    "mov eax, dword ptr [r10 + \\event]",
    "mov dword ptr [rbx + {number}], eax",
    "mov dword ptr [rbx + {hit}], r12d",
    "mov dword ptr [rbx + {exit_kind}], \\exit_kind",
    "mov dword ptr [rbx + {spare}], {kind} << 16",
    "mov rax, qword ptr [r10 + \\capture]",
    "test rax, rax",
    "jz .Lsintonia_empty\\@",
    "call rax",
    ".Lsintonia_publish\\@:",
    "lea rax, [rbp + 1]",
    "mov qword ptr [r11 + {written}], rax",
    "mov rdx, qword ptr [r11 + {published}]",
    "mov qword ptr [rdx], rax",
    "mov qword ptr [r11 + {busy}], 0",
    ".Lsintonia_done\\@:",
    ".pushsection .text.sintonia_unlikely, \"ax\", @progbits",
    ".Lsintonia_empty\\@:",
    "mov qword ptr [rbx + {values}], 0",
    "mov qword ptr [rbx + {values} + 8], 0",
    "mov qword ptr [rbx + {values} + 16], 0",
    "mov qword ptr [rbx + {values} + 24], 0",
    "mov qword ptr [rbx + {last_value}], 0",
    "jmp .Lsintonia_publish\\@",
    ".Lsintonia_attach\\@:",
    "sintonia_outside {attach}",
    "test rax, rax",
    "jz .Lsintonia_done\\@",
    "mov r11, rax",
    "jmp .Lsintonia_cursor\\@",
    ".Lsintonia_full\\@:",
    "cmp qword ptr [r11 + {mask}], 0",
    "je .Lsintonia_give_up\\@",
    "mov rax, qword ptr [r11 + {reader}]",
    "mov rax, qword ptr [rax]",
    "mov qword ptr [r11 + {acknowledged}], rax",
    "sub rdx, rax",
    "cmp rdx, qword ptr [r11 + {mask}]",
    "jbe .Lsintonia_room\\@",
    ".Lsintonia_give_up\\@:",
    "mov qword ptr [r11 + {busy}], 0",
    ".Lsintonia_drop\\@:",
    "mov edx, dword ptr [r10 + \\records]",
    "mov rax, qword ptr [r11 + {dropped}]",
    "add qword ptr [rax], rdx",
    "jmp .Lsintonia_done\\@",
    ".popsection",
    ".endm",
    // Routine that a stub jumps to.
    ".pushsection .text.sintonia_passage, \"ax\", @progbits",
    ".hidden sintonia_passage",
    ".globl sintonia_passage",
    ".type sintonia_passage, @function",
    ".p2align 6",
    "sintonia_passage:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    // Room for the address to continue at; until then, the flag whether to continue by a call.
    "lea rsp, [rsp - 8]",
    "sintonia_save",
    "mov qword ptr [rsp + 56], 0",
    "test byte ptr [r10 + {flags}], {HIJACK}",
    "jz .Lsintonia_entered",
    ".Lsintonia_hijack:",
    "lea rbx, [rsp + 72]",
    "sintonia_shadow .Lsintonia_chunk",
    "mov rbx, qword ptr [rsp + 72]",
    "lea rax, [rip + sintonia_thunk]",
    "cmp rbx, rax",
    "je .Lsintonia_tail",
    "mov qword ptr [rdx], rbx",
    "mov qword ptr [rdx + 8], r10",
    "mov qword ptr [rsp + 56], 1",
    ".Lsintonia_entered:",
    "sintonia_count {COUNT_ENTRY}, {entry_hits}",
    "test byte ptr [r10 + {flags}], {ENTRY}",
    "jz .Lsintonia_recorded",
    "sintonia_append {entry_event}, {entry_records}, {entry_capture}, 0",
    ".Lsintonia_recorded:",
    "test byte ptr [r10 + {flags}], {ARMED_ENTRY} | {REPLACED}",
    "jnz .Lsintonia_seldom",
    "mov rdx, qword ptr [r10 + {displaced}]",
    ".Lsintonia_leave:",
    "cmp qword ptr [rsp + 56], 0",
    "mov qword ptr [rsp + 56], rdx",
    "jne .Lsintonia_leave_by_call",
    "sintonia_restore",
    "mov rax, qword ptr [rsp + 8]",
    "lea rsp, [rsp + 16]",
    "jmp qword ptr [rsp - 16]",
    ".Lsintonia_seldom:",
    "test byte ptr [r10 + {flags}], {ARMED_ENTRY}",
    "jz .Lsintonia_replace",
    "sintonia_outside {act_at_entry}",
    ".Lsintonia_replace:",
    "mov rdx, qword ptr [r10 + {displaced}]",
    "test byte ptr [r10 + {flags}], {REPLACED}",
    "jz .Lsintonia_leave",
    // The replacement finds the stack as the original function did.
    "mov rdx, qword ptr [r10 + {replacement}]",
    "jmp .Lsintonia_leave",
    // First passage in this part of a stack.
    ".Lsintonia_chunk:",
    "mov r12, rbx",
    "sintonia_outside {add_chunk}",
    "test rax, rax",
    "jnz .Lsintonia_hijack",
    "jmp .Lsintonia_entered",
    // The function that was to return has jumped here instead (tail call).
    ".Lsintonia_tail:",
    "push r10",
    "xchg r10, qword ptr [rdx + 8]",
    "sintonia_count {COUNT_EXIT}, {exit_hits}",
    "test byte ptr [r10 + {flags}], {EXIT}",
    "jz .Lsintonia_tail_recorded",
    "sintonia_append {exit_event}, {exit_records}, {tail_capture}, {tail}",
    ".Lsintonia_tail_recorded:",
    "test byte ptr [r10 + {flags}], {ARMED_EXIT}",
    "jz .Lsintonia_tail_done",
    "sintonia_outside {act_at_exit}",
    ".Lsintonia_tail_done:",
    "pop r10",
    "jmp .Lsintonia_entered",
    ".Lsintonia_leave_by_call:",
    "sintonia_restore",
    "mov rax, qword ptr [rsp + 8]",
    "lea rsp, [rsp + 24]",
    "jmp sintonia_enter",
    ".cfi_endproc",
    ".size sintonia_passage, . - sintonia_passage",
    ".popsection",
    // Return point of hijacked functions. The frame is laid out as at an entry.
    ".pushsection .text.sintonia_thunk, \"ax\", @progbits",
    ".Lsintonia_personality:",
    "jmp {personality}",
    ".p2align 6",
    ".cfi_startproc",
    ".cfi_signal_frame",
    ".cfi_personality 0x1b, .Lsintonia_personality",
    ".cfi_def_cfa rsp, 0",
    // val_expression for the return address: *(*(directory + 8 * (slot >> 24)) + 2 * (slot & 0xffffff)) - 1,
    // where slot = frame address - 8.
    ".cfi_escape 0x16, 16, 31, 0x38, 0x1c, 0x12, 0x48, 0x25, 0x33, 0x24",
    ".cfi_escape 0x0e, {d0}, {d1}, {d2}, {d3}, {d4}, {d5}, {d6}, {d7}",
    ".cfi_escape 0x22, 0x06, 0x16, 0x0c, 0xff, 0xff, 0xff, 0x00, 0x1a, 0x12, 0x22, 0x22, 0x06, 0x31, 0x1c",
    // Unwinders look up the byte before a return address, so the call belongs to the thunk.
    "sintonia_enter:",
    "call qword ptr [rsp - 24]",
    ".hidden sintonia_thunk",
    ".globl sintonia_thunk",
    ".type sintonia_thunk, @function",
    "sintonia_thunk:",
    "lea rsp, [rsp - 8]",
    ".cfi_adjust_cfa_offset 8",
    "push rax",
    ".cfi_adjust_cfa_offset 8",
    "lea rsp, [rsp - 8]",
    ".cfi_adjust_cfa_offset 8",
    "sintonia_save",
    ".cfi_rel_offset rbx, 40",
    ".cfi_rel_offset rbp, 32",
    ".cfi_rel_offset r12, 8",
    "lea rbx, [rsp + 72]",
    "sintonia_shadow .Lsintonia_lost",
    "mov rax, qword ptr [rdx]",
    "mov r10, qword ptr [rdx + 8]",
    "mov qword ptr [rsp + 72], rax",
    "sintonia_count {COUNT_EXIT}, {exit_hits}",
    "test byte ptr [r10 + {flags}], {EXIT}",
    "jz .Lsintonia_left",
    "sintonia_append {exit_event}, {exit_records}, {exit_capture}, 0",
    ".Lsintonia_left:",
    "test byte ptr [r10 + {flags}], {ARMED_EXIT}",
    "jz .Lsintonia_return",
    "sintonia_outside {act_at_exit}",
    ".Lsintonia_return:",
    "sintonia_restore",
    "mov rax, qword ptr [rsp + 8]",
    "lea rsp, [rsp + 16]",
    "ret",
    // A slot whose shadow is lost: the return address is unknown.
    ".Lsintonia_lost:",
    "ud2",
    ".cfi_endproc",
    ".size sintonia_thunk, . - sintonia_thunk",
    ".popsection",
    flags = const offset_of!(Context, flags),
    directory = const DIRECTORY,
    busy = const offset_of!(RingCursor, busy),
    written = const offset_of!(RingCursor, written),
    acknowledged = const offset_of!(RingCursor, acknowledged),
    mask = const offset_of!(RingCursor, mask),
    ring = const offset_of!(RingCursor, records),
    published = const offset_of!(RingCursor, published),
    reader = const offset_of!(RingCursor, reader),
    dropped = const offset_of!(RingCursor, dropped),
    ticks = const offset_of!(EventRecord, ticks),
    number = const offset_of!(EventRecord, event),
    hit = const offset_of!(EventRecord, hit),
    exit_kind = const offset_of!(EventRecord, exit_kind),
    spare = const offset_of!(EventRecord, spare),
    values = const offset_of!(EventRecord, values),
    last_value = const offset_of!(EventRecord, last_value),
    kind = const FunctionKind::Event as u16,
    attach = sym attach,
    HIJACK = const HIJACK,
    COUNT_ENTRY = const COUNT_ENTRY,
    COUNT_EXIT = const COUNT_EXIT,
    ENTRY = const ENTRY,
    EXIT = const EXIT,
    ARMED_ENTRY = const ARMED_ENTRY,
    ARMED_EXIT = const ARMED_EXIT,
    REPLACED = const REPLACED,
    entry_hits = const offset_of!(Context, entry) + offset_of!(PointContext, hits),
    entry_event = const offset_of!(Context, entry) + offset_of!(PointContext, event),
    entry_records = const offset_of!(Context, entry) + offset_of!(PointContext, n_records),
    entry_capture = const offset_of!(Context, entry) + offset_of!(PointContext, capture),
    exit_hits = const offset_of!(Context, exit) + offset_of!(PointContext, hits),
    exit_event = const offset_of!(Context, exit) + offset_of!(PointContext, event),
    exit_records = const offset_of!(Context, exit) + offset_of!(PointContext, n_records),
    tail_capture = const offset_of!(Context, tail_capture),
    tail = const EXIT_BY_TAIL_CALL,
    replacement = const offset_of!(Context, replacement),
    displaced = const offset_of!(Context, displaced),
    act_at_entry = sym act_at_entry,
    act_at_exit = sym act_at_exit,
    add_chunk = sym add_chunk,
    personality = sym leave_unwound,
    d0 = const DIRECTORY & 0xff,
    d1 = const DIRECTORY >> 8 & 0xff,
    d2 = const DIRECTORY >> 16 & 0xff,
    d3 = const DIRECTORY >> 24 & 0xff,
    d4 = const DIRECTORY >> 32 & 0xff,
    d5 = const DIRECTORY >> 40 & 0xff,
    d6 = const DIRECTORY >> 48 & 0xff,
    d7 = const DIRECTORY >> 56 & 0xff,
    exit_capture = const offset_of!(Context, exit) + offset_of!(PointContext, capture),
);

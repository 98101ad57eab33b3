//! Many functions of four instructions, and sites on them.

use instrument::{Attribute, Site, SiteEvent};

pub(crate) const N_FUNCTIONS: usize = 5_032;
/// Bytes from one function to the next, as in real programs.
const SPACING_BYTES: usize = 64;
const N_BYTES: usize = 10;

std::arch::global_asm!(
    ".p2align 6",
    ".hidden price_functions",
    ".globl price_functions",
    "price_functions:",
    ".rept {n}",
    "lea eax, [rdi + 2 * rdi]",
    "add eax, 1",
    "xor eax, 5",
    "ret",
    ".p2align 6",
    ".endr",
    n = const N_FUNCTIONS,
);

unsafe extern "C" {
    fn price_functions();
}

/// Calls one of the functions.
#[inline(always)]
pub(crate) fn call(idx: usize, number: i32) -> i32 {
    let place = std::ptr::with_exposed_provenance::<u8>(address(idx));
    // SAFETY: a function of two numbers lies there, which looks at the first only.
    let function =
        unsafe { std::mem::transmute::<*const u8, extern "C" fn(i32, i64) -> i32>(place) };
    function(number, 7)
}

/// Returns a site with the number of its function; a point with `Some` attributes, even none, has an event.
pub(crate) fn site(idx: usize, entry: Option<&[Attribute]>, exit: Option<&[Attribute]>) -> Site {
    let id = u32::try_from(idx).unwrap_or(u32::MAX);
    let point = |attributes: Option<&[Attribute]>, event| {
        let attributes = attributes?.to_vec();
        Some(SiteEvent { event, attributes, is_on: true })
    };
    Site {
        id,
        function: address(idx),
        n_bytes: N_BYTES,
        n_bytes_to_next: SPACING_BYTES,
        entry: point(entry, 2 * id),
        exit: point(exit, 2 * id + 1),
        is_sync: false,
    }
}

fn address(idx: usize) -> usize {
    (price_functions as *const ()).expose_provenance() + SPACING_BYTES * idx
}

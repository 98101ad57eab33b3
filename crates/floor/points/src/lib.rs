//! Embeds in a program's executable what tools may measure and change in it.
//!
//! An ELF note holds the text, an application description. Tables in a separate section map names to the addresses of
//! variables and functions, since `strip` removes the names of symbols that are not exported. The crate `symbols` reads
//! both (`symbols::Program::description`).
//!
//! ```
//! # #![allow(unsafe_code)]
//! points::variables! {
//!     /// Variables that tools see.
//!     Variables:
//!     /// Rounds so far.
//!     doc_round: i32 = 0;
//! }
//! mod at {
//!     points::functions! {
//!         fn doc_turn() { std::hint::black_box("turn"); }
//!     }
//!     pub(crate) fn turn() { doc_turn(); }
//! }
//! points::description!("name = \"turns\"\n");
//!
//! // Linkers keep what is referred to.
//! std::hint::black_box((&NOTE, &ENTRIES, &at::ENTRIES));
//! at::turn();
//! points::set(Variables::doc_round(), 1);
//! ```
//!
//! # Invariants
//! - Variables have the types of C: debug information says `i32`, nothing wrapped. They are read and written as atomics.
//! - Functions have names that no compiler mangles, and are never inlined.
//!
//! # Not here
//! The variables and functions themselves (`master-worker`, `malleable`). A program carries one description.

use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering};

const N_NAME_BYTES: usize = 40;

/// Variable or function that tools find by name.
#[derive(Debug)]
#[repr(C)]
pub struct PointEntry {
    /// Name, padded with zeros.
    name: [u8; N_NAME_BYTES],
    address: *const (),
    /// Size of a variable in bytes; 0 for a function.
    n_bytes: u64,
}

#[expect(unsafe_code, reason = "it has an address, and is read from the program's file")]
// SAFETY: no code in this process dereferences the address.
unsafe impl Sync for PointEntry {}

impl PointEntry {
    /// Entry of a variable with `n_bytes`, or of a function with 0.
    ///
    /// # Panics
    /// If the name has more than 40 bytes, which fails the compilation.
    pub const fn of(name: &str, address: *const (), n_bytes: usize) -> Self {
        let mut bytes = [0; N_NAME_BYTES];
        let (start, _rest) = bytes.split_at_mut(name.len());
        start.copy_from_slice(name.as_bytes());
        Self { name: bytes, address, n_bytes: n_bytes as u64 }
    }
}

/// Declares variables that tools find by name, the table `ENTRIES`, and a type whose functions have the same names and
/// return each variable as an atomic. The prefix of the names must be unique to the declaring crate.
#[macro_export]
macro_rules! variables {
    ($(#[$type_doc:meta])* $type:ident: $($(#[$doc:meta])* $name:ident: $kind:ty = $start:expr;)*) => {
        $(
            $(#[$doc])*
            #[allow(unsafe_code, reason = "tools find it by this name")]
            // SAFETY: no other symbol has the prefix.
            #[unsafe(no_mangle)]
            static mut $name: $kind = $start;
        )*

        #[allow(unsafe_code, reason = "tools find it in a section of this name")]
        // SAFETY: this section contains only entries.
        #[unsafe(link_section = ".sintonia.names")]
        #[used]
        pub(crate) static ENTRIES: [$crate::PointEntry; [$(stringify!($name)),*].len()] = [
            $($crate::PointEntry::of(stringify!($name), (&raw const $name).cast(), size_of::<$kind>())),*
        ];

        $(#[$type_doc])*
        pub(crate) struct $type;

        impl $type {
            $(
                #[inline(always)]
                #[allow(clippy::inline_always, reason = "so that the instruction names the variable")]
                #[allow(unsafe_code, reason = "the variable has the type of C, not that of an atomic")]
                pub(crate) fn $name() -> &'static <$kind as $crate::Shared>::Atomic {
                    // SAFETY: the static lives forever, its type promises an atomic of its size and alignment, and all
                    // accesses of this program go through here; tools write while the thread that reads is stopped.
                    unsafe { &*(&raw mut $name).cast() }
                }
            )*
        }
    };
}

/// Declares functions that tools find by name, and the table `ENTRIES`. The `black_box` after their last call keeps the
/// exit where it is, and the bodies different.
#[macro_export]
macro_rules! functions {
    ($(fn $name:ident($($inside:ident: $kind:ty)?) $body:block)*) => {
        $(
            #[allow(unsafe_code, reason = "tools find it by this name")]
            // SAFETY: no other symbol has the prefix.
            #[unsafe(no_mangle)]
            #[inline(never)]
            fn $name($($inside: $kind)?) $body
        )*

        #[allow(unsafe_code, reason = "tools find it in a section of this name")]
        // SAFETY: this section contains only entries.
        #[unsafe(link_section = ".sintonia.names")]
        #[used]
        pub(crate) static ENTRIES: [$crate::PointEntry; [$(stringify!($name)),*].len()] = [
            $($crate::PointEntry::of(stringify!($name), $name as *const (), 0)),*
        ];
    };
}

/// Owner name of the note, padded.
const OWNER: &[u8; 12] = b"Sintonia\0\0\0\0";
const N_OWNER_BYTES: u32 = 9;
/// Note type: the text of an application description.
const KIND: u32 = 1;

/// ELF note with a text of `N` bytes.
#[derive(Debug)]
#[repr(C, align(4))]
pub struct Note<const N: usize> {
    n_owner_bytes: u32,
    n_text_bytes: u32,
    kind: u32,
    owner: [u8; OWNER.len()],
    text: [u8; N],
}

impl<const N: usize> Note<N> {
    /// Creates a note with this text, of exactly `N` bytes.
    ///
    /// # Panics
    /// If the text has another length, which fails the compilation.
    pub const fn of(text: &str) -> Self {
        let mut bytes = [0; N];
        bytes.copy_from_slice(text.as_bytes());
        #[expect(clippy::cast_possible_truncation, reason = "a text of some pages")]
        let n_text_bytes = N as u32;
        Self { n_owner_bytes: N_OWNER_BYTES, n_text_bytes, kind: KIND, owner: *OWNER, text: bytes }
    }
}

/// Puts an application description, in the format of `docs/application-description.md`, into the executable, as `NOTE`.
#[macro_export]
macro_rules! description {
    ($text:expr) => {
        #[allow(unsafe_code, reason = "tools find it in a section of this name")]
        // SAFETY: linkers keep notes unchanged, and nothing else puts any into this section.
        #[unsafe(link_section = ".note.sintonia")]
        #[used]
        static NOTE: $crate::Note<{ $text.len() }> = $crate::Note::of($text);
    };
}

/// Type of a variable of C, which is read and written as an atomic.
///
/// # Safety
/// The atomic has the size and alignment of the type, and all its values are values of the type.
#[expect(unsafe_code, reason = "memory of the one type is used as the other")]
pub unsafe trait Shared {
    /// The atomic.
    type Atomic: 'static;
}

#[expect(unsafe_code, reason = "as above")]
// SAFETY: documented of the atomic.
unsafe impl Shared for i32 {
    type Atomic = AtomicI32;
}

#[expect(unsafe_code, reason = "as above")]
// SAFETY: as many bytes, on this architecture aligned alike, and all bits are a number.
unsafe impl Shared for f64 {
    type Atomic = AtomicU64;
}

#[expect(unsafe_code, reason = "as above")]
// SAFETY: documented of the atomic.
unsafe impl<const N: usize> Shared for [u8; N] {
    type Atomic = [AtomicU8; N];
}

/// Sets a variable; numbers above the largest `int` are clamped to it.
#[inline]
pub fn set(variable: &AtomicI32, value: u64) {
    variable.store(i32::try_from(value).unwrap_or(i32::MAX), Ordering::Relaxed);
}

/// Returns the value of a variable; 0 for a negative one.
#[inline]
pub fn get(variable: &AtomicI32) -> u32 {
    u32::try_from(variable.load(Ordering::Relaxed)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_in_the_range_of_their_type() {
        let variable = AtomicI32::new(-1);
        assert_eq!(get(&variable), 0);
        set(&variable, u64::MAX);
        assert_eq!(get(&variable), i32::MAX.unsigned_abs());
    }
}

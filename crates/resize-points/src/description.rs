//! The description in the program's own file, as in the crate `tuning-points`: an ELF note has the text, and tables in a
//! section of their own say by name where variables and functions lie. The crate `symbols` reads both.

use crate::{stretch, variables};
use std::hint::black_box;

/// What tools may measure and change in any malleable program, in the format of `docs/application-description.md`.
pub const DESCRIPTION: &str = include_str!("../malleable.toml");

const N_NAME_BYTES: usize = 40;

/// Something that tools find by name.
#[repr(C)]
pub(crate) struct Entry {
    /// Ends with zeros.
    name: [u8; N_NAME_BYTES],
    address: *const (),
    /// 0 for a function.
    n_bytes: u64,
}

#[expect(unsafe_code, reason = "it has an address, and is read from the program's file")]
// SAFETY: nobody in this process follows the address.
unsafe impl Sync for Entry {}

impl Entry {
    pub(crate) const fn of(name: &str, address: *const (), n_bytes: usize) -> Self {
        let mut bytes = [0; N_NAME_BYTES];
        let (start, _rest) = bytes.split_at_mut(name.len());
        start.copy_from_slice(name.as_bytes());
        Self { name: bytes, address, n_bytes: n_bytes as u64 }
    }
}

/// Who gives the note its meaning, padded.
const OWNER: &[u8; 12] = b"Sintonia\0\0\0\0";
const N_OWNER_BYTES: u32 = 9;
/// The text of an application description.
const KIND: u32 = 1;

/// An ELF note.
#[repr(C, align(4))]
struct Note {
    n_owner_bytes: u32,
    n_text_bytes: u32,
    kind: u32,
    owner: [u8; OWNER.len()],
    text: [u8; DESCRIPTION.len()],
}

#[expect(unsafe_code, reason = "tools find it in a section of this name")]
// SAFETY: linkers keep notes as they are, and nothing else puts any into this section.
#[unsafe(link_section = ".note.sintonia")]
#[used]
static NOTE: Note = Note {
    n_owner_bytes: N_OWNER_BYTES,
    #[expect(clippy::cast_possible_truncation, reason = "a text of a page")]
    n_text_bytes: DESCRIPTION.len() as u32,
    kind: KIND,
    owner: *OWNER,
    text: {
        let mut text = [0; DESCRIPTION.len()];
        text.copy_from_slice(DESCRIPTION.as_bytes());
        text
    },
};

/// Refers to what tools look for, so that linkers keep it in every program that may be watched.
pub(crate) fn keep() {
    black_box((&NOTE, &variables::ENTRIES, &stretch::ENTRIES));
}

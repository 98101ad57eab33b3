//! ELF note with the description.

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

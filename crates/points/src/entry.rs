//! Tables of names.

const N_NAME_BYTES: usize = 40;

/// Something that tools find by name.
#[derive(Debug)]
#[repr(C)]
pub struct Entry {
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
    /// Of a variable with so many bytes, or of a function, which has 0.
    ///
    /// # Panics
    /// When the name has more than 40 bytes, which stops the compiler.
    pub const fn of(name: &str, address: *const (), n_bytes: usize) -> Self {
        let mut bytes = [0; N_NAME_BYTES];
        let (start, _rest) = bytes.split_at_mut(name.len());
        start.copy_from_slice(name.as_bytes());
        Self { name: bytes, address, n_bytes: n_bytes as u64 }
    }
}

/// Declares variables that tools find by name, and the table `ENTRIES`. The prefix of the names belongs to the crate that
/// declares them.
#[macro_export]
macro_rules! variables {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $start:expr;)*) => {
        $(
            $(#[$doc])*
            #[allow(unsafe_code, reason = "tools find it by this name")]
            // SAFETY: no other symbol has the prefix.
            #[unsafe(no_mangle)]
            static mut $name: $kind = $start;
        )*

        #[allow(unsafe_code, reason = "tools find it in a section of this name")]
        // SAFETY: all that this section gets are entries.
        #[unsafe(link_section = ".sintonia.names")]
        #[used]
        pub(crate) static ENTRIES: [$crate::Entry; [$(stringify!($name)),*].len()] = [
            $($crate::Entry::of(stringify!($name), (&raw const $name).cast(), size_of::<$kind>())),*
        ];
    };
}

/// Declares functions that tools find by name, and the table `ENTRIES`. What is black to the compiler after their last call
/// keeps the exit where it is, and the bodies different.
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
        // SAFETY: all that this section gets are entries.
        #[unsafe(link_section = ".sintonia.names")]
        #[used]
        pub(crate) static ENTRIES: [$crate::Entry; [$(stringify!($name)),*].len()] = [
            $($crate::Entry::of(stringify!($name), $name as *const (), 0)),*
        ];
    };
}

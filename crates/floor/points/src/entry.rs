//! Tables of variables and functions that tools find by name.

const N_NAME_BYTES: usize = 40;

/// Variable or function that tools find by name.
#[derive(Debug)]
#[repr(C)]
pub struct Entry {
    /// Name, padded with zeros.
    name: [u8; N_NAME_BYTES],
    address: *const (),
    /// Size of a variable in bytes; 0 for a function.
    n_bytes: u64,
}

#[expect(unsafe_code, reason = "it has an address, and is read from the program's file")]
// SAFETY: no code in this process dereferences the address.
unsafe impl Sync for Entry {}

impl Entry {
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
        pub(crate) static ENTRIES: [$crate::Entry; [$(stringify!($name)),*].len()] = [
            $($crate::Entry::of(stringify!($name), (&raw const $name).cast(), size_of::<$kind>())),*
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
        pub(crate) static ENTRIES: [$crate::Entry; [$(stringify!($name)),*].len()] = [
            $($crate::Entry::of(stringify!($name), $name as *const (), 0)),*
        ];
    };
}

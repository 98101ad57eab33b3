//! Enumerations whose values have names in the table.

/// Declares an enumeration with the name of each value in the table.
macro_rules! named {
    ($(#[$about:meta])* $type:ident { $($(#[$doc:meta])* $value:ident = $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $type {
            $($(#[$doc])* $value,)*
        }

        impl $type {
            /// Every value with its name in the table.
            pub const NAMES: &[(&'static str, Self)] = &[$(($name, Self::$value)),*];

            /// Returns its name in the table.
            #[must_use]
            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize].0
            }
        }
    };
}

pub(crate) use named;

//! Number types of C, and their names in MPI.

use serde::Serialize;

/// A number type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub struct NumberType {
    name: &'static str,
    mpi: &'static str,
    family: Family,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Signed,
    Unsigned,
    /// Characters, booleans and floating-point numbers: not usable as a count.
    Other,
}

use Family::{Other, Signed, Unsigned};

const fn number(name: &'static str, mpi: &'static str, family: Family) -> NumberType {
    NumberType { name, mpi, family }
}

/// All supported types.
static NUMBERS: [NumberType; 27] = [
    number("char", "MPI_CHAR", Other),
    number("signed char", "MPI_SIGNED_CHAR", Other),
    number("unsigned char", "MPI_UNSIGNED_CHAR", Other),
    number("short", "MPI_SHORT", Signed),
    number("unsigned short", "MPI_UNSIGNED_SHORT", Unsigned),
    number("int", "MPI_INT", Signed),
    number("unsigned int", "MPI_UNSIGNED", Unsigned),
    number("long", "MPI_LONG", Signed),
    number("unsigned long", "MPI_UNSIGNED_LONG", Unsigned),
    number("long long", "MPI_LONG_LONG", Signed),
    number("unsigned long long", "MPI_UNSIGNED_LONG_LONG", Unsigned),
    number("float", "MPI_FLOAT", Other),
    number("double", "MPI_DOUBLE", Other),
    number("long double", "MPI_LONG_DOUBLE", Other),
    number("bool", "MPI_C_BOOL", Other),
    number("_Bool", "MPI_C_BOOL", Other),
    number("int8_t", "MPI_INT8_T", Signed),
    number("int16_t", "MPI_INT16_T", Signed),
    number("int32_t", "MPI_INT32_T", Signed),
    number("int64_t", "MPI_INT64_T", Signed),
    number("uint8_t", "MPI_UINT8_T", Unsigned),
    number("uint16_t", "MPI_UINT16_T", Unsigned),
    number("uint32_t", "MPI_UINT32_T", Unsigned),
    number("uint64_t", "MPI_UINT64_T", Unsigned),
    number(
        "size_t",
        "(sizeof(size_t) == sizeof(long) ? MPI_UNSIGNED_LONG : MPI_UNSIGNED)",
        Unsigned,
    ),
    number("ptrdiff_t", "(sizeof(ptrdiff_t) == sizeof(long) ? MPI_LONG : MPI_INT)", Signed),
    number("ssize_t", "(sizeof(ssize_t) == sizeof(long) ? MPI_LONG : MPI_INT)", Signed),
];

impl NumberType {
    /// Returns the type that these words name, in any order that C allows.
    pub(crate) fn of(words: &str) -> Option<Self> {
        let name = ordered(words);
        NUMBERS.iter().find(|number| number.name == name).copied()
    }

    /// Returns its MPI datatype, as a C expression.
    pub(crate) fn mpi(self) -> &'static str {
        self.mpi
    }

    /// Returns whether its size and format depend on the processor and compiler even among otherwise
    /// compatible machines.
    pub(crate) fn differs(self) -> bool {
        self.name == "long double"
    }

    /// Returns whether it has negative values; `None` for a type that cannot be a count.
    pub(crate) fn is_signed(self) -> Option<bool> {
        match self.family {
            Signed => Some(true),
            Unsigned => Some(false),
            Other => None,
        }
    }
}

impl From<NumberType> for &'static str {
    fn from(number: NumberType) -> Self {
        number.name
    }
}

/// Puts the words of a type into the usual order, without redundant ones.
fn ordered(words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    let n_of = |word: &str| words.iter().filter(|found| **found == word).count();
    let mut names = Vec::new();
    let has_base = words.iter().any(|word| !SIZES.contains(word));
    if n_of("signed") != 0 && n_of("char") != 0 {
        names.push("signed");
    }
    if n_of("unsigned") != 0 {
        names.push("unsigned");
    }
    let sizes = ["short", "long"].into_iter().flat_map(|size| vec![size; n_of(size)]);
    names.extend(sizes);
    let has_size = n_of("short") + n_of("long") != 0;
    let bases = words.iter().copied().filter(|word| !SIZES.contains(word));
    names.extend(bases.filter(|base| !(has_size && *base == "int")));
    if !has_base && !has_size {
        names.push("int");
    }
    names.join(" ")
}

const SIZES: [&str; 4] = ["signed", "unsigned", "short", "long"];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, expected: Option<&str>) {
        assert_eq!(NumberType::of(words).map(<&str>::from), expected);
    }

    #[test]
    fn words_come_in_any_order() {
        check("int", Some("int"));
        check("signed", Some("int"));
        check("unsigned", Some("unsigned int"));
        check("long unsigned int", Some("unsigned long"));
        check("long long int", Some("long long"));
        check("long  long", Some("long long"));
        check("int short", Some("short"));
        check("signed char", Some("signed char"));
        check("long double", Some("long double"));
        check("uint8_t", Some("uint8_t"));
        check("void", None);
        check("long float", None);
        check("real", None);
    }
}

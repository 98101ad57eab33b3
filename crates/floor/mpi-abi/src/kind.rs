//! Kinds of parameters, which determine how C and Fortran pass them.
//!
//! In C a handle, a number or a pointer is passed by value. In Fortran every parameter is passed as
//! the address of its value, followed by the address of the error code, followed by the hidden
//! lengths of all character arguments, by value, in the order of their parameters.
//!
//! # Not here
//! Width of a handle: see [`Constants`](crate::Constants).

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal $c_declaration:literal)*) => {
        /// Kind of a parameter. The top of `operations.txt` describes each by the name used there.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "the kinds are documented in one place, `operations.txt`")]
        pub enum ParameterKind {
            $($(#[$doc])* $kind,)*
        }

        /// Name in the table, kind, and C type without `const` and with arrays as pointers; in the order of the kinds.
        const KINDS: &[(&str, ParameterKind, &str)] =
            &[$(($name, ParameterKind::$kind, $c_declaration)),*];
    };
}

// A kind without a name is that of a large-count variant only.
kinds! {
    Buf "buf" "void*"
    Int "int" "int"
    Count "count" "int"
    /// The large form of `Count`, or large in both variants.
    LargeCount "largecount" "MPI_Count"
    Counts "counts" "int*"
    /// The large form of `Counts`.
    LargeCounts "" "MPI_Count*"
    Displs "displs" "int*"
    Unit "unit" "int"
    Aint "aint" "MPI_Aint"
    Aints "aints" "MPI_Aint*"
    Offset "offset" "MPI_Offset"
    Type "type" "MPI_Datatype"
    Comm "comm" "MPI_Comm"
    Win "win" "MPI_Win"
    File "file" "MPI_File"
    Op "op" "MPI_Op"
    Group "group" "MPI_Group"
    Info "info" "MPI_Info"
    Errhandler "errhandler" "MPI_Errhandler"
    Session "session" "MPI_Session"
    RequestValue "requestvalue" "MPI_Request"
    Types "types" "MPI_Datatype*"
    Infos "infos" "MPI_Info*"
    Request "request" "MPI_Request*"
    Requests "requests" "MPI_Request*"
    Message "message" "MPI_Message*"
    NewComm "newcomm" "MPI_Comm*"
    NewWin "newwin" "MPI_Win*"
    NewFile "newfile" "MPI_File*"
    NewSession "newsession" "MPI_Session*"
    NewType "newtype" "MPI_Datatype*"
    Status "status" "MPI_Status*"
    Statuses "statuses" "MPI_Status*"
    Flag "flag" "int*"
    Logical "logical" "int"
    Logicals "logicals" "int*"
    Ints "ints" "int*"
    OutInt "outint" "int*"
    OutInts "outints" "int*"
    OutCount "outcount" "int*"
    /// The large form of `OutCount`.
    LargeOutCount "" "MPI_Count*"
    StringIn "string" "char*"
    Strings "strings" "char**"
    Argvs "argvs" "char***"
    Ptr "ptr" "void*"
    MainArgc "mainargc" "int*"
    MainArgv "mainargv" "char***"
    Variadic "variadic" "..."
}

/// C type of a parameter, as far as a wrapper that only forwards it must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CType {
    /// `int`.
    Int,
    /// `MPI_Count`: 64 bits in every library.
    Count,
    /// `MPI_Aint`: the width of an address.
    Aint,
    /// `MPI_Offset`: 64 bits in every library.
    Offset,
    /// A handle by value: an `int` or a pointer, so a register that is forwarded whole.
    Handle,
    /// A pointer.
    Pointer,
    /// `...`.
    Variadic,
}

impl ParameterKind {
    /// Returns the kind with this name in the table.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let row = KINDS.iter().find(|(known, ..)| !name.is_empty() && *known == name)?;
        Some(row.1)
    }

    /// Kind of the same parameter in the large-count variant of the operation.
    #[must_use]
    pub fn large(self) -> Self {
        match self {
            Self::Count => Self::LargeCount,
            Self::Counts => Self::LargeCounts,
            Self::Displs => Self::Aints,
            Self::Unit => Self::Aint,
            Self::OutCount => Self::LargeOutCount,
            same => same,
        }
    }

    /// C type, without `const` and with arrays as pointers, for example `MPI_Count*`.
    #[must_use]
    pub fn c_declaration(self) -> &'static str {
        KINDS[self as usize].2
    }

    /// C type by which the parameter is passed.
    #[must_use]
    pub fn c_type(self) -> CType {
        match self.c_declaration() {
            "int" => CType::Int,
            "MPI_Count" => CType::Count,
            "MPI_Aint" => CType::Aint,
            "MPI_Offset" => CType::Offset,
            "..." => CType::Variadic,
            pointer if pointer.ends_with('*') => CType::Pointer,
            _ => CType::Handle,
        }
    }

    /// Returns whether Fortran has the parameter: all but the arguments of `main` and `...`.
    #[must_use]
    pub fn is_in_fortran(self) -> bool {
        !matches!(self, Self::MainArgc | Self::MainArgv | Self::Variadic)
    }

    /// Returns whether Fortran adds a hidden length for the parameter at the end of the argument list.
    #[must_use]
    pub fn has_hidden_length(self) -> bool {
        matches!(self, Self::StringIn | Self::Strings | Self::Argvs)
    }

    /// Returns whether the parameter is a choice buffer, which some `mpi_f08` entry points pass as a descriptor.
    #[must_use]
    pub fn is_choice_buffer(self) -> bool {
        self == Self::Buf
    }

    /// Returns whether the parameter is a number of elements, in the normal or the large form.
    #[must_use]
    pub fn is_count(self) -> bool {
        matches!(self, Self::Count | Self::LargeCount)
    }

    /// Returns whether the parameter is an array of numbers of elements, in the normal or the large form.
    #[must_use]
    pub fn is_counts(self) -> bool {
        matches!(self, Self::Counts | Self::LargeCounts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_forms_change_only_counts_and_displacements() {
        let changed: Vec<_> =
            KINDS.iter().filter(|(_, k, _)| k.large() != *k).map(|row| row.0).collect();
        assert_eq!(changed, ["count", "counts", "displs", "unit", "outcount"]);
    }
}

//! Kinds of parameters, which determine how C and Fortran pass them.
//!
//! In C a handle, a number or a pointer is passed by value. In Fortran every parameter is passed as
//! the address of its value, followed by the address of the error code, followed by the hidden
//! lengths of all character arguments, by value, in the order of their parameters.
//!
//! # Not here
//! Width of a handle: see [`Constants`](crate::Constants).

use ParameterKind::{
    Aint, Aints, Argvs, Buf, Comm, Count, Counts, Displs, Errhandler, File, Flag, Group, Info,
    Infos, Int, Ints, LargeCount, LargeCounts, LargeOutCount, Logical, Logicals, MainArgc,
    MainArgv, Message, NewComm, NewFile, NewSession, NewType, NewWin, Offset, Op, OutCount, OutInt,
    OutInts, Ptr, Request, RequestValue, Requests, Session, Status, Statuses, StringIn, Strings,
    Type, Types, Unit, Variadic, Win,
};

/// Kind of a parameter. The top of `operations.txt` describes each by the name used there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the kinds are documented in one place, `operations.txt`")]
pub enum ParameterKind {
    Buf,
    Int,
    Count,
    /// The large form of `Count`, or large in both variants.
    LargeCount,
    Counts,
    /// The large form of `Counts`.
    LargeCounts,
    Displs,
    Unit,
    Aint,
    Aints,
    Offset,
    Type,
    Comm,
    Win,
    File,
    Op,
    Group,
    Info,
    Errhandler,
    Session,
    RequestValue,
    Types,
    Infos,
    Request,
    Requests,
    Message,
    NewComm,
    NewWin,
    NewFile,
    NewSession,
    NewType,
    Status,
    Statuses,
    Flag,
    Logical,
    Logicals,
    Ints,
    OutInt,
    OutInts,
    OutCount,
    /// The large form of `OutCount`.
    LargeOutCount,
    StringIn,
    Strings,
    Argvs,
    Ptr,
    MainArgc,
    MainArgv,
    Variadic,
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

/// Name in the table, kind, and C type without `const` and with arrays as pointers.
const KINDS: [(&str, ParameterKind, &str); 48] = [
    ("buf", Buf, "void*"),
    ("int", Int, "int"),
    ("count", Count, "int"),
    ("largecount", LargeCount, "MPI_Count"),
    ("counts", Counts, "int*"),
    ("", LargeCounts, "MPI_Count*"),
    ("displs", Displs, "int*"),
    ("unit", Unit, "int"),
    ("aint", Aint, "MPI_Aint"),
    ("aints", Aints, "MPI_Aint*"),
    ("offset", Offset, "MPI_Offset"),
    ("type", Type, "MPI_Datatype"),
    ("comm", Comm, "MPI_Comm"),
    ("win", Win, "MPI_Win"),
    ("file", File, "MPI_File"),
    ("op", Op, "MPI_Op"),
    ("group", Group, "MPI_Group"),
    ("info", Info, "MPI_Info"),
    ("errhandler", Errhandler, "MPI_Errhandler"),
    ("session", Session, "MPI_Session"),
    ("requestvalue", RequestValue, "MPI_Request"),
    ("types", Types, "MPI_Datatype*"),
    ("infos", Infos, "MPI_Info*"),
    ("request", Request, "MPI_Request*"),
    ("requests", Requests, "MPI_Request*"),
    ("message", Message, "MPI_Message*"),
    ("newcomm", NewComm, "MPI_Comm*"),
    ("newwin", NewWin, "MPI_Win*"),
    ("newfile", NewFile, "MPI_File*"),
    ("newsession", NewSession, "MPI_Session*"),
    ("newtype", NewType, "MPI_Datatype*"),
    ("status", Status, "MPI_Status*"),
    ("statuses", Statuses, "MPI_Status*"),
    ("flag", Flag, "int*"),
    ("logical", Logical, "int"),
    ("logicals", Logicals, "int*"),
    ("ints", Ints, "int*"),
    ("outint", OutInt, "int*"),
    ("outints", OutInts, "int*"),
    ("outcount", OutCount, "int*"),
    ("", LargeOutCount, "MPI_Count*"),
    ("string", StringIn, "char*"),
    ("strings", Strings, "char**"),
    ("argvs", Argvs, "char***"),
    ("ptr", Ptr, "void*"),
    ("mainargc", MainArgc, "int*"),
    ("mainargv", MainArgv, "char***"),
    ("variadic", Variadic, "..."),
];

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
            Count => LargeCount,
            Counts => LargeCounts,
            Displs => Aints,
            Unit => Aint,
            OutCount => LargeOutCount,
            same => same,
        }
    }

    /// C type, without `const` and with arrays as pointers, for example `MPI_Count*`.
    #[must_use]
    pub fn c_declaration(self) -> &'static str {
        // The rows are in the order of the kinds; a test below checks this.
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
        !matches!(self, MainArgc | MainArgv | Variadic)
    }

    /// Returns whether Fortran adds a hidden length for the parameter at the end of the argument list.
    #[must_use]
    pub fn has_hidden_length(self) -> bool {
        matches!(self, StringIn | Strings | Argvs)
    }

    /// Returns whether the parameter is a choice buffer, which some `mpi_f08` entry points pass as a descriptor.
    #[must_use]
    pub fn is_choice_buffer(self) -> bool {
        self == Buf
    }

    /// Returns whether the parameter is a number of elements, in the normal or the large form.
    #[must_use]
    pub fn is_count(self) -> bool {
        matches!(self, Count | LargeCount)
    }

    /// Returns whether the parameter is an array of numbers of elements, in the normal or the large form.
    #[must_use]
    pub fn is_counts(self) -> bool {
        matches!(self, Counts | LargeCounts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_row() {
        for (row, (name, kind, _)) in KINDS.iter().enumerate() {
            assert_eq!(*kind as usize, row, "`{name}` stands where its kind is declared");
        }
        assert_eq!(KINDS.len(), Variadic as usize + 1);
    }

    #[test]
    fn large_forms_change_only_counts_and_displacements() {
        let changed: Vec<_> =
            KINDS.iter().filter(|(_, k, _)| k.large() != *k).map(|row| row.0).collect();
        assert_eq!(changed, ["count", "counts", "displs", "unit", "outcount"]);
    }
}

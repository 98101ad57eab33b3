//! The structs that a C header defines.

use crate::number::NumberType;
use serde::Serialize;

/// The structs of a header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Header {
    /// Structs in the order of their definitions.
    pub structs: Vec<Struct>,
}

impl Header {
    /// Returns warnings for users of the messages, as sentences.
    pub fn remarks(&self) -> Vec<String> {
        let members = self.structs.iter().flat_map(|of| of.members.iter().map(move |it| (of, it)));
        let differing = members.filter(
            |(_, member)| matches!(member.kind, ElementKind::Number(number) if number.differs()),
        );
        let sentence = |(of, member): (&Struct, &Member)| {
            format!(
                "member `{}` of `{}` is a `{}`, which is not the same on all processors: all ranks have to run on one kind",
                member.name, of.c_type, member.c_type
            )
        };
        differing.map(sentence).collect()
    }
}

/// A struct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Struct {
    /// Name, without `struct`.
    pub name: String,
    /// Name of the type in C.
    pub c_type: String,
    /// True if it has no pointers at any depth, so that an MPI datatype can describe it.
    pub is_flat: bool,
    /// Members in their order.
    pub members: Vec<Member>,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Name of the member.
    pub name: String,
    /// The type of its elements, as the header names it.
    pub c_type: String,
    /// Kind of its elements.
    pub kind: ElementKind,
    /// Extents of an array, from the outermost; empty for one element.
    pub extents: Vec<u64>,
    /// Factors whose product is the number of elements behind a pointer; empty for a member that is not a
    /// pointer.
    pub counts: Vec<Factor>,
}

/// Kind of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElementKind {
    /// A number of this type.
    Number(NumberType),
    /// An enumeration, as large as an `int`.
    Enumeration,
    /// A struct, by its index in [`Header::structs`].
    Struct(usize),
}

/// Factor of the number of elements behind a pointer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    /// Value of an integer member of the same struct.
    Member {
        /// Name of that member.
        name: String,
        /// True if its type is signed; negative values count as 0.
        is_signed: bool,
    },
    /// A fixed number.
    Constant(u64),
}

impl Member {
    /// Returns whether its elements lie behind a pointer.
    pub fn is_dynamic(&self) -> bool {
        !self.counts.is_empty()
    }
}

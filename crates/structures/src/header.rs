//! What a header says.

use crate::number::Number;
use serde::Serialize;

/// The structs of a header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Header {
    /// In the order in which they are defined.
    pub structs: Vec<Struct>,
}

impl Header {
    /// What a user of the messages should know, in sentences.
    pub fn remarks(&self) -> Vec<String> {
        let members = self.structs.iter().flat_map(|of| of.members.iter().map(move |it| (of, it)));
        let differing = members
            .filter(|(_, member)| matches!(member.kind, Kind::Number(number) if number.differs()));
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
    /// Its name, without `struct`.
    pub name: String,
    /// How C names the type.
    pub c_type: String,
    /// Whether all of it lies in its own bytes, so that an MPI datatype describes it.
    pub is_flat: bool,
    /// In their order.
    pub members: Vec<Member>,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// The type of its elements, as the header names it.
    pub c_type: String,
    /// What its elements are.
    pub kind: Kind,
    /// Of an array, from the outermost; empty for one element.
    pub extents: Vec<u64>,
    /// The elements behind a pointer are as many as the product of these; empty for a member that is no pointer.
    pub counts: Vec<Factor>,
}

/// What an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A number.
    Number(Number),
    /// One of an enumeration, as large as an `int`.
    Enumeration,
    /// A struct, by its place in the header.
    Struct(usize),
}

/// Part of how many elements there are behind a pointer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    /// What this member of the same struct says; whether it may be negative.
    Member {
        /// Its name.
        name: String,
        /// Whether its type has negative values, which count as none.
        is_signed: bool,
    },
    /// So many.
    Constant(u64),
}

impl Member {
    /// Whether its elements lie elsewhere.
    pub fn is_dynamic(&self) -> bool {
        !self.counts.is_empty()
    }
}

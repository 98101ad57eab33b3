//! Problems: parts of a header that cannot be sent, their place, and what to write instead.

use std::fmt;

/// A problem and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderProblem {
    /// Kind of problem.
    pub kind: ProblemKind,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in bytes.
    pub column: usize,
    /// Length of the text concerned, in bytes.
    pub n_bytes: usize,
}

/// Reason why something cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// Text that is not C, or that the parser does not understand.
    #[error("cannot parse `{text}` as C")]
    Syntax {
        /// The text.
        text: String,
    },
    /// A complex number, which the C grammar in use does not support.
    #[error("`{text}` is a complex number, and only plain ones can be sent")]
    Complex {
        /// The text.
        text: String,
    },
    /// A construct of C++.
    #[error("`{text}` is C++, and only structs of C can be sent")]
    Cpp {
        /// The C++ keyword.
        text: String,
    },
    /// The header defines no struct.
    #[error("there is no struct here")]
    NoStruct,
    /// A struct without a name.
    #[error("a struct has no name")]
    Nameless,
    /// Two structs with the same name.
    #[error("`{name}` is defined twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// A struct without members.
    #[error("`{name}` has no members")]
    Empty {
        /// The name.
        name: String,
    },
    /// Members inside a conditional directive.
    #[error("members of `{of}` depend on `{text}`")]
    Conditional {
        /// The struct.
        of: String,
        /// The directive.
        text: String,
    },
    /// A member that cannot be sent.
    #[error("member `{member}` of `{of}` {why}: `{text}`")]
    Member {
        /// The struct.
        of: String,
        /// The member.
        member: String,
        /// Its declaration.
        text: String,
        /// Reason.
        why: MemberFault,
    },
}

/// Reason why a member cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemberFault {
    /// A union: which of its members is valid is not known.
    #[error("is a union")]
    Union,
    /// A pointer to a function.
    #[error("is a pointer to a function")]
    Function,
    /// A bit-field.
    #[error("is a bit-field")]
    BitField,
    /// A flexible array member, without a length.
    #[error("is an array without a length")]
    Flexible,
    /// A pointer without a number of elements.
    #[error("is a pointer of unknown length")]
    Pointer,
    /// A pointer to pointers, or an array of pointers.
    #[error("contains pointers")]
    Pointers,
    /// A `void` pointer.
    #[error("is a `void` pointer")]
    Void,
    /// A member with a qualifier, such as `const`, that cannot be received into.
    #[error("is `{qualifier}`")]
    Qualified {
        /// The qualifier.
        qualifier: String,
    },
    /// A type that the header does not define.
    #[error("is of a type that this header does not define")]
    Type {
        /// The type.
        c_type: String,
    },
    /// A struct that is defined later, or the struct itself.
    #[error("is a struct that is defined later")]
    UsedBeforeDefinition,
    /// A struct or an enumeration defined inside a struct.
    #[error("has a type defined inside this struct")]
    Nested,
    /// A size that is not a positive whole number.
    #[error("has a size that is not a positive integer constant")]
    Size,
    /// The given count is neither an integer member nor a constant.
    #[error(
        "has the length `{count}`, which is neither an integer member of the struct nor a constant of this header"
    )]
    Count {
        /// The count as written.
        count: String,
    },
}

impl ProblemKind {
    /// Returns what to write instead.
    pub fn remedy(&self) -> String {
        match self {
            Self::Syntax { .. } => "check that it compiles".to_owned(),
            Self::Complex { .. } => {
                "make it two numbers, as it lies in memory: `double z[2]`, or `float`".to_owned()
            }
            Self::Cpp { .. } => "describe what is sent in a header of plain structs".to_owned(),
            Self::NoStruct => "define one: `struct task { double weight; };`".to_owned(),
            Self::Nameless => "give it one: `struct task { ... };`".to_owned(),
            Self::Twice { .. } => "leave one of them out".to_owned(),
            Self::Empty { .. } => "give it one, or leave it out".to_owned(),
            Self::Conditional { .. } => "make two structs, or keep the members always".to_owned(),
            Self::Member { member, why, .. } => why.remedy(member),
        }
    }
}

impl MemberFault {
    fn remedy(&self, member: &str) -> String {
        match self {
            Self::Union => {
                "send its members beside each other, or an array of `unsigned char`".into()
            }
            Self::Function => "send a number that says which function is meant".into(),
            Self::BitField => "make it a whole integer, such as `uint8_t`".into(),
            Self::Flexible => {
                format!("give it a length, or make it a pointer: `*{member}; /* [n_{member}] */`")
            }
            Self::Pointer => {
                format!("give the length in a comment after it: `*{member}; /* [n_{member}] */`")
            }
            Self::Pointers => {
                format!("store the elements contiguously: `*{member}; /* [n_rows][n_columns] */`")
            }
            Self::Void => format!("make it bytes: `unsigned char *{member}; /* [n_{member}] */`"),
            Self::Qualified { qualifier } => {
                format!("leave `{qualifier}` out; messages are received into it")
            }
            Self::Type { .. } => {
                "define it in this header, or use a number, an enum or a struct that it defines"
                    .into()
            }
            Self::UsedBeforeDefinition => "define that struct before this one".into(),
            Self::Nested => "define that type before this struct, with a name".into(),
            Self::Size => "write a number, or a name that this header defines as one".into(),
            Self::Count { .. } => "name an integer member of the same struct, or a constant".into(),
        }
    }
}

impl HeaderProblem {
    /// Formats the problem for the user, with the line: `name` is the header's name, `text` its contents.
    pub fn render(&self, name: &str, text: &str) -> String {
        let line = text.lines().nth(self.line.saturating_sub(1)).unwrap_or_default();
        let (before, rest) = line.split_at_checked(self.column - 1).unwrap_or((line, ""));
        // As wide as the text above it, tabs included.
        let indent: String = before.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let meant = rest.get(..self.n_bytes).unwrap_or(rest);
        let carets = "^".repeat(meant.chars().count().max(1));
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        format!(
            "{name}:{number}:{column}: {kind}\n {number} | {line}\n {margin} | {indent}{carets}\n {margin} = {remedy}\n",
            column = self.column,
            kind = self.kind,
            remedy = self.kind.remedy(),
        )
    }
}

impl fmt::Display for HeaderProblem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}:{}: {}; {}", self.line, self.column, self.kind, self.kind.remedy())
    }
}

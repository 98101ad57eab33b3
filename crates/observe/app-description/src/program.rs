//! Facts about a program that a description depends on.

use events::ValueType;

/// Lookup of a program's functions and variables by their source names.
pub trait ProgramNames {
    /// Looks up a function.
    ///
    /// # Errors
    /// A sentence with the reason why there is none of this name, and a remedy.
    fn function(&self, name: &str) -> Result<FunctionFacts, String>;

    /// Looks up a variable that holds a number.
    ///
    /// # Errors
    /// A sentence with the reason why there is none of this name, and a remedy.
    fn variable(&self, name: &str) -> Result<VariableFacts, String>;

    /// Looks up a number that is reached through a pointer, such as `sim->box.cutoff`, where `sim` is an argument of the
    /// function or a pointer variable. `None` if the name follows no pointer.
    ///
    /// # Errors
    /// A sentence with the reason why there is none of this name, and a remedy.
    fn reached(&self, _name: &str, _function: &str) -> Result<Option<ReachedFacts>, String> {
        Ok(None)
    }

    /// Returns a sentence why the program may not notice a change to the variable at the function;
    /// `None` if no reason is known.
    fn unseen(&self, variable: &str, function: &str) -> Option<String>;
}

/// Facts about a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionFacts {
    /// Reason why it cannot have probes, as half a sentence: "it has no code"; `None` if it can.
    pub not_probeable: Option<String>,
    /// Functions with inlined copies of its body; calls there do not pass it.
    pub inlined_in: Vec<String>,
    /// Arguments; `None` if debug information does not tell.
    pub arguments: Option<Vec<Passed>>,
    /// Return value; `None` if debug information does not tell.
    pub returns: Option<Passed>,
}

/// Argument or return value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Name of its type in the source; `void` if nothing is returned.
    pub type_name: String,
    /// Type in which it is passed; `None` if it is not a single number in one place.
    pub kind: Option<ValueType>,
}

/// Facts about a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableFacts {
    /// Name of its type in the source; empty if unknown.
    pub type_name: String,
    /// Type; `None` if debug information does not tell.
    pub kind: Option<ValueType>,
    /// Size in memory, in bytes.
    pub n_bytes: u64,
    /// Reason why it cannot be set, as a sentence; `None` if it can.
    pub not_settable: Option<String>,
}

/// Facts about a number that is reached through a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedFacts {
    /// Name of its type in the source.
    pub type_name: String,
    /// Type.
    pub kind: ValueType,
    /// Whether the way begins at an argument of the function, which exists at its entry only.
    pub is_of_argument: bool,
}

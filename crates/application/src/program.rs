//! What a description needs to know of the program.

use events::ValueType;

/// A program, by the names that its source gives things.
pub trait ProgramNames {
    /// A function.
    ///
    /// # Errors
    /// A sentence that says why there is none of this name, and what to do.
    fn function(&self, name: &str) -> Result<FunctionFacts, String>;

    /// A number in memory.
    ///
    /// # Errors
    /// A sentence that says why there is none of this name, and what to do.
    fn variable(&self, name: &str) -> Result<VariableFacts, String>;

    /// Why the program may not see a change of the variable that is made at the function, as a sentence;
    /// none when nothing is known against it.
    fn unseen(&self, variable: &str, function: &str) -> Option<String>;
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionFacts {
    /// Why it cannot have probes, as half a sentence: "it has no code"; none when it can.
    pub not_probeable: Option<String>,
    /// Functions that hold copies of its body; calls there do not pass it.
    pub inlined_in: Vec<String>,
    /// Its arguments; none when debug information does not tell.
    pub arguments: Option<Vec<Passed>>,
    /// What it returns; none when debug information does not tell.
    pub returns: Option<Passed>,
}

/// An argument, or a value returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Its type as the source calls it; `void` when nothing is returned.
    pub type_name: String,
    /// How it lies in its place; none when it is not one number in one place.
    pub kind: Option<ValueType>,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableFacts {
    /// Its type as the source calls it; empty when unknown.
    pub type_name: String,
    /// Its type; none when debug information does not tell.
    pub kind: Option<ValueType>,
    /// Its size in memory.
    pub n_bytes: u64,
    /// Why it cannot be set, as a sentence; none when it can.
    pub not_settable: Option<String>,
}

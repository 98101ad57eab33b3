//! Access to a program's symbols and debug information for checking a description.

use app_description::{FunctionFacts, Passed, ProgramNames, VariableFacts};
use symbols::{Function, Parameter, Passing, Program};

/// Facts about a program's names.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    program: &'a Program,
}

impl<'a> Names<'a> {
    /// Creates the view of `program`.
    pub fn of(program: &'a Program) -> Self {
        Self { program }
    }
}

impl ProgramNames for Names<'_> {
    fn function(&self, name: &str) -> Result<FunctionFacts, String> {
        let function = self.program.function(name).map_err(|error| error.to_string())?;
        let inlined_in = function.inlined.iter().map(|inlined| inlined.function.clone());
        let passed = |parameter| passed(function, parameter);
        Ok(FunctionFacts {
            not_probeable: function.probeable().err().map(|reason| reason.to_string()),
            inlined_in: inlined_in.collect(),
            arguments: function.parameters.as_ref().map(|all| all.iter().map(passed).collect()),
            returns: function.returns.as_ref().map(|returned| Passed {
                type_name: returned.type_name.clone(),
                kind: returned.kind,
            }),
        })
    }

    fn variable(&self, name: &str) -> Result<VariableFacts, String> {
        let variable = self.program.readable_variable(name).map_err(|error| error.to_string())?;
        let symbols::Variable { type_name, kind, n_bytes, .. } = variable;
        let not_settable = self.program.variable(name).err().map(|error| error.to_string());
        Ok(VariableFacts { type_name, kind, n_bytes, not_settable })
    }

    fn unseen(&self, variable: &str, function: &str) -> Option<String> {
        let (name, variable) = (variable, self.program.variable(variable).ok()?);
        let function = self.program.function(function).ok()?;
        if let Some(cached) = self.program.cached_across(&variable, function).first() {
            return Some(cached.to_string());
        }
        // A library's variable may be read from anywhere.
        let is_own = *variable.module == *self.program.path();
        // Not all functions of a stripped program are known.
        let is_stripped = self.program.is_stripped() && !self.program.has_debug_info();
        let is_read = !is_own || is_stripped || self.program.readers(&variable).is_read();
        let remedy = "name the variable that its loops read";
        (!is_read).then(|| {
            format!("no instruction reads `{name}`, so changing it has no effect; {remedy}")
        })
    }
}

/// Describes a parameter; only one that is a single number at a fixed place can be measured.
fn passed(function: &Function, parameter: &Parameter) -> Passed {
    let type_name = &parameter.type_name;
    let (note, kind) = if function.is_copy {
        (" in a place that the compiler chose", None)
    } else if parameter.passing == Passing::Parts {
        ("", None)
    } else {
        ("", parameter.kind)
    };
    Passed { type_name: format!("{type_name}{note}"), kind }
}

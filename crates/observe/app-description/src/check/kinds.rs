//! Types from debug information, checked against types declared in the description.

use crate::description::{Application, AttributeSource, ChangeKind};
use crate::program::{FunctionFacts, Passed, ProgramNames, ReachedFacts};
use events::{ProbePoint, ValueType};

/// Reason why a type cannot be determined.
#[derive(Debug)]
pub(super) struct NoKind {
    pub(super) sentence: String,
    /// True if the declared type is the one to correct.
    pub(super) is_declared: bool,
}

impl From<String> for NoKind {
    fn from(sentence: String) -> Self {
        Self { sentence, is_declared: false }
    }
}

/// Determines the type of a value that may have a declared type.
pub(super) struct Kinds<'a> {
    pub(super) program: &'a dyn ProgramNames,
    pub(super) declared: Option<ValueType>,
}

/// Returns the description with all types known from debug information; unknown types stay open.
pub fn complete(application: &Application, program: &dyn ProgramNames) -> Application {
    let mut application = application.clone();
    for event in &mut application.events {
        let facts = program.function(&event.function).unwrap_or_default();
        for attribute in &mut event.attributes {
            let kinds = Kinds { program, declared: attribute.kind };
            let kind = match &attribute.source {
                AttributeSource::Variable(name) => {
                    kinds.of_variable(name, &event.function, event.place)
                }
                AttributeSource::Argument(place) => {
                    kinds.of_argument(&event.function, &facts, *place)
                }
                AttributeSource::Returned => kinds.of_returned(&event.function, &facts),
            };
            attribute.kind = kind.ok().or(attribute.kind);
        }
    }
    for point in &mut application.tuning_points {
        let kinds = Kinds { program, declared: point.kind };
        let kind = match &point.change {
            ChangeKind::Variable(name) => {
                kinds.of_variable(name, &point.sync_function, point.sync_place).ok()
            }
            ChangeKind::Call(name) => {
                let facts = program.function(name).unwrap_or_default();
                kinds.of_only_argument(name, &facts).ok()
            }
            ChangeKind::Load(_) | ChangeKind::Replace { .. } => Some(ValueType::Bool),
            ChangeKind::Lever(_) => None,
        };
        point.kind = kind.or(point.kind);
    }
    application
}

/// Returns what a name means at a function, if it follows a pointer; a variable that can be named without is preferred.
pub(super) fn reached(
    program: &dyn ProgramNames,
    name: &str,
    function: &str,
) -> Result<Option<ReachedFacts>, String> {
    if !name.contains("->") && program.variable(name).is_ok() {
        return Ok(None);
    }
    program.reached(name, function)
}

impl Kinds<'_> {
    /// Returns the type of a variable, or of a number that is reached through a pointer at this place of a function.
    pub(super) fn of_variable(
        &self,
        name: &str,
        function: &str,
        place: ProbePoint,
    ) -> Result<ValueType, NoKind> {
        if let Some(reached) = reached(self.program, name, function)? {
            if reached.is_of_argument && place == ProbePoint::Exit {
                return Err(format!(
                    "`{name}` begins at an argument of `{function}`, which is gone at its exit; use the entry"
                )
                .into());
            }
            let is = format!("`{name}` has the type `{}`", reached.type_name);
            return self.agreed(Some(reached.kind), &is);
        }
        let variable = self.program.variable(name)?;
        if variable.kind.is_some() {
            let is = format!("`{name}` has the type `{}`", variable.type_name);
            return self.agreed(variable.kind, &is);
        }
        let kind = self.agreed(None, &format!("`{name}`"))?;
        if u64::try_from(kind.n_bytes()).is_ok_and(|n_bytes| n_bytes <= variable.n_bytes) {
            return Ok(kind);
        }
        let (n_bytes, kind) = (variable.n_bytes, kind.name());
        let sentence =
            format!("`{name}` has {n_bytes} bytes, too few for a {kind}; correct its `type`");
        Err(NoKind { sentence, is_declared: true })
    }

    pub(super) fn of_argument(
        &self,
        function: &str,
        facts: &FunctionFacts,
        place: usize,
    ) -> Result<ValueType, NoKind> {
        let Some(arguments) = &facts.arguments else {
            return Err(format!(
                "the arguments of `{function}` are unknown: it has no debug information (compile it with `-g`), or is a variant that the compiler made"
            )
            .into());
        };
        let argument = place.checked_sub(1).and_then(|idx| arguments.get(idx));
        let Some(argument) = argument else {
            let n = arguments.len();
            let has = match n {
                0 => "it has none".to_owned(),
                n => format!("they go from 1 to {n}"),
            };
            return Err(format!("`{function}` has no argument {place}; {has}").into());
        };
        self.passed(&format!("argument {place} of `{function}`"), argument)
    }

    /// Returns the type of the only argument of a function that is called with just the value.
    pub(super) fn of_only_argument(
        &self,
        function: &str,
        facts: &FunctionFacts,
    ) -> Result<ValueType, NoKind> {
        match facts.arguments.as_ref().map(Vec::len) {
            None => self.agreed(None, &format!("the argument of `{function}`")),
            Some(1) => self.of_argument(function, facts, 1),
            Some(n) => Err(format!(
                "`{function}` has {n} arguments; it is called with the value alone, so name one that takes one"
            )
            .into()),
        }
    }

    pub(super) fn of_returned(
        &self,
        function: &str,
        facts: &FunctionFacts,
    ) -> Result<ValueType, NoKind> {
        let what = format!("what `{function}` returns");
        match &facts.returns {
            None => self.agreed(None, &what),
            Some(returned) if returned.type_name == "void" => {
                Err(format!("`{function}` returns nothing; measure a variable").into())
            }
            Some(returned) => self.passed(&what, returned),
        }
    }

    fn passed(&self, what: &str, passed: &Passed) -> Result<ValueType, NoKind> {
        if passed.kind.is_none() {
            let type_name = &passed.type_name;
            let sentence =
                format!("{what} is `{type_name}`, not one number; measure something else");
            return Err(sentence.into());
        }
        self.agreed(passed.kind, &format!("{what} has the type `{}`", passed.type_name))
    }

    /// Returns the declared type unless the program contradicts it. Integers of the same size may differ in sign.
    fn agreed(&self, told: Option<ValueType>, what: &str) -> Result<ValueType, NoKind> {
        match (self.declared, told) {
            (None, None) => Err(format!(
                "{what}: its type is unknown without debug information; add `type`, or compile with `-g`"
            )
            .into()),
            (None, Some(kind)) | (Some(kind), None) => Ok(kind),
            (Some(declared), Some(told)) => {
                let is_alike =
                    declared.n_bytes() == told.n_bytes() && declared.is_float() == told.is_float();
                let refusal = || {
                    let name = declared.name();
                    let sentence =
                        format!("{what}, which is no {name}; correct its `type` or leave it out");
                    NoKind { sentence, is_declared: true }
                };
                is_alike.then_some(declared).ok_or_else(refusal)
            }
        }
    }
}

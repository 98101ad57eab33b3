//! Reasons why a name is not that of a function, or of a variable, of a program.

use super::Program;
use super::errors::LookupError;
use super::index::Absent;
use super::names::{fit, loose_fit, near};
use super::path;

impl Program {
    pub(super) fn no_function(&self, name: &str) -> LookupError {
        if let Some(error) = stripped(self, name) {
            return error;
        }
        if self.own.typed_variable(name).is_ok_and(|found| found.is_some()) {
            let (is, wanted) = ("variable", "function");
            return LookupError::OtherKind { name: name.to_owned(), is, wanted };
        }
        let absent = self.own.absent();
        let is_it = |absent: &&Absent| {
            let fit = fit(name, &absent.linkage_name, &absent.name);
            fit.or_else(|| loose_fit(name, &absent.name)).is_some()
        };
        let mut found: Vec<&Absent> = absent.iter().filter(is_it).collect();
        found.sort_by_key(|absent| std::cmp::Reverse(absent.inlined.len()));
        match found.first() {
            Some(absent) if !absent.inlined.is_empty() => LookupError::Inlined {
                name: name.to_owned(),
                n_places: absent.inlined.iter().map(|inlined| inlined.n_copies).sum(),
                functions: absent.inlined.iter().map(|inlined| inlined.function.clone()).collect(),
            },
            Some(_) => LookupError::NoCode(name.to_owned(), self.path().into()),
            None => unknown(self, name, self.functions().iter().map(|f| f.name.as_str())),
        }
    }

    pub(super) fn no_variable(&self, name: &str) -> LookupError {
        if let Some(error) = stripped(self, name) {
            return error;
        }
        if self.own.function(name).is_ok_and(|found| found.is_some()) {
            let (is, wanted) = ("function", "variable");
            return LookupError::OtherKind { name: name.to_owned(), is, wanted };
        }
        let base = path::VariablePath::parse(name).filter(|path| !path.steps.is_empty());
        if base.is_some_and(|path| self.own.untyped_variable(path.base).is_ok_and(|v| v.is_some()))
        {
            return LookupError::NeedsDebugInfo(name.to_owned(), self.path().into());
        }
        let declared = self.own.index().variables.iter().map(|global| global.name.as_str());
        let objects = self.own.image.objects().iter().map(|object| object.name.as_str());
        unknown(self, name, declared.chain(objects))
    }
}

fn stripped(program: &Program, name: &str) -> Option<LookupError> {
    let is_stripped = program.is_stripped() && !program.has_debug_info();
    is_stripped.then(|| LookupError::Stripped(name.to_owned(), program.path().into()))
}

fn unknown<'n>(program: &Program, name: &str, names: impl Iterator<Item = &'n str>) -> LookupError {
    let near = near(name, names);
    LookupError::Unknown { name: name.to_owned(), program: program.path().into(), near }
}

//! One file, a program or library, and lookup of names in it.

use super::debug::{Debug, Sections};
use super::errors::{LookupError, ProgramError};
use super::function::Function;
use super::image::Image;
use super::index::{Absent, Index};
use super::names::{Fit, fit, loose_fit};
use std::cell::OnceCell;
use std::path::Path;

#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) image: Image,
    sections: OnceCell<Option<Sections>>,
    index: OnceCell<Index>,
    absent: OnceCell<Vec<Absent>>,
}

impl Module {
    pub(crate) fn open(path: &Path) -> Result<Self, ProgramError> {
        let image = Image::open(path)?;
        let (sections, index, absent) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Ok(Self { image, sections, index, absent })
    }

    /// Returns its debug information; fast after the first call.
    pub(crate) fn debug(&self) -> Option<Debug<'_>> {
        let sections = self.sections.get_or_init(|| {
            let (file, shared) = self.image.debug_file.as_ref()?;
            let shared = shared.as_deref();
            if *file == *self.image.path {
                return Sections::of(&self.image.bytes, shared);
            }
            Sections::of(&crate::regular::read(file).ok()?, shared)
        });
        sections.as_ref().map(Debug::new)
    }

    pub(crate) fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let functions = self.image.functions();
            match self.debug() {
                Some(debug) => Index::join(functions, &debug),
                None => Index { functions, variables: Vec::new() },
            }
        })
    }

    /// Returns functions that occur only in debug information; fast after the first call.
    pub(crate) fn absent(&self) -> &[Absent] {
        self.absent.get_or_init(|| {
            let functions = &self.index().functions;
            self.debug().map(|debug| Index::absent(functions, &debug)).unwrap_or_default()
        })
    }

    /// Returns whether each call of a function with this name was replaced by its body.
    pub(crate) fn has_inlined(&self, name: &str) -> bool {
        self.absent().iter().any(|absent| {
            !absent.inlined.is_empty() && fit(name, &absent.linkage_name, &absent.name).is_some()
        })
    }

    pub(crate) fn function(&self, name: &str) -> Result<Option<&Function>, LookupError> {
        let functions = &self.index().functions;
        let found = best(functions, |function| function_fit(name, function));
        let (copies, mut candidates): (Vec<&Function>, Vec<&Function>) =
            found.into_iter().partition(|function| function.is_copy && function.symbol != name);
        // Constructors have several symbols for the same code.
        candidates.dedup_by_key(|function| function.address);
        match candidates.as_slice() {
            [] if copies.is_empty() => Ok(None),
            [] => {
                let symbols = copies.iter().map(|copy| copy.symbol.clone()).collect();
                Err(LookupError::OnlyCopies(name.to_owned(), symbols))
            }
            [one] => Ok(Some(*one)),
            several => Err(LookupError::Ambiguous(name.to_owned(), distinguish(several))),
        }
    }
}

/// Returns the items that fit best, in order.
pub(crate) fn best<T>(things: &[T], fit: impl Fn(&T) -> Option<Fit>) -> Vec<&T> {
    let mut least = None;
    let mut found = Vec::new();
    for thing in things {
        let Some(fit) = fit(thing) else { continue };
        if least.is_none_or(|least| fit < least) {
            least = Some(fit);
            found.clear();
        }
        if least == Some(fit) {
            found.push(thing);
        }
    }
    found
}

fn function_fit(wanted: &str, function: &Function) -> Option<Fit> {
    if wanted == function.symbol {
        return Some(Fit::Symbol);
    }
    if let Some((file, name)) = in_file(wanted) {
        let source = function.source.as_ref()?;
        return is_file(file, &source.file)
            .then(|| fit(name, &function.symbol, &function.name))
            .flatten();
    }
    // With parameters, the name must be the whole signature; spaces do not matter.
    let is_signature = wanted.ends_with(')') || wanted.ends_with(") const");
    if is_signature && !wanted.ends_with("operator()") {
        let spaced = |name: &str| name.replace(' ', "");
        let (signature, wanted) = (spaced(&function.signature()), spaced(wanted));
        let is_end = signature.strip_suffix(&wanted).is_some_and(|front| front.ends_with("::"));
        return (signature == wanted || is_end).then_some(Fit::Whole);
    }
    fit(wanted, &function.symbol, &function.name).or_else(|| loose_fit(wanted, &function.name))
}

/// Splits `solve.c:name` into file and name.
fn in_file(wanted: &str) -> Option<(&str, &str)> {
    let (file, name) = wanted.split_once(':')?;
    (!name.starts_with(':')).then_some((file, name))
}

/// Returns whether `given` is the end of a source file's path.
pub(crate) fn is_file(given: &str, file: &str) -> bool {
    file.strip_suffix(given).is_some_and(|front| front.is_empty() || front.ends_with('/'))
}

/// Returns names that distinguish the functions: signatures, files, or symbols.
fn distinguish(functions: &[&Function]) -> Vec<String> {
    let signatures = || functions.iter().map(|function| function.signature()).collect();
    let files = || functions.iter().map(|function| with_file(function)).collect();
    let symbols = functions.iter().map(|function| function.symbol.clone()).collect();
    [signatures(), files()]
        .into_iter()
        .find(|names: &Vec<String>| is_all_different(names))
        .unwrap_or(symbols)
}

fn with_file(function: &Function) -> String {
    let file = function.source.as_ref().map(|source| source.file.as_str()).unwrap_or_default();
    format!("{}:{}", file.rsplit('/').next().unwrap_or(file), function.name)
}

fn is_all_different(names: &[String]) -> bool {
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len() == names.len()
}

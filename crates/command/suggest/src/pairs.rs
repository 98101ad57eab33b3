//! Functions that could take each other's place: with the same signature and names that begin alike.

use crate::functions::Found;
use crate::names::{are_forms, plain};
use crate::page::{Page, quoted};
use crate::roles::{Role, name_of};
use symbols::{Function, Program};

/// Most replacements that are suggested.
const N_PAIRS_MAX: usize = 6;

/// Adds tuning points that replace functions, at the function `sync` where it is known.
pub(crate) fn add(
    page: &mut Page<'_>,
    program: &Program,
    found: &[Found],
    roles: &[Role],
    sync: &[Found],
) {
    let pairs = pairs(program, found);
    if pairs.is_empty() {
        return;
    }
    page.heading("Functions with the same signature; make sure that they do the same");
    for (replaced, by) in pairs.iter().take(N_PAIRS_MAX) {
        let reason = format!(
            "`{}` takes what `{}` takes, which had a part in the run, and returns the same type.",
            by.name, replaced.name
        );
        let name = page.free_name(&plain(&by.name));
        let has_all = |it: &&Found| replaced.ranks.is_subset(&it.ranks);
        let sync = sync.iter().find(has_all).unwrap_or(replaced);
        let toml = format!(
            "[[tuning_point]]\nname = {}\nactor = \"{}\"\nreplace = {{ function = {}, by = {} }}\nat = {{ function = {}, at \
             = \"entry\" }}\n",
            quoted(&name),
            name_of(roles, &sync.ranks),
            quoted(&replaced.name),
            quoted(&by.name),
            quoted(&sync.name)
        );
        page.add(&reason, &toml, false);
    }
}

/// Returns functions of the run with others that have the same signature.
fn pairs<'a>(program: &'a Program, found: &'a [Found]) -> Vec<(&'a Found, &'a Function)> {
    let mut pairs = Vec::new();
    for replaced in found {
        let functions = program.functions().iter();
        let others = functions.filter(|other| {
            other.address != replaced.function.address
                && !other.is_copy
                && is_like(&replaced.function, other)
                && are_forms(&replaced.function.name, &other.name)
                // One that had a part itself does something else.
                && !found.iter().any(|it| it.function.address == other.address)
        });
        pairs.extend(others.map(|other| (replaced, other)));
    }
    pairs
}

/// Returns whether two functions of one file have the same, known signature, with arguments.
fn is_like(one: &Function, other: &Function) -> bool {
    let (Some(ours), Some(theirs)) = (&one.parameters, &other.parameters) else { return false };
    let types = |all: &[symbols::Parameter]| -> Vec<String> {
        all.iter().map(|parameter| parameter.type_name.clone()).collect()
    };
    one.module == other.module
        && !ours.is_empty()
        && types(ours) == types(theirs)
        && one.returns == other.returns
}

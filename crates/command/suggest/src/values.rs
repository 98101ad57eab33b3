//! Values that look like choices: global variables, and members of what arguments point to, which functions with much of
//! the time read and do not write.

use crate::functions::Found;
use crate::names::{is_choice, plain};
use crate::page::{Page, quoted};
use crate::roles::{Role, name_of};
use events::{Value, ValueType};
use std::collections::BTreeSet;
use symbols::{
    AccessKind, Function, Program, Reached, Variable, first_value, members_of_arguments,
};

/// Most variables, and most members, that are suggested.
const N_VARIABLES_MAX: usize = 10;
const N_MEMBERS_MAX: usize = 10;
/// Most functions that are searched for members.
const N_FUNCTIONS_MAX: usize = 8;

/// Adds tuning points, at the function `sync` where it is known.
pub(crate) fn add(
    page: &mut Page<'_>,
    program: &Program,
    found: &[Found],
    roles: &[Role],
    sync: &[Found],
) {
    let variables = variables(program, found);
    let members = members(program, found);
    if variables.is_empty() && members.is_empty() {
        return;
    }
    page.heading("Values that look like choices; make sure that the program may run with others");
    let mut n_added = 0;
    for (variable, readers) in &variables {
        let Some(sync) = sync_of(readers, sync) else { break };
        n_added += usize::from(add_variable(page, program, (variable, readers), roles, sync));
        if N_VARIABLES_MAX <= n_added {
            break;
        }
    }
    n_added = 0;
    for (found, member) in &members {
        n_added += usize::from(add_member(page, found, member, roles));
        if N_MEMBERS_MAX <= n_added {
            break;
        }
    }
}

/// Returns the function at which a variable may be changed: one that reads it, else one on all ranks that read it.
fn sync_of<'f>(readers: &[&'f Found], sync: &'f [Found]) -> Option<&'f Found> {
    let is_reader = |it: &&Found| readers.iter().any(|reader| reader.name == it.name);
    let ranks: BTreeSet<u32> = readers.iter().flat_map(|it| it.ranks.iter().copied()).collect();
    let has_all = |it: &&Found| ranks.is_subset(&it.ranks);
    sync.iter().find(is_reader).or_else(|| sync.iter().find(has_all)).or(sync.first())
}

/// Returns the variables that functions of the run read, with these functions.
fn variables<'f>(program: &Program, found: &'f [Found]) -> Vec<(Variable, Vec<&'f Found>)> {
    let is_own = |it: &&Found| *it.function.module == *program.path();
    let own: Vec<&Found> = found.iter().filter(is_own).collect();
    let functions: Vec<Function> = own.iter().map(|it| it.function.clone()).collect();
    let mut variables = Vec::new();
    for variable in program.numbers() {
        let is_number = variable.kind.is_some_and(|kind| kind != ValueType::Bool);
        if !(is_number
            && variable.is_writable
            && (is_choice(&variable.name) || variable.is_volatile))
        {
            continue;
        }
        let accesses = program.accesses_in(&variable, &functions);
        let writes = |kind| matches!(kind, AccessKind::Write | AccessKind::Update);
        // One that is `volatile` is meant to be changed from outside, whoever reads it.
        let is_read = !accesses.is_empty() || variable.is_volatile && is_choice(&variable.name);
        if !is_read || accesses.iter().any(|access| writes(access.kind)) {
            continue;
        }
        let names: BTreeSet<&str> = accesses.iter().map(|it| it.function.as_str()).collect();
        let readers = own.iter().filter(|it| names.contains(it.function.name.as_str()));
        let readers: Vec<&Found> = readers.copied().collect();
        variables.push((variable, readers));
    }
    let share = |readers: &[&Found]| readers.iter().map(|it| it.share).fold(0.0, f64::max);
    variables.sort_by(|(_, a), (_, b)| share(b).total_cmp(&share(a)));
    variables
}

fn add_variable(
    page: &mut Page<'_>,
    program: &Program,
    (variable, readers): (&Variable, &[&Found]),
    roles: &[Role],
    sync: &Found,
) -> bool {
    let Some(kind) = variable.kind else { return false };
    let first = first_value(program, variable).filter(|value| value.as_f64() != 0.0);
    let readers_named: Vec<String> =
        readers.iter().take(3).map(|it| format!("`{}`", it.name)).collect();
    let why = if is_choice(&variable.name) { "is named like a choice" } else { "is `volatile`" };
    let reason = format!(
        "`{}` ({}) {why}, and {} it.{}",
        variable.name,
        variable.type_name,
        match readers_named.as_slice() {
            [] => "functions of the run read".to_owned(),
            [one] => format!("{one} reads"),
            several => format!("{} read", several.join(", ")),
        },
        of_range(first)
    );
    let name = page.free_name(&plain(&variable.name));
    let toml = format!(
        "[[tuning_point]]\nname = {}\nactor = \"{}\"\nvariable = {}\nrange = {}\nat = {{ function = {}, at = \"entry\" }}\n",
        quoted(&name),
        name_of(roles, &sync.ranks),
        quoted(&variable.name),
        range(kind, first),
        quoted(&sync.name)
    );
    page.add(&reason, &toml, false)
}

/// Returns members named like choices, with the functions whose arguments point to them.
fn members<'f>(program: &Program, found: &'f [Found]) -> Vec<(&'f Found, Reached)> {
    let mut members = Vec::new();
    let mut seen = BTreeSet::new();
    for it in found.iter().filter(|it| it.function.n_inlined() == 0).take(N_FUNCTIONS_MAX) {
        for member in members_of_arguments(program, &it.function) {
            let is_number = member.kind != ValueType::Bool && member.offsets.len() == 1;
            let key = member
                .name
                .split_once("->")
                .map_or(member.name.clone(), |(_, rest)| rest.to_owned());
            if is_number && is_choice(&member.name) && seen.insert(key) {
                members.push((it, member));
            }
        }
    }
    members
}

fn add_member(page: &mut Page<'_>, found: &Found, member: &Reached, roles: &[Role]) -> bool {
    let reason = format!(
        "`{}` ({}) is named like a choice; it is set in the object that `{}` gets at that passage.{}",
        member.name,
        member.type_name,
        found.name,
        of_range(None)
    );
    let name = page.free_name(&plain(&member.name));
    let toml = format!(
        "[[tuning_point]]\nname = {}\nactor = \"{}\"\nvariable = {}\nrange = {}\nat = {{ function = {}, at = \"entry\" }}\n",
        quoted(&name),
        name_of(roles, &found.ranks),
        quoted(&member.name),
        range(member.kind, None),
        quoted(&found.name)
    );
    page.add(&reason, &toml, false)
}

fn of_range(first: Option<Value>) -> String {
    match first {
        Some(value) => format!(" The program begins with {value}; the range is around it."),
        None => " Its value is set while the program runs: replace the range, which is a guess."
            .to_owned(),
    }
}

/// Returns a range around a value, or a guess.
fn range(kind: ValueType, first: Option<Value>) -> String {
    let value = first.map_or(0.0, Value::as_f64);
    if kind.is_float() {
        return match value {
            value if value.is_finite() && 0.0 < value => {
                format!("[{:?}, {:?}]", value / 2.0, value * 2.0)
            }
            _ => "[0.1, 10.0]".to_owned(),
        };
    }
    let most = kind.integer_range().map_or(64, |(_, most)| most);
    let whole = first.and_then(Value::as_integer).filter(|whole| 0 < *whole);
    let (low, high) = whole.map_or((1, 64), |whole| ((whole / 4).max(1), whole.saturating_mul(4)));
    format!("[{low}, {}]", high.min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_around_the_first_value_and_within_the_type() {
        assert_eq!(range(ValueType::F64, Some(Value::Float(2.5))), "[1.25, 5.0]");
        assert_eq!(range(ValueType::F64, None), "[0.1, 10.0]");
        assert_eq!(range(ValueType::I32, Some(Value::Int(16))), "[4, 64]");
        assert_eq!(range(ValueType::I32, Some(Value::Int(1))), "[1, 4]");
        assert_eq!(range(ValueType::I8, Some(Value::Int(100))), "[25, 127]");
        assert_eq!(range(ValueType::U32, Some(Value::Int(-3))), "[1, 64]");
    }
}

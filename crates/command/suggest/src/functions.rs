//! Functions that are worth measuring: those with much of the time, at a price that is known to be low.

use crate::evidence::Evidence;
use crate::names::{is_amount, last_part, plain};
use crate::page::{Page, quoted};
use crate::roles::{Role, name_of};
use std::collections::BTreeSet;
use symbols::{Function, LookupError, Passing, Program};

/// Least share of the computing that makes a function worth a look.
const SHARE_MIN: f64 = 0.05;
/// Most calls per second of a rank at which a probe costs less than a thousandth of the time.
const CALLS_PER_S_MAX: f64 = 10_000.0;
/// Most functions that are measured, and that are suggested.
const N_ACTIVE_MAX: usize = 4;
const N_SUGGESTED_MAX: usize = 4;
/// Most attributes of an event.
const N_ATTRIBUTES_MAX: usize = 5;

/// Function of the program that had a part in the run.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Name by which a description finds it.
    pub(crate) name: String,
    pub(crate) function: Function,
    /// Share of the computing in it and in what it calls, and in itself.
    pub(crate) share: f64,
    pub(crate) own_share: f64,
    /// Calls per second of a rank, if they can be told, and how.
    pub(crate) rate: Option<(f64, &'static str)>,
    pub(crate) ranks: BTreeSet<u32>,
}

/// Finds functions of the program that computed, or called MPI; those with most of the time come first.
pub(crate) fn find(evidence: &Evidence, program: &Program) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let sampled = evidence.sampled.iter();
    let sampled = sampled.filter(|it| SHARE_MIN <= it.share.max(it.own_share));
    let sampled = sampled.map(|it| (it.name.as_str(), (it.share, it.own_share), &it.ranks));
    let none = BTreeSet::new();
    let counted = evidence.counted.keys().map(|name| (name.as_str(), (0.0, 0.0), &none));
    let mut callers: Vec<&str> =
        evidence.sites.values().map(|site| site.place.function.as_str()).collect();
    callers.sort_unstable();
    callers.dedup();
    let callers = callers.into_iter().map(|name| (name, (0.0, 0.0), &none));
    for (called, (share, own_share), ranks) in sampled.chain(counted).chain(callers) {
        for (name, function) in resolved(program, called) {
            let is_known = |it: &Found| {
                (&it.function.module, it.function.address) == (&function.module, function.address)
            };
            let (rate, callers) = rate(evidence, called, &function);
            if let Some(known) = found.iter_mut().find(|it| is_known(it)) {
                // What was inlined into it calls MPI.
                known.rate = known.rate.or(rate);
                known.ranks.extend(callers);
                continue;
            }
            let mut ranks = ranks.clone();
            ranks.extend(callers);
            found.push(Found { name, function, share, own_share, rate, ranks });
        }
    }
    let rank = |it: &Found| (it.share, it.rate.map_or(0.0, |(rate, _)| rate.min(CALLS_PER_S_MAX)));
    found.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal));
    found
}

/// Returns the function of a name as the run has it; where it was inlined, those that hold its code.
fn resolved(program: &Program, name: &str) -> Vec<(String, Function)> {
    let names = match program.function(name) {
        Ok(_) => vec![name.to_owned()],
        Err(LookupError::Inlined { functions, .. }) => functions,
        Err(_) => Vec::new(),
    };
    let own = |name: String| {
        let function =
            program.function(&name).ok().filter(|function| is_exactly(function, &name))?;
        let is_main = ["main", "MAIN__"].contains(&last_part(&name));
        let is_usable = function.probeable().is_ok() && !function.is_copy && !is_main;
        (is_usable && is_of_program(program, function)).then(|| (name, function.clone()))
    };
    names.into_iter().filter_map(own).collect()
}

/// Returns whether a function has a name as it is written: `Shift` is not `shift<double>`.
fn is_exactly(function: &Function, name: &str) -> bool {
    let is_end = function.name.strip_suffix(name).is_some_and(|scope| scope.ends_with("::"));
    is_end || function.name == name || function.symbol == name
}

/// Returns whether the function is in the program, or in the library that has its code.
fn is_of_program(program: &Program, function: &Function) -> bool {
    *function.module == *program.path()
        || program.library_of_code().is_some_and(|library| *library == *function.module)
}

/// Returns the calls per second of a rank, with the way in which they are known, and the ranks that call MPI there.
fn rate(
    evidence: &Evidence,
    name: &str,
    function: &Function,
) -> (Option<(f64, &'static str)>, BTreeSet<u32>) {
    let per_s = |calls: u64| calls as f64 / evidence.elapsed_s.max(1e-9);
    let inside = evidence.calls_in(name);
    let ranks = inside.as_ref().map(|(_, ranks)| ranks.clone()).unwrap_or_default();
    let counted = evidence.counted.get(&function.signature()).or(evidence.counted.get(name));
    if let Some(calls) = counted {
        return (Some((per_s(*calls), "it was called")), ranks);
    }
    (inside.map(|(calls, _)| (per_s(calls), "its MPI calls were made")), ranks)
}

/// Adds events; returns the functions at which values may be changed, those with known, few calls first.
pub(crate) fn add(
    page: &mut Page<'_>,
    evidence: &Evidence,
    found: &[Found],
    roles: &[Role],
) -> Vec<Found> {
    let is_cheap = |it: &&Found| it.rate.is_some_and(|(rate, _)| rate <= CALLS_PER_S_MAX);
    // What was called a few times begins or ends the program.
    let is_in_loop =
        |it: &&Found| it.rate.is_some_and(|(rate, _)| 8.0 <= rate * evidence.elapsed_s);
    let cheap: Vec<&Found> = found.iter().filter(is_cheap).filter(is_in_loop).collect();
    let mut n_added = 0;
    let mut sync: Vec<Found> = Vec::new();
    if !cheap.is_empty() {
        page.heading("Functions that are measured");
    }
    for it in &cheap {
        let is_added = n_added < N_ACTIVE_MAX && add_events(page, it, roles, true);
        n_added += usize::from(is_added);
        if is_added && it.function.n_inlined() == 0 {
            sync.push((*it).clone());
        }
    }
    let mut unknown: Vec<&Found> =
        found.iter().filter(|it| !is_cheap(it) && SHARE_MIN <= it.share).collect();
    // Those near the start of the program have all of the time, and hardly any of their own.
    unknown.sort_by(|a, b| b.own_share.total_cmp(&a.own_share));
    if !unknown.is_empty() {
        page.heading(
            "Functions with much of the computing; how often they are called has to be known first",
        );
    }
    for it in unknown.iter().take(N_SUGGESTED_MAX) {
        add_events(page, it, roles, false);
        if it.function.n_inlined() == 0 {
            sync.push((*it).clone());
        }
    }
    sync
}

fn add_events(page: &mut Page<'_>, found: &Found, roles: &[Role], is_active: bool) -> bool {
    let Found { name, function, share, rate, ranks, .. } = found;
    let actor = name_of(roles, ranks);
    let mut reason = match share {
        0.0 => format!("`{name}`"),
        share => {
            format!("`{name}` has {:.0} % of the computing, with what it calls", 100.0 * share)
        }
    };
    match rate {
        Some((rate, how)) if 0.0 < *share => {
            reason += &format!("; {how} {rate:.0} times a second on a rank.")
        }
        Some((rate, how)) => reason += &format!(": {how} {rate:.0} times a second on a rank."),
        None => {
            reason += &format!(
                ". `sintonia run --probe '{}'` counts its calls; up to {CALLS_PER_S_MAX} a second cost less than a \
                 thousandth of the time.",
                name
            );
        }
    }
    let plain = plain(name);
    let (begins, ends) =
        (page.free_name(&format!("{plain}_begins")), page.free_name(&format!("{plain}_ends")));
    let event = |name: &str, at: &str, attributes: &str| {
        let function = quoted(&found.name);
        format!(
            "[[event]]\nname = {}\nactor = \"{actor}\"\nfunction = {function}\nat = \"{at}\"\n{attributes}",
            quoted(name)
        )
    };
    let end = event(&ends, "exit", "");
    let mut attributes = attributes(page, function);
    while !attributes.is_empty() {
        let list = format!("attributes = [{}]\n", attributes.join(", "));
        if page.add(&reason, &format!("{}\n{end}", event(&begins, "entry", &list)), is_active) {
            return true;
        }
        attributes.pop();
    }
    page.add(&reason, &format!("{}\n{end}", event(&begins, "entry", "")), is_active)
}

/// Returns attributes of the entry of a function: arguments that are numbers, and members that look like amounts of work.
fn attributes(page: &Page<'_>, function: &Function) -> Vec<String> {
    let mut names = BTreeSet::new();
    let mut attributes = Vec::new();
    for (at, parameter) in function.parameters.iter().flatten().enumerate() {
        let is_number = parameter.kind.is_some() && parameter.passing != Passing::Parts;
        let is_plain =
            !parameter.type_name.contains(['*', '(']) && !parameter.type_name.starts_with("MPI_");
        if is_number
            && is_plain
            && !parameter.name.is_empty()
            && names.insert(parameter.name.clone())
        {
            let name = quoted(&parameter.name);
            attributes.push(format!("{{ name = {name}, argument = {} }}", at + 1));
        }
    }
    for member in page.members_of_arguments(function) {
        let short = plain(&member.name);
        if is_amount(&member.name) && !member.name.contains('[') && names.insert(short.clone()) {
            let (name, variable) = (quoted(&short), quoted(&member.name));
            attributes.push(format!("{{ name = {name}, variable = {variable} }}"));
        }
    }
    attributes.truncate(N_ATTRIBUTES_MAX);
    attributes
}

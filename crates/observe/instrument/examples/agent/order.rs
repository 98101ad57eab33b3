//! Orders in the environment, read and carried out.

use crate::report;
use crate::table::Table;
use events::{ProbePoint, ValueType};
use instrument::{Attribute, Instrument, Site, SiteEvent, ValueSource};

/// Carries out orders separated by `;`, each made of words separated by blanks.
pub(crate) fn carry_out(orders: &str, probes: &Instrument, table: &Table) {
    for (action, order) in (0..).zip(orders.split(';')) {
        let words: Vec<&str> = order.split_whitespace().collect();
        match words[..] {
            [] => {}
            // Entry and exit of all functions, except `.cold` parts, which are reached by jumps.
            ["all"] => {
                let all = table.functions.iter().enumerate();
                let probed = all.filter(|(_, each)| is_probed(&each.name));
                let sites: Vec<_> = probed.map(|(idx, _)| site(table, idx, &[])).collect();
                install(probes, table, &sites);
            }
            // `probe FUNCTION [ATTRIBUTE]... [exit ATTRIBUTE...] [sync] [off]`, with attributes like `i0:int32`,
            // `f0:double`, `var=NAME:int32`, `ret:int32`.
            ["probe", function, ref words @ ..] => {
                install(probes, table, &[site(table, table.function(function), words)]);
            }
            // `set FUNCTION VARIABLE VALUE HIT [exit]`: sets a variable of 32 bits.
            ["set", function, variable, value, at_hit, ref exit @ ..] => {
                let (address, value) = (table.variable(variable), value.parse().unwrap());
                let act = Box::new(move |passage: &instrument::Passage<'_>| {
                    // SAFETY: a variable of the program of this size.
                    unsafe { std::ptr::with_exposed_provenance_mut::<i32>(address).write(value) };
                    report::note(&format!("set {value} at {}", passage.hit));
                    false
                });
                let (id, at_hit) = (table.function(function) as u32, at_hit.parse().unwrap());
                let is_armed = probes.arm(id, point(exit), action, at_hit, act);
                assert!(is_armed, "{function} is a sync point");
            }
            // `call FUNCTION CALLEE HIT [exit]`: calls a function without arguments that returns a `double`.
            ["call", function, callee, at_hit, ref exit @ ..] => {
                let address = table.functions[table.function(callee)].address;
                let act = Box::new(move |passage: &instrument::Passage<'_>| {
                    // SAFETY: a function of the program of this type.
                    let callee: extern "C" fn() -> f64 = unsafe { std::mem::transmute(address) };
                    report::note(&format!("called {} at {}", callee(), passage.hit));
                    false
                });
                let (id, at_hit) = (table.function(function) as u32, at_hit.parse().unwrap());
                let is_armed = probes.arm(id, point(exit), action, at_hit, act);
                assert!(is_armed, "{function} is a sync point");
            }
            ["replace", function, by] => {
                let by = table.functions[table.function(by)].address;
                let is_replaced = probes.replace(table.function(function) as u32, Some(by));
                assert!(is_replaced, "{function} is probed");
            }
            ["remove", function] => {
                let id = table.function(function) as u32;
                probes.remove(&[id]).into_iter().for_each(|outcome| outcome.unwrap());
                report::note(&format!("removed {function}"));
            }
            _ => panic!("no order `{order}`"),
        }
    }
}

fn point(exit: &[&str]) -> ProbePoint {
    if exit == ["exit"] { ProbePoint::Exit } else { ProbePoint::Entry }
}

/// Returns whether a function is probed by `all`: `.cold` parts are not functions, and code that starts an
/// unwinder needs its own return address.
fn is_probed(name: &str) -> bool {
    !name.contains(".cold") && !name.starts_with("uw_init_context")
}

fn install(probes: &Instrument, table: &Table, sites: &[Site]) {
    let before: Vec<_> = sites.iter().map(bytes).collect();
    let outcomes = probes.install(sites);
    for ((site, outcome), before) in sites.iter().zip(outcomes).zip(before) {
        let name = &table.functions[site.id as usize].name;
        match outcome {
            Ok(None) => {}
            Ok(Some(warning)) => report::note(&format!("warning {name} {warning}")),
            Err(refusal) => {
                assert_eq!(before, bytes(site), "a refused function stays as it was");
                report::note(&format!("refused {name} {refusal}"));
            }
        }
    }
}

fn bytes(site: &Site) -> Vec<u8> {
    // SAFETY: the function's own bytes.
    unsafe { std::slice::from_raw_parts(site.function as *const u8, site.n_bytes) }.to_vec()
}

fn site(table: &Table, idx: usize, words: &[&str]) -> Site {
    let function = &table.functions[idx];
    let (mut entry, mut exit) = (Vec::new(), Vec::new());
    let mut is_exit = false;
    let (mut is_sync, mut is_on) = (false, true);
    for word in words {
        match *word {
            "exit" => is_exit = true,
            "sync" => is_sync = true,
            "off" => is_on = false,
            word if is_exit => exit.push(attribute(table, word)),
            word => entry.push(attribute(table, word)),
        }
    }
    let id = idx as u32;
    Site {
        id,
        function: function.address,
        n_bytes: function.n_bytes,
        n_bytes_to_next: function.n_bytes_to_next,
        entry: Some(SiteEvent { event: 2 * id, attributes: entry, is_on }),
        exit: Some(SiteEvent { event: 2 * id + 1, attributes: exit, is_on }),
        is_sync,
    }
}

fn attribute(table: &Table, word: &str) -> Attribute {
    let (source, kind) = word.split_once(':').unwrap();
    let kind = ValueType::ALL.into_iter().find(|known| known.name() == kind).unwrap();
    let source = match source.split_once('=') {
        Some((_, name)) => ValueSource::Global(table.variable(name)),
        None if source == "ret" => ValueSource::Returned,
        None if source.starts_with('r') => ValueSource::Referred(source[1..].parse().unwrap()),
        None if source.starts_with('i') => ValueSource::Integer(source[1..].parse().unwrap()),
        None => ValueSource::Float(source[1..].parse().unwrap()),
    };
    Attribute { source, kind }
}

//! A site with its probes.
#![allow(unsafe_code, reason = "reads and changes code")]

use crate::armed_callbacks::ArmedCallbacks;
use crate::context::{self, Context, PointContext};
use crate::live::Patch;
use crate::near::{Mappings, NearArenas};
use crate::plan::{Body, EntryPatch, ProbePlan, plan};
use crate::site::{Attribute, Refusal, Site, SiteEvent, ValueSource, Way, WayStart};
use crate::{live, stub};
use events::ProbePoint;
use events::function::N_VALUES;
use std::sync::atomic::Ordering;

const JUMP: u8 = 0xe9;
const SHORT_JUMP: u8 = 0xeb;
const INT3: u8 = 0xcc;

/// A site with its probes.
#[derive(Debug)]
pub(super) struct Installed {
    pub(super) context: &'static Context,
    pub(super) actions: &'static ArmedCallbacks,
    pub(super) patches: Patches,
    pub(super) warning: Option<String>,
    pub(super) is_sync: bool,
    has_entry: bool,
    has_exit: bool,
}

/// Patches of a site.
#[derive(Clone, Debug)]
pub(super) struct Patches {
    /// Patch of the padding, made before that of the entry.
    padding: Option<Patch>,
    entry: Patch,
}

impl Installed {
    /// Writes the code of a site and computes its patches; the program's code is still unchanged.
    pub(super) fn prepare(
        site: &Site,
        is_guarded: bool,
        near: &mut NearArenas,
        mappings: &Mappings,
    ) -> Result<Self, Refusal> {
        check(site, is_guarded)?;
        let bytes = code(site, mappings)?;
        let body = Body { address: site.function, bytes, n_bytes: site.n_bytes };
        let plan = plan(body)?;
        let arena = near.arena(site.function, stub::n_code_bytes_max(site), mappings)?;
        let capture_code = stub::write_capture_code(site, arena)?;
        let context = arena.next_context();
        fill(&context.entry, site.entry.as_ref(), capture_code.at_entry);
        fill(&context.exit, site.exit.as_ref(), capture_code.at_exit);
        context.tail_capture.store(capture_code.at_jump, Ordering::Relaxed);
        let actions = ArmedCallbacks::of(site.exit.as_ref().map_or(&[], |exit| &exit.attributes));
        let actions: &'static ArmedCallbacks = Box::leak(Box::new(actions));
        let place = std::ptr::from_ref(actions).expose_provenance();
        context.actions.store(place, Ordering::Release);
        let at = std::ptr::from_ref(context).addr();
        let stub = stub::write_stub(&plan, at, arena)?;
        context.displaced.store(stub.displaced, Ordering::Release);
        context.set(flags(site));
        let patches = Patches::new(&plan, stub, site.function, bytes);
        Ok(Self {
            context,
            actions,
            patches,
            warning: plan.warning,
            is_sync: site.is_sync,
            has_entry: site.entry.is_some(),
            has_exit: site.exit.is_some(),
        })
    }

    /// Returns whether there is an event at that place of the function.
    pub(super) fn has(&self, place: ProbePoint) -> bool {
        match place {
            ProbePoint::Entry => self.has_entry,
            ProbePoint::Exit => self.has_exit,
        }
    }
}

fn check(site: &Site, is_guarded: bool) -> Result<(), Refusal> {
    let address = site.function;
    if is_guarded && site.exit.is_some() {
        return Err(Refusal::GuardedReturn(address));
    }
    // SAFETY: asks for a word that the kernel gave the process.
    let first = unsafe { libc::getauxval(libc::AT_ENTRY) };
    if first == address as u64 {
        return Err(Refusal::Start(address));
    }
    let refuse = |what, place| Err(Refusal::NotThere { address, what, place });
    let sources = |point: &Option<SiteEvent>| -> Vec<ValueSource> {
        let attributes = point.as_ref().map_or(&[][..], |point| &point.attributes);
        attributes.iter().map(|Attribute { source, .. }| *source).collect()
    };
    let at_entry = sources(&site.entry);
    let at_exit = sources(&site.exit);
    if at_entry.iter().any(|source| matches!(source, ValueSource::Returned)) {
        return refuse("returned value", "entry");
    }
    let is_argument = |source: &ValueSource| {
        let is_first = |way: &Way| matches!(way.start, WayStart::Argument(_));
        match source {
            ValueSource::Integer(_) | ValueSource::Referred(_) | ValueSource::Float(_) => true,
            ValueSource::Reached(way) => is_first(way),
            ValueSource::Global(_) | ValueSource::Returned => false,
        }
    };
    if at_exit.iter().any(is_argument) {
        return refuse("argument", "exit");
    }
    let is_in_memory = |source: &ValueSource| matches!(source, ValueSource::Float(8..));
    if at_entry.iter().any(is_in_memory) {
        return refuse("floating-point argument past the eighth", "entry");
    }
    Ok(())
}

/// Returns the bytes of the function and those up to the next one.
fn code(site: &Site, mappings: &Mappings) -> Result<&'static [u8], Refusal> {
    let wanted = site.n_bytes.max(site.n_bytes_to_next);
    let n_bytes = mappings.code(site.function, wanted);
    if n_bytes < site.n_bytes {
        return Err(Refusal::NotCode(site.function));
    }
    let place = std::ptr::with_exposed_provenance(site.function);
    // SAFETY: mapped, readable code; it changes only by us, under the lock that is held here.
    Ok(unsafe { std::slice::from_raw_parts(place, n_bytes) })
}

#[expect(clippy::cast_possible_truncation, reason = "a point has few attributes")]
fn fill(context: &PointContext, point: Option<&SiteEvent>, capture: usize) {
    let Some(point) = point else { return };
    let n_records = point.attributes.len().div_ceil(N_VALUES).max(1);
    context.event.store(point.event, Ordering::Relaxed);
    context.n_records.store(n_records as u32, Ordering::Relaxed);
    context.capture.store(capture, Ordering::Relaxed);
}

fn flags(site: &Site) -> u8 {
    let flag = |point: &Option<SiteEvent>, record, count| {
        let Some(point) = point else { return 0 };
        (if point.is_on { record } else { 0 }) | (if site.is_sync { count } else { 0 })
    };
    flag(&site.entry, context::ENTRY, context::COUNT_ENTRY)
        | flag(&site.exit, context::EXIT, context::COUNT_EXIT)
}

impl Patches {
    fn new(plan: &ProbePlan, stub: stub::Stub, function: usize, bytes: &[u8]) -> Self {
        let patch = |address: usize, replacement: Vec<u8>, moved| Patch {
            address,
            original: bytes[address - function..][..replacement.len()].to_vec(),
            replacement,
            stub: stub.address,
            moved,
        };
        let (padding, replacement) = match plan.entry_patch {
            EntryPatch::Jump => (None, jump(plan.address, stub.address)),
            EntryPatch::ShortJump(padding) => {
                let to_stub = patch(padding, jump(padding, stub.address), Vec::new());
                (Some(to_stub), short_jump(plan.address, padding))
            }
            EntryPatch::Trap => (None, vec![INT3]),
        };
        Self { padding, entry: patch(plan.address, replacement, stub.moved) }
    }

    fn is_trap(&self) -> bool {
        self.entry.replacement == [INT3]
    }
}

#[expect(clippy::cast_possible_truncation, reason = "near memory is within 2 GiB")]
fn jump(from: usize, to: usize) -> Vec<u8> {
    let distance = to.wrapping_sub(from + 5) as u32;
    [&[JUMP][..], &distance.to_le_bytes()].concat()
}

#[expect(clippy::cast_possible_truncation, reason = "the plan saw that it is within 127 bytes")]
fn short_jump(from: usize, to: usize) -> Vec<u8> {
    vec![SHORT_JUMP, to.wrapping_sub(from + 2) as u8]
}

/// Patches the code for all prepared sites; returns those that were refused.
pub(super) fn put_in<'a>(
    sites: impl Iterator<Item = Option<&'a Installed>>,
) -> Vec<(usize, Refusal)> {
    let ready: Vec<(usize, &Patches)> =
        sites.enumerate().filter_map(|(idx, site)| Some((idx, &site?.patches))).collect();
    let mut refused = Vec::new();
    let padded = ready.iter().filter_map(|(idx, patches)| Some((*idx, patches.padding.clone()?)));
    refused.extend(apply(padded.collect()));
    let is_good = |refused: &[(usize, Refusal)], idx| refused.iter().all(|(bad, _)| *bad != idx);
    let entries =
        ready.iter().filter(|(idx, patches)| !patches.is_trap() && is_good(&refused, *idx));
    let outcome = apply(entries.map(|(idx, patches)| (*idx, patches.entry.clone())).collect());
    refused.extend(outcome);
    for (idx, patches) in ready.iter().filter(|(_, patches)| patches.is_trap()) {
        // SAFETY: as in `apply`.
        let outcome = unsafe { live::trap_at(patches.entry.address, patches.entry.stub) };
        refused.extend(outcome.err().map(|refusal| (*idx, refusal)));
    }
    refused
}

fn apply(patches: Vec<(usize, Patch)>) -> Vec<(usize, Refusal)> {
    if patches.is_empty() {
        return Vec::new();
    }
    let (idxs, patches): (Vec<_>, Vec<_>) = patches.into_iter().unzip();
    // SAFETY: the addresses were decoded as code; the stubs do what the displaced instructions do, for good.
    let outcomes = unsafe { live::apply(&patches) };
    idxs.into_iter()
        .zip(outcomes)
        .filter_map(|(idx, outcome)| Some((idx, outcome.err()?)))
        .collect()
}

/// Reverts the patches; returns one result per site. A patch of padding goes last, when nothing reaches it any more.
pub(super) fn take_out(sites: &[Patches]) -> Vec<Result<(), Refusal>> {
    let entries: Vec<_> = sites.iter().map(|site| site.entry.clone()).collect();
    // SAFETY: as in `apply`, which made the changes.
    let mut outcomes = unsafe { live::revert(&entries) };
    for (site, outcome) in sites.iter().zip(&mut outcomes) {
        if let (Some(padding), Ok(())) = (&site.padding, &*outcome) {
            // SAFETY: as above.
            let done = unsafe { live::revert(std::slice::from_ref(padding)) };
            *outcome = done.into_iter().collect();
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::ValueType;

    fn point(source: Option<ValueSource>) -> Option<SiteEvent> {
        let attributes = source.map(|source| Attribute { source, kind: ValueType::I64 });
        Some(SiteEvent { event: 0, attributes: attributes.into_iter().collect(), is_on: true })
    }

    #[track_caller]
    fn check_site(points: [Option<SiteEvent>; 2], is_guarded: bool, expected: &str) {
        let [entry, exit] = points;
        let (n_bytes, n_bytes_to_next) = (8, 8);
        let site =
            Site { id: 1, function: 0x1000, n_bytes, n_bytes_to_next, entry, exit, is_sync: true };
        let refusal = check(&site, is_guarded).err().map(|refusal| refusal.to_string());
        let refusal = refusal.unwrap_or_default();
        assert!(
            refusal.contains(expected) && refusal.is_empty() == expected.is_empty(),
            "{refusal:?}, not {expected:?}"
        );
    }

    #[test]
    fn guarded_return_addresses_leave_entries() {
        check_site([point(None), None], true, "");
        check_site(
            [point(None), point(None)],
            true,
            "while the shadow stack of the processor is active",
        );
        check_site([point(None), point(None)], false, "");
    }

    #[test]
    fn values_are_read_where_they_exist() {
        let (at_entry, at_exit) = ("does not exist at its entry", "does not exist at its exit");
        check_site([point(Some(ValueSource::Integer(9))), None], false, "");
        check_site([point(Some(ValueSource::Returned)), None], false, at_entry);
        check_site([None, point(Some(ValueSource::Referred(0)))], false, at_exit);
        check_site([None, point(Some(ValueSource::Float(0)))], false, at_exit);
        check_site([point(Some(ValueSource::Float(8))), None], false, at_entry);
    }
}

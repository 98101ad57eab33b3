//! Actions armed at a site, which its passages carry out.
//!
//! A passage waits for nobody and misses nothing: it reads a list that never changes, while the thread that arms and disarms puts
//! another list in its place, and frees the old one once no passage reads.

#![allow(unsafe_code, reason = "lists are read by threads that may not wait, and freed by another")]

use crate::frame::Passage;
use crate::site::{Attribute, Callback};
use events::ProbePoint;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Armed, and not being called.
const WAITING: u8 = 0;
/// Being called.
const ACTING: u8 = 1;
/// Called for the last time.
const DONE: u8 = 2;

/// Armed callback of an action.
struct ArmedCallback {
    action: u64,
    at_hit: u32,
    state: AtomicU8,
    act: UnsafeCell<Callback>,
}

// SAFETY: the callback may be sent, and is called only by the thread that has moved the state to `ACTING`.
unsafe impl Sync for ArmedCallback {}

impl ArmedCallback {
    fn is_done(&self) -> bool {
        self.state.load(Ordering::Acquire) == DONE
    }

    /// Calls the callback, unless it is done, or being called: on another thread, or by an outer passage of this one.
    fn act(&self, passage: &Passage<'_>) {
        let begun =
            self.state.compare_exchange(WAITING, ACTING, Ordering::Acquire, Ordering::Relaxed);
        if begun.is_ok() {
            // SAFETY: the state is `ACTING`, by this thread.
            let stays = unsafe { (*self.act.get())(passage) };
            self.state.store(if stays { WAITING } else { DONE }, Ordering::Release);
        }
    }
}

type List = Vec<Arc<ArmedCallback>>;

/// Callbacks of one end of a site.
#[derive(Default)]
struct Place {
    /// The list in force; null while it is empty.
    list: AtomicPtr<List>,
    /// Number of passages that read a list.
    n_readers: AtomicUsize,
    /// Lists that a passage may still read. Also what makes changes wait for each other.
    #[expect(clippy::vec_box, reason = "a passage reads a list where it is")]
    old: Mutex<Vec<Box<List>>>,
}

impl Place {
    fn read(&self, read: impl FnOnce(&[Arc<ArmedCallback>])) {
        // In one order for all threads: who changes the list sees this passage, or this passage sees the new list.
        self.n_readers.fetch_add(1, Ordering::SeqCst);
        let list = self.list.load(Ordering::SeqCst);
        // SAFETY: null, or made by `change`, which frees no list while a passage reads.
        if let Some(list) = unsafe { list.as_ref() } {
            read(list);
        }
        self.n_readers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Puts what `change` makes of the list in its place; finished callbacks are left out.
    fn change<T>(&self, change: impl FnOnce(&mut List) -> T) -> Option<T> {
        let mut old = self.old.lock().ok()?;
        let mut list = Vec::new();
        self.read(|known| list.extend(known.iter().filter(|armed| !armed.is_done()).cloned()));
        let result = change(&mut list);
        let new =
            if list.is_empty() { std::ptr::null_mut() } else { Box::into_raw(Box::new(list)) };
        let before = self.list.swap(new, Ordering::SeqCst);
        if !before.is_null() {
            // SAFETY: made by `Box::into_raw` above, and taken out of its only place.
            old.push(unsafe { Box::from_raw(before) });
        }
        if self.n_readers.load(Ordering::SeqCst) == 0 {
            old.clear();
        }
        Some(result)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.change(Vec::clear);
    }
}

/// Callbacks armed at a site, and the attributes of its exit.
#[derive(Default)]
pub(crate) struct ArmedCallbacks {
    entry: Place,
    exit: Place,
    /// Attributes of the site's exit.
    pub(crate) exit_attributes: Vec<Attribute>,
}

impl std::fmt::Debug for ArmedCallbacks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArmedCallbacks").finish_non_exhaustive()
    }
}

impl ArmedCallbacks {
    /// Returns the empty callbacks of a site whose exit has these attributes.
    pub(crate) fn of(exit_attributes: &[Attribute]) -> Self {
        Self { exit_attributes: exit_attributes.to_vec(), ..Self::default() }
    }

    fn at(&self, place: ProbePoint) -> &Place {
        match place {
            ProbePoint::Entry => &self.entry,
            ProbePoint::Exit => &self.exit,
        }
    }

    pub(crate) fn arm(&self, place: ProbePoint, action: u64, at_hit: u32, act: Callback) {
        let (state, act) = (AtomicU8::new(WAITING), UnsafeCell::new(act));
        let armed = Arc::new(ArmedCallback { action, at_hit, state, act });
        self.at(place).change(|list| list.push(armed));
    }

    /// Disarms an action; returns whether it was armed. A passage that began before may still carry it out.
    pub(crate) fn disarm(&self, place: ProbePoint, action: u64) -> bool {
        let mut is_there = false;
        self.at(place).read(|list| is_there = list.iter().any(|armed| armed.action == action));
        let disarm = |list: &mut List| {
            let n_before = list.len();
            list.retain(|armed| armed.action != action);
            list.len() < n_before
        };
        is_there && self.at(place).change(disarm).unwrap_or(false)
    }

    /// Returns whether any action is armed.
    pub(crate) fn is_armed(&self, place: ProbePoint) -> bool {
        let mut is_armed = false;
        self.at(place).read(|list| is_armed = list.iter().any(|armed| !armed.is_done()));
        is_armed
    }

    /// Carries out the actions that are due, in the order in which they were armed. Frees nothing.
    pub(crate) fn act(&self, place: ProbePoint, passage: &Passage<'_>) {
        let is_due = |armed: &&Arc<ArmedCallback>| armed.at_hit <= passage.hit;
        self.at(place).read(|list| list.iter().filter(is_due).for_each(|armed| armed.act(passage)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU32};

    #[test]
    fn no_passage_is_missed_while_others_are_armed_and_disarmed() {
        const N_PASSAGES: u32 = 200_000;
        let armed = ArmedCallbacks::default();
        let n_called = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&n_called);
        let count = move |_: &Passage<'_>| {
            counted.fetch_add(1, Ordering::Relaxed);
            true
        };
        armed.arm(ProbePoint::Entry, 1, 0, Box::new(count));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    armed.arm(ProbePoint::Entry, 2, u32::MAX, Box::new(|_| true));
                    assert!(armed.disarm(ProbePoint::Entry, 2));
                    assert!(!armed.disarm(ProbePoint::Entry, 2));
                }
            });
            for hit in 0..N_PASSAGES {
                armed.act(ProbePoint::Entry, &Passage::new(hit, None));
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(n_called.load(Ordering::Relaxed), N_PASSAGES);
        assert!(armed.disarm(ProbePoint::Entry, 1));
        assert!(armed.entry.old.lock().expect("nobody panicked").is_empty(), "old lists are freed");
    }
}

//! Processes that a collector follows, by key, and the segments that it cannot follow.

use super::plan::Milestone;
use super::process::Observed;
use events::ProcessKey;
use ring::SegmentError;
use sampler::Sampler;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Maximum number of sentences kept about overwritten segments.
const N_DAMAGES_MAX: usize = 10;

/// Observed processes of a node.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    list: Vec<Observed>,
    /// Position of each process in `list`.
    index: HashMap<ProcessKey, usize>,
    paths: HashSet<PathBuf>,
    /// Segments that cannot be read, with the reason.
    refused: HashMap<PathBuf, String>,
    /// Sentences about segments that the program has overwritten.
    damages: Vec<String>,
    /// Position of the process whose turn it was last.
    turn: usize,
    sampler: Sampler,
}

impl Processes {
    /// Prepares a list whose processes are sampled, or not.
    pub(crate) fn new(are_sampled: bool) -> Self {
        let sampler = if are_sampled { Sampler::default() } else { Sampler::off() };
        Self { sampler, ..Self::default() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Observed> {
        self.list.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Observed> {
        self.list.iter_mut()
    }

    /// Returns all processes, and their sampler.
    pub(crate) fn with_sampler(&mut self) -> (impl Iterator<Item = &mut Observed>, &Sampler) {
        (self.list.iter_mut(), &self.sampler)
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn get_mut(&mut self, key: ProcessKey) -> Option<&mut Observed> {
        self.list.get_mut(*self.index.get(&key)?)
    }

    /// Returns the next process in turn, if there is any.
    pub(crate) fn next_in_turn(&mut self) -> Option<&mut Observed> {
        self.turn = (self.turn + 1).checked_rem(self.list.len())?;
        self.list.get_mut(self.turn)
    }

    /// Returns the fill of the fullest ring of the selected processes, 0 to 1.
    pub(crate) fn fill(&mut self, is_asked: impl Fn(&Observed) -> bool) -> f64 {
        let asked = self.list.iter_mut().filter(|process| is_asked(process));
        asked.map(Observed::fill).fold(0.0, f64::max)
    }

    /// Opens the segment at `path`, unless its process is followed already.
    pub(crate) fn open(&mut self, path: &Path, now: Instant) -> Option<Observed> {
        if self.paths.contains(path) {
            return None;
        }
        let opened = Observed::open(path, now);
        match &opened {
            Ok(_) => {}
            // The segment is still being created; the rank rings the doorbell when it is ready.
            Err(SegmentError::NotASegment { .. }) => {}
            Err(error) => {
                self.refused.insert(path.to_owned(), error.to_string());
            }
        }
        opened.ok()
    }

    /// Adds a process.
    pub(crate) fn follow(&mut self, process: Observed) {
        self.paths.insert(process.path.clone());
        self.index.insert(process.key, self.list.len());
        if process.stage.reached < Milestone::Gone {
            self.sampler.follow(process.key, &process.path);
        }
        self.list.push(process);
    }

    /// Releases processes whose data are all saved, and returns their keys.
    pub(crate) fn forget_done(&mut self) -> Vec<ProcessKey> {
        let mut done = Vec::new();
        self.list.retain_mut(|process| {
            process.release();
            let is_done = process.is_done();
            if is_done {
                let n_damages = self.damages.len();
                self.damages.extend(process.damage().filter(|_| n_damages < N_DAMAGES_MAX));
                std::fs::remove_file(&process.path).ok();
                self.paths.remove(&process.path);
                done.push(process.key);
            }
            !is_done
        });
        done.iter().for_each(|key| self.sampler.forget(*key));
        if !done.is_empty() {
            self.index = self.list.iter().map(|process| process.key).zip(0..).collect();
        }
        done
    }

    /// Returns sentences about segments that could not be read, or were overwritten.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.refused.values().chain(&self.damages).cloned().collect()
    }
}

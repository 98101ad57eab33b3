//! Warnings of damaged files, reported to users until they remove the files; this needs no restart.

use balancing_policies::Moment;

use super::Warn;
use crate::quarantine::FileWarning;

/// Time between two checks of the folder, in ms.
const LOOKS_EVERY_MS: u64 = 1000;

/// Files that may exist, and what was reported of them.
pub(super) struct FileWarnings {
    files: Vec<FileWarning>,
    reported: Vec<String>,
    looked: Option<Moment>,
    warn: Warn,
}

impl FileWarnings {
    pub(super) fn new(files: Vec<FileWarning>, warn: Warn) -> Self {
        Self { files, reported: Vec::new(), looked: None, warn }
    }

    /// Returns the present warnings, if they have changed. New ones are also sent to the user.
    pub(super) fn look(&mut self, now: Moment) -> Option<Vec<String>> {
        if self.looked.is_some_and(|looked| now < looked.plus_ms(LOOKS_EVERY_MS)) {
            return None;
        }
        self.looked = Some(now);
        let active = self.files.iter().filter_map(FileWarning::active).cloned().collect::<Vec<_>>();
        if active == self.reported {
            return None;
        }
        let new = active.iter().filter(|sentence| !self.reported.contains(sentence));
        new.for_each(|sentence| (self.warn.0)(sentence));
        self.reported.clone_from(&active);
        Some(active)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Fault: a damaged journal was reported until the daemon restarted, although the file had been removed.
    #[test]
    fn a_damaged_file_is_said_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file =
            |name: &str| FileWarning { path: folder.path().join(name), sentence: name.into() };
        let warned = Arc::new(Mutex::new(Vec::new()));
        let to = warned.clone();
        let warn = Warn(Arc::new(move |sentence| to.lock().unwrap().push(sentence.to_owned())));
        let mut file_warnings = FileWarnings::new(vec![file("a"), file("b")], warn);
        let at = |ms: u64| Moment(ms * 1_000_000);
        std::fs::write(folder.path().join("a"), "").unwrap();
        assert_eq!(file_warnings.look(at(5)), Some(vec!["a".to_owned()]));
        std::fs::write(folder.path().join("b"), "").unwrap();
        assert_eq!(file_warnings.look(at(1004)), None, "it was looked at a moment ago");
        assert_eq!(file_warnings.look(at(1005)), Some(vec!["a".to_owned(), "b".to_owned()]));
        std::fs::remove_file(folder.path().join("a")).unwrap();
        assert_eq!(file_warnings.look(at(2005)), Some(vec!["b".to_owned()]));
        assert_eq!(file_warnings.look(at(3005)), None);
        assert_eq!(*warned.lock().unwrap(), ["a", "b"]);
    }
}

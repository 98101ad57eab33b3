//! Compares what a rank counted itself with the record of its run.

use super::case::N_RANKS;
use run_record::tuning::TuningEvent;
use run_record::{RunRecord, RunState};
use std::path::Path;
use suite::Watched;

/// Counts that `killed.c` made on one rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) notes_begun: u64,
    pub(crate) notes_ended: u64,
    pub(crate) sums_begun: u64,
    pub(crate) sums_ended: u64,
}

impl Counts {
    /// Reads the counts of all ranks; `None` for a rank that did not begin.
    pub(crate) fn of_all(folder: &Path) -> Vec<Option<Self>> {
        (0..N_RANKS).map(|rank| Self::read(&folder.join(format!("counts-{rank}")))).collect()
    }

    fn read(path: &Path) -> Option<Self> {
        let bytes = std::fs::read(path).ok()?;
        let number = |idx: usize| {
            let bytes = bytes.get(8 * idx..8 * idx + 8).expect("it is made before it has its name");
            u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
        };
        let [notes_begun, notes_ended, sums_begun, sums_ended] = [0, 1, 2, 3].map(number);
        Some(Self { notes_begun, notes_ended, sums_begun, sums_ended })
    }
}

/// Contents of the record of a run.
pub(crate) struct Evidence {
    watched: Watched,
    record: RunRecord,
    /// Numbers that each rank passed to `note`, in order.
    notes: Vec<Vec<u64>>,
    /// Number of reductions of each rank.
    n_sums: Vec<u64>,
}

impl Evidence {
    #[track_caller]
    pub(crate) fn read(watched: Watched) -> Self {
        let record = RunRecord::open(&watched.record()).expect("a record");
        let mut notes = vec![Vec::new(); N_RANKS as usize];
        let events = record.function_events().expect("a table");
        for event in events.iter().flat_map(|events| events.batches()).flatten().flatten() {
            if &*event.event == "noted" {
                let [number] = event.values[..] else { panic!("{event:?}") };
                #[expect(clippy::cast_possible_truncation, reason = "a small whole number")]
                #[expect(clippy::cast_sign_loss, reason = "as above")]
                notes[event.rank as usize].push(number as u64);
            }
        }
        let reduction = mpi_abi::find("MPI_Allreduce").expect("it is in the table");
        let mut n_sums = vec![0; N_RANKS as usize];
        let calls = record.events().expect("a table");
        for call in calls.iter().flat_map(|calls| calls.batches()).flatten().flatten() {
            n_sums[call.rank as usize] += u64::from(call.operation == reduction);
        }
        Self { watched, record, notes, n_sums }
    }

    /// Checks that everything that ranks began before their ends is there once; only the last thing in progress may be
    /// missing.
    #[track_caller]
    pub(crate) fn check(&self, counts: &[Option<Counts>], was_ready: bool) {
        assert_eq!(self.record.state(), RunState::Finished);
        assert_eq!(self.watched.summary.tool.records_dropped, 0, "{:?}", self.warnings());
        for (rank, counts) in counts.iter().enumerate() {
            let Some(counts) = counts else { continue };
            self.check_notes(rank, counts, was_ready);
            let (low, high) = (counts.sums_ended, counts.sums_begun);
            let n_sums = self.n_sums[rank];
            assert!(
                (low..=high).contains(&n_sums),
                "rank {rank}: {n_sums} of {counts:?}; {:?}",
                self.warnings()
            );
        }
        self.check_lines();
        self.check_nothing_left();
    }

    /// Checks that notes have no gap; a rank that went on before it had its probes has them later, or never.
    #[track_caller]
    fn check_notes(&self, rank: usize, counts: &Counts, was_ready: bool) {
        let notes = &self.notes[rank];
        let is_dense = notes.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let (first, last) = (notes.first().copied(), notes.last().copied());
        let is_to_end =
            last.is_some_and(|last| (counts.notes_ended..=counts.notes_begun).contains(&last));
        let is_whole = is_dense && is_to_end && first == Some(1);
        let is_nothing = first.is_none() && (counts.notes_ended == 0 || !was_ready);
        let is_late = is_dense && is_to_end && !was_ready;
        assert!(
            is_whole || is_nothing || is_late,
            "rank {rank}: {} notes from {first:?} to {last:?} of {counts:?}, {is_dense}; {:?}",
            notes.len(),
            self.warnings()
        );
    }

    #[track_caller]
    fn check_lines(&self) {
        let text = std::fs::read(self.record.tuning_path()).unwrap_or_default();
        assert!(text.is_empty() || text.ends_with(b"\n"), "the last line is torn");
        let lines = self.record.read_tuning().expect("it can be read").unwrap_or_default();
        assert_eq!(lines.problems, Vec::<String>::new());
    }

    #[track_caller]
    pub(crate) fn check_tunlet_ended(&self) {
        let lines = self.record.read_tuning().expect("it can be read").unwrap_or_default();
        let is_end = |what: &TuningEvent| matches!(what, TuningEvent::TunletEnded { .. });
        assert!(lines.lines.iter().any(|line| is_end(&line.what)), "nobody says that it ended");
    }

    #[track_caller]
    fn check_nothing_left(&self) {
        let start = format!("sintonia-{}-", self.record.header().start.run_id);
        let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
        let left: Vec<_> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with(&start))
            .collect();
        assert!(left.is_empty(), "files are left: {left:?}");
    }

    fn warnings(&self) -> &[String] {
        &self.watched.summary.tool.warnings
    }
}

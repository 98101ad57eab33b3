//! One run of a program, as another tool recorded it.

use super::{Fault, check_times};
use crate::measurements::MeasurementsBuilder;

/// Name of the number of processes.
pub(super) const PROCESSES: &str = "p";
/// Names of the number of processes; the first one present counts.
const PROCESS_COUNTS: [&str; 10] = [
    "mpi.world.size",
    "jobsize",
    "numprocs",
    "num_procs",
    "nprocs",
    "n_procs",
    "num_ranks",
    "mpi_ranks",
    "ranks",
    PROCESSES,
];
/// Beginnings of names of Caliper's own configuration.
const OF_CALIPER: [&str; 4] = ["cali.", "caliper.", "spot", "adiak"];
/// Bytes of a text that may name a region.
pub(super) const WORD_MAX: usize = 64;

/// Run of a program.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Run {
    /// Numbers that the run records about itself.
    pub(super) settings: Vec<(String, f64)>,
    /// Short texts that it records.
    pub(super) words: Vec<(String, String)>,
    /// Region, metric, and value.
    pub(super) values: Vec<(String, String, f64)>,
    /// Place of its beginning, such as `line 3`.
    pub(super) place: String,
}

impl Run {
    pub(super) fn setting(&self, name: &str) -> Option<f64> {
        self.settings.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
    }

    pub(super) fn word(&self, name: &str) -> Option<&str> {
        self.words.iter().find(|(other, _)| other == name).map(|(_, word)| word.as_str())
    }

    pub(super) fn point(&self, parameters: &[String]) -> Result<Vec<f64>, Fault> {
        if self.settings.is_empty() || parameters.is_empty() {
            return Err(Fault::NoSettings);
        }
        let value = |name: &String| self.setting(name).ok_or_else(|| Fault::Missing(name.clone()));
        parameters.iter().map(value).collect()
    }

    pub(super) fn add_to(
        &self,
        builder: &mut MeasurementsBuilder,
        parameters: &[String],
        region: Option<&str>,
    ) -> Result<(), Fault> {
        let at = self.point(parameters)?;
        let outer = match region {
            Some(name) => Some(self.word(name).ok_or_else(|| Fault::Missing(name.to_owned()))?),
            None => None,
        };
        for (_, metric, value) in &self.values {
            check_times(metric, std::slice::from_ref(value))?;
        }
        for (region, metric, value) in &self.values {
            let inner = outer.map(|outer| format!("{outer}->{region}"));
            builder.add(inner.as_ref().unwrap_or(region), metric, &at, &[*value]);
        }
        Ok(())
    }
}

/// Puts the number of processes first, and names it `p`.
pub(super) fn name_processes(settings: &mut Vec<(String, f64)>) {
    let value =
        |name: &&str| settings.iter().find(|(other, _)| other == name).map(|(_, value)| *value);
    if let Some(n_processes) = PROCESS_COUNTS.iter().find_map(value) {
        settings.retain(|(name, _)| !PROCESS_COUNTS.contains(&name.as_str()));
        settings.insert(0, (PROCESSES.to_owned(), n_processes));
    }
}

/// Returns whether a name is none of Caliper's own configuration.
pub(super) fn is_own(name: &str) -> bool {
    !OF_CALIPER.iter().any(|beginning| name.starts_with(beginning))
}

//! Measures what this node can do: how many cores it may use, and how fast they are.
//!
//! Cores are those that the process may run on (its affinity), or fewer where its control group may use less
//! processor time. Where that is less than one core, the node has one core of lower speed.
//!
//! Speed is 1 for an ordinary core. The source uses `bogomips` of `/proc/cpuinfo` (J. thesis 2012); these only tell
//! how fast a delay loop runs, so the speed is measured with work of three kinds unless `bogomips` is asked for.

mod calibration;
mod quota;

use std::{fs, path::Path};

use node_core::interface::Measurement;

/// `bogomips` of a core with speed 1: twice 2.5 GHz, as the kernel counts on x86.
const BOGOMIPS_ORDINARY: f64 = 5000.0;

/// Source of the speed of cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpeedBy {
    /// Work of fixed size, timed at the start of the daemon.
    #[default]
    Calibration,
    /// Value that the kernel found when it started.
    Bogomips,
}

/// Values that are given instead of being measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasureOptions {
    /// Source of the speed.
    pub by: SpeedBy,
    /// Number of cores, whatever the system reports.
    pub n_cores: Option<u32>,
    /// Speed, whatever a measurement would give.
    pub speed: Option<f64>,
}

/// Measures this node; takes about a fifth of a second unless the speed is given.
#[must_use]
pub fn measure(options: &MeasureOptions) -> Measurement {
    let affinity = n_cores_by_affinity();
    let share = quota::cores_by_quota(Path::new("/")).unwrap_or(f64::INFINITY);
    let (n_cores, slowdown) = cores(affinity, share);
    let speed = options.speed.unwrap_or_else(|| slowdown * core_speed(options.by));
    Measurement { n_cores: options.n_cores.unwrap_or(n_cores), speed }
}

fn n_cores_by_affinity() -> u32 {
    let set = rustix::thread::sched_getaffinity(None);
    set.map_or(1, |set| set.count().max(1))
}

/// Number of whole cores, and the factor for their speed.
fn cores(affinity: u32, share: f64) -> (u32, f64) {
    if f64::from(affinity) <= share {
        return (affinity, 1.0);
    }
    // Half a core beside whole ones would delay one of the tasks; it is left to the daemon.
    let whole = (1..=affinity).rev().find(|&n_cores| f64::from(n_cores) <= share);
    whole.map_or((1, share), |n_cores| (n_cores, 1.0))
}

fn core_speed(by: SpeedBy) -> f64 {
    let by_kernel = || {
        let text = fs::read_to_string("/proc/cpuinfo").ok()?;
        bogomips(&text).map(|bogomips| bogomips / BOGOMIPS_ORDINARY)
    };
    match by {
        SpeedBy::Calibration => calibration::speed(),
        // Some machines have no `bogomips`.
        SpeedBy::Bogomips => by_kernel().unwrap_or_else(calibration::speed),
    }
}

/// Mean over all processors in the text of `/proc/cpuinfo`.
fn bogomips(text: &str) -> Option<f64> {
    let value = |line: &str| {
        let (name, value) = line.split_once(':')?;
        let ours = name.trim().to_ascii_lowercase().starts_with("bogomips");
        ours.then(|| value.trim().parse::<f64>().ok()).flatten()
    };
    let values: Vec<f64> = text.lines().filter_map(value).filter(|value| 0.0 < *value).collect();
    let n_values = u32::try_from(values.len()).ok().filter(|&n_values| 0 < n_values)?;
    Some(values.iter().sum::<f64>() / f64::from(n_values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_whole_and_less_than_one_is_a_slow_one() {
        let check = |affinity, share, expected| assert_eq!(cores(affinity, share), expected);
        check(4, f64::INFINITY, (4, 1.0));
        check(4, 8.0, (4, 1.0));
        check(4, 2.0, (2, 1.0));
        check(4, 2.9, (2, 1.0));
        check(4, 1.0, (1, 1.0));
        check(4, 0.25, (1, 0.25));
        check(1, 0.5, (1, 0.5));
    }

    #[test]
    fn bogomips_are_the_mean_of_all_processors() {
        let check = |text: &str, expected| assert_eq!(bogomips(text), expected, "{text}");
        check(
            "processor\t: 0\nbogomips\t: 4000.00\n\nprocessor\t: 1\nbogomips\t: 6000.00\n",
            Some(5000.0),
        );
        check("processor\t: 0\nBogoMIPS\t: 50.00\n", Some(50.0));
        check("bogomips per cpu: 3241.00\n", Some(3241.0));
        check("processor\t: 0\nbogomips\t: none\n", None);
        check("bogomips\t: 0.00\n", None);
        check("", None);
    }

    #[test]
    fn what_is_given_is_not_measured() {
        let options = MeasureOptions { n_cores: Some(3), speed: Some(1.5), ..Default::default() };
        assert_eq!(measure(&options), Measurement { n_cores: 3, speed: 1.5 });
        let affinity = n_cores_by_affinity();
        let measured = measure(&MeasureOptions::default());
        assert!((1..=affinity).contains(&measured.n_cores) && 0.0 < measured.speed, "{measured:?}");
    }
}

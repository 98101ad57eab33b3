//! Measures what this node can do: how many cores it may use, and how fast they are.
//!
//! Cores are those that the process may run on (its affinity), or fewer where its control group may use less
//! processor time. Where that is less than one core, the node has one core of lower speed.
//!
//! Speed is 1 for an ordinary core. The source uses `bogomips` of `/proc/cpuinfo` (J. thesis 2012); these only tell
//! how fast a delay loop runs, so the speed is measured with work of three kinds unless `bogomips` is asked for.

use node_core::interface::Measurement;
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};

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
pub fn measure(options: &MeasureOptions) -> Measurement {
    let affinity = n_cores_by_affinity();
    let share = cores_by_quota(Path::new("/")).unwrap_or(f64::INFINITY);
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
        SpeedBy::Calibration => calibrated_speed(),
        // Some machines have no `bogomips`.
        SpeedBy::Bogomips => by_kernel().unwrap_or_else(calibrated_speed),
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

/// Rounds of each kind of work.
const N_WHOLE: u32 = 9_600_000;
const N_FLOATING: u32 = 3_500_000;
const N_MEMORY: u32 = 160_000;
/// Number of integers that memory is read from: 8 MiB.
const N_NUMBERS: u32 = 1 << 21;
/// Time of this work on a core with speed 1, in s: about what an AMD EPYC under a hypervisor took, which has 5192
/// `bogomips`.
const ORDINARY_S: f64 = 0.050;
/// Number of tries, of which the fastest counts: other load only slows the work down.
const N_TRIES: u32 = 3;

/// Speed of this core relative to an ordinary one, by work of fixed size: integers, floating point, and memory beyond
/// the caches of a core, a third of the time each on an ordinary core.
fn calibrated_speed() -> f64 {
    let numbers = numbers();
    let tries = (0..N_TRIES).map(|_| {
        // The thread's own time does not count while other threads run.
        let since_s = thread_seconds();
        black_box(whole(N_WHOLE));
        black_box(floating(N_FLOATING));
        black_box(memory(&numbers, N_MEMORY));
        thread_seconds() - since_s
    });
    // A clock that stands still would give an infinite speed.
    ORDINARY_S / tries.fold(f64::INFINITY, f64::min).max(1e-6)
}

fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "a thread runs for less than 2^52 nanoseconds")]
    let seconds = time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9;
    seconds
}

fn whole(n_rounds: u32) -> u64 {
    (0..n_rounds).fold(0x9E37_79B9_7F4A_7C15, |bits: u64, round| {
        let bits = bits ^ (bits << 13);
        let bits = bits ^ (bits >> 7);
        (bits ^ (bits << 17)).wrapping_add(u64::from(black_box(round)))
    })
}

fn floating(n_rounds: u32) -> f64 {
    let step = |sum: f64, round: u32| (sum * 0.999_999 + f64::from(round)) / 1.000_001;
    (0..n_rounds).map(black_box).fold(1.0, step)
}

fn memory(numbers: &[u32], n_rounds: u32) -> u32 {
    // Each number tells where the next one is read, so that nothing can be prefetched.
    (0..n_rounds).fold(0, |place, round| {
        let idx = usize::try_from(place).unwrap_or(0) % numbers.len().max(1);
        numbers.get(idx).copied().unwrap_or(0).wrapping_add(round)
    })
}

fn numbers() -> Vec<u32> {
    let mut bits = 1_u32;
    let mut next = || {
        bits ^= bits << 13;
        bits ^= bits >> 17;
        bits ^= bits << 5;
        bits
    };
    (0..N_NUMBERS).map(|_| next()).collect()
}

/// Processor time that the control groups of this process may use, in cores; `None` where there is no bound. `root`
/// is `/`.
///
/// Version 2 has the bound in `cpu.max`, version 1 in `cpu.cfs_quota_us` and `cpu.cfs_period_us`. Each group is
/// also bound by those above it.
fn cores_by_quota(root: &Path) -> Option<f64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let bounds = groups.lines().filter_map(|line| bound_of(root, line));
    bounds.reduce(f64::min)
}

/// Least bound from one line of `/proc/self/cgroup`: number, controllers, path.
fn bound_of(root: &Path, line: &str) -> Option<f64> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let mounts = root.join("sys/fs/cgroup");
    let path = path.trim_start_matches('/');
    if number == "0" && controllers.is_empty() {
        // Beside groups of version 1, those of version 2 are mounted deeper.
        let mount = Some(mounts.join("unified")).filter(|mount| mount.is_dir()).unwrap_or(mounts);
        return least(&mount, path, |folder| {
            parse_max(&fs::read_to_string(folder.join("cpu.max")).ok()?)
        });
    }
    if !controllers.split(',').any(|controller| controller == "cpu") {
        return None;
    }
    let mount =
        [mounts.join(controllers), mounts.join("cpu")].into_iter().find(|it| it.is_dir())?;
    least(&mount, path, |folder| {
        let number =
            |file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<f64>().ok();
        cores_of(number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
    })
}

/// Least bound of a group and those above it. In a container the path may be the one outside, which is not visible;
/// then only the mount itself counts.
fn least(mount: &Path, path: &str, bound: impl Fn(PathBuf) -> Option<f64>) -> Option<f64> {
    let groups = Path::new(path).ancestors().map(|group| mount.join(group));
    groups.filter_map(bound).reduce(f64::min)
}

fn parse_max(text: &str) -> Option<f64> {
    let mut numbers = text.split_whitespace();
    // `max` is no number: there is no bound.
    cores_of(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?)
}

fn cores_of(quota_us: f64, period_us: f64) -> Option<f64> {
    (0.0 < quota_us && 0.0 < period_us).then(|| quota_us / period_us)
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

    #[test]
    fn the_work_is_done_and_depends_on_its_size() {
        assert_ne!(whole(10), whole(11));
        assert!(floating(10) < floating(11));
        let numbers = numbers();
        assert_ne!(memory(&numbers, 10), memory(&numbers, 11));
        assert!(numbers.iter().collect::<std::collections::BTreeSet<_>>().len() == numbers.len());
    }

    /// Checks the bound on a system that has these files.
    #[track_caller]
    fn check(files: &[(&str, &str)], expected: Option<f64>) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(cores_by_quota(root.path()), expected, "{files:?}");
    }

    const V2: (&str, &str) = ("proc/self/cgroup", "0::/user/job\n");
    const V1: (&str, &str) = ("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/job\n0::/\n");

    #[test]
    fn the_least_bound_of_a_group_and_those_above_counts() {
        check(&[], None);
        check(&[V2], None);
        check(&[V2, ("sys/fs/cgroup/user/job/cpu.max", "max 100000\n")], None);
        check(&[V2, ("sys/fs/cgroup/user/job/cpu.max", "50000 100000\n")], Some(0.5));
        let above = ("sys/fs/cgroup/user/cpu.max", "150000 100000\n");
        check(&[V2, ("sys/fs/cgroup/user/job/cpu.max", "max 100000\n"), above], Some(1.5));
        check(&[V2, ("sys/fs/cgroup/cpu.max", "400000 100000\n")], Some(4.0));
        check(&[V2, ("sys/fs/cgroup/user/job/cpu.max", "nonsense\n")], None);
    }

    #[test]
    fn the_older_version_has_two_files() {
        let quota = |text| ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", text);
        let period = ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
        check(&[V1, quota("250000\n"), period], Some(2.5));
        check(&[V1, quota("-1\n"), period], None);
        check(&[V1, quota("250000\n")], None);
        let other = ("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "100000\n");
        check(&[V1, other, ("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "50000\n")], Some(2.0));
    }
}

//! Environment of the runs: machine, system and program, as far as this node reports them.

use events::usage::CoreSet;
use files::host_name;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Facts about this node and the program that a command names.
pub(super) fn facts(words: &[String], home: &Path) -> BTreeMap<String, String> {
    let n_cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let facts = [
        ("host", Some(host_name())),
        ("system", fs::read_to_string("/proc/sys/kernel/osrelease").ok()),
        ("processor", processor()),
        ("cores", Some(n_cores.to_string())),
        ("governor", governor()),
        ("caches", caches()),
        ("sintonia", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ("slurm_job", std::env::var("SLURM_JOB_ID").ok()),
        ("program", program(words, home)),
    ];
    let known = |(name, fact): (&str, Option<String>)| {
        let fact = fact?.trim().to_owned();
        (!fact.is_empty()).then(|| (name.to_owned(), fact))
    };
    facts.into_iter().filter_map(known).collect()
}

/// Mean number of runnable processes in the last minute.
pub(super) fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

/// Sentences about changes since the experiment began.
pub(super) fn changes(
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Vec<String> {
    let known = before.iter().filter_map(|(name, was)| Some((name, was, now.get(name)?)));
    let changed = known.filter(|(name, was, is)| was != is && *name != "slurm_job");
    let sentence = |(name, was, is)| {
        format!(
            "since the experiment began, `{name}` changed from {was} to {is}; times may not be comparable"
        )
    };
    changed.map(sentence).collect()
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.to_owned())
}

/// Caches of a core, such as `L2 2048 KiB, L3 36864 KiB for 8 cores`.
fn caches() -> Option<String> {
    let of_index = |idx: usize| {
        let read = |name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{idx}/{name}");
            fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
        };
        if read("type")? == "Instruction" {
            return None;
        }
        let kib = read("size")?.trim_end_matches('K').parse::<u64>().ok()?;
        let sharing =
            read("shared_cpu_list").and_then(|list| CoreSet::parse(&list)).map(|set| set.n_cores());
        let shared = sharing.filter(|n_cores| 1 < *n_cores);
        let shared = shared.map_or(String::new(), |n_cores| format!(" for {n_cores} cores"));
        Some(format!("L{} {kib} KiB{shared}", read("level")?))
    };
    let all: Vec<String> = (0..8).filter_map(of_index).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn governor() -> Option<String> {
    fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").ok()
}

/// Size and modification time of the last file that the words name: the program, or a script.
fn program(words: &[String], home: &Path) -> Option<String> {
    let with_path = words.iter().rev().filter(|word| word.contains('/'));
    let mut files = with_path.filter_map(|word| Some((word, fs::metadata(home.join(word)).ok()?)));
    let (word, file) = files.find(|(_, file)| file.is_file())?;
    Some(format!("{word}, {} bytes, changed {} s after 1970", file.len(), file.mtime()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_node_is_described() {
        let words = ["sh", "-c", "/bin/sh", "5"].map(str::to_owned);
        let facts = facts(&words, Path::new("/"));
        assert!(facts["program"].starts_with("/bin/sh, "), "{facts:?}");
        assert!(facts.contains_key("host") && facts.contains_key("cores"));
        let mut later = facts.clone();
        assert_eq!(changes(&facts, &later), Vec::<String>::new());
        later.insert("host".to_owned(), "elsewhere".to_owned());
        assert!(changes(&facts, &later)[0].contains("to elsewhere;"));
    }
}

//! Describes the machine in one line, without its name.

use std::fs::read_to_string;

/// Processor, cores, clock source, kernel and load.
pub(crate) fn describe() -> String {
    let cpu = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let n_cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    let flags = field("/proc/cpuinfo", "flags").unwrap_or_default();
    let virtual_machine =
        if flags.split(' ').any(|flag| flag == "hypervisor") { ", virtual" } else { "" };
    format!("{cpu}{virtual_machine}, {n_cores} cores, Linux {}, load {load}", kernel.trim())
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

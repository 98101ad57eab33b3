//! Table of jobs for a terminal, with what their tasks could have asked for less.

use crate::terminal::Style;
use crate::terminal::page::Page;
use display::ink::Tone;
use display::table::{Cell, Table};
use display::text::harmless;
use display::units::seconds;
use task_api::{Bytes, JobStatus};

/// Share of what was asked for below which less would do.
const IS_LITTLE: f64 = 0.5;
/// Ended tasks from which on something is said about what the next could ask for.
const N_TASKS_MIN: u64 = 3;
/// Jobs about which something is said.
const N_ADVISED_MAX: usize = 10;

/// Returns a line for each job, and sentences about what could be asked for less, ending in a line feed.
#[must_use]
pub fn jobs(jobs: &[JobStatus], now_ms: u64, style: Style) -> String {
    let mut page = Page::new(style);
    page.table(&table(jobs, now_ms));
    let advised = jobs.iter().filter_map(|job| Some((job, advice(job)?)));
    for (job, advice) in advised.take(N_ADVISED_MAX) {
        let name = harmless(&job.name);
        page.sentence("- ", &format!("`{name}` ({}): {advice}", job.tasks), Tone::Fair);
    }
    page.into_text()
}

/// Part of the core time that was given in which the processes computed.
fn efficiency(job: &JobStatus) -> Option<f64> {
    let account = &job.account;
    (0 < account.core_ms).then(|| account.used.cpu_ms as f64 / account.core_ms as f64)
}

/// What the next tasks of this kind could ask for less, in a sentence.
fn advice(job: &JobStatus) -> Option<String> {
    let account = &job.account;
    if account.n_tasks < N_TASKS_MIN {
        return None;
    }
    let asked = job.demand.variants().first()?;
    let cores = (1 < asked.cpus && 0 < account.ran_ms)
        .then(|| (asked.cpus, account.used.cpu_ms as f64 / account.ran_ms as f64))
        .filter(|(asked, used)| *used < IS_LITTLE * f64::from(*asked));
    let used_bytes = account.used.memory_max_kib.saturating_mul(1024);
    let memory = (asked.memory_bytes, used_bytes);
    let memory = Some(memory)
        .filter(|(asked, used)| 0 < *used && (*used as f64) < IS_LITTLE * *asked as f64);
    let limit = job.demand.time_limit_ms.map(|limit_ms| (limit_ms, account.longest_ms));
    let limit = limit.filter(|(limit_ms, longest_ms)| 4 * longest_ms < *limit_ms);
    let parts = [
        cores.map(|(asked, used)| {
            format!("its tasks computed on {used:.1} of {asked} cores (`--cpus {}`)", whole(used))
        }),
        memory.map(|(asked, used)| {
            let enough = Bytes(used.saturating_mul(5) / 4);
            format!(
                "none used more than {} of {} (`--memory {}` leaves a quarter)",
                Bytes(used),
                Bytes(asked),
                option_bytes(enough.0)
            )
        }),
        limit.map(|(limit_ms, longest_ms)| {
            let [limit, longest] = [limit_ms, longest_ms].map(|ms| seconds(ms as f64 / 1e3));
            format!("the longest ran {longest} of {limit}, and shorter limits fill gaps")
        }),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    (!text.is_empty()).then(|| format!("could ask for less: {text}"))
}

/// Cores that suffice for a mean use.
fn whole(used: f64) -> u32 {
    (1..u32::MAX).find(|n| used <= 1.1 * f64::from(*n)).unwrap_or(1)
}

/// Memory as the option has it: in MiB, or in GiB from 4 GiB on, rounded up.
fn option_bytes(bytes: u64) -> String {
    match bytes >> 30 {
        0..4 => format!("{}M", bytes.div_ceil(1 << 20)),
        _ => format!("{}G", bytes.div_ceil(1 << 30)),
    }
}

/// Columns by importance: the last ones are left out if there is no room.
fn table(jobs: &[JobStatus], now_ms: u64) -> Table<&JobStatus> {
    let n = |n: u64, tone| Cell::count(n).tone(if n == 0 { Tone::Dim } else { tone });
    let nothing = || "-".to_owned();
    let time = |ms: u64| seconds(ms as f64 / 1e3);
    Table::new(jobs)
        .name("job", |job| Cell::from(harmless(&job.name)).tone(Tone::Strong))
        .left("tasks", |job| job.tasks.to_string())
        .right("waiting", |job| n(job.n_queued, Tone::Plain))
        .right("running", |job| n(job.n_running, Tone::Useful))
        .right("done", |job| n(job.n_succeeded, Tone::Good))
        .right("failed", |job| n(job.n_failed, Tone::Poor))
        .right("canceled", |job| n(job.n_canceled, Tone::Fair))
        .right("took", |job| time(job.ended_ms.unwrap_or(now_ms).saturating_sub(job.submitted_ms)))
        .right("left", |job| job.left_ms(now_ms).map_or_else(nothing, time))
        .when(jobs.iter().any(|job| 0 < job.n_open()))
        .right("core-hours", |job| format!("{:.2}", job.account.core_ms as f64 / 3.6e6))
        .right("used", |job| {
            let used = efficiency(job);
            let tone =
                if used.is_some_and(|used| used < IS_LITTLE) { Tone::Fair } else { Tone::Plain };
            Cell::from(used.map_or_else(nothing, |used| format!("{:.0} %", 100.0 * used)))
                .tone(tone)
        })
        .right("memory", |job| match job.account.used.memory_max_kib {
            0 => nothing(),
            kib => Bytes(kib.saturating_mul(1024)).to_string(),
        })
        .right("mean", |job| match job.account.n_tasks {
            0 => nothing(),
            n => time(job.account.ran_ms / n),
        })
        .right("waited", |job| match job.account.n_tasks {
            0 => nothing(),
            n => time(job.account.waited_ms / n),
        })
        .right("asked", |job| job.demand.to_string())
        .right("priority", |job| job.priority.to_string())
        .when(jobs.iter().any(|job| job.priority != 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use task_api::{Demand, JobAccount, Resources, Usage};

    fn job(asked: Resources, used: Usage, ran_ms: u64) -> JobStatus {
        JobStatus {
            n_tasks: 10,
            n_succeeded: 9,
            n_failed: 1,
            ended_ms: Some(61_000),
            account: JobAccount {
                n_tasks: 10,
                used,
                ran_ms,
                longest_ms: 12_000,
                core_ms: ran_ms * u64::from(asked.cpus),
                waited_ms: 50_000,
                ..JobAccount::default()
            },
            demand: Demand { variants: vec![asked], ..Demand::default() },
            ..JobStatus::new("sweep".to_owned(), "alpha.1-10".parse().unwrap(), 1_000)
        }
    }

    #[test]
    fn a_job_that_asked_for_too_much_is_told_so() {
        let asked = Resources { cpus: 4, memory_bytes: 8 << 30, ..Resources::default() };
        let used = Usage { cpu_ms: 110_000, memory_max_kib: 1 << 20, ..Usage::default() };
        let text = jobs(&[job(asked, used, 100_000)], 99_000, Style { color: false, width: 200 });
        assert!(
            text.contains("28 %") && text.contains("1 GiB") && text.contains("60.0 s"),
            "{text}"
        );
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for sentence in [
            "its tasks computed on 1.1 of 4 cores (`--cpus 1`)",
            "none used more than 1 GiB of 8 GiB (`--memory 1280M` leaves a quarter)",
        ] {
            assert!(text.contains(sentence), "{text}");
        }
    }

    #[test]
    fn a_job_that_used_what_it_asked_for_is_told_nothing() {
        let used = Usage { cpu_ms: 95_000, memory_max_kib: 1 << 20, ..Usage::default() };
        assert_eq!(advice(&job(Resources::default(), used, 100_000)), None);
        let asked = Resources { cpus: 2, memory_bytes: 3 << 29, ..Resources::default() };
        let used = Usage { cpu_ms: 150_000, ..used };
        assert_eq!(advice(&job(asked, used, 100_000)), None);
    }
}

//! Contents of a job file.

use super::place;
use crate::submit::wishes::{WAITS, cores, variant_of};
use anyhow::{Context, anyhow};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use task_api::{
    ArrayIndices, Demand, DependencyKind, FailureRules, Resources, Schedule, Submission,
    TaskLimits, TaskRange,
};
use user_io::option_value::{bytes, time_ms};

/// A job file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobFile {
    /// Name of the job.
    name: Option<String>,
    /// Folder in which the commands run.
    pub(super) folder: Option<PathBuf>,
    /// Variables of all tasks.
    #[serde(default)]
    pub(super) environment: BTreeMap<String, String>,
    #[serde(default)]
    priority: i32,
    #[serde(default)]
    hold: bool,
    /// The tasks.
    #[serde(alias = "tasks")]
    pub(super) task: Vec<TaskEntry>,
}

/// Tasks with one command.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TaskEntry {
    /// Name by which other entries wait for it.
    pub(super) id: Option<String>,
    name: Option<String>,
    command: CommandEntry,
    folder: Option<PathBuf>,
    environment: BTreeMap<String, String>,
    array: Option<NumberOrText>,
    items: Vec<String>,
    cpus: Option<NumberOrText>,
    nodes: Option<u32>,
    memory: Option<NumberOrText>,
    gpus: Option<u32>,
    resources: BTreeMap<String, u32>,
    variants: Vec<BTreeMap<String, NumberOrText>>,
    no_pin: bool,
    time_limit: Option<NumberOrText>,
    time_request: Option<NumberOrText>,
    expect: Option<NumberOrText>,
    priority: Option<i32>,
    hold: Option<bool>,
    at_once: Option<u64>,
    after: Vec<String>,
    after_ok: Vec<String>,
    after_any: Vec<String>,
    after_failed: Vec<String>,
    after_each: Vec<String>,
    retry: u32,
    retry_delay: Option<f64>,
    max_fails: Option<u64>,
    restarts: Option<u32>,
    output: Option<PathBuf>,
}

/// A command: its words, or a text for a shell.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum CommandEntry {
    Words(Vec<String>),
    Shell(String),
}

/// A value that may be written with or without quotes.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(u64),
    Text(String),
}

impl Default for CommandEntry {
    fn default() -> Self {
        Self::Words(Vec::new())
    }
}

impl std::fmt::Display for NumberOrText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl JobFile {
    /// Reads a file in TOML, or in JSON where it begins with a brace.
    pub(super) fn parse(text: &str, path: &Path) -> anyhow::Result<Self> {
        let file: Self = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| {
                let at = (error.line(), error.column());
                anyhow!(place::at_column(text, path, at, &error.to_string()))
            })?
        } else {
            toml::from_str(text).map_err(|error| anyhow!("`{}`: {error}", path.display()))?
        };
        if file.task.is_empty() {
            return Err(anyhow!("`{}` has no task: write `[[task]]`", path.display()));
        }
        Ok(file)
    }

    /// Places of the entries in an order in which each comes behind all that it waits for.
    pub(super) fn order(&self, text: &str, path: &Path) -> anyhow::Result<Vec<usize>> {
        let mut by_id = BTreeMap::new();
        for (idx, entry) in self.task.iter().enumerate() {
            if let Some(id) = &entry.id
                && by_id.insert(id.as_str(), idx).is_some()
            {
                let sentence = format!("the `id` `{id}` is there twice");
                return Err(anyhow!(place::at_word(text, path, id, &sentence)));
            }
        }
        let mut waits = vec![0; self.task.len()];
        let mut next = vec![Vec::new(); self.task.len()];
        for (idx, entry) in self.task.iter().enumerate() {
            for (name, ..) in entry.waits_for() {
                if let Some(&before) = by_id.get(name) {
                    next[before].push(idx);
                    waits[idx] += 1;
                } else if name.parse::<TaskRange>().is_err() {
                    let sentence = "there is no task with this `id` in the file";
                    return Err(anyhow!(place::at_word(text, path, name, sentence)));
                }
            }
        }
        let free = waits.iter().enumerate().filter(|(_, n)| **n == 0).map(|(idx, _)| idx);
        let mut free = free.collect::<BTreeSet<_>>();
        let mut order = Vec::with_capacity(waits.len());
        while let Some(idx) = free.pop_first() {
            order.push(idx);
            for &later in &next[idx] {
                waits[later] -= 1;
                if waits[later] == 0 {
                    free.insert(later);
                }
            }
        }
        if order.len() < self.task.len() {
            let stuck = self.task.iter().zip(&waits).filter(|(_, n)| 0 < **n);
            let ids = stuck.filter_map(|(entry, _)| entry.id.clone()).collect::<Vec<_>>();
            let sentence = format!("these tasks wait for each other: `{}`", ids.join("`, `"));
            let first = ids.first().map_or("", String::as_str);
            return Err(anyhow!(place::at_word(text, path, first, &sentence)));
        }
        Ok(order)
    }

    /// Submission of an entry, without what it waits for; `base` has the folder and the variables of all tasks.
    pub(super) fn submission(
        &self,
        entry: &TaskEntry,
        base: &Submission,
    ) -> anyhow::Result<Submission> {
        let mut environment = base.environment.clone();
        environment.retain(|(name, _)| !entry.environment.contains_key(name));
        environment.extend(entry.environment.clone());
        let folder = match &entry.folder {
            Some(folder) => Path::new(&base.folder).join(folder).display().to_string(),
            None => base.folder.clone(),
        };
        let array = entry.array.as_ref().map(|it| it.to_string().parse::<ArrayIndices>());
        let output = entry.output.as_ref().map(|it| Path::new(&folder).join(it));
        let delay = Duration::try_from_secs_f64(entry.retry_delay.unwrap_or(1.0));
        let delay = delay.context("`retry_delay` is a number of seconds")?;
        Ok(Submission {
            command: entry.command.words(),
            name: entry.name.clone().or_else(|| entry.id.clone()),
            array: array.transpose()?,
            items: entry.items.clone(),
            limits: TaskLimits {
                output_folder: output.map(|it| it.display().to_string()),
                n_starts_max: entry.restarts.unwrap_or(9).saturating_add(1),
                ..TaskLimits::default()
            },
            failures: FailureRules {
                n_retries_max: entry.retry,
                retry_delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                n_fails_max: entry.max_fails,
            },
            demand: entry.demand()?,
            schedule: Schedule {
                priority: entry.priority.unwrap_or(self.priority),
                is_held: entry.hold.unwrap_or(self.hold),
                n_at_once_max: entry.at_once,
                job: self.name.clone(),
                after: Vec::new(),
            },
            folder,
            environment,
        })
    }
}

impl CommandEntry {
    fn words(&self) -> Vec<String> {
        match self {
            Self::Words(words) => words.clone(),
            Self::Shell(text) => ["sh", "-c", text].map(str::to_owned).to_vec(),
        }
    }
}

impl TaskEntry {
    /// Names of what the entry waits for, with what has to become of it.
    pub(super) fn waits_for(&self) -> impl Iterator<Item = (&str, DependencyKind, bool)> {
        let Self { after, after_ok, after_any, after_failed, after_each, .. } = self;
        let lists = [after, after_ok, after_any, after_failed, after_each];
        lists.into_iter().zip(WAITS).flat_map(|(names, (when, is_each))| {
            names.iter().map(move |name| (name.as_str(), when, is_each))
        })
    }

    fn demand(&self) -> anyhow::Result<Demand> {
        let time = |value: &Option<NumberOrText>, key: &str| {
            let ms = value.as_ref().map(|it| time_ms(&it.to_string()));
            ms.transpose().map_err(|why| anyhow!("`{key}`: {why}"))
        };
        let (cpus, cpus_max) = match &self.cpus {
            Some(text) => cores(&text.to_string()).map_err(|why| anyhow!("`cpus`: {why}"))?,
            None => (1, 0),
        };
        let memory = self.memory.as_ref().map(|it| bytes(&it.to_string())).transpose();
        let first = Resources {
            cpus,
            cpus_max,
            memory_bytes: memory.map_err(|why| anyhow!("`memory`: {why}"))?.unwrap_or(0),
            gpus: self.gpus.unwrap_or(0),
            named: self.resources.clone(),
        };
        let is_named = self.cpus.is_some() || first != Resources::default();
        let mut variants = is_named.then_some(first).into_iter().collect::<Vec<_>>();
        for variant in &self.variants {
            let parts = variant.iter().map(|(name, value)| (name.as_str(), value.to_string()));
            variants.push(variant_of(parts).map_err(|why| anyhow!("`variants`: {why}"))?);
        }
        Ok(Demand {
            variants,
            nodes: self.nodes.filter(|nodes| 1 < *nodes).unwrap_or(0),
            is_unpinned: self.no_pin,
            time_limit_ms: time(&self.time_limit, "time_limit")?,
            time_request_ms: time(&self.time_request, "time_request")?,
            expect_ms: time(&self.expect, "expect")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAPH: &str = r#"
name = "graph"
priority = 3
[[task]]
id = "last"
command = "cat out"
after_ok = ["middle"]
[[task]]
id = "first"
command = ["true"]
[[task]]
id = "middle"
command = ["./solve", "%{index}"]
array = "1-4:3"
cpus = "2-4"
memory = "1G"
variants = [{ gpus = 1, cpus = 1 }]
time_limit = 90
after_each = ["alpha.7-8"]
after_ok = ["first"]
"#;

    fn file(text: &str) -> anyhow::Result<JobFile> {
        JobFile::parse(text, Path::new("job"))
    }

    #[test]
    fn entries_come_behind_what_they_wait_for() {
        let parsed = file(GRAPH).unwrap();
        assert_eq!(parsed.order(GRAPH, Path::new("job")).unwrap(), [1, 2, 0]);
        let base = Submission { folder: "/work".to_owned(), ..Submission::default() };
        let middle = parsed.submission(&parsed.task[2], &base).unwrap();
        let wanted = "2 to 4 cores, 1 GiB or 1 core, 1 GPU";
        assert_eq!((middle.n_tasks(), middle.demand.to_string().as_str()), (2, wanted));
        assert_eq!(middle.demand.time_limit_ms, Some(90_000));
        assert_eq!((middle.schedule.priority, middle.schedule.job.as_deref()), (3, Some("graph")));
        let last = parsed.submission(&parsed.task[0], &base).unwrap();
        assert_eq!(last.command, ["sh", "-c", "cat out"]);
    }

    #[test]
    fn json_is_read_as_well() {
        let text = r#"{"tasks": [{"id": "a", "command": ["true"]}]}"#;
        assert_eq!(file(text).unwrap().task.len(), 1);
        let wrong = file("{\"tasks\": [\n{\"id\": 7}]}").unwrap_err().to_string();
        assert!(wrong.starts_with("`job`, line 2: invalid type: integer `7`"), "{wrong}");
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = file(text).and_then(|file| {
            file.order(text, Path::new("job"))?;
            let base = Submission { folder: "/".to_owned(), ..Submission::default() };
            file.task.iter().try_for_each(|it| file.submission(it, &base).map(drop))
        });
        let found = found.unwrap_err().to_string();
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn what_is_wrong_is_shown_with_its_line() {
        check(
            "[[task]]\nid = \"a\"\nafter_ok = [\"b\"]\n",
            "line 3: there is no task with this `id`",
        );
        let cycle =
            "[[task]]\nid = \"a\"\nafter = [\"b\"]\n[[task]]\nid = \"b\"\nafter = [\"a\"]\n";
        check(cycle, "these tasks wait for each other: `a`, `b`");
        check(
            "[[task]]\nid = \"a\"\n[[task]]\nid = \"a\"\n",
            "line 4: the `id` `a` is there twice",
        );
        check("[[task]]\ncolor = 3\n", "unknown field `color`");
        check("name = \"x\"\n", "missing field `task`");
        check(
            "[[task]]\ncommand = [\"true\"]\ntime_limit = \"soon\"\n",
            "`time_limit`: write a time",
        );
        check("[[task]]\nvariants = [{ cpus = 0 }]\n", "`variants`: write a number of cores");
    }
}

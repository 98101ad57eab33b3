//! What was printed of the output of tasks that are followed.

use anyhow::Context;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use task_api::{EndedTask, OutputNews, OutputPosition, StreamNews, TaskName, TaskRange};
use user_io::exit::NotWritten;

/// Longest line that waits for its end, in bytes.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Output of the tasks of a range, as far as it was printed.
#[derive(Debug)]
pub(super) struct FollowedOutput {
    home: String,
    /// True if each line begins with the name of its task.
    has_names: bool,
    tasks: BTreeMap<u64, Followed>,
}

/// Output of a task: standard output and standard error.
#[derive(Debug, Default)]
struct Followed {
    streams: [Stream; 2],
    /// Start of the task that the output is from.
    instance: u32,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Stream {
    /// Bytes that were written by the task and printed, or counted as not kept.
    n_bytes: u64,
    /// Beginning of a line that has no end yet, where lines have names.
    line: Vec<u8>,
}

impl FollowedOutput {
    pub(super) fn of(tasks: &TaskRange) -> Self {
        let has_names = 1 < tasks.n_tasks();
        Self { home: tasks.home.clone(), has_names, tasks: BTreeMap::new() }
    }

    /// How much of a running task's output is known, which was started as this instance; `None` when it has ended.
    pub(super) fn position(&self, task: &TaskName, instance: u32) -> Option<OutputPosition> {
        let known = self.tasks.get(&task.number);
        if known.is_some_and(|known| known.is_over) {
            return None;
        }
        let known = known.filter(|known| known.instance == instance);
        let [stdout, stderr] =
            known.map_or([0, 0], |known| known.streams.each_ref().map(|it| it.n_bytes));
        Some(OutputPosition { task: task.clone(), stdout, stderr })
    }

    /// Notes that a task runs as this instance: what a former one wrote was another output.
    pub(super) fn runs(&mut self, task: &TaskName, instance: u32) -> anyhow::Result<()> {
        let known = self.tasks.entry(task.number).or_default();
        if known.instance == instance || known.is_over {
            return Ok(());
        }
        let is_again = 0 < known.instance;
        self.flush(task.number)?;
        if is_again {
            eprintln!("sintonia: {task} was started again");
        }
        self.tasks.insert(task.number, Followed { instance, ..Followed::default() });
        Ok(())
    }

    /// Prints what is new; returns the tasks that have written more than that.
    pub(super) fn news(&mut self, news: &[OutputNews]) -> anyhow::Result<Vec<OutputPosition>> {
        let mut more = Vec::new();
        for OutputNews { task, stdout, stderr } in news {
            let number = task.number;
            if task.home != self.home || self.tasks.get(&number).is_none_or(|it| it.is_over) {
                continue;
            }
            let mut is_more = false;
            for (idx, part) in [stdout, stderr].into_iter().enumerate() {
                self.part(number, idx, part)?;
                let n_known = self.tasks.get(&number).map_or(0, |it| it.streams[idx].n_bytes);
                is_more |= n_known < part.n_bytes && !part.text.0.is_empty();
            }
            let instance = self.tasks.get(&number).map_or(0, |it| it.instance);
            more.extend(self.position(task, instance).filter(|_| is_more));
        }
        Ok(more)
    }

    /// Prints what is left of the output of a task that has ended.
    pub(super) fn ended(&mut self, task: &EndedTask) -> anyhow::Result<()> {
        let name = TaskName { home: self.home.clone(), number: task.number };
        self.runs(&name, task.instance)?;
        if let Some(output) = &task.output {
            let n_dropped = output.n_dropped_bytes;
            for (idx, text) in [&output.stdout, &output.stderr].into_iter().enumerate() {
                for part in parts(&text.0, n_dropped) {
                    self.part(task.number, idx, &part)?;
                }
            }
        }
        if let Some(folder) = &task.output_folder {
            self.rest_of_files(&name, folder, &task.node)?;
        }
        self.flush(task.number)?;
        self.tasks.insert(task.number, Followed { is_over: true, ..Followed::default() });
        Ok(())
    }

    /// Prints what is left in the files of a task that has ended, or says where they are.
    fn rest_of_files(&mut self, task: &TaskName, folder: &str, node: &str) -> anyhow::Result<()> {
        for (idx, end) in ["out", "err"].into_iter().enumerate() {
            let mut from = self.tasks.get(&task.number).map_or(0, |it| it.streams[idx].n_bytes);
            let path = Path::new(folder).join(format!("{task}.{end}"));
            // Other nodes may have folders of their own, and a folder may be named after what a task is.
            let Ok(file) = File::open(&path) else {
                let of_node = path.display();
                eprintln!("sintonia: what {task} wrote last is in `{of_node}` on {node}");
                return Ok(());
            };
            let mut buffer = vec![0; LINE_BYTES_MAX];
            while let Ok(n_bytes @ 1..) = file.read_at(&mut buffer, from) {
                let text = task_api::OutputText(buffer[..n_bytes].to_vec());
                self.part(task.number, idx, &StreamNews { from, text, n_bytes: from })?;
                from += n_bytes as u64;
            }
        }
        Ok(())
    }

    /// Prints what is new in a part of a stream.
    fn part(&mut self, number: u64, idx: usize, part: &StreamNews) -> anyhow::Result<()> {
        let known = self.tasks.entry(number).or_default();
        let stream = &mut known.streams[idx];
        let n_lost = part.from.saturating_sub(stream.n_bytes);
        let n_again = usize::try_from(stream.n_bytes.saturating_sub(part.from));
        let new = part.text.0.get(n_again.unwrap_or(usize::MAX)..).unwrap_or_default();
        stream.n_bytes = stream.n_bytes.max(part.from) + new.len() as u64;
        if 0 < n_lost {
            let note = format!("[sintonia: {n_lost} bytes were not kept]\n");
            self.write(number, idx, note.as_bytes())?;
        }
        self.write(number, idx, new)
    }

    fn write(&mut self, number: u64, idx: usize, bytes: &[u8]) -> anyhow::Result<()> {
        if !self.has_names {
            return print(idx, bytes);
        }
        let known = self.tasks.entry(number).or_default();
        let line = &mut known.streams[idx].line;
        line.extend_from_slice(bytes);
        let is_long = LINE_BYTES_MAX < line.len();
        let n_whole = line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let whole = line.drain(..if is_long { line.len() } else { n_whole }).collect::<Vec<_>>();
        self.print_lines(number, idx, &whole)
    }

    /// Prints the lines that have no end.
    fn flush(&mut self, number: u64) -> anyhow::Result<()> {
        for idx in [0, 1] {
            let known = self.tasks.get_mut(&number);
            let line = known.map(|known| std::mem::take(&mut known.streams[idx].line));
            self.print_lines(number, idx, &line.unwrap_or_default())?;
        }
        Ok(())
    }

    /// Prints lines with the name of their task.
    fn print_lines(&self, number: u64, idx: usize, lines: &[u8]) -> anyhow::Result<()> {
        let name = format!("{}.{number}: ", self.home);
        let mut text = Vec::new();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            text.extend_from_slice(name.as_bytes());
            text.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                text.push(b'\n');
            }
        }
        print(idx, &text)
    }
}

fn print(idx: usize, bytes: &[u8]) -> anyhow::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let write = |mut stream: Box<dyn Write>| {
        stream.write_all(bytes)?;
        stream.flush()
    };
    match idx {
        0 => write(Box::new(std::io::stdout())),
        _ => write(Box::new(std::io::stderr())),
    }
    .context(NotWritten)
}

/// Parts of a kept output: its beginning and, where some of it is not kept, its end.
fn parts(kept: &[u8], n_dropped_max: u64) -> Vec<StreamNews> {
    let part = |from: u64, bytes: &[u8]| StreamNews {
        from,
        text: task_api::OutputText(bytes.to_vec()),
        n_bytes: from + bytes.len() as u64,
    };
    match gap(kept).filter(|gap| 0 < n_dropped_max && gap.n_bytes <= n_dropped_max) {
        None => vec![part(0, kept)],
        Some(Gap { at, end, n_bytes }) => {
            vec![part(0, &kept[..at]), part(at as u64 + n_bytes, &kept[end..])]
        }
    }
}

/// Line in a kept output that stands for what is not kept.
struct Gap {
    at: usize,
    end: usize,
    n_bytes: u64,
}

fn gap(kept: &[u8]) -> Option<Gap> {
    const BEGIN: &[u8] = b"\n[sintonia: ";
    const END: &[u8] = b" bytes were not kept]\n";
    let at = kept.windows(BEGIN.len()).position(|it| it == BEGIN)?;
    let rest = &kept[at + BEGIN.len()..];
    let n_digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let n_bytes = std::str::from_utf8(&rest[..n_digits]).ok()?.parse().ok()?;
    let end = at + BEGIN.len() + n_digits + END.len();
    rest[n_digits..].starts_with(END).then_some(Gap { at, end, n_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_output_is_its_beginning_and_its_end() {
        let check = |kept: &str, n_dropped, expected: &[(u64, &str)]| {
            let found = parts(kept.as_bytes(), n_dropped);
            let found = found.iter().map(|it| (it.from, str::from_utf8(&it.text.0).unwrap()));
            assert_eq!(found.collect::<Vec<_>>(), expected);
        };
        check("abc", 0, &[(0, "abc")]);
        let cut = "abcd\n[sintonia: 40 bytes were not kept]\nwxyz";
        check(cut, 40, &[(0, "abcd"), (44, "wxyz")]);
        // A program wrote that itself.
        check(cut, 0, &[(0, cut)]);
    }

    #[test]
    fn what_is_known_is_not_printed_again() {
        let mut output = FollowedOutput::of(&"alpha.1-9".parse().unwrap());
        let task: TaskName = "alpha.3".parse().unwrap();
        output.runs(&task, 1).unwrap();
        let news = |from, text: &str, n_bytes| StreamNews {
            from,
            text: task_api::OutputText(text.as_bytes().to_vec()),
            n_bytes,
        };
        let of = |stdout| OutputNews { task: task.clone(), stdout, stderr: StreamNews::default() };
        let more = output.news(&[of(news(0, "one\ntw", 9))]).unwrap();
        assert_eq!((more[0].stdout, more.len()), (6, 1));
        let line = |output: &FollowedOutput| output.tasks[&3].streams[0].line.clone();
        assert_eq!(line(&output), b"tw");
        assert!(output.news(&[of(news(4, "two\nx", 9))]).unwrap().is_empty());
        assert_eq!((line(&output), output.position(&task, 1).unwrap().stdout), (b"x".to_vec(), 9));
        assert_eq!(output.position(&task, 2).unwrap().stdout, 0, "another start writes anew");
        assert!(output.news(&[of(news(20, "y", 21))]).unwrap().is_empty());
        assert_eq!(line(&output), b"y", "the note ended the line before");
    }
}

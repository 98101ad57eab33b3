//! Export as trace JSON for Chrome and Perfetto.
//!
//! A rank is a process, its threads are threads, an MPI call is a complete event (`ph: X`), and a message is
//! an arrow (`s` to `f`) from the call that sent it to the call that received it or waited for it. Times are
//! in microseconds since the start of the run.
//!
//! Source: "Trace Event Format", the Chromium project.

use crate::error::ExportError;
use crate::format::{ExportFormat, ExportWriter};
use crate::lanes::{LaneKey, Lanes, Trace, call_site_texts, is_call, operation};
use crate::messages::{Delivered, MessageEnds};
use run_record::{Event, RunRecord};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;

/// Entry of the registry.
pub(crate) const FORMAT: ExportFormat = ExportFormat {
    name: "chrome",
    sentence: "Trace events as JSON: Perfetto, chrome://tracing, Speedscope",
    writer: ExportWriter::File(|record, out| chrome(record, out)),
};

/// Writes the events of the record as trace JSON; returns sentences about what the format could not hold.
///
/// # Errors
/// The record cannot be read, has no events, or `out` cannot be written.
fn chrome(record: &RunRecord, out: impl Write) -> Result<Vec<String>, ExportError> {
    let trace = Trace::open(record)?;
    let lanes = Lanes::of(&trace)?;
    let messages = MessageEnds::of(&trace, &lanes)?;
    let processes = processes(&lanes);
    let mut writer = Writer { out, processes, n_written: 0 };
    writer.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
    writer.names(&trace, &lanes)?;
    let places = call_site_texts(&trace.summary);
    trace.try_each(|event| writer.call(event, &places))?;
    for (id, message) in messages.delivered().enumerate() {
        writer.arrow(id, &message, &lanes)?;
    }
    let about = json!({ "command": trace.summary.command.join(" "), "mpi": trace.summary.mpi });
    write!(writer.out, "\n],\"otherData\":{about}}}\n")?;
    writer.out.flush()?;
    Ok(messages.unmatched_note().into_iter().collect())
}

/// Returns the process number of each rank.
fn processes(lanes: &Lanes) -> HashMap<(u32, u32), usize> {
    let mut processes = BTreeMap::new();
    for key in &lanes.keys {
        let next = processes.len();
        processes.entry((key.world, key.rank)).or_insert(next);
    }
    processes.into_iter().collect()
}

struct Writer<W> {
    out: W,
    processes: HashMap<(u32, u32), usize>,
    n_written: u64,
}

impl<W: Write> Writer<W> {
    fn names(&mut self, trace: &Trace, lanes: &Lanes) -> Result<(), ExportError> {
        let n_worlds = lanes.keys.last().map_or(0, |key| key.world + 1);
        let mut named = None;
        for key in &lanes.keys {
            let (pid, tid) = (self.process(key), key.thread);
            if named != Some(pid) {
                let world =
                    if n_worlds < 2 { String::new() } else { format!("world {} ", key.world) };
                let node = trace.node(key.world, key.rank);
                let node = if node.is_empty() { String::new() } else { format!(" on {node}") };
                let args = json!({ "name": format!("{world}rank {}{node}", key.rank) });
                self.put(&json!({ "args": args, "name": "process_name", "ph": "M", "pid": pid }))?;
                let (args, name) = (json!({ "sort_index": pid }), "process_sort_index");
                self.put(&json!({ "args": args, "name": name, "ph": "M", "pid": pid }))?;
                named = Some(pid);
            }
            let args = json!({ "name": format!("thread {tid}") });
            let name = "thread_name";
            self.put(&json!({ "args": args, "name": name, "ph": "M", "pid": pid, "tid": tid }))?;
        }
        Ok(())
    }

    fn call(&mut self, event: &Event, places: &HashMap<u32, String>) -> Result<(), ExportError> {
        let Some(operation) = operation(event).filter(|_| is_call(event)) else { return Ok(()) };
        let (name, class) = (&operation.name, operation.class.name());
        let (pid, tid) = (self.process(&LaneKey::of(event)), event.thread);
        let (ts, dur) =
            (micros(event.start_ns), micros(event.end_ns.saturating_sub(event.start_ns)));
        let args = Value::Object(args(event, places));
        self.separate()?;
        write!(
            self.out,
            r#"{{"ph":"X","name":"{name}","cat":"{class}","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"args":{args}}}"#
        )?;
        Ok(())
    }

    /// Writes an arrow that starts and ends inside calls; at the very end of a call, a viewer would
    /// attach it to the next one.
    fn arrow(
        &mut self,
        id: usize,
        message: &Delivered<'_>,
        lanes: &Lanes,
    ) -> Result<(), ExportError> {
        let received_ns =
            message.receive.last_end_ns.saturating_sub(1).max(message.receive.last_start_ns);
        let ends = [
            ("\"s\"", message.from, message.send.start_ns),
            ("\"f\",\"bp\":\"e\"", message.to, received_ns),
        ];
        for (phase, lane, at_ns) in ends {
            let Some(key) = lanes.keys.get(lane) else { continue };
            let (pid, tid, ts) = (self.process(key), key.thread, micros(at_ns));
            self.separate()?;
            write!(
                self.out,
                r#"{{"ph":{phase},"name":"message","cat":"message","id":{id},"pid":{pid},"tid":{tid},"ts":{ts}}}"#
            )?;
        }
        Ok(())
    }

    fn process(&self, key: &LaneKey) -> usize {
        self.processes.get(&(key.world, key.rank)).copied().unwrap_or_default()
    }

    fn put(&mut self, value: &Value) -> Result<(), ExportError> {
        self.separate()?;
        Ok(write!(self.out, "{value}")?)
    }

    fn separate(&mut self) -> Result<(), ExportError> {
        if 0 < self.n_written {
            self.out.write_all(b",\n")?;
        }
        self.n_written += 1;
        Ok(())
    }
}

/// Returns the arguments of a call besides its time, by name; JSON objects have no order.
fn args(event: &Event, places: &HashMap<u32, String>) -> Map<String, Value> {
    let place = event.call_site.and_then(|site| places.get(&site));
    let positive = |value: i32| (0 <= value).then(|| value.into());
    let all = [
        ("at", place.map(|text| text.as_str().into())),
        ("bytes", (0 < event.bytes).then(|| event.bytes.into())),
        ("communicator", (event.communicator != 0).then(|| event.communicator.into())),
        ("peer", positive(event.peer)),
        ("tag", positive(event.tag)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Formats nanoseconds as microseconds without rounding.
fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

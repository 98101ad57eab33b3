//! Makes the HTML report: the summary, and the timeline of a traced run.

use events::{RecordKind, call::NO_PEER};
use report::timeline::{Event as Drawn, Role, Timeline, TimelineBuilder};
use run_record::{Event, RunRecord, Summary};

/// HTML page of a run.
///
/// # Errors
/// If the event file cannot be read.
pub(crate) fn page(record: &RunRecord, summary: &Summary) -> anyhow::Result<String> {
    let timeline = timeline(record)?;
    Ok(report::html::page(summary, timeline.as_ref()))
}

fn timeline(record: &RunRecord) -> anyhow::Result<Option<Timeline>> {
    let Some(events) = record.events()? else { return Ok(None) };
    let mut builder = TimelineBuilder::default();
    for batch in events.batches() {
        for event in batch? {
            draw(&mut builder, &event);
        }
    }
    Ok(Some(builder.finish()))
}

fn draw(builder: &mut TimelineBuilder, event: &Event) {
    let Some(operation) = mpi_abi::operation(event.operation) else { return };
    let role = match event.kind {
        RecordKind::Call => Role::of(&operation.name),
        RecordKind::ReceiveHalf => Role::Receive,
        RecordKind::Requests => return,
    };
    let end_ns = event.end_ns.cast_signed();
    let is_half = event.kind == RecordKind::ReceiveHalf;
    builder.add(&Drawn {
        world: event.world as usize,
        rank: event.rank,
        thread: event.thread,
        start_ns: if is_half { end_ns } else { event.start_ns.cast_signed() },
        end_ns,
        operation: &operation.name,
        class: operation.class.name(),
        call_site: event.call_site.map(|id| id as usize),
        peer: (NO_PEER < event.peer).then_some(event.peer.cast_unsigned()),
        bytes: event.bytes,
        role,
    });
}

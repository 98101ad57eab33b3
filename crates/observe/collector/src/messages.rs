//! Execution of the analyzer's messages.

use super::Collector;
use super::link::News;
use super::plan::Milestone;
use super::process::Observed;
use std::time::{Duration, Instant};
use wire::{ToAnalyzer, ToCollector};

impl Collector {
    pub(super) fn hear(&mut self, news: News, now: Instant) {
        if let Some(report_every_ms) = news.welcomed {
            self.schedule.report_every = Duration::from_millis(report_every_ms.into());
            self.schedule.next_reports = now;
            self.answers_wait = true;
        }
        for message in news.messages {
            self.hear_one(message);
        }
        if news.lost {
            self.processes.iter_mut().for_each(Observed::rewind);
            self.sums.rewind();
        }
    }

    fn hear_one(&mut self, message: ToCollector) {
        match message {
            ToCollector::Acknowledge { process, thread, up_to } => {
                if let Some(process) = self.processes.get_mut(process) {
                    process.acknowledge(thread, up_to);
                }
            }
            ToCollector::Summed { number } => self.acknowledge_sums(number),
            ToCollector::Kept { process, gone } => {
                let kept = if gone { Milestone::Gone } else { Milestone::Finalizing };
                if let Some(process) = self.processes.get_mut(process) {
                    process.stage.kept = process.stage.kept.max(kept);
                }
            }
            ToCollector::ClockProbe { probe } => {
                let (_, node_ns) = ring::clock::point();
                self.say(&ToAnalyzer::ClockReply { probe, node_ns });
            }
            ToCollector::Finish => self.finishing = true,
            ToCollector::Leave => self.leaving = true,
            ToCollector::Order { process, order } => {
                if let Some(process) = self.processes.get_mut(process) {
                    process.control.take_order(&order);
                    self.orders_wait = true;
                }
            }
            ToCollector::Events { shapes, flush_every_ms, read_every_ms } => {
                self.schedule
                    .pace
                    .set_awaited_interval(Duration::from_millis(read_every_ms.into()));
                self.take_shapes(shapes, flush_every_ms);
            }
            ToCollector::Summarize { process, events } => self.take_wish(process, events),
            ToCollector::Resume { ranges } => self.resume(ranges),
        }
    }
}

//! Sources of resize requests, and permission for a resize.

use super::{CheckInput, Coordinator, HostRequests, ResizeAnswer};
use crate::decision::DecisionInput;
use crate::manager::{LOOPBACK, PlaceRequest};
use crate::moving::Method;
use crate::options::{Placement, Redistribution};
use crate::plan::{self, ResizePlan};
use crate::present_ranks::PresentRanks;
use crate::protocol::Origin;
use crate::record;
use resize_api::{ModelDecision, Resize, ResizeOutcome, Spawn, Started, Strategy};

/// Hint for Open MPI 5, whose launcher loses addresses of processes on other hosts than their parent's
/// (<https://github.com/openpmix/openpmix/issues/4225>).
const ONLY_INHABITED: &str = "Open MPI 5 starts ranks reliably only on hosts that have one; launch the program with a rank on each host (`--map-by node`)";

/// Wanted size, with its source.
struct Wanted {
    size: u32,
    reason: String,
    request_id: Option<u64>,
    hosts: Vec<String>,
    decision: Option<ModelDecision>,
}

impl Coordinator {
    /// Begins the resize that is wanted, if one is.
    pub(super) fn begin_wanted(&mut self, input: &CheckInput, ranks: &PresentRanks, now_s: f64) {
        let Some(wanted) = self.wanted(input, ranks) else {
            if self.options.is_explaining
                && let Some(why) = self.advisor.news()
            {
                let (iteration, size) = (input.iteration, ranks.size());
                record::say(&format!("iteration {iteration}: kept {size} ranks: {why}"));
            }
            return;
        };
        let Wanted { size, reason, request_id, hosts, decision } = wanted;
        let from = ranks.size();
        if size == from {
            if let Some(id) = request_id {
                let sentence = format!("the program has {size} ranks already");
                self.handover.answered =
                    Some(ResizeAnswer { id, outcome: ResizeOutcome::Done, sentence });
            }
            return;
        }
        let spawn = self.spawn();
        let iteration = input.iteration;
        let began_s = record::now_s();
        let known = Resize { began_s, iteration, reason, spawn, decision, ..Resize::default() };
        let resize = Resize { from, to: size, ..known };
        let origin = Origin { wish: request_id, hosts, ..Origin::default() };
        self.protocol.begin(resize, origin, now_s);
    }

    fn wanted(&mut self, input: &CheckInput, ranks: &PresentRanks) -> Option<Wanted> {
        let request = self.control.as_ref().and_then(|control| control.take_request());
        let decision_input = self.decision_input(input.iteration, ranks);
        if let Some(request) = request {
            self.handover.is_led = true;
            self.advisor.follow();
            let advice = self.advisor.weigh(&decision_input, request.size);
            return Some(Wanted {
                size: request.size,
                reason: request.from,
                request_id: Some(request.id),
                hosts: request.hosts,
                decision: advice.map(|advice| advice.decision),
            });
        }
        let (size, reason, decision) = if let Some(size) = self.stretch.take_requested() {
            self.handover.is_led = true;
            self.advisor.follow();
            // Tools only know the largest range of any program.
            (size.clamp(self.handover.sizes.0, self.handover.sizes.1), "tunlet", None)
        } else if let Some(size) = self.scheduled(input.iteration) {
            (size, "schedule", None)
        } else {
            let n_possible = match (&input.sleeping, &input.obstacle) {
                (Some(sleeping), _) => {
                    ranks.size().saturating_add(u32::try_from(sleeping.len()).unwrap_or(u32::MAX))
                }
                (None, Some(_)) => ranks.size(),
                (None, None) => u32::MAX,
            };
            let advice = self.advisor.advice(&decision_input, n_possible)?;
            (advice.size, record::BY_MODEL, Some(advice.decision))
        };
        let (reason, hosts) = (reason.to_owned(), Vec::new());
        Some(Wanted { size, reason, request_id: None, hosts, decision })
    }

    /// Skips the schedule before this iteration, at which the program continues; the last of the skipped sizes applies.
    pub(crate) fn skip_schedule(&mut self, iteration: u64) {
        let is_over = |(at, _): &&(u64, u32)| *at < iteration;
        let n_over = self.options.schedule.iter().take_while(is_over).count();
        self.handover.n_scheduled = n_over.saturating_sub(1);
    }

    /// Takes the next entry of the schedule, if it is due by the time the next order is carried out.
    fn scheduled(&mut self, iteration: u64) -> Option<u32> {
        let reached = iteration + u64::from(self.next.interval);
        let (at, size) = self.options.schedule.get(self.handover.n_scheduled)?;
        (*at <= reached).then(|| {
            self.handover.n_scheduled += 1;
            *size
        })
    }

    pub(super) fn decision_input(&self, iteration: u64, ranks: &PresentRanks) -> DecisionInput {
        let bytes =
            self.record.resizes.last().map_or(0, |last| last.bytes.constant + last.bytes.variable);
        let (size, sizes) = (ranks.size(), self.handover.sizes);
        DecisionInput { iteration, size, sizes, bytes, strategy: self.options.method.strategy }
    }

    /// Decides whether the resize may begin; `None` while that is unknown. If it may, the plan is made.
    pub(super) fn permission(
        &mut self,
        input: &CheckInput,
        ranks: &PresentRanks,
    ) -> Option<Result<(), String>> {
        let attempt = self.protocol.active.as_ref()?;
        if attempt.phase != resize_api::ResizeState::Deciding {
            return None;
        }
        let (size, hosts) = (attempt.resize.to, attempt.hosts.clone());
        let leavers = attempt.leavers.clone();
        let (min, max) = self.handover.sizes;
        if size < min || max < size {
            return Some(Err(format!("the program runs on {min} to {max} ranks")));
        }
        let hosts_present = ranks.hosts();
        let there = (&*ranks.worlds(), &*hosts_present);
        let wanted = self.options.method.strategy;
        let without = (!leavers.is_empty()).then(|| ResizePlan::seats_without(there.0, &leavers));
        let (targets, strategy) = match without.flatten() {
            Some(targets) => (targets, Strategy::Merge),
            None => ResizePlan::seats(there, size, wanted),
        };
        let deadline_ms = u64::try_from(self.options.deadline.as_millis()).unwrap_or(u64::MAX);
        let n_sources = ranks.size();
        let mut plan = ResizePlan { n_sources, targets, deadline_ms, ..ResizePlan::default() };
        let n_new = plan.n_new();
        if let Some(sleeping) = &input.sleeping {
            if sleeping.len() < n_new as usize {
                let n_launched = sleeping.len() + n_sources as usize;
                let why = input.obstacle.clone().unwrap_or_default();
                return Some(Err(format!(
                    "{n_launched} ranks were launched, and there are no more: {why}"
                )));
            }
            plan.is_parked = true;
            plan.woken = sleeping.iter().copied().take(n_new as usize).collect();
            self.note(|resize| resize.started = Started::Parked);
        } else if 0 < n_new {
            if let Some(obstacle) = &input.obstacle {
                return Some(Err(obstacle.clone()));
            }
            let slots = match self.slots(&plan, hosts, &hosts_present)? {
                Ok(slots) => slots,
                Err(why) => return Some(Err(why)),
            };
            plan.start(self.spawn(), &slots, &hosts_present);
        }
        self.adopt_plan(plan, strategy);
        Some(Ok(()))
    }

    /// Rooms for the new ranks, once known; `present` are the hosts of the present ranks.
    fn slots(
        &mut self,
        plan: &ResizePlan,
        hosts: Vec<String>,
        present: &[String],
    ) -> Option<Result<Vec<plan::HostSlots>, String>> {
        let is_near = self.options.nodes.placement == Placement::Nearest;
        let finds = if is_near { plan.finds(present) } else { Vec::new() };
        let is_bound =
            self.is_open_mpi && hosts.is_empty() && self.options.nodes.hostfile.is_some();
        let own = LOOPBACK.iter().map(|name| (*name).to_owned());
        let hosts = if is_bound { present.iter().cloned().chain(own).collect() } else { hosts };
        let request = PlaceRequest { n_ranks: plan.n_new(), hosts, finds };
        let (options, is_open_mpi) = (&self.options, self.is_open_mpi);
        let host_requests = self
            .host_requests
            .get_or_insert_with(|| HostRequests::new(options, present, is_open_mpi))
            .as_mut();
        let host_requests = match host_requests {
            Ok(host_requests) => host_requests,
            Err(why) => return Some(Err(why.clone())),
        };
        let slots = match host_requests.ask(&request)? {
            Ok(slots) => slots,
            Err(why) if is_bound => return Some(Err(format!("{why}; {ONLY_INHABITED}"))),
            Err(why) => return Some(Err(why)),
        };
        if is_open_mpi && slots.iter().any(|host_slots| host_slots.is_foreign_to(present)) {
            host_requests.forget();
            return Some(Err(ONLY_INHABITED.to_owned()));
        }
        Some(Ok(slots))
    }

    /// How processes are started. What a launcher of its own starts is outside of the program's job until it has joined.
    fn spawn(&self) -> Spawn {
        // Launchers within a job of Slurm have nodes of their own choice; ranks get there as they always have.
        let is_possible = || {
            !self.is_open_mpi
                && crate::control::slurm_job().is_none()
                && mpi::launcher::beside().is_some()
        };
        let default = || if is_possible() { Spawn::Companion } else { Spawn::Tree };
        self.options.method.spawn.unwrap_or_else(default)
    }

    /// Method that moves data, if the options set it.
    fn method(&self) -> Option<Method> {
        Some(match self.options.method.redistribution {
            Redistribution::Auto => return None,
            Redistribution::Sync => Method::Sync,
            Redistribution::Async => Method::Async,
            // Open MPI 5 hangs when it makes windows between processes that were started separately.
            Redistribution::Get if !self.is_open_mpi => Method::Get,
            Redistribution::Get | Redistribution::PointToPoint => Method::PointToPoint,
        })
    }

    fn adopt_plan(&mut self, mut plan: ResizePlan, strategy: Strategy) {
        self.handover.serial = self.handover.serial.wrapping_add(1);
        plan.serial = self.handover.serial;
        plan.method = self.method().or(self.handover.method);
        if let Some(attempt) = &mut self.protocol.active {
            attempt.is_overlapping = plan.method != Some(Method::Sync);
        }
        let is_forced =
            strategy == Strategy::Baseline && self.options.method.strategy == Strategy::Merge;
        self.note(|resize| {
            resize.strategy = strategy;
            if is_forced {
                resize.reason.push_str(
                    ", with new processes for all ranks, since the present ones can only leave together",
                );
            }
        });
        self.ordered.plan = Some(plan);
    }
}

//! Sources of resize requests, and permission for a resize.

use super::{Answer, Head, Lender, Look, Room};
use crate::change::{self, Change};
use crate::decision::Standing;
use crate::manager::{LOOPBACK, Request};
use crate::moving::Method;
use crate::options::{Placement, Redistribution};
use crate::world::World;
use resize_api::{Decision, Outcome, Resize, Started, Strategy};

/// Hint for Open MPI 5, whose launcher loses addresses of processes on other hosts than their parent's
/// (<https://github.com/openpmix/openpmix/issues/4225>).
const ONLY_INHABITED: &str = "Open MPI 5 starts ranks reliably only on hosts that have one; launch the program with a rank on each host (`--map-by node`)";

/// Wanted size, with its source.
struct Wanted {
    size: u32,
    reason: String,
    wish: Option<u64>,
    hosts: Vec<String>,
    decision: Option<Decision>,
}

impl Head {
    /// Begins the resize that is wanted, if one is.
    pub(super) fn begin_wanted(&mut self, look: &Look, world: &World, now_s: f64) {
        let Some(wanted) = self.wanted(look, world) else { return };
        let Wanted { size, reason, wish, hosts, decision } = wanted;
        let from = world.size();
        if size == from {
            if let Some(id) = wish {
                let sentence = format!("the program has {size} ranks already");
                self.baton.answered = Some(Answer { id, outcome: Outcome::Done, sentence });
            }
            return;
        }
        let spawn = self.options.spawn;
        let iteration = look.iteration;
        let began_s = crate::record::now_s();
        let known = Resize { began_s, iteration, reason, spawn, decision, ..Resize::default() };
        let resize = Resize { from, to: size, ..known };
        self.protocol.begin(resize, wish, hosts, now_s);
    }

    fn wanted(&mut self, look: &Look, world: &World) -> Option<Wanted> {
        let wish = self.control.as_ref().and_then(|control| control.take_wish());
        let standing = self.standing(look.iteration, world);
        if let Some(wish) = wish {
            let decision = self.judge.weigh(&standing, wish.size).map(|advice| advice.decision);
            let (size, reason, hosts) = (wish.size, wish.from, wish.hosts);
            return Some(Wanted { size, reason, wish: Some(wish.id), hosts, decision });
        }
        if let Some(size) = self.stretch.take_wish() {
            // Tools only know the largest range of any program.
            let size = size.clamp(self.baton.sizes.0, self.baton.sizes.1);
            let (reason, hosts) = ("tunlet".to_owned(), Vec::new());
            return Some(Wanted { size, reason, wish: None, hosts, decision: None });
        }
        if let Some(size) = self.scheduled(look.iteration) {
            let (reason, hosts) = ("schedule".to_owned(), Vec::new());
            return Some(Wanted { size, reason, wish: None, hosts, decision: None });
        }
        let advice = self.judge.advice(&standing)?;
        let (size, reason, hosts) = (advice.size, crate::record::BY_MODEL.to_owned(), Vec::new());
        Some(Wanted { size, reason, wish: None, hosts, decision: Some(advice.decision) })
    }

    /// Skips the schedule before this iteration, at which the program continues; the last of the skipped
    /// sizes applies.
    pub(crate) fn skip_schedule(&mut self, iteration: u64) {
        let is_over = |(at, _): &&(u64, u32)| *at < iteration;
        let n_over = self.options.schedule.iter().take_while(is_over).count();
        self.baton.n_scheduled = n_over.saturating_sub(1);
    }

    /// Takes the next entry of the schedule, if it is due by the time the next order is carried out.
    fn scheduled(&mut self, iteration: u64) -> Option<u32> {
        let reached = iteration + u64::from(self.next.interval);
        let (at, size) = self.options.schedule.get(self.baton.n_scheduled)?;
        (*at <= reached).then(|| {
            self.baton.n_scheduled += 1;
            *size
        })
    }

    pub(super) fn standing(&self, iteration: u64, world: &World) -> Standing {
        let resizes = self.record.resizes();
        let bytes = resizes.last().map_or(0, |last| last.bytes.constant + last.bytes.variable);
        let (size, sizes) = (world.size(), self.baton.sizes);
        Standing { iteration, size, sizes, bytes, strategy: self.options.strategy }
    }

    /// Decides whether the resize may begin; `None` while that is unknown. If it may, the plan is made.
    pub(super) fn permission(&mut self, look: &Look, world: &World) -> Option<Result<(), String>> {
        let attempt = self.protocol.attempt()?;
        if attempt.phase != resize_api::State::Deciding {
            return None;
        }
        let (size, hosts) = (attempt.resize.to, attempt.hosts.clone());
        let (min, max) = self.baton.sizes;
        if size < min || max < size {
            return Some(Err(format!("the program takes {min} to {max} ranks")));
        }
        let hosts_present = world.members.iter().map(crate::world::Member::host);
        let hosts_present = hosts_present.collect::<Vec<_>>();
        let there = (&*world.worlds(), &*hosts_present);
        let (targets, strategy) = Change::seats(there, size, self.options.strategy);
        let deadline_ms = u64::try_from(self.options.deadline.as_millis()).unwrap_or(u64::MAX);
        let n_sources = world.size();
        let mut change = Change { n_sources, targets, deadline_ms, ..Change::default() };
        let n_new = change.n_new();
        if let Some(sleeping) = &look.sleeping {
            if sleeping.len() < n_new as usize {
                let n_launched = sleeping.len() + n_sources as usize;
                let why = look.obstacle.clone().unwrap_or_default();
                return Some(Err(format!(
                    "{n_launched} ranks were launched, and there are no more: {why}"
                )));
            }
            change.is_parked = true;
            change.woken = sleeping.iter().copied().take(n_new as usize).collect();
            self.note(|resize| resize.started = Started::Parked);
        } else if 0 < n_new {
            if let Some(obstacle) = &look.obstacle {
                return Some(Err(obstacle.clone()));
            }
            let rooms = match self.rooms(&change, hosts, &hosts_present)? {
                Ok(rooms) => rooms,
                Err(why) => return Some(Err(why)),
            };
            change.start(self.options.spawn, &rooms, &hosts_present);
        }
        self.commission(change, strategy);
        Some(Ok(()))
    }

    /// Rooms for the new ranks, once known; `present` are the hosts of the present ranks.
    fn rooms(
        &mut self,
        change: &Change,
        hosts: Vec<String>,
        present: &[String],
    ) -> Option<Result<Vec<change::Room>, String>> {
        let is_near = self.options.placement == Placement::Nearest;
        let finds = if is_near { change.finds(present) } else { Vec::new() };
        let is_bound = self.is_open_mpi && hosts.is_empty() && self.options.hosts.is_some();
        let own = LOOPBACK.iter().map(|name| (*name).to_owned());
        let hosts = if is_bound { present.iter().cloned().chain(own).collect() } else { hosts };
        let request = Request { n_ranks: change.n_new(), hosts, finds };
        let (options, is_open_mpi) = (&self.options, self.is_open_mpi);
        let lender =
            self.lender.get_or_insert_with(|| Lender::new(options, present, is_open_mpi)).as_mut();
        let lender = match lender {
            Ok(lender) => lender,
            Err(why) => return Some(Err(why.clone())),
        };
        let rooms = match lender.ask(&request) {
            Room::Pending => return None,
            Room::None(why) if is_bound => return Some(Err(format!("{why}; {ONLY_INHABITED}"))),
            Room::None(why) => return Some(Err(why)),
            Room::Rooms(rooms) => rooms,
        };
        if is_open_mpi && rooms.iter().any(|room| room.is_foreign_to(present)) {
            lender.forget();
            return Some(Err(ONLY_INHABITED.to_owned()));
        }
        Some(Ok(rooms))
    }

    /// Method that moves data, if the options set it.
    fn method(&self) -> Option<Method> {
        Some(match self.options.redistribution {
            Redistribution::Auto => return None,
            Redistribution::Sync => Method::Sync,
            Redistribution::Async => Method::Async,
            // Open MPI 5 hangs when it makes windows between processes that were started separately.
            Redistribution::Get if !self.is_open_mpi => Method::Get,
            Redistribution::Get | Redistribution::PointToPoint => Method::PointToPoint,
        })
    }

    fn commission(&mut self, mut change: Change, strategy: Strategy) {
        self.baton.serial = self.baton.serial.wrapping_add(1);
        change.serial = self.baton.serial;
        let method = self.method();
        match method {
            Some(method) => change.set_method(method),
            None => change.method = self.baton.method,
        }
        if let Some(attempt) = self.protocol.attempt_mut() {
            attempt.is_overlapping = change.method() != Some(Method::Sync);
        }
        let is_forced = strategy != self.options.strategy;
        self.note(|resize| {
            resize.strategy = strategy;
            if is_forced {
                resize.reason.push_str(
                    ", with new processes for all since those there can only leave together",
                );
            }
        });
        self.change = Some(change);
    }
}

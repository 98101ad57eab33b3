//! Header of the report: command, machine, duration and outcome.

use super::{listing, rest};
use crate::efficiency::Grade;
use crate::ranking;
use crate::tables::{self, Medium};
use display::text::harmless;
use display::units::{moment, percent, plural, seconds};
use maud::{Markup, html};
use run_record::Summary;

const N_CUT_SHORT_MAX: usize = 32;

pub(super) fn draw(summary: &Summary) -> Markup {
    let (outcome, good) = outcome(summary);
    html! {
        header {
            p.eyebrow {
                "Sintonia " (harmless(&summary.sintonia_version))
                @if summary.started_s > 0.0 { " · " (moment(summary.started_s)) }
                " · " span class=(good) { (outcome) }
            }
            h1 { code { (crate::terminal::command(summary)) } }
            @if summary.ranks.is_empty() {
                p.warning { (crate::terminal::NO_MPI) }
            } @else {
                p.note { (harmless(&summary.mpi)) }
                (facts(summary))
            }
        }
        (cut_short(summary))
        @if summary.worlds.len() > 1 { (listing(&tables::worlds(summary, Medium::Page))) }
    }
}

fn outcome(summary: &Summary) -> (String, &'static str) {
    let outcome = &summary.outcome;
    let class = match (outcome.complete, outcome.signal, outcome.exit_code) {
        (true, None, Some(0)) => "good",
        (true, None, None) => "",
        (false, ..) => "fair",
        _ => "poor",
    };
    (crate::terminal::outcome_words(outcome), class)
}

fn facts(summary: &Summary) -> Markup {
    let grade = Grade::of(summary.pop.parallel_efficiency).word();
    let facts = [
        ("parallel efficiency", percent(summary.pop.parallel_efficiency), grade),
        ("in MPI programs", seconds(summary.elapsed_s), ""),
        ("in all", seconds(summary.wall_s), ""),
        (if summary.n_ranks == 1 { "rank" } else { "ranks" }, summary.n_ranks.to_string(), ""),
        (if summary.n_nodes == 1 { "node" } else { "nodes" }, summary.n_nodes.to_string(), ""),
    ];
    html! {
        dl.facts {
            @for (name, value, class) in facts { div { dd class=(class) { (value) } dt { (name) } } }
        }
    }
}

fn cut_short(summary: &Summary) -> Markup {
    let ranks = ranking::cut_short(summary);
    html! {
        @if !ranks.is_empty() {
            div.warning {
                p { (plural(ranks.len(), "rank")) " did not finish:" }
                ul {
                    @for rank in ranks.iter().take(N_CUT_SHORT_MAX) {
                        li {
                            "rank " (ranking::name(summary, rank)) " (process " (rank.pid) " on "
                            (harmless(&rank.node)) "): " (harmless(&rank.end))
                            @if let Some(call) = &rank.last_seen_in { ", last seen in " code { (harmless(call)) } }
                        }
                    }
                }
                (rest(ranks.len(), N_CUT_SHORT_MAX))
            }
        }
    }
}

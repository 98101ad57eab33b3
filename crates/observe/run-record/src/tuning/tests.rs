//! Tests of lines written and read back, of torn lines, and of the summary made of them.

use super::*;
use events::Value;

fn at(t_s: f64, what: TuningEvent) -> TuningLine {
    TuningLine { t_s, what }
}

fn decision(decision: u64, new: TuningValue) -> TuningEvent {
    TuningEvent::Decision {
        decision,
        tunlet: "factoring".into(),
        point: "F0".into(),
        old: None,
        new,
        reason: "sigma/mu rose to 0.9".into(),
    }
}

fn applied(decision: u64) -> TuningEvent {
    let (old, new) = (TuningValue::Float(0.5), TuningValue::Float(0.38));
    TuningEvent::Applied { decision, old, new, rank: 0, n_ranks: 2, hit: 7, iteration: 4 }
}

fn story() -> Vec<TuningLine> {
    let begin = TuningEvent::Begin {
        mode: TuningMode::DryRun,
        tunlets: vec!["factoring".into(), "search".into()],
        points: vec!["F0".into()],
        n_ranks: 5,
    };
    let effect = Effect { before_s: 1.0, after_s: 0.75, change: -0.25, noise: 0.0 };
    vec![
        at(0.0, begin),
        at(1.5, TuningEvent::Iteration { number: 0, duration_s: 0.5, work: 100.0 }),
        at(2.0, decision(1, TuningValue::Float(0.38))),
        at(2.25, applied(1)),
        at(3.0, TuningEvent::Effect { decision: 1, effect }),
        at(3.0, TuningEvent::Kept { decision: 1, reason: "25 % faster".into() }),
        at(4.0, decision(2, TuningValue::Int(3))),
        at(4.0, TuningEvent::Declined { decision: 2, reason: "no".into() }),
        at(5.0, decision(3, TuningValue::Uint(u64::MAX))),
        at(5.5, TuningEvent::TunletEnded { tunlet: "search".into(), reason: "hung".into() }),
        at(6.0, TuningEvent::End { n_events_unheard: 9 }),
    ]
}

fn written(lines: &[TuningLine]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tuning.jsonl");
    let mut writer = TuningWriter::open(&path).unwrap();
    lines.iter().for_each(|line| writer.append(line).unwrap());
    std::fs::read(&path).unwrap()
}

#[test]
fn lines_come_back() {
    let found = parse(&written(&story()));
    assert_eq!(found, TuningLines { lines: story(), problems: vec![] });
}

#[test]
fn a_line_is_plain_json() {
    let text = String::from_utf8(written(&[at(2.5, decision(1, TuningValue::Int(3)))])).unwrap();
    let expected = "{\"t_s\":2.5,\"kind\":\"decision\",\"decision\":1,\"tunlet\":\"factoring\",\"point\":\"F0\",\"old\":null,\"new\":3,\"reason\":\"sigma/mu rose to 0.9\"}\n";
    assert_eq!(text, expected);
}

#[test]
fn what_is_no_number_is_null_and_comes_back() {
    let line = at(0.0, decision(1, Value::Float(f64::NAN).into()));
    assert_eq!(parse(&written(std::slice::from_ref(&line))).lines, [line]);
}

#[test]
fn a_cut_at_any_byte_costs_one_line_and_later_ones_follow() {
    let whole = written(&story()[..3]);
    let ends: Vec<usize> =
        (1..).zip(&whole).filter(|(_, b)| **b == b'\n').map(|(n, _)| n).collect();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tuning.jsonl");
    assert_eq!(read(&path).unwrap(), None, "no file");
    for cut in 0..=whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        TuningWriter::open(&path).unwrap().append(&story()[3]).unwrap();
        let found = read(&path).unwrap().unwrap();
        // A line without its newline is complete all the same.
        let n_whole = ends.iter().filter(|end| **end <= cut + 1).count();
        assert_eq!(found.lines.len(), n_whole + 1, "cut at {cut}");
        assert_eq!(found.lines.last(), Some(&story()[3]));
        let is_torn = cut != 0 && !ends.iter().any(|end| *end == cut || *end == cut + 1);
        assert_eq!(found.problems.len(), usize::from(is_torn), "cut at {cut}");
    }
}

#[test]
fn lines_become_a_story() {
    let summary = TuningSummary::of(&TuningLines { lines: story(), problems: vec!["p".into()] });
    assert_eq!(summary.mode, TuningMode::DryRun);
    assert_eq!(summary.tunlets[0].ended, None);
    assert_eq!(summary.tunlets[1].ended.as_deref(), Some("hung"));
    assert_eq!((summary.iterations.len(), summary.iterations[0].end_s), (1, 1.5));
    let outcomes: Vec<DecisionOutcome> =
        summary.decisions.iter().map(|story| story.outcome).collect();
    assert_eq!(outcomes, [DecisionOutcome::Kept, DecisionOutcome::Declined, DecisionOutcome::Open]);
    let kept = &summary.decisions[0];
    assert_eq!((kept.applied_s, kept.n_ranks, kept.iteration), (Some(2.25), 2, Some(4)));
    assert_eq!((kept.old, kept.new), (Some(TuningValue::Float(0.5)), TuningValue::Float(0.38)));
    assert_eq!(kept.effect.map(|effect| effect.change), Some(-0.25));
    assert_eq!((summary.n_events_unheard, summary.warnings), (9, vec!["p".to_owned()]));
}

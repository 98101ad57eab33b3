//! Runs on threads: the same bits however the work is dealt.

use master_worker::{Options, Outcome, outcome};
use nbody::{Arguments, NbodyError, Shape, Simulation, Start, read_xyz};
use std::path::Path;

fn run(arguments: Arguments, options: Options) -> Simulation {
    let Outcome { mut program, .. } =
        outcome(Simulation::new(Ok(arguments)), options).unwrap().unwrap();
    program.finish().unwrap();
    program
}

fn small(shape: Shape, dimensions: u8) -> Arguments {
    let start = Start::Shape(shape);
    Arguments { start, dimensions, n_bodies: 60, n_steps: 40, dt: 0.01, ..Arguments::default() }
}

#[test]
fn bodies_are_the_same_on_any_number_of_threads() {
    for (shape, dimensions) in [(Shape::TwoGalaxies, 2), (Shape::Plummer, 3)] {
        let alone = run(small(shape, dimensions), Options::new().threads(1));
        for n_threads in [2, 3, 5] {
            for policy in ["best", "ss", "static", "gss"] {
                let options = Options::new().threads(n_threads).policy(policy);
                let other = run(small(shape, dimensions), options);
                assert_eq!(other.fingerprint(), alone.fingerprint(), "{n_threads} {policy}");
                assert_eq!(other.conservation(), alone.conservation());
            }
        }
    }
}

/// Checks the first digits of a body; another math library may differ in the last ones.
#[track_caller]
fn check(shape: Shape, dimensions: u8, at: usize, expected: [f64; 3], energy: f64) {
    let done = run(small(shape, dimensions), Options::new().threads(2));
    let found = done.bodies()[at].position;
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(near, "{found:?}");
    assert!(
        (done.conservation().last_energy - energy).abs() < 1e-9,
        "{}",
        done.conservation().last_energy
    );
}

#[test]
fn results_are_those_of_before() {
    let disk = [-0.2557466915284178, -0.5155109707851118, 0.0];
    check(Shape::Disk, 2, 7, disk, -0.17768224864070048);
    let plummer = [1.8280781003000341, 0.007266203809405718, -0.24246830119397722];
    check(Shape::Plummer, 3, 7, plummer, -0.28777134354236217);
    let galaxies = [1.8255511819094146, 0.8191038240459485, 0.1851390174141876];
    check(Shape::TwoGalaxies, 3, 59, galaxies, -0.09242459659072653);
}

#[test]
fn energy_and_momentum_are_followed() {
    let done = run(small(Shape::Disk, 2), Options::new().threads(3));
    let conservation = done.conservation();
    assert!(conservation.holds(1e-3), "{conservation}");
    assert!(!conservation.holds(1e-12), "{conservation}");
    assert!(conservation.momentum_drift < 1e-13 && conservation.angular_drift < 1e-13);
}

fn with_output(path: &Path, start: Start, n_steps: u64) -> Arguments {
    let arguments = small(Shape::Disk, 3);
    Arguments { start, n_steps, output: Some(path.to_owned()), n_frames: 4, ..arguments }
}

#[test]
fn a_run_goes_on_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = || Options::new().threads(2);
    let whole = run(with_output(&path("whole.xyz"), Start::Shape(Shape::Disk), 40), options());
    run(with_output(&path("half.xyz"), Start::Shape(Shape::Disk), 20), options());
    let rest = run(with_output(&path("rest.xyz"), Start::File(path("half.xyz")), 20), options());
    assert_eq!(rest.bodies(), whole.bodies());
    assert_eq!(read_xyz(&path("whole.xyz")).unwrap(), whole.bodies());
    let text = std::fs::read_to_string(path("whole.xyz")).unwrap();
    assert_eq!(text.matches("Time=").count(), 5);
}

#[test]
fn a_resumed_run_has_the_same_result_and_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let arguments = |name: &str, n_steps| Arguments {
        picture: Some(path("a.svg")),
        ..with_output(&path(name), Start::Shape(Shape::Disk), n_steps)
    };
    let whole =
        run(Arguments { n_frames: 40, ..arguments("whole.xyz", 40) }, Options::new().threads(2));
    let options = Options::new().threads(2).checkpoint(path("state"));
    run(Arguments { n_frames: 20, ..arguments("resumed.xyz", 20) }, options.clone());
    let resumed = Arguments { n_frames: 40, ..arguments("resumed.xyz", 40) };
    let resumed = run(resumed, options.clone().resume());
    assert_eq!(resumed.bodies(), whole.bodies());
    assert_eq!(resumed.conservation(), whole.conservation());
    let read = |name| std::fs::read(path(name)).unwrap();
    assert_eq!(read("resumed.xyz"), read("whole.xyz"));

    let other = Arguments { seed: 2, ..arguments("other.xyz", 40) };
    let failed = outcome(Simulation::new(Ok(other)), options.resume()).unwrap_err();
    let cause = std::error::Error::source(&failed).unwrap().to_string();
    assert!(cause.starts_with("the checkpoint is of a run of `Shape(Disk), 60 bodies"), "{cause}");
}

#[test]
fn work_that_waits_gives_the_same_bodies() {
    let folder = tempfile::tempdir().unwrap();
    let load = folder.path().join("load");
    std::fs::write(&load, "0 1\n2 4 0.5\n").unwrap();
    let arguments = Arguments { n_steps: 5, ..small(Shape::Disk, 2) };
    let waiting = Arguments { wait_us: 50.0, load: Some(load), ..arguments.clone() };
    let (busy, waiting) =
        (run(arguments, Options::new().threads(3)), run(waiting, Options::new().threads(3)));
    assert_eq!(waiting.bodies(), busy.bodies());
    // Two workers at their fastest: 60 bodies of 50 us in 2 iterations, and in 3 others by factors of 4 and 0.5.
    assert!(0.003 < waiting.elapsed_s(), "{}", waiting.elapsed_s());
}

#[test]
fn what_is_wrong_is_told_when_the_run_is_over() {
    let missing = Arguments { start: Start::File("none.xyz".into()), ..Arguments::default() };
    let done = outcome(Simulation::new(Ok(missing)), Options::new().threads(2)).unwrap();
    let problem = done.unwrap().program.finish().unwrap_err();
    assert!(matches!(*problem, NbodyError::Xyz(_)), "{problem}");
}

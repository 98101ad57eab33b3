//! Content of descriptions without problems.

use super::HEAD;
use crate::{Application, AttributeSource, ChangeKind, Range, RankSet, read};
use events::{ProbePoint, ValueType};

#[track_caller]
fn understood(tail: &str) -> Application {
    let (application, problems) = read(&format!("{HEAD}{tail}"));
    assert_eq!(problems, []);
    application.unwrap()
}

#[test]
fn a_description_is_understood() {
    let application = understood(
        "[[event]]\nname = 'e'\nactor = 'worker'\nfunction = 'f'\nat = 'exit'\n\
         attributes = ['a', { name = 'b', variable = 'grid.rows', type = 'long' }, { name = 'rc', returned = true }]\n\
         [iteration]\nstart = 'start'\nend = 'end'\nwork = 'n'\n\
         [[tuning_point]]\nname = 'p'\nactor = 'both'\ntype = 'int'\nrange = [1, 0x40]\nstep = 1_0\nat = 'start'\nlimit_percent = 2.5\n\
         [tunlet.search]\nwindow = 5\nshrink = 0.5\neager = true\nname = 'x'\n",
    );
    let actors: Vec<_> = application.actors.iter().map(|actor| &*actor.name).collect();
    assert_eq!(actors, ["master", "worker", "both"]);
    assert_eq!(application.actors[2].ranks, RankSet { spans: vec![(0, Some(1))] });
    let event = &application.events[3];
    assert_eq!(
        (event.actor, &*event.function, event.place, event.line),
        (1, "f", ProbePoint::Exit, 20)
    );
    let sources: Vec<_> = event.attributes.iter().map(|a| (a.source.clone(), a.kind)).collect();
    assert_eq!(
        sources,
        [
            (AttributeSource::Variable("a".to_owned()), None),
            (AttributeSource::Variable("grid.rows".to_owned()), Some(ValueType::I64)),
            (AttributeSource::Returned, None),
        ]
    );
    let iteration = application.iteration.unwrap();
    assert_eq!((iteration.start, iteration.end, iteration.work), (0, 1, Some(0)));
    let point = &application.tuning_points[0];
    assert_eq!(point.change, ChangeKind::Variable("p".to_owned()));
    assert_eq!(point.range, Some(Range { low: 1.0, high: 64.0, step: Some(10.0) }));
    assert_eq!((&*point.sync_function, point.sync_place), ("step", ProbePoint::Entry));
    assert_eq!((point.limit, point.kind, point.is_forced), (0.025, Some(ValueType::I32), false));
    let options = &application.tunlet_options["search"];
    let options: Vec<_> = options.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(options, [("eager", "true"), ("name", "x"), ("shrink", "0.5"), ("window", "5")]);
}

#[test]
fn libraries_that_come_later_are_a_list_of_files() {
    let read = |libraries: &str| {
        read(&format!(
            "format = 1\nprogram = 'p'\nlibraries = {libraries}\nactors = {{ all = 'all' }}\n"
        ))
    };
    let (application, problems) = read("['a.so', '/lib/b.so']");
    assert_eq!(
        (application.unwrap().libraries, problems),
        (vec!["a.so".into(), "/lib/b.so".into()], vec![])
    );
    for (written, said) in [
        ("'a.so'", "`libraries` is the text `a.so`; write a list of files in quotes"),
        ("['']", "a file of `libraries` is empty; write a name"),
        ("[1]", "a file of `libraries` is the number `1`; write text in quotes"),
    ] {
        let (_, problems) = read(written);
        assert_eq!((problems.len(), problems[0].line, &*problems[0].sentence), (1, 3, said));
    }
}

#[test]
fn a_call_may_end_an_iteration() {
    for call in ["solve.c:120", "src/solve.f90:7", "MPI_Allreduce in cg::solve"] {
        let application = understood(&format!("[iteration]\ncall = '{call}'\n"));
        assert_eq!(
            (application.iteration, application.iteration_call.as_deref()),
            (None, Some(call))
        );
    }
}

#[test]
fn other_changes_are_understood() {
    let point = |fields: &str| {
        let tail = format!("[[tuning_point]]\nname = 'p'\nactor = 'master'\n{fields}");
        understood(&tail).tuning_points.remove(0)
    };
    let replace = |by: &str| ChangeKind::Replace { function: "f".to_owned(), by: by.to_owned() };
    let at = "at = { function = 'g', at = 'exit' }";
    assert_eq!(
        point(&format!("call = 'c'\nrange = [0, 1]\n{at}")).change,
        ChangeKind::Call("c".to_owned())
    );
    assert_eq!(point(&format!("load = 'a.so'\n{at}")).change, ChangeKind::Load("a.so".to_owned()));
    for by in ["g", "lib.so:g", "fast::g"] {
        let fields = format!("replace = {{ function = 'f', by = '{by}' }}\n{at}\nforce = true");
        let point = point(&fields);
        assert_eq!((point.change, point.is_forced, point.range), (replace(by), true, None));
        assert_eq!((&*point.sync_function, point.sync_place), ("g", ProbePoint::Exit));
    }
}

/// Events of the source's table, with the names of its tools; the time comes with every event.
#[test]
fn the_example_program_is_described() {
    let (application, problems) = read(include_str!("../../../../../../apps/xfire/xfire.toml"));
    assert_eq!(problems, []);
    let application = application.unwrap();
    let events = application.events.iter().map(|event| {
        let attributes: Vec<_> = event.attributes.iter().map(|a| a.name.as_str()).collect();
        let actor = &application.actors[event.actor].name;
        let attributes = attributes.join(" ");
        format!("{},{attributes},{actor},{},{:?}", event.name, event.function, event.place)
    });
    let events: Vec<String> = events.collect();
    assert_eq!(
        events,
        [
            "iteration_start,iterId NW TheTotalWork TheWorkSizeUnitBytes,master,global_sendreceive,Entry",
            "iteration_end,iterId,master,global_sendreceive,Exit",
            "send_to_worker,workerId batchId NTareas,master,global_sendwork,Entry",
            "receive_from_worker,workerId batchId NTareas,master,global_receivework,Exit",
            "compute_start,iterId batchId NTareas,worker,arcStepKernel,Entry",
            "compute_end,iterId batchId NTareas,worker,arcStepKernel,Exit",
            "new_batch,batchId numChunks,master,Factoring_SetNumTuples,Exit",
        ]
    );
    let points: Vec<_> =
        application.tuning_points.iter().map(|point| point.name.as_str()).collect();
    assert_eq!(points, ["F0", "F1", "F2", "NW"]);
}

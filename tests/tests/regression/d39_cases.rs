//! Each case of a parametrised test has its own cassette, named by the case and not by its place.

use vcr_tests::project::{Outcome, Project, Runner};

#[test]
fn one_cassette_a_case() {
    let project = Project::shared();
    for runner in [Runner::Test, Runner::Nextest] {
        let fixtures = tempfile::tempdir().unwrap();
        let run = |mode: &str, case: &str| -> Option<Outcome> {
            let run = project
                .run(runner, "cases", case)?
                .fixtures(fixtures.path())
                .env("VCR_MODE", mode);
            Some(run.outcome())
        };
        let cases = ["city::case_1_oslo", "city::case_2_rome", "city::case_3_lima"];
        for case in cases {
            let Some(outcome) = run("record", case) else {
                return;
            };
            outcome.expect(true);
        }
        let mut names: Vec<String> = std::fs::read_dir(fixtures.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names.len(), 3, "{names:?}");
        for city in ["oslo", "rome", "lima"] {
            let own: Vec<&String> = names.iter().filter(|name| name.contains(city)).collect();
            assert_eq!(own.len(), 1, "{city} in {names:?}");
            assert!(own[0].contains("cities"), "{names:?}");
            assert!(
                !own[0].contains("case_1") && !own[0].contains("case_3"),
                "named by its place: {names:?}"
            );
        }
        for case in cases.iter().rev() {
            run("replay", case).unwrap().expect(true);
        }
    }
}

#[test]
fn all_cases_in_one_process_do_not_collide() {
    let project = Project::shared();
    let fixtures = tempfile::tempdir().unwrap();
    for mode in ["record", "replay"] {
        project
            .run_all("cases", &[])
            .fixtures(fixtures.path())
            .env("VCR_MODE", mode)
            .outcome()
            .expect(true);
    }
}

/// The project's run of one case.
fn run(fixtures: &std::path::Path, mode: &str, case: &str) -> Outcome {
    Project::shared()
        .direct("cases", case)
        .fixtures(fixtures)
        .env("VCR_MODE", mode)
        .outcome()
}

fn names(fixtures: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(fixtures).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn values_are_cases_and_have_no_place_either() {
    let fixtures = tempfile::tempdir().unwrap();
    let cases = [
        "drink::what_1___tea__::cups_1_1",
        "drink::what_1___tea__::cups_2_2",
        "drink::what_2___milk__::cups_1_1",
        "drink::what_2___milk__::cups_2_2",
    ];
    for case in cases {
        run(fixtures.path(), "record", case).expect(true);
    }
    let expected = [
        "what___milk___cups_1",
        "what___milk___cups_2",
        "what___tea___cups_1",
        "what___tea___cups_2",
    ];
    let expected = expected.map(|key| format!("fixture_functional_cases_drinks_{key}.json"));
    assert_eq!(names(fixtures.path()), expected);
    for case in cases.iter().rev() {
        run(fixtures.path(), "replay", case).expect(true);
    }
}

#[test]
fn a_case_that_has_moved_records_over_its_own_cassette() {
    for (case, place, other) in [
        ("city::case_1_oslo", "case_1_oslo", "case_7_oslo"),
        ("drink::what_1___tea__::cups_1_1", "what_1_", "what_4_"),
    ] {
        let fixtures = tempfile::tempdir().unwrap();
        run(fixtures.path(), "record", case).expect(true);
        let path = fixtures.path().join(&names(fixtures.path())[0]);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(place), "{text}");
        // As it was before the case moved.
        std::fs::write(&path, text.replace(place, other)).unwrap();
        run(fixtures.path(), "record", case).expect(true);
        // Another case is another test.
        std::fs::write(&path, text.replace("oslo", "rome").replace("tea", "milk")).unwrap();
        run(fixtures.path(), "record", case)
            .expect(false)
            .says("would record over it");
    }
}

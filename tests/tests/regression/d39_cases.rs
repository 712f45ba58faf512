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

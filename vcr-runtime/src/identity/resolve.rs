use std::path::{Component, Path, PathBuf};

use super::Place;
use super::names::{check, check_end, check_length};
use crate::config::{Environment, Settings};
use crate::error::{Error, ErrorKind, Result};

/// What names a cassette. Every part has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) package: String,
    /// As given or found, not yet flattened.
    pub(crate) invoker: String,
    pub(crate) scenario: Option<String>,
    pub(crate) filename: Option<String>,
    pub(crate) directory: PathBuf,
}

impl Identity {
    /// What the settings say, else what the test's place says.
    pub(crate) fn resolve(place: &Place<'_>, settings: &Settings, environment: &Environment) -> Result<Self> {
        let scenario = match &settings.scenario {
            Some(scenario) => {
                check_end("scenario", scenario)?;
                // Each case of a parametrised test has a cassette of its own.
                Some(match place.case_key() {
                    Some(key) => format!("{scenario}_{key}"),
                    None => scenario.clone(),
                })
            }
            None => place.scenario(),
        };
        let invoker = match &settings.invoker {
            Some(invoker) => {
                // `::` separates modules; a single `:` has no meaning.
                check("invoker", &invoker.replace("::", "."))?;
                invoker.clone()
            }
            None => place.invoker(),
        };
        if let Some(filename) = &settings.filename {
            check_end("filename", filename)?;
        }
        let identity = Self {
            package: place.package.to_owned(),
            invoker,
            scenario,
            filename: settings.filename.clone(),
            directory: directory(place, settings, environment),
        };
        check_length(&identity.file_name("00000000"))?;
        Ok(identity)
    }

    /// The cassette's name. `auto` are the eight digits for a call that has no scenario.
    pub(crate) fn file_name(&self, auto: &str) -> String {
        if let Some(filename) = &self.filename {
            let has_extension = Path::new(filename)
                .extension()
                .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
            return if has_extension {
                filename.clone()
            } else {
                format!("{filename}.json")
            };
        }
        let invoker = self.invoker.replace("::", "_").replace('.', "_");
        match &self.scenario {
            Some(scenario) => format!("fixture_{invoker}_{scenario}.json"),
            None => format!("fixture_{invoker}_auto_{auto}.json"),
        }
    }

    /// The cassette's path. It lies in the fixture directory, links included.
    pub(crate) fn path(&self, auto: &str) -> Result<PathBuf> {
        let path = self.directory.join(self.file_name(auto));
        confine(&self.directory, &path)?;
        Ok(path)
    }
}

/// Explicit, else `fixtures`; relative to where the package is now, else to where it was compiled. A test binary may
/// have been moved (`nextest --workspace-remap`), or be started by hand.
fn directory(place: &Place<'_>, settings: &Settings, environment: &Environment) -> PathBuf {
    let base = environment.manifest_dir(place.manifest_dir);
    let explicit = settings.fixture_dir.as_deref();
    tidy(&base.join(explicit.unwrap_or(Path::new("fixtures"))))
}

/// Without `name/..`, because people read and copy these paths. A `..` behind a link stays: it means something else.
fn tidy(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::new();
    for part in path.components() {
        let goes_back = part == Component::ParentDir
            && matches!(tidied.components().next_back(), Some(Component::Normal(_)))
            && !tidied.is_symlink();
        if goes_back {
            tidied.pop();
        } else {
            tidied.push(part);
        }
    }
    tidied
}

/// Refuses a link that leads out of the directory, or to where nothing can be checked.
fn confine(directory: &Path, path: &Path) -> Result<()> {
    let is_link = path
        .symlink_metadata()
        .is_ok_and(|data| data.file_type().is_symlink());
    if !is_link {
        return Ok(());
    }
    let inside = match (directory.canonicalize(), path.canonicalize()) {
        (Ok(root), Ok(target)) => target.starts_with(root),
        _ => false,
    };
    if inside {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Identity,
        format!(
            "the cassette {} is a link that leads out of its directory",
            path.display()
        ),
        "replace the link by a file",
    )
    .at(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Key, Layer, Mode, ProjectFile};

    const PLACE: Place<'static> = Place {
        package: "my-agent",
        module_path: "it::router",
        function: "routes",
        made_of: None,
        manifest_dir: "/compiled",
    };

    fn identity_at(place: &Place<'_>, literals: &[(&str, &str)], pairs: &[(&str, &str)]) -> Result<Identity> {
        let environment = Environment::from_pairs(pairs.iter().copied());
        let layer = Layer::attribute(literals.iter().copied());
        let settings = Settings::resolve(&[&layer], &environment, &ProjectFile::default(), Mode::Replay)?;
        Identity::resolve(place, &settings, &environment)
    }

    fn file_name(literals: &[(&str, &str)]) -> String {
        identity_at(&PLACE, literals, &[]).unwrap().file_name("0a1b2c3d")
    }

    #[test]
    fn file_names() {
        assert_eq!(file_name(&[]), "fixture_my_agent_it_router_routes.json");
        assert_eq!(
            file_name(&[("scenario", "日本語")]),
            "fixture_my_agent_it_router_日本語.json"
        );
        assert_eq!(
            file_name(&[("invoker", "e2e.router.pytest"), ("scenario", "soft_rule_intent")]),
            "fixture_e2e_router_pytest_soft_rule_intent.json"
        );
        assert_eq!(
            file_name(&[("invoker", "a::b"), ("scenario", "s")]),
            "fixture_a_b_s.json"
        );
        for filename in ["fixture_x", "fixture_x.json"] {
            assert_eq!(
                file_name(&[("filename", filename), ("scenario", "s")]),
                "fixture_x.json"
            );
        }
        let outside = Place {
            module_path: "",
            function: "",
            ..PLACE
        };
        assert_eq!(
            identity_at(&outside, &[], &[]).unwrap().file_name("0a1b2c3d"),
            "fixture_my_agent_auto_0a1b2c3d.json"
        );
    }

    #[test]
    fn each_case_has_a_file_of_its_own() {
        let names = |function, literals: &[(&str, &str)]| {
            let place = Place {
                module_path: "it::weather",
                function,
                ..PLACE
            };
            identity_at(&place, literals, &[]).unwrap().file_name("")
        };
        assert_eq!(names("case_1_oslo", &[]), "fixture_my_agent_it_weather_oslo.json");
        assert_eq!(
            names("case_2_oslo", &[("scenario", "s")]),
            "fixture_my_agent_it_s_oslo.json"
        );
        assert_eq!(
            names("case_2", &[("scenario", "s")]),
            "fixture_my_agent_it_s_case_2.json"
        );
    }

    #[test]
    fn bad_parts_are_refused_by_name() {
        for (key, value, message) in [
            (
                "scenario",
                "a/b",
                "the scenario `a/b` contains `/`, which cannot stand in a file name",
            ),
            ("invoker", "../x", "the invoker `../x` contains `..`"),
            (
                "invoker",
                "a:b",
                "the invoker `a:b` contains `:`, which cannot stand in a file name",
            ),
            (
                "filename",
                "CON.json",
                "the filename `CON.json` is a name that Windows reserves",
            ),
            (
                "filename",
                "/etc/passwd",
                "the filename `/etc/passwd` contains `/`, which cannot stand in a file name",
            ),
        ] {
            let error = identity_at(&PLACE, &[(key, value)], &[]).unwrap_err();
            assert_eq!((error.kind(), error.message()), (ErrorKind::Identity, message));
        }
        // Each part is short enough, the whole is not.
        let part = "x".repeat(150);
        let error = identity_at(&PLACE, &[("scenario", &part), ("invoker", &part)], &[]).unwrap_err();
        assert!(
            error.message().ends_with("has 314 bytes, more than 200"),
            "{error}"
        );
    }

    #[test]
    fn directories() {
        let directory = |literals: &[(&str, &str)], pairs: &[(&str, &str)]| {
            let directory = identity_at(&PLACE, literals, pairs).unwrap().directory;
            directory.to_str().unwrap().replace('\\', "/")
        };
        assert_eq!(directory(&[], &[]), "/compiled/fixtures");
        let manifest = ("CARGO_MANIFEST_DIR", "/now");
        assert_eq!(directory(&[], &[manifest]), "/now/fixtures");
        let variable = ("VCR_FIXTURE_DIR", "cassettes");
        assert_eq!(directory(&[], &[manifest, variable]), "/now/cassettes");
        assert_eq!(
            directory(&[("fixture_dir", "/abs")], &[manifest, variable]),
            "/abs"
        );
        assert_eq!(
            directory(&[("fixture_dir", "../shared/./x")], &[manifest]),
            "/shared/x"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_need_not_be_unicode() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        let odd = Path::new(OsStr::from_bytes(b"/f/\xff "));
        let environment =
            |name: &str| Environment::from_os_pairs([(name.into(), odd.as_os_str().to_owned())]);
        let directory = |layer: Layer, environment: &Environment| {
            let settings = Settings::resolve(&[&layer], environment, &ProjectFile::default(), Mode::Replay);
            Identity::resolve(&PLACE, &settings.unwrap(), environment)
                .unwrap()
                .directory
        };
        let mut builder = Layer::builder();
        builder.set_path(Key::FixtureDir, odd);
        assert_eq!(directory(builder, &Environment::default()), odd);
        assert_eq!(directory(Layer::builder(), &environment("VCR_FIXTURE_DIR")), odd);
        assert_eq!(
            directory(Layer::builder(), &environment("CARGO_MANIFEST_DIR")),
            odd.join("fixtures")
        );
        let empty = Environment::from_pairs([("VCR_FIXTURE_DIR", " ")]);
        assert_eq!(
            directory(Layer::builder(), &empty),
            Path::new("/compiled/fixtures")
        );
    }

    #[cfg(unix)]
    #[test]
    fn stepping_back_over_a_link_is_left_to_the_system() {
        let root = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/", root.path().join("link")).unwrap();
        let path = root.path().join("link/../real");
        assert_eq!(tidy(&path), path);
        assert_eq!(tidy(&root.path().join("none/../real")), root.path().join("real"));
        assert_eq!(tidy(Path::new("../../x")), Path::new("../../x"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_may_not_lead_out_of_the_directory() {
        let root = tempfile::tempdir().unwrap();
        let fixtures = root.path().join("fixtures");
        std::fs::create_dir(&fixtures).unwrap();
        std::fs::write(root.path().join("outside.json"), "{}").unwrap();
        std::fs::write(fixtures.join("inside.json"), "{}").unwrap();
        for (name, target) in [
            ("out.json", root.path().join("outside.json")),
            ("dangling.json", root.path().join("nothing.json")),
            ("in.json", fixtures.join("inside.json")),
        ] {
            std::os::unix::fs::symlink(target, fixtures.join(name)).unwrap();
        }
        let pairs = [("CARGO_MANIFEST_DIR", root.path().to_str().unwrap())];
        let path = |name| {
            identity_at(&PLACE, &[("filename", name)], &pairs)
                .unwrap()
                .path("")
        };
        assert_eq!(path("in").unwrap(), fixtures.join("in.json"));
        assert!(path("absent").is_ok());
        for name in ["out", "dangling"] {
            let error = path(name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Identity);
            assert!(error.message().contains("leads out of its directory"), "{error}");
        }
    }
}

use crate::config::Environment;

/// Where a test stands in the source, as compiled into it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// `CARGO_PKG_NAME`.
    pub(crate) package: &'a str,
    /// `module_path!()`; empty outside a test.
    pub(crate) module_path: &'a str,
    /// The function's name; empty outside a test.
    pub(crate) function: &'a str,
    /// The function as it was written, where rstest made this one of it for one of its `#[values]`.
    pub(crate) made_of: Option<&'a str>,
    /// `CARGO_MANIFEST_DIR` at compile time.
    pub(crate) manifest_dir: &'a str,
}

/// The package where nothing names one: the seed's word.
const UNKNOWN: &str = "unknown_invoker";

impl<'a> Place<'a> {
    /// What can be known without the macro: the package whose test or program cargo is running.
    pub(crate) fn at_run_time(environment: &'a Environment) -> Self {
        Self {
            package: environment.get("CARGO_PKG_NAME").unwrap_or(UNKNOWN),
            module_path: "",
            function: "",
            made_of: None,
            manifest_dir: ".",
        }
    }

    /// The full path of the test. It begins with the package: the module path of an integration test begins with the
    /// target's name, which two packages may share.
    pub(crate) fn test_path(&self) -> String {
        [&self.modules(), plain(self.function)]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("::")
    }

    /// The arguments with which `cargo test` runs this test alone, wherever in its workspace; outside a test those for its
    /// package.
    pub(crate) fn filter(&self) -> String {
        let package = match self.package {
            UNKNOWN => String::new(),
            package => format!(" -p {package}"),
        };
        if self.function.is_empty() {
            return package;
        }
        // libtest's names lack the target, with which the module path begins.
        let inner = self.module_path.split_once("::").map_or("", |(_, inner)| inner);
        let name = if inner.is_empty() {
            self.function.to_owned()
        } else {
            format!("{inner}::{}", self.function)
        };
        format!("{package} {name}")
    }

    fn modules(&self) -> String {
        let package = self.package.replace('-', "_");
        let modules: Vec<&str> = self.module_path.split("::").map(plain).collect();
        if modules.first().is_some_and(|first| *first == package) {
            modules.join("::")
        } else if self.module_path.is_empty() {
            package
        } else {
            format!("{package}::{}", modules.join("::"))
        }
    }

    /// Who runs the test: package and module path, less the module that holds the cases of a function.
    pub(super) fn invoker(&self) -> String {
        let modules = self.modules();
        match self.case() {
            Some(case) => modules
                .strip_suffix(&format!("::{}", case.made))
                .map_or_else(|| modules.clone(), str::to_owned),
            None => modules,
        }
    }

    /// The scenario of a test that names none.
    pub(super) fn scenario(&self) -> Option<String> {
        match self.case() {
            Some(case) => Some(format!("{}_{}", case.function, case.key)),
            None => Some(plain(self.function).to_owned()).filter(|name| !name.is_empty()),
        }
    }

    /// The key of this case, if the test is one case of several.
    pub(super) fn case_key(&self) -> Option<String> {
        self.case().map(|case| case.key)
    }

    /// rstest turns `#[case::oslo]` of `fn weather` into the function `weather::case_1_oslo`, and a case that is
    /// multiplied by `#[values]` into functions of a module `weather::case_1_oslo`. Values alone become functions such as
    /// `weather::unit_2_kelvin`, and several of them modules and functions. test_case makes `weather::test_case_1_oslo` of
    /// `#[test_case(.. ; "oslo")]`.
    fn case(&self) -> Option<Case> {
        let modules: Vec<&str> = self.module_path.split("::").map(plain).collect();
        let function = plain(self.function);
        let written = self.made_of.and_then(|written| {
            let at = modules.iter().rposition(|module| *module == written)?;
            (at > 0).then_some((written, at))
        });
        if let Some((written, at)) = written {
            let parts = modules[at + 1..].iter().chain([&function]);
            let keys: Vec<String> = parts.map(|part| key_of(part)).collect();
            return Some(Case {
                made: modules[at..].join("::"),
                function: written.to_owned(),
                key: keys.join("_"),
            });
        }
        let (last, rest) = modules.split_last()?;
        if let Some(key) = case_key(function) {
            // Without a module around it the function was written by hand.
            return (!rest.is_empty()).then(|| Case {
                made: (*last).to_owned(),
                function: (*last).to_owned(),
                key,
            });
        }
        let key = case_key(last)?;
        let (test, above) = rest.split_last()?;
        (!above.is_empty()).then(|| Case {
            made: format!("{test}::{last}"),
            function: (*test).to_owned(),
            key: format!("{key}_{function}"),
        })
    }
}

struct Case {
    /// The end of the module path that was made for the cases.
    made: String,
    /// The function as it was written.
    function: String,
    key: String,
}

/// `case_1_oslo` and `test_case_1_oslo` are `oslo`; without a declared key the number stays, less the zeros whose count depends on the number of cases.
fn case_key(name: &str) -> Option<String> {
    let rest = name.strip_prefix("test_").unwrap_or(name).strip_prefix("case_")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    match rest[digits..].strip_prefix('_') {
        Some(key) if !key.is_empty() => Some(key.to_owned()),
        None if rest.len() == digits => Some(format!("case_{}", rest.trim_start_matches('0'))),
        _ => None,
    }
}

/// The key of a case, or that of a value: `unit_2_kelvin` is `unit_kelvin`.
fn key_of(part: &str) -> String {
    case_key(part).unwrap_or_else(|| {
        let number = part.match_indices('_').find_map(|(at, _)| {
            let rest = &part[at + 1..];
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            (digits > 0 && rest[digits..].starts_with('_')).then_some((at, at + 1 + digits))
        });
        number.map_or_else(
            || part.to_owned(),
            |(start, end)| format!("{}{}", &part[..start], &part[end..]),
        )
    })
}

/// Whether two paths are those of one test, whose case may have moved to another place since. `made_of` is that of the test.
pub(crate) fn is_same_test(one: &str, other: &str, made_of: Option<&str>) -> bool {
    let unplaced = |path: &str| -> Vec<String> {
        let parts: Vec<&str> = path.split("::").collect();
        let written = made_of.and_then(|written| parts.iter().rposition(|part| *part == written));
        let named = parts.iter().enumerate().map(|(index, part)| {
            if written.is_some_and(|written| index > written) {
                key_of(part)
            } else {
                case_key(part).unwrap_or_else(|| (*part).to_owned())
            }
        });
        named.collect()
    };
    one == other || unplaced(one) == unplaced(other)
}

fn plain(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place<'a>(module_path: &'a str, function: &'a str) -> Place<'a> {
        Place {
            package: "my-agent",
            module_path,
            function,
            made_of: None,
            manifest_dir: "/m",
        }
    }

    #[test]
    fn the_package_stands_first_and_once() {
        for (module_path, invoker) in [
            ("my_agent::tests", "my_agent::tests"),
            ("it", "my_agent::it"),
            ("it::r#mod", "my_agent::it::mod"),
            ("my_agent_it::x", "my_agent::my_agent_it::x"),
            ("", "my_agent"),
        ] {
            assert_eq!(place(module_path, "f").invoker(), invoker);
            assert_eq!(place(module_path, "r#f").test_path(), format!("{invoker}::f"));
        }
        assert_eq!(place("", "").test_path(), "my_agent");
        assert_eq!(place("it", "").scenario(), None);
    }

    #[test]
    fn a_case_is_named_by_its_key_and_not_by_its_position() {
        for (module_path, function, invoker, scenario) in [
            ("it::weather", "case_1_oslo", "my_agent::it", "weather_oslo"),
            ("it::weather", "case_02_oslo", "my_agent::it", "weather_oslo"),
            (
                "my_agent::tests::weather",
                "case_1",
                "my_agent::tests",
                "weather_case_1",
            ),
            ("it::weather", "case_03", "my_agent::it", "weather_case_3"),
            (
                "it::weather::case_1_oslo",
                "unit_2_k",
                "my_agent::it",
                "weather_oslo_unit_2_k",
            ),
            ("it::weather", "test_case_1_oslo", "my_agent::it", "weather_oslo"),
            (
                "it::weather",
                "test_case_2__oslo_",
                "my_agent::it",
                "weather__oslo_",
            ),
            (
                "it::test_case",
                "test_caseload",
                "my_agent::it::test_case",
                "test_caseload",
            ),
            ("it", "case_1_oslo", "my_agent::it", "case_1_oslo"),
            ("it::x", "case_study", "my_agent::it::x", "case_study"),
            ("it::x", "case_1x", "my_agent::it::x", "case_1x"),
        ] {
            let place = place(module_path, function);
            assert_eq!(place.invoker(), invoker, "{module_path} {function}");
            assert_eq!(place.scenario().unwrap(), scenario);
        }
        assert_eq!(place("it::weather", "case_1_oslo").case_key().unwrap(), "oslo");
        assert_eq!(place("it::weather", "plain").case_key(), None);
        assert_eq!(
            place("it::weather", "case_1_oslo").test_path(),
            "my_agent::it::weather::case_1_oslo"
        );
    }

    #[test]
    fn a_value_is_named_by_what_it_is_and_not_by_its_position() {
        for (module_path, function, scenario) in [
            ("it::weather", "unit_2_kelvin", "weather_unit_kelvin"),
            ("it::weather", "unit_02_kelvin", "weather_unit_kelvin"),
            ("it::weather", "what_1___tea__", "weather_what___tea__"),
            ("it::weather::x_1_5", "unit_2_k", "weather_x_5_unit_k"),
            ("it::weather::case_1_oslo", "unit_2_k", "weather_oslo_unit_k"),
            (
                "it::weather::case_3::x_1_5",
                "unit_2_k",
                "weather_case_3_x_5_unit_k",
            ),
            ("weather::weather", "unit_2_k", "weather_unit_k"),
        ] {
            let place = Place {
                made_of: Some("weather"),
                ..place(module_path, function)
            };
            assert_eq!(place.scenario().unwrap(), scenario);
            let target = module_path.split("::").next().unwrap();
            assert_eq!(place.invoker(), format!("my_agent::{target}"));
        }
        // By hand: nothing says that the number is a position.
        assert_eq!(place("it::weather", "phase_2_k").scenario().unwrap(), "phase_2_k");
    }

    #[test]
    fn a_case_that_has_moved_is_the_same_test() {
        for (one, other, made_of, same) in [
            ("p::it::f::case_1_a", "p::it::f::case_12_a", None, true),
            ("p::it::f::case_1_a", "p::it::f::case_1_b", None, false),
            ("p::it::f::case_1", "p::it::f::case_2", None, false),
            ("p::it::f::x_1_a", "p::it::f::x_2_a", Some("f"), true),
            ("p::it::f::x_1_a", "p::it::f::x_1_b", Some("f"), false),
            (
                "p::it::f::case_1_k::x_1_a",
                "p::it::f::case_2_k::x_2_a",
                Some("f"),
                true,
            ),
            ("p::it::phase_1_a", "p::it::phase_2_a", None, false),
            ("p::it::f", "p::it::g", None, false),
        ] {
            assert_eq!(is_same_test(one, other, made_of), same, "{one} {other}");
        }
    }

    #[test]
    fn the_command_runs_this_test_alone_in_a_workspace_too() {
        for (module_path, function, arguments) in [
            ("my_agent::tests", "f", " -p my-agent tests::f"),
            ("it", "f", " -p my-agent f"),
            ("it::weather", "case_1_oslo", " -p my-agent weather::case_1_oslo"),
            ("", "", " -p my-agent"),
        ] {
            assert_eq!(place(module_path, function).filter(), arguments);
        }
        assert_eq!(Place::at_run_time(&Environment::default()).filter(), "");
    }

    #[test]
    fn outside_a_test_cargo_names_the_package() {
        let environment = Environment::from_pairs([("CARGO_PKG_NAME", "tool")]);
        assert_eq!(Place::at_run_time(&environment).test_path(), "tool");
        let empty = Environment::default();
        assert_eq!(Place::at_run_time(&empty).invoker(), "unknown_invoker");
    }
}

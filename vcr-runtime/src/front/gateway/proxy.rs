//! Proxy variables that would send loopback traffic elsewhere.

use std::net::Ipv4Addr;

use crate::error::{Error, ErrorKind, Result};

const PROXIES: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// Refuses an environment in which HTTP clients would send calls to the gateway through a proxy: they would reach
/// somebody else, or nobody. `lookup` reads one environment variable.
pub(crate) fn check_proxies(lookup: impl Fn(&str) -> Option<String>) -> Result<()> {
    let Some(variable) = PROXIES
        .into_iter()
        .find(|name| lookup(name).is_some_and(|value| !value.trim().is_empty()))
    else {
        return Ok(());
    };
    // The first that is set counts, even when it is empty: so do the clients read it.
    let exceptions = lookup("NO_PROXY")
        .or_else(|| lookup("no_proxy"))
        .unwrap_or_default();
    if exceptions.split(',').any(|entry| covers_loopback(entry.trim())) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Proxy,
        format!(
            "{variable} is set, so HTTP clients would send calls for the gateway on 127.0.0.1 to that proxy"
        ),
        "set NO_PROXY=127.0.0.1 (added to what it holds) for the tests",
    ))
}

/// Whether an entry of `NO_PROXY` excludes 127.0.0.1. Names do not: the address is compared, nothing is resolved. Nor does
/// `*`: in reqwest it stands for all names, and an address still goes to the proxy.
fn covers_loopback(entry: &str) -> bool {
    let (address, bits) = entry.split_once('/').unwrap_or((entry, "32"));
    let (Ok(address), Ok(bits @ 0..=32)) = (address.parse::<Ipv4Addr>(), bits.parse::<u32>()) else {
        return false;
    };
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    u32::from(address) & mask == u32::from(Ipv4Addr::LOCALHOST) & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(environment: &[(&str, &str)]) -> Result<()> {
        check_proxies(|name| {
            environment
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn no_proxy_no_trouble() {
        assert!(check(&[]).is_ok());
        assert!(check(&[("HTTP_PROXY", " "), ("HTTPS_PROXY", "http://p:1")]).is_ok());
    }

    #[test]
    fn the_variable_and_the_remedy_are_named() {
        for name in PROXIES {
            let error = check(&[(name, "http://user:canary@proxy:3128")]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Proxy);
            assert!(error.message().starts_with(name), "{error}");
            assert!(error.advice().contains("NO_PROXY=127.0.0.1"), "{error}");
            assert!(!error.to_string().contains("canary"), "{error}");
        }
    }

    #[test]
    fn exceptions_are_read_as_clients_read_them() {
        let with = |list: &str| check(&[("http_proxy", "http://p:1"), ("no_proxy", list)]).is_ok();
        for list in [
            "127.0.0.1",
            "a.example, 127.0.0.1 ,b",
            "127.0.0.0/8",
            "127.9.9.9/8",
            "0.0.0.0/0",
            "127.0.0.1/32",
        ] {
            assert!(with(list), "{list}");
        }
        for list in [
            "",
            "localhost",
            "127.0.0.2",
            "10.0.0.0/8",
            "127.0.0.1/33",
            "127.0.0.1:80",
            "::1",
            ".127.0.0.1",
        ] {
            assert!(!with(list), "{list}");
        }
        let shadowed = [
            ("ALL_PROXY", "http://p:1"),
            ("NO_PROXY", ""),
            ("no_proxy", "127.0.0.1"),
        ];
        assert!(check(&shadowed).is_err());
    }
}

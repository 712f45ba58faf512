use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use vcr_tests::http::{self, Response};

/// A directory of a project's own, and the daemons that serve it.
pub(crate) struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    pub(crate) fn new(vcr_toml: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("vcr.toml"), vcr_toml).unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn fixture(&self, name: &str) -> PathBuf {
        self.path().join("fixtures").join(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-vcr"));
        // As cargo calls it, in a process that knows nothing of cargo.
        command.args(["vcr", "serve", "--root"]).arg(self.path());
        command.args(arguments).kill_on_drop(true);
        for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "CI"] {
            command.env_remove(name);
        }
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("VCR_")) {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C");
        command
    }

    /// A daemon on a free port that ends scenarios only when it is told to.
    pub(crate) async fn serve(&self, arguments: &[&str]) -> Daemon {
        let mut all = vec!["--listen", "127.0.0.1:0", "--idle", "3600"];
        all.extend(arguments);
        Daemon::start(self.command(&all)).await
    }
}

/// A daemon that serves.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) url: String,
}

impl Daemon {
    pub(crate) async fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let Some(url) = lines.next_line().await.unwrap() else {
            let mut said = String::new();
            child
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut said)
                .await
                .unwrap();
            panic!("it did not start: {said}");
        };
        assert!(url.starts_with("http://"), "{url}");
        Self { child, url }
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        http::post(&self.at(path), &body.to_string()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        http::request("GET", &self.at(path), &[], b"").await
    }

    /// Ends every scenario; all has to be well.
    pub(crate) async fn finish(&self) -> Value {
        let answer = self.post("/__vcr/finish", &json!({})).await;
        let status = answer.status;
        let told = answer.json().await;
        assert_eq!(status, 200, "{told}");
        told
    }

    #[cfg(unix)]
    pub(crate) async fn signal(&self, name: &str) {
        let id = self.child.id().unwrap().to_string();
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(id)
            .status()
            .await
            .unwrap();
        assert!(sent.success());
    }

    /// Waits for its end; what it said on stderr.
    pub(crate) async fn ended(mut self) -> (ExitStatus, String) {
        let mut said = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .await
            .unwrap();
        (self.child.wait().await.unwrap(), said)
    }

    #[cfg(unix)]
    pub(crate) async fn stop(self) -> (ExitStatus, String) {
        self.signal("TERM").await;
        self.ended().await
    }
}

/// A chat request with these control members.
pub(crate) fn chat(prompt: &str, stream: bool, control: &Value) -> Value {
    let mut body = json!({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt}]});
    if stream {
        body["stream"] = json!(true);
    }
    for (name, value) in control.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// The status, code and message of a refusal in OpenAI's form.
pub(crate) async fn refused(answer: Response) -> (u16, String, String) {
    let status = answer.status;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let body = answer.json().await;
    let text = |name: &str| body["error"][name].as_str().unwrap_or_default().to_owned();
    (status, text("code"), text("message"))
}

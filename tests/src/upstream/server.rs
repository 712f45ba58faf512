use std::collections::VecDeque;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

use super::{BeforeHead, Length, Received, Reply, Step};

type Handler = Box<dyn FnMut(&Received) -> Reply + Send>;

/// A provider that answers by script and keeps what it was asked.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    handler: Mutex<Handler>,
    received: watch::Sender<Vec<Received>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Shared")
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}

impl Upstream {
    /// Answers with these replies in order of arrival, then with status 418 and a text that says the script is over.
    #[must_use]
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        Self::with(move |_| {
            let next = replies.pop_front();
            next.unwrap_or_else(|| Reply::new(418, "text/plain", "the upstream's script is over"))
        })
    }

    /// Answers every request with what `handler` makes of it.
    #[must_use]
    pub fn with(handler: impl FnMut(&Received) -> Reply + Send + 'static) -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free loopback port");
        listener.set_nonblocking(true).expect("a non-blocking listener");
        let address = listener.local_addr().expect("the port");
        let shared = Arc::new(Shared {
            handler: Mutex::new(Box::new(handler)),
            received: watch::Sender::new(Vec::new()),
        });
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || serve(listener, shared, stopped)
        });
        Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// `http://127.0.0.1:PORT/v1`, the base that OpenAI clients want.
    #[must_use]
    pub fn v1(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// How many requests have arrived.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shared.received.borrow().len()
    }

    /// What has arrived.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.borrow().clone()
    }

    /// Waits until `count` requests have arrived.
    pub async fn arrived(&self, count: usize) {
        let mut receiver = self.shared.received.subscribe();
        let _ = receiver.wait_for(|received| received.len() >= count).await;
    }

    /// A base at which nobody listens.
    #[must_use]
    pub fn nobody() -> String {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free loopback port");
        format!("http://{}/v1", listener.local_addr().expect("the port"))
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(listener: std::net::TcpListener, shared: Arc<Shared>, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async move {
        let listener = TcpListener::from_std(listener).expect("the listener");
        let accept = async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connection(stream, Arc::clone(&shared)));
            }
        };
        tokio::select! {
            () = accept => {}
            _ = stopped => {}
        }
    });
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let mut stream = BufReader::new(stream);
    while let Some(request) = Received::read(&mut stream).await {
        let reply = {
            let mut handler = shared.handler.lock().unwrap_or_else(PoisonError::into_inner);
            shared
                .received
                .send_modify(|received| received.push(request.clone()));
            handler(&request)
        };
        if !answer(stream.get_mut(), reply).await {
            return;
        }
    }
}

/// Sends the reply; false when the connection is not to be used again.
async fn answer(stream: &mut TcpStream, reply: Reply) -> bool {
    match &reply.before_head {
        BeforeHead::Nothing => {}
        BeforeHead::Wait(gate) => gate.passed().await,
        BeforeHead::Close => return false,
        BeforeHead::Reset => return reset(stream),
    }
    let mut alive = stream.write_all(head(&reply).as_bytes()).await.is_ok();
    for step in reply.steps {
        match step {
            Step::Bytes(bytes) if bytes.is_empty() || !alive => {}
            Step::Bytes(bytes) => {
                let mut piece = Vec::new();
                if reply.length == Length::Chunked {
                    piece.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
                    piece.extend_from_slice(&bytes);
                    piece.extend_from_slice(b"\r\n");
                } else {
                    piece = bytes;
                }
                alive = stream.write_all(&piece).await.is_ok();
            }
            Step::Wait(gate) => gate.passed().await,
            Step::Reached(gate) => gate.open(),
            Step::Pause(time) => tokio::time::sleep(time).await,
            Step::Reset => return reset(stream),
            Step::CloseWithoutEnd => return false,
        }
    }
    match reply.length {
        Length::Chunked => alive && stream.write_all(b"0\r\n\r\n").await.is_ok(),
        Length::Counted => alive,
        Length::UntilClose => false,
    }
}

/// With no time to linger the close becomes a reset.
fn reset(stream: &TcpStream) -> bool {
    let _ = stream.set_zero_linger();
    false
}

fn head(reply: &Reply) -> String {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
    for (name, value) in &reply.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    match reply.length {
        Length::Chunked => head.push_str("transfer-encoding: chunked\r\n"),
        Length::Counted => {
            let _ = write!(head, "content-length: {}\r\n", reply.bytes().len());
        }
        Length::UntilClose => head.push_str("connection: close\r\n"),
    }
    head.push_str("\r\n");
    head
}

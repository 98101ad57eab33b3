//! One connection: a request, within bounds, and its answer.

use super::{Page, PageRefusal, PageRequest, PageServer, WebKey};
use channel::{AcceptedConnection, AdmissionSlot};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::header;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::cell::Cell;
use std::convert::Infallible;
use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// Most connections with the key that are answered at the same time.
const N_ANSWERED_MAX: usize = 16;
/// Longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// Longest body of an order, in bytes.
const BODY_BYTES_MAX: usize = 64 << 10;
/// Longest time for a client to send its head, and for it to send a body.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Longest time for a whole connection, with the time that the page takes.
const WHOLE_PATIENCE: Duration = Duration::from_secs(30);
/// Longest wait for each further piece of input, after the answer and until the client closes its side; below, the
/// most pieces.
const DRAINS_WITHIN: Duration = Duration::from_millis(100);
const N_DRAINED_MAX: usize = 16;
/// Headers of every answer: do not store it, do not guess its type, do not embed it or send its address elsewhere.
const SAFE: [(HeaderName, &str); 5] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// What all connections share.
pub(super) struct WebServer {
    key: WebKey,
    site: Arc<PageServer>,
    n_answered: Arc<AtomicUsize>,
}

/// Counts one of the connections that are being answered.
struct Answered(Arc<AtomicUsize>);

impl Answered {
    /// Counts one more; returns `None` when there are too many.
    fn one_more(n_answered: &Arc<AtomicUsize>) -> Option<Self> {
        let n_before = n_answered.fetch_add(1, Ordering::SeqCst);
        let answered = Self(Arc::clone(n_answered));
        (n_before < N_ANSWERED_MAX).then_some(answered)
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl WebServer {
    pub(super) fn new(key: WebKey, site: Arc<PageServer>) -> Self {
        Self { key, site, n_answered: Arc::default() }
    }

    /// Answers the request of a connection.
    pub(super) fn serve(&self, accepted: AcceptedConnection) -> io::Result<()> {
        let AcceptedConnection { stream, slot, .. } = accepted;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        stream.set_nonblocking(true)?;
        let own = stream.try_clone()?;
        let slot = Cell::new(Some(slot));
        runtime.block_on(async {
            let io = TokioIo::new(tokio::net::TcpStream::from_std(own)?);
            let respond = service_fn(|request| self.respond(request, &slot));
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
            http.max_buf_size(HEAD_BYTES_MAX).keep_alive(false).half_close(true);
            http.title_case_headers(true);
            let connection = http.serve_connection(io, respond);
            // A client that breaks the rules of HTTP was told so, or has gone.
            timeout(WHOLE_PATIENCE, connection).await.ok();
            io::Result::Ok(())
        })?;
        drain(&stream)
    }

    async fn respond(
        &self,
        request: Request<Incoming>,
        slot: &Cell<Option<AdmissionSlot>>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let page = self.page(request, slot).await;
        Ok(response(page.unwrap_or_else(|PageRefusal { status, sentence }| {
            Page::refusal(status.as_u16(), sentence)
        })))
    }

    async fn page(
        &self,
        request: Request<Incoming>,
        slot: &Cell<Option<AdmissionSlot>>,
    ) -> Result<Page, PageRefusal> {
        let slot = slot.take();
        if let Some(slot) = &slot {
            slot.mark_plausible();
        }
        let (head, body) = request.into_parts();
        let is_order = head.method == hyper::Method::POST;
        let admitted = PageRequest::admit(&head, &self.key)?;
        slot.into_iter().for_each(AdmissionSlot::mark_authenticated);
        let Some(_answered) = Answered::one_more(&self.n_answered) else {
            let sentence = "too many connections: try again";
            return Err(PageRefusal { status: StatusCode::SERVICE_UNAVAILABLE, sentence });
        };
        let request = match is_order {
            true => admitted.with_order(collected(body).await?),
            false => admitted,
        };
        (self.site)(&request).ok_or(PageRefusal {
            status: StatusCode::NOT_FOUND,
            sentence: "there are `/`, `/state.json` and `/metrics`",
        })
    }
}

async fn collected(body: Incoming) -> Result<Vec<u8>, PageRefusal> {
    let refused = |status, sentence| PageRefusal { status, sentence };
    match timeout(PATIENCE, Limited::new(body, BODY_BYTES_MAX).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes().to_vec()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(refused(StatusCode::PAYLOAD_TOO_LARGE, "the order is too long"))
        }
        Ok(Err(_)) => Err(refused(StatusCode::BAD_REQUEST, "the order breaks off")),
        Err(_) => Err(refused(StatusCode::REQUEST_TIMEOUT, "the order came too slowly")),
    }
}

fn response(page: Page) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(page.text)));
    *response.status_mut() =
        StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(page.kind));
    headers.extend(SAFE.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}

/// Reads the rest of the input: closing the connection before would discard the answer.
fn drain(mut stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(DRAINS_WITHIN))?;
    let mut bytes = [0; 4096];
    for _ in 0..N_DRAINED_MAX {
        if stream.read(&mut bytes)? == 0 {
            break;
        }
    }
    Ok(())
}

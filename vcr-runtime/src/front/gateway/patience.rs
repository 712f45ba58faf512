//! How long an upstream is waited for.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use super::backend::Limit;
use super::forward::Failure;

/// The limit of one answer. Only the upstream's time counts: what a caller takes to read does not.
pub(super) struct Patience {
    limit: Option<Limit>,
    /// When it is over; with [`Limit::Idle`] from when the upstream was first waited for.
    ends: Option<Pin<Box<Sleep>>>,
    waits: bool,
}

impl Patience {
    pub(super) fn of(limit: Option<Limit>) -> Self {
        let mut patience = Self {
            limit,
            ends: None,
            waits: false,
        };
        if let Some(Limit::Whole(long)) = limit {
            patience.wait_for(long);
        }
        patience
    }

    fn wait_for(&mut self, long: Duration) {
        // A limit beyond what a clock can say is none.
        let Some(end) = Instant::now().checked_add(long) else {
            self.limit = None;
            return;
        };
        match &mut self.ends {
            Some(ends) => ends.as_mut().reset(end),
            None => self.ends = Some(Box::pin(sleep_until(end))),
        }
        self.waits = true;
    }

    /// Something came.
    pub(super) fn answered(&mut self) {
        if let Some(Limit::Idle(_)) = self.limit {
            self.waits = false;
        }
    }

    /// Ready when the upstream, which has nothing at this moment, has taken too long.
    pub(super) fn poll_spent(&mut self, context: &mut Context<'_>) -> Poll<Failure> {
        if let (Some(Limit::Idle(long)), false) = (self.limit, self.waits) {
            self.wait_for(long);
        }
        let (Some(limit), Some(ends)) = (self.limit, &mut self.ends) else {
            return Poll::Pending;
        };
        ends.as_mut().poll(context).map(|()| {
            Failure::timeout(match limit {
                Limit::Whole(long) => format!("the answer was not complete within {long:?}"),
                Limit::Idle(long) => format!("nothing came for {long:?}"),
            })
        })
    }

    /// What `work` gives, or the failure when it takes too long.
    pub(super) async fn over<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let mut work = pin!(work);
        let outcome = poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Ok(done)),
            Poll::Pending => self.poll_spent(context).map(Err),
        });
        let outcome = outcome.await;
        self.answered();
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    async fn after(patience: &mut Patience, long: Duration) -> Result<(), String> {
        let told = patience.over(tokio::time::sleep(long)).await;
        told.map_err(|failure| failure.class().to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn the_whole_answer_has_one_limit_and_each_piece_one_of_its_own() {
        let timeout = Err("timeout".to_owned());
        let mut whole = Patience::of(Some(Limit::Whole(30 * SECOND)));
        assert_eq!(after(&mut whole, 20 * SECOND).await, Ok(()));
        let begun = Instant::now();
        assert_eq!(after(&mut whole, 20 * SECOND).await, timeout);
        assert_eq!(begun.elapsed(), 10 * SECOND);

        let mut idle = Patience::of(Some(Limit::Idle(30 * SECOND)));
        for _ in 0..3 {
            assert_eq!(after(&mut idle, 29 * SECOND).await, Ok(()));
            // The caller takes its time.
            tokio::time::sleep(90 * SECOND).await;
        }
        let begun = Instant::now();
        assert_eq!(after(&mut idle, 31 * SECOND).await, timeout);
        assert_eq!(begun.elapsed(), 30 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_limit_nothing_is_too_long() {
        for limit in [
            None,
            Some(Limit::Idle(Duration::MAX)),
            Some(Limit::Whole(Duration::MAX)),
        ] {
            assert_eq!(after(&mut Patience::of(limit), 100_000 * SECOND).await, Ok(()));
        }
    }
}

//! Lends the slots of waiting jobs to others: a web page weighs as much as several pictures, so fewer pages than jobs are
//! open at once, and those that wait must not keep pictures from beginning.

use std::sync::atomic::Ordering::Relaxed;

use super::context::ServiceContext;

/// Lends slots until the future is dropped. At most as many as there are: what waits is downloaded already.
pub(super) async fn lend(context: &ServiceContext) {
    let mut waiting = context.pipeline.waiting_pages().await;
    let mut lent = 0;
    loop {
        let wanted = (*waiting.borrow_and_update()).min(context.capacity());
        if wanted > lent {
            context.slots.add_permits(wanted - lent);
            lent = wanted;
        }
        context.lent.store(lent, Relaxed);
        context.backlog.set_slots(context.capacity() + lent);
        tokio::select! {
            changed = waiting.changed() => if changed.is_err() { return },
            // A page that has a place goes on at once; the next slot that becomes free is not given away again.
            Ok(slot) = context.slots.acquire(), if wanted < lent => {
                slot.forget();
                lent -= 1;
            }
        }
    }
}

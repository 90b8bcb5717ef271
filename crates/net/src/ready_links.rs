//! Which links are ready, so that a turn polls those and no others.
//!
//! All sockets of a node are polled by one task. With its own waker it would be told only that
//! something has happened, and would have to look at every link to find out what: a cost that grows
//! with the size of the group, for every message. So each link is polled with a waker of its own
//! that notes the link before it wakes the task. The clock has one, too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// The wakers of a node, one for each link.
pub(crate) struct ReadyLinks {
    wakers: Arc<[Waker]>,
    by_place: Vec<Arc<LinkWaker>>,
    board: Arc<Mutex<ReadyList>>,
    /// Those that have been heard, in room that is used again.
    heard: Vec<usize>,
}

/// The links that were woken since the last look.
struct ReadyList {
    rung: Vec<usize>,
    task: Waker,
}

struct LinkWaker {
    place: usize,
    /// Whether it is on the board.
    is_rung: AtomicBool,
    board: Arc<Mutex<ReadyList>>,
}

fn lock(board: &Mutex<ReadyList>) -> MutexGuard<'_, ReadyList> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wake for LinkWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_rung.swap(true, Ordering::AcqRel) {
            let mut board = lock(&self.board);
            board.rung.push(self.place);
            board.task.wake_by_ref();
        }
    }
}

impl ReadyLinks {
    /// So many, none of which has rung.
    pub(crate) fn new(count: usize) -> Self {
        let board = ReadyList { rung: Vec::with_capacity(count), task: Waker::noop().clone() };
        let board = Arc::new(Mutex::new(board));
        let waker = |place| {
            let (is_rung, board) = (AtomicBool::new(false), Arc::clone(&board));
            Arc::new(LinkWaker { place, is_rung, board })
        };
        let by_place: Vec<Arc<LinkWaker>> = (0..count).map(waker).collect();
        let wakers = by_place.iter().map(|waker| Waker::from(Arc::clone(waker))).collect();
        Self { wakers, by_place, board, heard: Vec::with_capacity(count) }
    }

    /// The place of the last.
    pub(crate) const fn last(&self) -> usize {
        self.by_place.len() - 1
    }

    /// The wakers, by place.
    pub(crate) fn wakers(&self) -> Arc<[Waker]> {
        Arc::clone(&self.wakers)
    }

    pub(crate) fn ring(&self, place: usize) {
        self.by_place[place].wake_by_ref();
    }

    /// The links that were woken since the last call, in that order; from now on they wake `task`.
    /// The returned list should be handed back, to be used again.
    pub(crate) fn listen(&mut self, task: &Waker) -> Vec<usize> {
        let mut heard = std::mem::take(&mut self.heard);
        heard.clear();
        let mut board = lock(&self.board);
        if !board.task.will_wake(task) {
            board.task.clone_from(task);
        }
        std::mem::swap(&mut board.rung, &mut heard);
        drop(board);
        // Before anything is polled: what happens from now on is news.
        for &place in &heard {
            self.by_place[place].is_rung.store(false, Ordering::Release);
        }
        heard
    }

    pub(crate) fn hand_back(&mut self, heard: Vec<usize>) {
        self.heard = heard;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn each_is_heard_once_in_the_order_of_ringing_and_wakes_the_task() {
        let task = Arc::new(Task::default());
        let waker = Waker::from(Arc::clone(&task));
        let mut ready_links = ReadyLinks::new(5);
        assert!(ready_links.listen(&waker).is_empty());
        let wakers = ready_links.wakers();
        for place in [3, 1, 3, 1] {
            wakers[place].wake_by_ref();
        }
        ready_links.ring(4);
        assert_eq!(task.0.load(Ordering::Relaxed), 3);
        let heard = ready_links.listen(&waker);
        assert_eq!(heard, [3, 1, 4]);
        ready_links.hand_back(heard);
        assert!(ready_links.listen(&waker).is_empty());
        wakers[3].wake_by_ref();
        assert_eq!(ready_links.listen(&waker), [3], "it rings again");
    }

    #[test]
    fn it_is_the_task_that_listened_last_that_is_woken() {
        let tasks = [Arc::new(Task::default()), Arc::new(Task::default())];
        let mut ready_links = ReadyLinks::new(1);
        for task in &tasks {
            ready_links.listen(&Waker::from(Arc::clone(task)));
        }
        ready_links.ring(0);
        assert_eq!(tasks.each_ref().map(|task| task.0.load(Ordering::Relaxed)), [0, 1]);
    }
}

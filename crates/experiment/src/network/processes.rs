//! A process a node: this program once more for each, as a [`worker`](super::worker).

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use vorrang_algorithms::mutex;
use vorrang_net::Clock;
use vorrang_protocol::NodeId;
use vorrang_trace::Line;

use super::kills::Recorded;
use super::link_proxies::LinkProxies;
use super::worker::{RECORD, TIMERS_SET, WorkerSetup};
use super::{Counted, News, Nodes};
use crate::failure::Failure;

/// The processes, and what they answer.
pub(super) struct Processes {
    workers: Vec<Worker>,
    /// The records of those that were killed and are up again.
    former: Vec<(NodeId, JoinHandle<Told>)>,
    /// The orders of each, with where it listens.
    orders: Vec<WorkerSetup>,
    /// Where they find each other, if that is not where they listen.
    proxies: Option<LinkProxies>,
    news: UnboundedSender<News>,
}

/// What a process that tells its records at once has told its application last, as JSON.
type LastNotice = Arc<Mutex<Option<String>>>;

struct Worker {
    process: Child,
    orders: ChildStdin,
    /// Its other output.
    answers: UnboundedReceiver<String>,
    /// Its records, when it has exited.
    records: JoinHandle<Told>,
    last_notice: LastNotice,
    is_killed: bool,
}

/// Starts a process for every node, with orders that lack only when its clock began.
pub(super) async fn start(
    nodes: u32,
    orders: impl Fn(NodeId) -> WorkerSetup,
) -> Result<(Processes, UnboundedReceiver<News>), Failure> {
    start_over(false, nodes, orders).await
}

/// The same, perhaps over links that can be cut.
pub(super) async fn start_over(
    proxies: bool,
    nodes: u32,
    orders: impl Fn(NodeId) -> WorkerSetup,
) -> Result<(Processes, UnboundedReceiver<News>), Failure> {
    let (news, heard) = unbounded_channel();
    let epoch_ns = Clock::start().epoch_ns();
    let (workers, former, own) = (Vec::new(), Vec::new(), Vec::new());
    let mut all = Processes { workers, former, orders: own, proxies: None, news };
    for id in (0..nodes).map(NodeId) {
        let mut orders = WorkerSetup { epoch_ns, ..orders(id) };
        let (worker, address) = all.employ(id, &orders).await?;
        orders.listen = Some(address);
        all.orders.push(orders);
        all.workers.push(worker);
    }
    if proxies {
        let backs = all.orders.iter().filter_map(|it| it.listen.clone());
        all.proxies = Some(LinkProxies::between(backs.collect()).await?);
    }
    let addresses = all.addresses();
    for worker in &mut all.workers {
        worker.say(&addresses).await?;
    }
    Ok((all, heard))
}

impl Worker {
    fn start(id: NodeId, news: UnboundedSender<News>) -> Result<Self, Failure> {
        let mut command = tokio::process::Command::new(env::current_exe()?);
        command.arg("worker").stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        // Ctrl-C is for the parent to heed. If that is killed while a worker is stopped, the system
        // continues what has a group of its own, and it ends.
        #[cfg(unix)]
        command.process_group(0);
        let mut process = command
            .spawn()
            .map_err(|error| Failure::World(format!("cannot start node {id}: {error}")))?;
        let (orders, said) = process
            .stdin
            .take()
            .zip(process.stdout.take())
            .ok_or_else(|| Failure::World(format!("node {id} has no pipes")))?;
        let (sender, answers) = unbounded_channel();
        let last_notice = LastNotice::default();
        let said = (BufReader::new(said), Arc::clone(&last_notice));
        let records = tokio::spawn(listen(id, said, news, sender));
        Ok(Self { process, orders, answers, records, last_notice, is_killed: false })
    }

    async fn say(&mut self, line: &str) -> Result<(), Failure> {
        self.orders.write_all(format!("{line}\n").as_bytes()).await?;
        self.orders.flush().await?;
        Ok(())
    }

    async fn answer(&mut self, id: NodeId) -> Result<String, Failure> {
        let gone = || Failure::World(format!("the process of node {id} has gone"));
        self.answers.recv().await.ok_or_else(gone)
    }
}

/// Sorts what a worker says into news, answers and records, and hands back the records.
async fn listen(
    id: NodeId,
    (mut said, last_notice): (BufReader<ChildStdout>, LastNotice),
    news: UnboundedSender<News>,
    answers: UnboundedSender<String>,
) -> Told {
    let (mut told, mut room) = (Told::default(), String::new());
    // A line without an end is that of a process which was killed as it wrote it: nothing of that
    // turn has left.
    while matches!(said.read_line(&mut room).await, Ok(1..))
        && let Some(line) = room.strip_suffix('\n')
    {
        // The receiver is gone if the run was given up.
        let _ = match line.split_once(' ').unwrap_or((line, "")) {
            ("done", "") => news.send(News::Done(id)).is_ok(),
            ("entered", "") => news.send(News::Entered(id)).is_ok(),
            (RECORD, record) => {
                if let Some(notice) = notice(record) {
                    let mut last = last_notice.lock().unwrap_or_else(PoisonError::into_inner);
                    *last = Some(notice.to_owned());
                }
                told.records.push(record.to_owned());
                true
            }
            ("clock", now_ns) => {
                told.upto_ns = now_ns.parse().unwrap_or(told.upto_ns);
                true
            }
            ("failed", why) => news.send(News::Failed(id, why.to_owned())).is_ok(),
            _ => answers.send(line.to_owned()).is_ok(),
        };
        room.clear();
    }
    let _ = news.send(News::Gone(id));
    told
}

/// The notice in a record, if it is one.
fn notice(record: &str) -> Option<&str> {
    let (_time, rest) = record.split_once(',')?;
    let (_node, rest) = rest.split_once(',')?;
    rest.strip_prefix("\"notice\",")?.strip_suffix(']')
}

/// The records of a process, and up to when they are complete.
#[derive(Debug, Default)]
struct Told {
    records: Vec<String>,
    upto_ns: u64,
}

impl Told {
    /// When it was last heard. A process may be killed after it has told a record and before it has
    /// said what time it is.
    fn last_heard_ns(&self) -> u64 {
        let last = self.records.last().and_then(|it| Line::parse(it, |_, _, _| None).ok());
        last.map_or(0, |line| line.at_ns).max(self.upto_ns)
    }
}

impl Nodes for Processes {
    async fn ask(&mut self, node: NodeId, command: mutex::Command) -> Result<(), Failure> {
        self.tell(node, &command).await
    }
}

impl Counted for Processes {
    /// Without a word of warning.
    async fn kill(&mut self, node: NodeId) -> Result<(), Failure> {
        let worker = &mut self.workers[node.index()];
        worker.is_killed = true;
        worker.process.kill().await?;
        Ok(())
    }
    /// At the address of the former process.
    async fn restart(&mut self, node: NodeId) -> Result<(), Failure> {
        let orders = self.orders[node.index()].clone();
        let (mut worker, _) = self.employ(node, &orders).await?;
        worker.say(&self.addresses()).await?;
        let former = std::mem::replace(&mut self.workers[node.index()], worker);
        self.former.push((node, former.records));
        Ok(())
    }
    async fn counts(&mut self) -> Result<(u64, u64), Failure> {
        let (mut sent, mut received) = (0, 0);
        for (id, worker) in (0..).map(NodeId).zip(&mut self.workers) {
            if worker.is_killed {
                continue;
            }
            worker.say("counts").await?;
            let answer = worker.answer(id).await?;
            let numbers: Vec<u64> =
                answer.split(' ').skip(1).filter_map(|word| word.parse().ok()).collect();
            let [of_sent, of_received] = numbers[..] else {
                return Err(Failure::World(format!("node {id} says '{answer}', not its counts")));
            };
            sent += of_sent;
            received += of_received;
        }
        Ok((sent, received))
    }
}

impl Processes {
    /// A process with its orders, and where it listens.
    async fn employ(&self, id: NodeId, orders: &WorkerSetup) -> Result<(Worker, String), Failure> {
        let mut worker = Worker::start(id, self.news.clone())?;
        let orders = serde_json::to_string(orders).expect("orders can be written");
        worker.say(&orders).await?;
        let address = worker.answer(id).await?;
        Ok((worker, address))
    }

    /// Whether one of those that are up has set a timer.
    pub(super) async fn await_timers(&mut self) -> Result<bool, Failure> {
        for (id, worker) in (0..).map(NodeId).zip(&mut self.workers) {
            if worker.is_killed {
                continue;
            }
            worker.say("timers").await?;
            if worker.answer(id).await? == TIMERS_SET {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What the nodes that are up have told their applications last, as JSON, if they tell their
    /// records at once.
    pub(super) fn last_notices(&self) -> BTreeMap<NodeId, String> {
        let workers = (0..).map(NodeId).zip(&self.workers).filter(|(_, it)| !it.is_killed);
        let last = |(id, worker): (NodeId, &Worker)| {
            let last = worker.last_notice.lock().unwrap_or_else(PoisonError::into_inner);
            last.clone().map(|notice| (id, notice))
        };
        workers.filter_map(last).collect()
    }

    /// Makes a process stand still, or go on.
    pub(super) fn pause(&mut self, node: NodeId, is_still: bool) -> Result<(), Failure> {
        let worker = &self.workers[node.index()];
        match worker.process.id().filter(|_| !worker.is_killed) {
            Some(id) => signal(id, is_still)
                .map_err(|error| Failure::World(format!("cannot signal node {node}: {error}"))),
            None => Ok(()),
        }
    }

    /// Cuts these links, each from a sender to a receiver, and no others.
    pub(super) fn cut(&mut self, links: BTreeSet<(NodeId, NodeId)>) {
        if let Some(proxies) = &self.proxies {
            proxies.cut(links);
        }
    }

    /// So many turns are left to a process that is started again.
    pub(super) fn leave_turns(&mut self, node: NodeId, turns: u64) {
        if let Some(shift) = &mut self.orders[node.index()].shift {
            shift.turns = turns;
        }
    }

    /// Where all are found, with commas.
    fn addresses(&self) -> String {
        if let Some(proxies) = &self.proxies {
            return proxies.fronts.join(",");
        }
        let all: Vec<&str> = self.orders.iter().filter_map(|it| it.listen.as_deref()).collect();
        all.join(",")
    }

    /// Waits until every node has met all others.
    pub(super) async fn started(&mut self) -> Result<(), Failure> {
        for worker in &mut self.workers {
            worker.say("started").await?;
        }
        for (id, worker) in (0..).map(NodeId).zip(&mut self.workers) {
            worker.answer(id).await?;
        }
        Ok(())
    }

    /// Gives a node a command.
    pub(super) async fn tell(
        &mut self,
        node: NodeId,
        command: &impl ToString,
    ) -> Result<(), Failure> {
        self.workers[node.index()].say(&command.to_string()).await
    }

    /// Stops all nodes that were not killed, and collects all records, each as a line.
    pub(super) async fn stop(self) -> Result<Recorded, Failure> {
        let mut workers = self.workers;
        for worker in workers.iter_mut().filter(|worker| !worker.is_killed) {
            worker.say("quit").await?;
        }
        let mut recorded = Recorded::default();
        for (id, records) in self.former {
            let gone = |error| Failure::World(format!("node {id}: {error}"));
            let mut told = records.await.map_err(gone)?;
            recorded.killed.push((id, told.last_heard_ns()));
            recorded.lines.append(&mut told.records);
        }
        for (id, mut worker) in (0..).map(NodeId).zip(workers) {
            let mut last = Vec::new();
            if !worker.is_killed {
                loop {
                    let line = worker.answer(id).await?;
                    if line == "end" {
                        break;
                    }
                    last.push(line);
                }
                worker.process.wait().await?;
            }
            let gone = |error| Failure::World(format!("node {id}: {error}"));
            let mut told = worker.records.await.map_err(gone)?;
            if worker.is_killed {
                recorded.killed.push((id, told.last_heard_ns()));
            }
            recorded.lines.append(&mut told.records);
            recorded.lines.append(&mut last);
        }
        Ok(recorded)
    }
}

#[cfg(unix)]
fn signal(process: u32, stop: bool) -> std::io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};
    let id = i32::try_from(process).ok().and_then(Pid::from_raw);
    let id = id.ok_or_else(|| std::io::Error::other("a process has no number"))?;
    Ok(kill_process(id, if stop { Signal::STOP } else { Signal::CONT })?)
}

#[cfg(not(unix))]
fn signal(_: u32, _: bool) -> std::io::Result<()> {
    Err(std::io::Error::other("this system has no signal that stops a process"))
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::election::{Command, Notice};
    use vorrang_erased::AnyNode;
    use vorrang_trace::{Record, What};

    use super::*;

    type Election = AnyNode<Command, Notice>;

    #[test]
    fn a_notice_is_found_in_its_record() {
        let of = |what| Record::<Election> { at_ns: 7, node: NodeId(3), what }.line();
        assert!(notice(&of(What::Crash)).is_none());
        let text = of(What::Notice(Notice::Leader(NodeId(2))));
        let found = notice(&text).and_then(|it| serde_json::from_str(it).ok());
        assert_eq!(found, Some(Notice::Leader(NodeId(2))), "{text}");
    }

    #[test]
    fn a_killed_process_was_up_when_it_told_its_last_record() {
        let record = r#"[7,3,"command",{"acquire":"exclusive"}]"#.to_owned();
        assert!(Line::parse(&record, |_, _, _| None).is_ok(), "a record");
        let told = |upto_ns| Told { records: vec![record.clone()], upto_ns };
        assert_eq!([told(5), told(9)].map(|it| it.last_heard_ns()), [7, 9]);
        assert_eq!(Told { records: Vec::new(), upto_ns: 4 }.last_heard_ns(), 4);
    }
}

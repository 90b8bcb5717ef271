//! A member of a group, as a program uses it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use vorrang_algorithms::group::named::{Key, Name, Value, Want};
use vorrang_net::{Status, Tcp, Transport};

use crate::clients::HoldInfo;
use crate::config::{Config, Role};
use crate::error::{LockError, OpenError};
use crate::guard::Guard;
use crate::members::Members;
use crate::nowhere::Nowhere;
use crate::observer::Observer;
use crate::running::Running;
use crate::start::start;
#[cfg(feature = "tls")]
use crate::tls::{MemberList, Tls};

/// How long [`Group::try_lock`] waits.
const TRY: Duration = Duration::from_millis(100);

/// A running member of a group. Clones are the same member; when the last of them, of its guards
/// and of its observers is dropped, the member leaves the group, as long as the runtime lasts. To
/// know that it has, call [`leave`](Self::leave).
#[derive(Clone)]
pub struct Group {
    pub(crate) member: Arc<Running>,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = self.member.clients.members.borrow();
        f.debug_struct("Group")
            .field("group", &members.group)
            .field("this", &members.this)
            .field("view", &members.view)
            .finish_non_exhaustive()
    }
}

/// What is wanted, of which name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The name.
    pub name: Name,
    /// What is wanted of it.
    pub want: Want,
}

impl Group {
    /// Starts a member as a file says.
    ///
    /// # Errors
    ///
    /// If the file is wrong, the address is taken, the data directory cannot be used, or nobody
    /// lets this process join.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::start(Config::read(path)?).await
    }

    /// The same with this configuration. It does not wait for the other members: what is asked for
    /// does.
    ///
    /// # Errors
    ///
    /// As of [`open`](Self::open).
    pub async fn start(config: Config) -> Result<Self, OpenError> {
        Self::start_on(None, config).await
    }

    /// The same, with a listener that is bound already to the address of this member.
    ///
    /// # Errors
    ///
    /// As of [`open`](Self::open).
    pub async fn start_with(listener: TcpListener, config: Config) -> Result<Self, OpenError> {
        Self::start_on(Some(listener), config).await
    }

    /// Over TLS if there are keys, else over TCP.
    #[cfg(feature = "tls")]
    async fn start_on(listener: Option<TcpListener>, config: Config) -> Result<Self, OpenError> {
        config.check()?;
        let Some(tls) = Tls::of(&config)? else { return Self::start_bare(listener, config).await };
        let group = if Self::is_nowhere(listener.as_ref(), &config)? {
            Self::start_over(Nowhere, None, config).await?
        } else {
            let listener = listener.map(|listener| tls.listen(listener));
            Self::start_over(tls.clone(), listener, config).await?
        };
        Ok(Self { tls: Some(tls), ..group })
    }

    #[cfg(not(feature = "tls"))]
    async fn start_on(listener: Option<TcpListener>, config: Config) -> Result<Self, OpenError> {
        config.check()?;
        if config.tls.is_some() {
            return Err(OpenError::NoTls);
        }
        Self::start_bare(listener, config).await
    }

    async fn start_bare(listener: Option<TcpListener>, config: Config) -> Result<Self, OpenError> {
        if Self::is_nowhere(listener.as_ref(), &config)? {
            return Self::start_over(Nowhere, None, config).await;
        }
        Self::start_over(Tcp, listener, config).await
    }

    /// Whether there is nobody else, and nobody can come.
    fn is_nowhere(listener: Option<&TcpListener>, config: &Config) -> Result<bool, OpenError> {
        let is_alone = config.role()? == Role::Alone && config.address.is_none();
        Ok(is_alone && listener.is_none())
    }

    /// The same over another transport than TCP, perhaps with a listener of it that is bound
    /// already.
    ///
    /// # Errors
    ///
    /// As of [`open`](Self::open).
    pub async fn start_over<T: Transport>(
        transport: T,
        listener: Option<T::Listener>,
        config: Config,
    ) -> Result<Self, OpenError> {
        let member = Arc::new(start(config, (transport, listener)).await?);
        Ok(Self {
            member,
            #[cfg(feature = "tls")]
            tls: None,
        })
    }

    /// The keys of this member, if it has any: to read them again, to ask how long they are valid,
    /// and for connections of remote clients.
    #[cfg(feature = "tls")]
    pub const fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// Lets in these from now on, besides the founders: their names and where they are, as
    /// `tls.newcomers` has them. Who is connected stays so. Without keys everybody on this machine
    /// is let in, and they are known by these names.
    pub fn accept_newcomers(&self, newcomers: Vec<(String, String)>) {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            let mut config = self.member.config.clone();
            if let Some(files) = &mut config.tls {
                files.newcomers.clone_from(&newcomers);
            }
            tls.accept_members(MemberList::of(&config));
        }
        self.member.names.newcomers.set(newcomers);
    }

    /// Waits for the lock of this name, and holds it alone.
    ///
    /// ```
    /// # use vorrang_lock::{Config, Group};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let group = Group::start(Config { lease: None, ..Config::default() }).await?;
    /// let first = group.lock("invoices").await?;
    /// let token = first.token();
    /// assert!(group.try_lock("invoices").await?.is_none());
    /// drop(first);
    /// assert!(group.lock("invoices").await?.token() > token);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the text is no name, or the member does not take part any more.
    pub async fn lock(&self, name: &str) -> Result<Guard, LockError> {
        self.acquire(Request { name: LockError::name(name)?, want: Want::Exclusive }).await
    }

    /// Waits for the lock of this name, and holds it together with others who share it: with those
    /// of this member, and with those of all members if the algorithm is one that shares, such as
    /// `readers-writers`.
    ///
    /// ```
    /// # use vorrang_lock::{Config, Group, LockError};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let group = Group::start(Config { lease: None, ..Config::default() }).await?;
    /// let (one, other) = (group.shared("reports").await?, group.shared("reports").await?);
    /// assert!(group.try_lock("reports").await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As of [`lock`](Self::lock).
    pub async fn shared(&self, name: &str) -> Result<Guard, LockError> {
        self.acquire(Request { name: LockError::name(name)?, want: Want::Shared }).await
    }

    /// Waits for the lock for so long at most. None if it is not granted by then: then it is not
    /// waited for any more.
    ///
    /// # Errors
    ///
    /// As of [`lock`](Self::lock), and if nobody could have been granted anything when the time was
    /// over.
    pub async fn lock_within(
        &self,
        name: &str,
        time: Duration,
    ) -> Result<Option<Guard>, LockError> {
        match timeout(time, self.lock(name)).await {
            Ok(outcome) => outcome.map(Some),
            Err(_) => self.member.why_in_vain().map_or(Ok(None), Err),
        }
    }

    /// The same for a tenth of a second. No member knows at once that a lock is held by another.
    ///
    /// # Errors
    ///
    /// As of [`lock_within`](Self::lock_within).
    pub async fn try_lock(&self, name: &str) -> Result<Option<Guard>, LockError> {
        self.lock_within(name, TRY).await
    }

    /// Waits for one of so many permits. The number is that of those who hold or want one now;
    /// whoever says another is refused.
    ///
    /// ```
    /// # use vorrang_lock::{Config, Group};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let group = Group::start(Config { lease: None, ..Config::default() }).await?;
    /// let permits = [group.semaphore("builds", 2).await?, group.semaphore("builds", 2).await?];
    /// let why = group.semaphore("builds", 3).await.unwrap_err().to_string();
    /// assert!(why.contains("3 permits") && why.contains("there are 2"), "{why}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As of [`lock`](Self::lock), and if there are another number of permits, or none.
    pub async fn semaphore(&self, name: &str, permits: u32) -> Result<Guard, LockError> {
        self.acquire(Request { name: LockError::name(name)?, want: Want::PermitOf(permits) }).await
    }

    /// Waits until this candidate leads; observers are told this value, such as an address.
    ///
    /// ```
    /// # use vorrang_lock::{Config, Group};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let group = Group::start(Config { lease: None, ..Config::default() }).await?;
    /// let mut observer = group.observe("scheduler").await?;
    /// assert!(observer.next().await?.is_none(), "nobody leads");
    /// let leads = group.campaign("scheduler", "10.0.0.1:80").await?;
    /// let leader = observer.next().await?.expect("somebody leads");
    /// assert_eq!((leader.value.as_str(), leader.token), ("10.0.0.1:80", leads.token()));
    /// drop(leads);
    /// assert!(observer.next().await?.is_none(), "nobody leads any more");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As of [`lock`](Self::lock), and if the value is longer than a value may be.
    pub async fn campaign(&self, name: &str, value: &str) -> Result<Guard, LockError> {
        let name = LockError::name(name)?;
        let value = Value::new(value);
        let value = value.map_err(|why| LockError::Value { name: name.clone(), why })?;
        self.acquire(Request { name, want: Want::Lead(value) }).await
    }

    /// Says who leads, from now on.
    ///
    /// # Errors
    ///
    /// If the text is no name, or the member does not take part any more.
    pub async fn observe(&self, name: &str) -> Result<Observer, LockError> {
        Observer::new(&self.member, LockError::name(name)?).await
    }

    /// Waits for the locks of all these names, and holds them alone. They are taken in the order of
    /// their names, so that two who want several never wait for each other.
    ///
    /// ```
    /// # use vorrang_lock::{Config, Group};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let group = Group::start(Config { lease: None, ..Config::default() }).await?;
    /// let guards = group.lock_all(["to", "from"]).await?;
    /// let names: Vec<&str> = guards.iter().map(|it| it.name().as_str()).collect();
    /// assert_eq!(names, ["from", "to"]);
    /// assert!(group.lock_all(["a", "a"]).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As of [`lock`](Self::lock), and if a name is there twice; then nothing is held.
    pub async fn lock_all<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<Guard>, LockError> {
        let names = names.into_iter().map(LockError::name);
        let mut names = names.collect::<Result<Vec<Name>, LockError>>()?;
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(LockError::Twice(pair[0].clone()));
        }
        let mut guards = Vec::with_capacity(names.len());
        for name in names {
            guards.push(self.acquire(Request { name, want: Want::Exclusive }).await?);
        }
        Ok(guards)
    }

    /// Waits for anything: what all of the above are made of.
    ///
    /// # Errors
    ///
    /// As of those.
    pub async fn acquire(&self, want: Request) -> Result<Guard, LockError> {
        let Request { name, want } = want;
        let key = Key { kind: want.kind(), name };
        Guard::new(self.member.acquire(key, want).await?)
    }

    /// The members as they are now, as far as this one knows.
    pub fn members(&self) -> Members {
        self.member.clients.members.borrow().clone()
    }

    /// The members, whenever something changes.
    pub fn changes(&self) -> watch::Receiver<Members> {
        self.member.clients.members.subscribe()
    }

    /// What the clients of this member hold or wait for.
    pub fn holds(&self) -> Vec<HoldInfo> {
        self.member.clients.holds()
    }

    /// How the member's node is, with its links and all that its machine knows: for people who look
    /// for a mistake. It takes longer the more names there are.
    ///
    /// # Errors
    ///
    /// If it does not run any more.
    pub async fn status(&self) -> Result<Status, LockError> {
        self.member.handle.status().await.map_err(|stopped| LockError::Stopped(stopped.why))
    }

    /// The configuration of this member.
    pub fn config(&self) -> &Config {
        &self.member.config
    }

    /// Leaves the group in good order: refuses those who wait, waits for so long at most until
    /// those who hold something have released it, and goes when the others have agreed on a view
    /// without this member. They need not wait for its lease then.
    ///
    /// # Errors
    ///
    /// If it had stopped before.
    pub async fn leave(self, within: Duration) -> Result<(), LockError> {
        self.member.leave(within).await
    }

    /// Ends the member at once, as a crash would: for tests of what a program does then.
    pub async fn kill(self) {
        self.member.handle.clone().kill().await;
    }
}

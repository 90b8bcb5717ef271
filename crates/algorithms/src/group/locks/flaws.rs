//! The mistakes that people make with locks on views.

use vorrang_protocol::{Effects, NodeId, Protocol, Refused};

use super::instance::Application;
use super::message::Message;
use super::{Exclusive, Locks};
use crate::flaw::Mistake;
use crate::group::input::Input;
use crate::mutex::Command;

/// Its messages.
type Letter<P> = <Locks<P> as Protocol>::Message;

/// A known mistake of locks on views.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LocksFlaw {
    /// A member that has reported its state goes on and enters.
    EntersFrozen,
    /// No member waits for those that were inside before.
    HolderForgotten,
    /// A message of an older view is taken for one of this.
    ViewIgnored,
    /// Entries are not counted: their number is the view's alone.
    ClockNotCarried,
    /// Members number themselves in an order of their own.
    OwnOrder,
    /// The lease of a member is not waited for if another life has begun under its number.
    ReplacedLifeNotAwaited,
}

/// A member that has reported its state goes on and enters all the same: the others take it for
/// waiting.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EntersFrozen;

impl EntersFrozen {
    fn act<P: Exclusive, T>(node: &mut Locks<P>, act: impl FnOnce(&mut Locks<P>) -> T) -> T {
        let (before, current) = (node.inner.instance.clone(), node.current);
        let done = act(node);
        let (me, goes_on) = (node.me, node.inner.instance.application == before.application);
        let was_inside = goes_on && matches!(before.application, Application::Inside(_));
        match &mut node.inner.instance.work {
            None if goes_on && current.is_some_and(|it| it.view == node.views.view().id) => {
                node.inner.instance.work = before.work;
                node.current = current;
            }
            // It knows that it was inside, though no other member does.
            Some(work)
                if was_inside
                    && current.map(|it| it.view).is_some_and(|it| it != node.views.view().id) =>
            {
                work.inside.insert(me);
            }
            Some(_) | None => {}
        }
        done
    }
}

impl<P: Exclusive> Mistake<Locks<P>> for EntersFrozen {
    fn on_command(
        self,
        node: &mut Locks<P>,
        command: Input<Command>,
        fx: &mut impl Effects<Locks<P>>,
    ) -> Result<(), Refused> {
        Self::act(node, |node| node.on_command(command, fx))
    }
    fn on_message(
        self,
        node: &mut Locks<P>,
        from: NodeId,
        message: Letter<P>,
        fx: &mut impl Effects<Locks<P>>,
    ) {
        Self::act(node, |node| node.on_message(from, message, fx));
    }
}

/// No member waits for those that were inside before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HolderForgotten;

impl<P: Exclusive> Mistake<Locks<P>> for HolderForgotten {
    fn on_message(
        self,
        node: &mut Locks<P>,
        from: NodeId,
        message: Letter<P>,
        fx: &mut impl Effects<Locks<P>>,
    ) {
        node.on_message(from, message, fx);
        if !matches!(node.inner.instance.application, Application::Inside(_))
            && let Some(work) = node.inner.instance.work.as_mut().filter(|it| !it.inside.is_empty())
        {
            work.inside.clear();
            node.within(fx, |inner, effects| inner.instance.ask(effects));
        }
    }
}

/// A message of an older view is taken for one of this.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ViewIgnored;

impl<P: Exclusive> Mistake<Locks<P>> for ViewIgnored {
    fn on_message(
        self,
        node: &mut Locks<P>,
        from: NodeId,
        mut message: Letter<P>,
        fx: &mut impl Effects<Locks<P>>,
    ) {
        if let Message::Within { view, .. } = &mut message {
            *view = node.view().max(*view);
        }
        node.on_message(from, message, fx);
    }
}

/// Entries are not counted: the number is the view's alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClockNotCarried;

impl<P: Exclusive> Mistake<Locks<P>> for ClockNotCarried {
    fn edit(mut message: Letter<P>) -> Letter<P> {
        if let Message::Within { clock, .. } = &mut message {
            *clock = 0;
        }
        message
    }
}

/// No lease is waited for of a member under whose number another life has begun, as if that had
/// ended the first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReplacedLifeNotAwaited;

impl<P: Exclusive> Mistake<Locks<P>> for ReplacedLifeNotAwaited {
    fn on_message(
        self,
        node: &mut Locks<P>,
        from: NodeId,
        message: Letter<P>,
        fx: &mut impl Effects<Locks<P>>,
    ) {
        let before = node.view();
        node.on_message(from, message, fx);
        let (view, gone) = (node.views.view(), node.views.gone());
        let are_replaced = gone.iter().all(|&it| view.incarnation_of(it).is_some());
        if view.id > before
            && are_replaced
            && let Some(current) = &mut node.current
        {
            current.is_early = false;
            node.enter(fx);
        }
    }
}

//! One end of every connection of a scenario. The client's end decides what happens, as its applications ask; the
//! server's end does what openings ask for.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use application::{Amount, Application, CLIENT, Content, Runtime, SERVER, Stream};
use scenario::description::Description;

use super::callers::{Callers, Introduced};
use super::half::Half;
use super::opening::Opening;
use super::plan::{End, Plan};
use crate::emulator::FlowKey;
use crate::engine::agenda::Agenda;
use crate::engine::kernel_step_bytes;
use crate::linux::account::Account;
use crate::linux::socket::{self, Options};
use crate::linux::traffic::{Endpoint, Ends, Traffic};

/// The part of a run on this machine.
pub struct Machine<'p> {
    plan: &'p Plan,
    callers: Callers,
    /// Callers without the secret, or with an opening that does not fit the scenario.
    pub refused: u64,
}

impl<'p> Machine<'p> {
    pub fn new(plan: &'p Plan) -> Machine<'p> {
        Machine { plan, callers: Callers::default(), refused: 0 }
    }
}

impl Endpoint for Machine<'_> {
    type Transfer = Half;

    fn congestion(&self, kind: usize) -> &str {
        &self.plan.hosts[kind].congestion
    }

    fn listen(&self, kind: usize, options: &Options) -> io::Result<Option<OwnedFd>> {
        let here = (self.plan.end == End::Server).then_some(self.plan.hosts[kind].server);
        here.map(|address| socket::listen_here(address, options)).transpose()
    }

    fn agenda(&self, description: &Description, runtime: &Runtime<FlowKey>) -> Agenda {
        match self.plan.end {
            End::Client => Agenda::new(description, runtime),
            End::Server => Agenda::measuring(description),
        }
    }

    /// The client's applications receive all events; the server's only those of a rate, to start it.
    fn hears(&self, application: &Application<FlowKey>) -> bool {
        self.plan.end == End::Client || matches!(application.content, Content::Rate { .. })
    }

    fn open(traffic: &mut Traffic<'_, Self>, number: u32, amount: Amount, at_ns: u64) -> io::Result<()> {
        let application = &traffic.runtime.applications[number as usize];
        let (kind, sender) = (application.kind as usize, application.sender);
        let plan = traffic.endpoint.plan;
        let (socket, local) =
            match socket::call(plan.hosts[kind].client, plan.hosts[kind].server, &traffic.options[kind]) {
                Ok(called) => called,
                // An unreachable network is a failure of this connection, not of the run.
                Err(error) => {
                    let record = &mut traffic.runtime.applications[number as usize].record;
                    record.failure.get_or_insert_with(|| error.to_string());
                    return Ok(());
                }
            };
        let stream = Stream::new(at_ns, amount, sender);
        if stream.sender == CLIENT {
            socket::bound_unsent(&socket)?;
        }
        let place = traffic.place()?;
        traffic.watch(&socket, place, CLIENT)?;
        let opening = Opening { token: plan.token, application: number, amount, sender: stream.sender };
        let account = Account::new((number, kind), traffic.options[kind].mptcp, stream);
        let mut half = Half::new(account, CLIENT, (socket, local));
        half.say(&opening.encode());
        traffic.transfers[place] = Some(half);
        traffic.runtime.opened(at_ns, number, place as u32);
        Ok(())
    }

    fn accept(traffic: &mut Traffic<'_, Self>, kind: usize, socket: OwnedFd, peer: SocketAddr) -> io::Result<()> {
        let number = traffic.endpoint.callers.add(kind, socket, peer);
        traffic.endpoint.callers.socket(number).map_or(Ok(()), |socket| traffic.watch_caller(socket, number))
    }

    fn hear_caller(traffic: &mut Traffic<'_, Self>, number: u64) -> io::Result<()> {
        let Some(caller) = traffic.endpoint.callers.read(number) else { return Ok(()) };
        if is_due(traffic, &caller) {
            return take_in(traffic, caller);
        }
        traffic.endpoint.refused += 1;
        Ok(())
    }

    /// Lets the sender write, or the client ask.
    fn stands(traffic: &mut Traffic<'_, Self>, number: usize) {
        let now_ns = traffic.clock.now_ns();
        let Some(half) = &mut traffic.transfers[number] else { return };
        let stream = &mut half.account.stream;
        if stream.is_dialogue() && traffic.endpoint.plan.end == End::Client {
            stream.establish_asker(now_ns);
        } else {
            stream.establish(now_ns, kernel_step_bytes(&traffic.description.connections[half.account.kind]));
        }
        traffic.take_news(number);
    }

    fn measure(&self, half: &mut Half, now_ns: u64) -> io::Result<()> {
        half.measure(now_ns, &self.plan.hosts[half.account.kind])
    }
}

/// Whether a caller's opening fits the scenario.
fn is_due(traffic: &Traffic<'_, Machine<'_>>, caller: &Introduced) -> bool {
    let opening = &caller.opening;
    let application = traffic.runtime.applications.get(opening.application as usize);
    opening.knows(&traffic.endpoint.plan.token)
        && traffic.has_room()
        && application.is_some_and(|application| {
            application.kind as usize == caller.kind
                && (opening.sender == application.sender || opening.amount == Amount::Answers)
                && (opening.amount != Amount::Answers || application.content.is_dialogue())
                && (opening.amount == Amount::Steps) == matches!(application.content, Content::Rate { .. })
                && (application.content.repeats() || application.transfers.is_empty())
        })
}

/// Starts the server's end of a connection.
fn take_in(traffic: &mut Traffic<'_, Machine<'_>>, caller: Introduced) -> io::Result<()> {
    let Introduced { socket, peer, kind, opening } = caller;
    let stream = Stream::new(traffic.clock.now_ns(), opening.amount, opening.sender);
    if stream.sender == SERVER {
        socket::check_congestion(&socket, &traffic.options[kind].congestion)?;
        socket::bound_unsent(&socket)?;
    }
    traffic.leave_caller(&socket)?;
    let place = traffic.place()?;
    traffic.watch(&socket, place, SERVER)?;
    let number = opening.application;
    let account = Account::new((number, kind), traffic.options[kind].mptcp, stream);
    let mut half = Half::new(account, SERVER, (socket, peer));
    half.may_write(SERVER);
    traffic.transfers[place] = Some(half);
    traffic.runtime.applications[number as usize].transfers.push(place as u32);
    Machine::stands(traffic, place);
    traffic.turn(place, SERVER);
    Ok(())
}

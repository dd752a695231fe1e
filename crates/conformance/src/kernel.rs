//! The Linux kernel in a network namespace of its own, behind a TUN device. Time is real time.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // the kernel's clock is the wall's

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};

use crate::case::{Action, Settings, Sight};
use crate::subject::{Cannot, Subject};
use crate::{content, system};

/// "At once" on a machine that is busy with other cases, the kernel's delayed acknowledgment of 40 ms and its tail loss
/// probe not told apart from it.
const TOLERANCE_NS: u64 = 150_000_000;
/// What ICMP's errors are called.
const SOFT: [i32; 6] =
    [libc::ENETUNREACH, libc::EHOSTUNREACH, libc::EPROTO, libc::ENOPROTOOPT, libc::ECONNREFUSED, libc::EHOSTDOWN];
/// MPTCP as a protocol of sockets.
const IPPROTO_MPTCP: u32 = 262;
/// The kernel's numbers of the states (include/net/tcp_states.h).
const STATES: [&str; 13] = [
    "",
    "ESTABLISHED",
    "SYN-SENT",
    "SYN-RECEIVED",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "CLOSED",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
    "SYN-RECEIVED",
];

/// A host of the kernel's. It lives on a thread of its own, which is in its namespace for good.
pub struct Kernel {
    tun: OwnedFd,
    began: Instant,
    sent: VecDeque<(u64, Vec<u8>)>,
    settings: Settings,
    listener: Option<TcpListener>,
    stream: Option<TcpStream>,
    was_established: bool,
    written: u64,
    error: Option<i32>,
    /// SO_ERROR has told of an error that ended nothing.
    soft_error: bool,
    buffer: Vec<u8>,
}

fn fails<T>(what: &str) -> impl FnOnce(io::Error) -> Result<T, Cannot> {
    let what = what.to_owned();
    move |error| Err(Cannot(format!("{what}: {error}")))
}

impl Kernel {
    /// A host as the case describes it, in a new namespace that the calling thread enters.
    ///
    /// # Errors
    /// Without root or /dev/net/tun, or where the case asks for what the kernel cannot be told.
    pub fn enter(settings: &Settings) -> Result<Kernel, Cannot> {
        let namespace = live::namespace::create().or_else(fails("a network namespace"))?;
        live::namespace::enter(&namespace).or_else(fails("the network namespace"))?;
        let tun = system::tun("tun0").or_else(fails("a TUN device"))?;
        let control = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
            .map_err(io::Error::from)
            .or_else(fails("a socket"))?;
        let configure = |name: &str, address| system::configure(&control, name, address).or_else(fails("an address"));
        configure("lo", Ipv4Addr::LOCALHOST)?;
        configure("tun0", Ipv4Addr::new(10, 0, 0, 1))?;
        for (id, address) in &settings.addresses {
            let IpAddr::V4(address) = address else { return Err(Cannot("an IPv6 address".into())) };
            configure(&format!("tun0:{id}"), *address)?;
        }
        if settings.joins {
            return Err(Cannot("its path manager is set by netlink".into()));
        }
        let switch = |on: bool| if on { "1" } else { "0" };
        let sysctls = [
            ("net/ipv4/tcp_sack", switch(settings.sack)),
            ("net/ipv4/tcp_timestamps", switch(settings.timestamps)),
            ("net/ipv4/tcp_ecn", switch(settings.ecn)),
            ("net/ipv4/tcp_congestion_control", "reno"),
            ("net/ipv4/conf/all/rp_filter", "0"),
            ("net/ipv4/conf/tun0/rp_filter", "0"),
            ("net/mptcp/checksum_enabled", switch(settings.checksum)),
            ("net/mptcp/allow_join_initial_addr_port", switch(settings.join_first_address)),
        ];
        for (name, value) in sysctls {
            std::fs::write(format!("/proc/sys/{name}"), value).or_else(fails(name))?;
        }
        std::fs::write("/proc/sys/net/ipv4/tcp_syn_retries", settings.syn_retries.to_string())
            .or_else(fails("tcp_syn_retries"))?;
        std::fs::write("/proc/sys/net/ipv4/tcp_retries2", settings.retries.to_string())
            .or_else(fails("tcp_retries2"))?;
        Ok(Kernel {
            tun,
            began: Instant::now(),
            sent: VecDeque::new(),
            settings: settings.clone(),
            listener: None,
            stream: None,
            was_established: false,
            written: 0,
            error: None,
            soft_error: false,
            buffer: vec![0; 65_536],
        })
    }

    fn socket(&self) -> Result<OwnedFd, Cannot> {
        let protocol =
            if self.settings.mptcp { Some(rustix::net::Protocol::from_raw(MPTCP)) } else { Some(ipproto::TCP) };
        let socket = socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            protocol,
        )
        .map_err(io::Error::from)
        .or_else(fails("a socket"))?;
        let set = |level, name, value| system::set_option(&socket, level, name, value).or_else(fails("an option"));
        set(libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        if let Some(bytes) = self.settings.buffer {
            set(libc::SOL_SOCKET, libc::SO_RCVBUF, bytes as i32)?;
        }
        if self.settings.mss != Settings::default().mss {
            set(libc::IPPROTO_TCP, libc::TCP_MAXSEG, self.settings.mss.into())?;
        }
        if !self.settings.nagle {
            set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        }
        if self.settings.ttl != Settings::default().ttl {
            set(libc::IPPROTO_IP, libc::IP_TTL, self.settings.ttl.into())?;
        }
        if self.settings.dscp != 0 {
            set(libc::IPPROTO_IP, libc::IP_TOS, i32::from(self.settings.dscp) << 2)?;
        }
        Ok(socket)
    }

    /// Takes packets off the device, and the connection off the listener.
    fn collect(&mut self) {
        while let Ok(length) = rustix::io::read(&self.tun, &mut self.buffer) {
            self.sent.push_back((self.now_ns(), self.buffer[..length].to_vec()));
        }
        if self.stream.is_none()
            && let Some(Ok((stream, _))) = self.listener.as_ref().map(TcpListener::accept)
        {
            _ = stream.set_nonblocking(true);
            if !self.settings.nagle {
                _ = stream.set_nodelay(true);
            }
            self.stream = Some(stream);
            self.was_established = true;
        }
        if let Some(stream) = &self.stream {
            if let Ok(Some(error)) = stream.take_error() {
                // Soft errors are told in the same way, while the connection goes on.
                let soft = error.raw_os_error().is_some_and(|error| SOFT.contains(&error));
                if soft && self.state().is_ok_and(|state| state != "CLOSED") {
                    self.soft_error = true;
                } else {
                    self.error = error.raw_os_error().or(self.error);
                }
            }
            self.was_established |=
                self.state().is_ok_and(|state| !matches!(state, "SYN-SENT" | "SYN-RECEIVED" | "CLOSED"));
        }
    }

    fn stream(&mut self) -> Result<&mut TcpStream, Cannot> {
        self.collect();
        self.stream.as_mut().ok_or_else(|| Cannot("the application has no connection yet".into()))
    }

    fn state(&self) -> Result<&'static str, Cannot> {
        let Some(stream) = &self.stream else {
            return Err(Cannot("nothing shows it before the connection is accepted".into()));
        };
        let mut info = [0; 256];
        match system::get_option(stream, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info) {
            Ok(length) if length > 0 => Ok(STATES.get(usize::from(info[0])).copied().unwrap_or("")),
            _ => Err(Cannot("TCP_INFO is not given".into())),
        }
    }

    /// What can be read: a number of bytes, 0 at the end of the stream, or an error.
    fn peek(&mut self) -> io::Result<usize> {
        let mut buffer = vec![0; 1 << 20];
        match &self.stream {
            Some(stream) => stream.peek(&mut buffer),
            None => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

const MPTCP: std::num::NonZeroU32 = std::num::NonZeroU32::new(IPPROTO_MPTCP).unwrap();

impl Subject for Kernel {
    fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn go_on(&mut self, until_ns: u64) -> bool {
        loop {
            self.collect();
            if !self.sent.is_empty() {
                return true;
            }
            let left_ns = until_ns.saturating_sub(self.now_ns());
            if left_ns == 0 {
                return false;
            }
            let mut polled = [PollFd::new(&self.tun, PollFlags::IN)];
            let most = Duration::from_nanos(left_ns.min(20_000_000));
            let timeout = Timespec { tv_sec: 0, tv_nsec: most.subsec_nanos().into() };
            _ = poll(&mut polled, Some(&timeout));
        }
    }

    fn take(&mut self) -> Option<(u64, Vec<u8>)> {
        self.sent.pop_front()
    }

    fn arrive(&mut self, packet: &[u8]) {
        _ = rustix::io::write(&self.tun, packet);
        // The kernel does most of what follows within this call, and the rest shortly after.
        std::thread::sleep(Duration::from_millis(1));
        self.collect();
    }

    fn act(&mut self, action: Action, ends: (SocketAddr, SocketAddr)) -> Result<(), Cannot> {
        match action {
            Action::Listen => {
                let socket = self.socket()?;
                rustix::net::bind(&socket, &ends.0).map_err(io::Error::from).or_else(fails("bind"))?;
                rustix::net::listen(&socket, 8).map_err(io::Error::from).or_else(fails("listen"))?;
                self.listener = Some(socket.into());
            }
            Action::Connect => {
                let socket = self.socket()?;
                match rustix::net::connect(&socket, &ends.1).map_err(io::Error::from) {
                    Ok(()) => {}
                    Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
                    Err(error) => return fails("connect")(error),
                }
                self.stream = Some(socket.into());
            }
            Action::Write(bytes) => {
                let data = content::bytes(self.written, bytes as usize);
                let written = self.stream()?.write(&data).or_else(fails("write"))?;
                self.written += written as u64;
                if written < data.len() {
                    return Err(Cannot("its send buffer is smaller than that".into()));
                }
            }
            Action::Read(most) => {
                let mut buffer = vec![0; most.unwrap_or(1 << 20) as usize];
                let mut got = 0;
                while got < buffer.len() {
                    match self.stream()?.read(&mut buffer[got..]) {
                        Ok(n) if n > 0 => got += n,
                        _ => break,
                    }
                }
            }
            Action::Shutdown => {
                self.stream()?.shutdown(std::net::Shutdown::Write).or_else(fails("shutdown"))?;
            }
            Action::Close => {
                self.stream()?;
                self.stream = None;
                self.listener = None;
            }
            Action::Abort => {
                let stream = self.stream()?;
                system::linger_zero(&*stream).or_else(fails("SO_LINGER"))?;
                self.stream = None;
                self.listener = None;
            }
            Action::Dscp(dscp) => {
                system::set_option(&*self.stream()?, libc::IPPROTO_IP, libc::IP_TOS, i32::from(dscp) << 2)
                    .or_else(fails("IP_TOS"))?;
            }
            Action::Announce(_) | Action::Withdraw(_) | Action::Backup(_) | Action::Join(..) => {
                return Err(Cannot("its path manager is set by netlink".into()));
            }
        }
        self.collect();
        Ok(())
    }

    fn see(&mut self, sight: &Sight, _ends: (SocketAddr, SocketAddr)) -> Result<Result<(), String>, Cannot> {
        self.collect();
        let yes = |holds: bool, otherwise: String| if holds { Ok(()) } else { Err(otherwise) };
        let peeked = self.peek();
        let error =
            self.error.or(peeked.as_ref().err().and_then(io::Error::raw_os_error)).filter(|e| *e != libc::EAGAIN);
        self.error = error;
        Ok(match sight {
            Sight::State(0, wanted) => {
                if self.stream.is_none() {
                    // Half-open, or given back by the application: nothing shows the state.
                    return Ok(Ok(()));
                }
                let found = self.state()?;
                // The kernel frees the socket at TIME-WAIT, and its state is CLOSED then.
                yes(found == wanted || (wanted == "TIME-WAIT" && found == "CLOSED"), format!("the state is {found}"))
            }
            Sight::State(..) => return Ok(Ok(())),
            Sight::Readable(bytes) => {
                let found = peeked.unwrap_or(0) as u64;
                yes(found == *bytes, format!("{found} bytes can be read"))
            }
            Sight::End => yes(matches!(peeked, Ok(0)), format!("reading gives {peeked:?}")),
            Sight::Aborted(reason) => {
                let found = match error {
                    Some(libc::ECONNREFUSED) => Some("refused"),
                    Some(libc::ECONNRESET | libc::EPIPE) => Some("reset"),
                    Some(libc::ETIMEDOUT) => Some("timed-out"),
                    _ => None,
                };
                // A socket does not tell a fast close from a reset.
                let wanted = reason.as_deref().map(|r| if r == "fast-close" { "reset" } else { r });
                let unaccepted = self.stream.is_none();
                let fits = unaccepted || found.is_some() && wanted.is_none_or(|wanted| found == Some(wanted));
                yes(fits, format!("the socket's error is {error:?}"))
            }
            Sight::SoftError => yes(self.soft_error, "it was told of none".into()),
            Sight::Unresponsive => return Err(Cannot("it tells nobody before the end".into())),
            Sight::Open => yes(error.is_none(), format!("the socket's error is {error:?}")),
            Sight::Mptcp | Sight::Tcp => {
                let Some(stream) = &self.stream else { return Ok(Err("there is no connection".into())) };
                // MPTCP_INFO is refused on a socket that has fallen back.
                let found = self.settings.mptcp && system::get_option(stream, 284, 1, &mut [0; 128]).is_ok();
                let wanted = *sight == Sight::Mptcp;
                yes(found == wanted, format!("Multipath TCP is {}", if found { "spoken" } else { "not spoken" }))
            }
            Sight::Established => yes(self.was_established, "it is not established".into()),
            Sight::Unestablished => yes(!self.was_established, "it is established".into()),
            Sight::Flushed => {
                let Some(stream) = &self.stream else { return Ok(Ok(())) };
                let left = system::outstanding(stream).or_else(fails("SIOCOUTQ"))?;
                yes(left == 0, format!("{left} bytes are not acknowledged"))
            }
        })
    }

    fn tolerance_ns(&self) -> u64 {
        TOLERANCE_NS
    }
}

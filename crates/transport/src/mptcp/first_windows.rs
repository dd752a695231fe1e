//! The windows with which a connection and its subflows begin.

use super::state::tuning::{Reads, Tuning};
use super::state::window::ReceiveWindow;
use crate::memory::{self, Ratio};
use crate::tcp::rcv_ssthresh::RcvSsthresh;
use crate::{Config, Kernel, Protocol, ReceiveBuffer, Receiver};

/// The window that a SYN announces: of a fixed buffer all; otherwise, as Linux, whole segments in half of the first buffer, where
/// an answer knows that timestamps take 12 bytes of each.
pub(super) fn first_window(config: &Config, initiator: bool) -> u64 {
    if let ReceiveBuffer::Fixed(bytes) = config.receive_buffer {
        return bytes;
    }
    let half = Ratio::ASSUMED.data(memory::INITIAL_BYTES);
    let segment = u64::from(config.mss) - if !initiator && config.tcp.timestamps { 12 } else { 0 };
    half / segment * segment
}

/// The window of a new connection.
pub(super) fn first_receive_window(config: &Config, initiator: bool) -> ReceiveWindow {
    let mut tuning = Tuning::new(counted_mss(config), config.protocol == Protocol::Mptcp);
    let (shared, linux) = (tuning.shared, config.tcp.receiver == Receiver::Linux);
    if linux {
        tuning.reads = Reads::AsLinux;
    }
    let mut window = ReceiveWindow::new(config.receive_buffer, first_window(config, initiator), tuning);
    if shared && linux {
        window.forget_syn();
    }
    window
}

/// Half of a buffer's memory counts as data, as in Linux before 6.6.
pub(super) fn halves_memory(config: &Config) -> bool {
    config.tcp.receiver == Receiver::Linux && config.tcp.kernel == Kernel::V6_1
}

/// The largest segment of data that Linux counts with, for the window: timestamps take 12 bytes of it.
pub(super) fn counted_mss(config: &Config) -> u16 {
    config.mss - if config.tcp.timestamps { 12 } else { 0 }
}

/// The `rcv_ssthresh` of a new subflow.
pub(super) fn first_rcv_ssthresh(config: &Config, initiator: bool) -> RcvSsthresh {
    match config.receive_buffer {
        ReceiveBuffer::Auto if config.tcp.quick_acks > 0 => {
            let mut rcv_ssthresh = RcvSsthresh::new(counted_mss(config), first_window(config, initiator));
            if !initiator && config.protocol == Protocol::Mptcp {
                rcv_ssthresh.told = 0; // the first acknowledgment of the side that answers has a DSS already
            }
            rcv_ssthresh.counts_short = config.tcp.receiver == Receiver::Linux;
            if halves_memory(config) {
                rcv_ssthresh.kernel = Kernel::V6_1;
            }
            rcv_ssthresh
        }
        _ => RcvSsthresh::whole(config.mss),
    }
}

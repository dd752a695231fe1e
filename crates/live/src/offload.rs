//! The header before each packet of a TUN device with offloads: the `virtio_net_hdr` of linux/virtio_net.h, ten bytes.
//!
//! It conveys two things. The checksum may be incomplete: the sender leaves the sum of the pseudo-header in its place,
//! and whoever needs the full checksum adds the rest; between hosts on one machine nobody does. And one frame may stand
//! for many packets that differ only in length, sequence number and payload (TSO, USO): one system call moves up to 64
//! KiB, and [`Cut`] splits it into packets.

/// Length of the header.
pub const HEADER_LEN: usize = 10;
/// Maximum size of a frame that a device returns or accepts, including its header.
pub const FRAME_LIMIT: usize = HEADER_LEN + 65_535;

/// Offloads that a device may use towards us (`TUNSETOFFLOAD`): incomplete checksums, and TCP segmentation over IPv4
/// and IPv6. Not `TUN_F_TSO_ECN`: segments with CWR come one by one.
pub const OFFLOADS: u32 = 0x01 | 0x02 | 0x04;
/// UDP segmentation (`TUN_F_USO4`, `TUN_F_USO6`), since Linux 6.2.
pub const UDP_OFFLOADS: u32 = 0x20 | 0x40;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
const NEEDS_CHECKSUM: u8 = 1;
const WHOLE: u8 = 0;
const TCP_IPV4: u8 = 1;
const TCP_IPV6: u8 = 4;
const UDP: u8 = 5;

const TCP_CHECKSUM_AT: usize = 16;
const UDP_CHECKSUM_AT: usize = 6;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

fn header(
    kind: u8,
    headers_len: usize,
    segment_len: usize,
    checksum_from: usize,
    checksum_at: usize,
) -> [u8; HEADER_LEN] {
    let mut bytes = [NEEDS_CHECKSUM, kind, 0, 0, 0, 0, 0, 0, 0, 0];
    for (place, value) in [headers_len, segment_len, checksum_from, checksum_at].into_iter().enumerate() {
        bytes[2 + 2 * place..][..2].copy_from_slice(&(value as u16).to_ne_bytes());
    }
    bytes
}

fn field(frame: &[u8], at: usize) -> usize {
    usize::from(u16::from_ne_bytes([frame[at], frame[at + 1]]))
}

/// Whether the checksum of the frame's packet is incomplete. False for frames shorter than the header.
#[must_use]
pub fn is_unfinished(frame: &[u8]) -> bool {
    frame.len() >= HEADER_LEN && frame[0] & NEEDS_CHECKSUM != 0
}

/// Completes the checksum of a frame's packet, if it is incomplete, and updates the header.
pub fn finish_checksum(frame: &mut [u8]) {
    if !is_unfinished(frame) {
        return;
    }
    let (from, offset) = (field(frame, 6), field(frame, 8));
    frame[..HEADER_LEN].fill(0);
    let packet = &mut frame[HEADER_LEN..];
    let Some(covered) = packet.get_mut(from..).filter(|covered| covered.len() >= offset + 2) else { return };
    let checksum = !fold(sum(covered));
    // In UDP, 0 means no checksum; 0 and 0xffff are both zero in one's complement (RFC 768).
    let checksum = if checksum == 0 && offset == UDP_CHECKSUM_AT { 0xffff } else { checksum };
    covered[offset..offset + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// The state of splitting a frame into packets.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Bytes of headers and of payload per packet. 0 means that the frame is one packet.
    headers_len: usize,
    segment_len: usize,
    /// Offset of the transport header.
    transport: usize,
    kind: u8,
    /// Payload bytes in the packets split off so far, and the number of these packets.
    done: usize,
    count: u16,
    over: bool,
}

impl Cut {
    /// Starts to split a frame from a device; `None` if the frame contradicts its header.
    #[must_use]
    pub fn new(frame: &[u8]) -> Option<Cut> {
        if frame.len() < HEADER_LEN {
            return None;
        }
        let packet = &frame[HEADER_LEN..];
        let kind = frame[1];
        let whole = Cut { headers_len: 0, segment_len: 0, transport: 0, kind, done: 0, count: 0, over: false };
        if kind == WHOLE {
            return Some(whole);
        }
        let version = packet.first()? >> 4;
        let fits = matches!((kind, version), (TCP_IPV4, 4) | (TCP_IPV6, 6) | (UDP, 4 | 6));
        let (segment_len, transport) = (field(frame, 4), field(frame, 6));
        let headers_len = match kind {
            UDP => transport + 8,
            _ => transport + usize::from(packet.get(transport + 12)? >> 4) * 4,
        };
        let least = transport + if kind == UDP { 8 } else { 20 };
        let ip_len = if version == 4 { 20 } else { 40 };
        if !fits || !is_unfinished(frame) || segment_len == 0 || transport < ip_len {
            return None;
        }
        let has_data = headers_len >= least && headers_len < packet.len();
        has_data.then_some(Cut { headers_len, segment_len, transport, ..whole })
    }

    /// Writes the next packet of `frame`, which must be the same as for [`new`](Self::new), with its header to the
    /// beginning of `out`. Returns their length, or `None` after the last. If a packet does not fit into `out`, the
    /// length is 0.
    pub fn next(&mut self, frame: &[u8], out: &mut [u8]) -> Option<usize> {
        if self.over {
            return None;
        }
        if self.segment_len == 0 {
            self.over = true;
            return Some(match out.get_mut(..frame.len()) {
                Some(out) => {
                    out.copy_from_slice(frame);
                    frame.len()
                }
                None => 0,
            });
        }
        let headers = &frame[HEADER_LEN..][..self.headers_len];
        let data = &frame[HEADER_LEN + self.headers_len + self.done..];
        let data_len = data.len().min(self.segment_len);
        let last = data_len == data.len();
        let (before, count) = (self.done, self.count);
        self.over = last;
        self.done += data_len;
        self.count = self.count.wrapping_add(1);
        let Some(out) = out.get_mut(..HEADER_LEN + self.headers_len + data_len) else { return Some(0) };
        out[HEADER_LEN..][..self.headers_len].copy_from_slice(headers);
        out[HEADER_LEN + self.headers_len..].copy_from_slice(&data[..data_len]);
        let at = if self.kind == UDP { UDP_CHECKSUM_AT } else { TCP_CHECKSUM_AT };
        out[..HEADER_LEN].copy_from_slice(&header(WHOLE, 0, 0, self.transport, at));
        self.adjust(&mut out[HEADER_LEN..], before as u32, count, last);
        Some(HEADER_LEN + self.headers_len + data_len)
    }

    /// Adjusts the headers to those of the packet that follows `before` bytes of payload and `count` packets.
    fn adjust(&self, packet: &mut [u8], before: u32, count: u16, last: bool) {
        if packet[0] >> 4 == 4 {
            let identification = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(count);
            packet[4..6].copy_from_slice(&identification.to_be_bytes());
        }
        if self.kind != UDP {
            let segment = &mut packet[self.transport..];
            let sequence = u32::from_be_bytes([segment[4], segment[5], segment[6], segment[7]]).wrapping_add(before);
            segment[4..8].copy_from_slice(&sequence.to_be_bytes());
            if !last {
                segment[13] &= !(FIN | PSH);
            }
            if count > 0 {
                segment[13] &= !CWR;
            }
        }
        fit(packet, self.transport, self.kind == UDP);
    }
}

/// Makes a frame of a TCP packet whose headers were written without its payload: the space for the frame's header, an
/// IP header of `ip_len` bytes, a TCP header of `tcp_len` bytes, the payload. `segment_len` is the payload per packet;
/// 0 means one packet.
pub fn prepare_tcp(frame: &mut [u8], ip_len: usize, tcp_len: usize, segment_len: usize) {
    let (room, packet) = frame.split_at_mut(HEADER_LEN);
    let header = match segment_len {
        0 => header(WHOLE, 0, 0, ip_len, TCP_CHECKSUM_AT),
        _ => {
            let kind = if packet[0] >> 4 == 4 { TCP_IPV4 } else { TCP_IPV6 };
            header(kind, ip_len + tcp_len, segment_len, ip_len, TCP_CHECKSUM_AT)
        }
    };
    room.copy_from_slice(&header);
    fit(packet, ip_len, false);
}

/// Sets the lengths and the IPv4 checksum of the packet, and puts the sum of the pseudo-header (RFC 9293 §3.1, RFC 768)
/// in place of the transport checksum, which is incomplete.
fn fit(packet: &mut [u8], transport: usize, udp: bool) {
    let (ip, segment) = packet.split_at_mut(transport);
    let segment_len = segment.len();
    let all_len = ip.len() + segment_len;
    let addresses = if ip[0] >> 4 == 4 {
        ip[2..4].copy_from_slice(&(all_len as u16).to_be_bytes());
        ip[10..12].fill(0);
        let checksum = !fold(sum(ip));
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        sum(&ip[12..20])
    } else {
        ip[4..6].copy_from_slice(&((all_len - 40) as u16).to_be_bytes());
        sum(&ip[8..40])
    };
    if udp {
        segment[4..6].copy_from_slice(&(segment_len as u16).to_be_bytes());
    }
    let (protocol, at) = if udp { (17, UDP_CHECKSUM_AT) } else { (6, TCP_CHECKSUM_AT) };
    let pseudo = fold(addresses + protocol + segment_len as u64);
    segment[at..at + 2].copy_from_slice(&pseudo.to_be_bytes());
}

/// The unfolded sum of 16-bit words in network order. It is computed from 32-bit words: 2^16 is 1 in one's complement,
/// so their upper halves count as much as the lower.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let words: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
    let rest: u64 =
        rest.chunks(2).map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u64::from(low))).sum();
    words + rest
}

fn fold(sum: u64) -> u16 {
    let mut sum = sum;
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

#[cfg(test)]
mod tests;

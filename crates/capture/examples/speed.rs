//! Measures how fast captures are read and analysed.
//!
//! ```text
//! cargo run --release -p capture --example speed -- write 1000000000 0 /tmp/big.pcapng
//! time cargo run --release -p capture --example speed -- read /tmp/big.pcapng
//! ```
//!
//! `write` makes a capture of the given number of bytes, each packet cut to the snap length (0: uncut): a connection of
//! two subflows with 1,400 bytes in each segment, one ACK per two segments, and every hundredth segment sent twice.

use capture::Writer;
use capture::analysis::{Analyser, Options};
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::net::SocketAddr;
use wire::{DataNumber, Dss, Flags, IpHeader, Mapping, Segment, Span, Timestamps};

const LEN: u32 = 1400;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", size, snap_length, file] => write(size.parse()?, snap_length.parse()?, file),
        ["read", file] => read(file),
        _ => Err("speed write BYTES SNAP_LENGTH FILE, or speed read FILE".into()),
    }
}

fn write(size: u64, snap_length: u32, file: &str) -> Result<(), Box<dyn Error>> {
    let mut writer = Writer::new(BufWriter::with_capacity(1 << 20, File::create(file)?), snap_length)?;
    writer.interface("synthetic")?;
    let clients: [SocketAddr; 2] = ["10.0.0.1:40000".parse()?, "10.0.1.1:40001".parse()?];
    let server: SocketAddr = "192.0.2.1:80".parse()?;
    let mut written = 0;
    let mut bytes = Vec::new();
    let mut next = [0_u32; 2];
    let mut dsn = 1_u64;
    for number in 0_u64.. {
        if written >= size {
            break;
        }
        let on = (number / 3 % 2) as usize;
        let client = clients[on];
        let is_data = number % 3 < 2;
        let again = number % 300 == 3;
        let mut segment = Segment { flags: Flags::ACK, window: 500, ..Segment::<Span>::default() };
        segment.options.timestamps = Some(Timestamps::default());
        let (from, to) = if is_data { (server, client) } else { (client, server) };
        (segment.src_port, segment.dst_port) = (from.port(), to.port());
        let mut dss = Dss::default();
        if is_data {
            let place = if again { next[on].saturating_sub(1) } else { next[on] };
            segment.seq = 1 + place.wrapping_mul(LEN);
            segment.payload = Span { offset: 0, len: LEN };
            let ssn = segment.seq;
            dss.mapping = Some(Mapping { dsn: DataNumber::Long(dsn), ssn, len: LEN as u16, checksum: None });
            if !again {
                next[on] += 1;
                dsn += u64::from(LEN);
            }
        } else {
            segment.ack = 1 + next[on].wrapping_mul(LEN);
            dss.data_ack = Some(DataNumber::Long(dsn));
        }
        segment.options.dss = Some(dss);
        bytes.clear();
        wire::encode(&IpHeader::new(from.ip(), to.ip()), &segment, &mut bytes)?;
        writer.packet(0, number * 10_000, &bytes, bytes.len() as u32)?;
        let kept = if snap_length == 0 { bytes.len() as u64 } else { bytes.len().min(snap_length as usize) as u64 };
        written += 32 + kept.next_multiple_of(4);
    }
    Ok(writer.flush()?)
}

fn read(file: &str) -> Result<(), Box<dyn Error>> {
    let mut analyser = Analyser::default();
    analyser.read(file, File::open(file)?, &mut |_| true)?;
    let analysis = analyser.finish(Options::default());
    for file in &analysis.files {
        println!("{}: {} packets", file.name, file.packets);
    }
    for connection in &analysis.connections {
        for stream in &connection.streams {
            let (bytes, again) = (stream.bytes, stream.retransmissions);
            println!("{} {}: {bytes} bytes, {again} retransmissions", connection.client, stream.direction);
        }
    }
    Ok(())
}

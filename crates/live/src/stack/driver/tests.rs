use std::collections::BTreeSet;
use std::os::unix::net::UnixDatagram;

use transport::IpFields;

use super::*;

/// A driver and the far end of its one device.
fn driver(make: fn(&Settings, Vec<Device>) -> Driver) -> (Driver, UnixDatagram) {
    let (near, far) = UnixDatagram::pair().unwrap();
    let address = Address { id: 0, address: [10, 0, 0, 1].into(), device: 0, backup: false };
    let settings = Settings { addresses: vec![address], seed: 7 };
    far.set_nonblocking(true).unwrap();
    (make(&settings, vec![Device::new(near.into()).unwrap()]), far)
}

fn server() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 2], 80))
}

/// The local port and sequence number of the SYN of a new connection.
fn call(driver: &mut Driver, far: &UnixDatagram) -> (u16, u32) {
    let id = driver.connect(0, Config::default(), &[], server()).unwrap();
    driver.transmit(0, id).unwrap();
    let mut packet = [0; 200];
    let len = far.recv(&mut packet).unwrap();
    let (_, segment) = wire::decode_with(&packet[..len], Checksums::Verify).unwrap();
    (segment.src_port, segment.seq)
}

/// Equal seeds used to give the same 1,024 ports and the same sequence numbers. The server took the connections of a
/// second run for those of the first, and the 1,025th connection reused the ends of a live one.
#[test]
fn runs_of_one_seed_have_ports_and_numbers_of_their_own() {
    let runs = [(); 2].map(|()| {
        let (mut driver, far) = driver(Driver::new);
        let calls: Vec<_> = (0..1_100).map(|_| call(&mut driver, &far)).collect();
        assert_eq!(calls.iter().map(|&(port, _)| port).collect::<BTreeSet<_>>().len(), 1_100, "no port twice");
        calls
    });
    let same = runs[0].iter().zip(&runs[1]).filter(|(one, other)| one == other).count();
    assert_eq!(same, 0, "ports and sequence numbers of two runs agree");
    // By chance, 1,100 draws from 64,512 ports hit 1,100 given ports 19 times.
    let first: BTreeSet<u16> = runs[0].iter().map(|&(port, _)| port).collect();
    let met = runs[1].iter().filter(|(port, _)| first.contains(port)).count();
    assert!(met < 100, "{met}");
}

#[test]
fn a_predictable_driver_repeats() {
    let runs = [(); 2].map(|()| {
        let (mut driver, far) = driver(Driver::predictable);
        (0..20).map(|_| call(&mut driver, &far)).collect::<Vec<_>>()
    });
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn nobody_is_called_at_the_address_of_a_group() {
    let (mut driver, _far) = driver(Driver::new);
    for address in [[224, 0, 0, 1], [255, 255, 255, 255], [0, 0, 0, 0]] {
        assert_eq!(driver.connect(0, Config::default(), &[], SocketAddr::from((address, 80))), None, "{address:?}");
    }
    assert!(driver.connect(0, Config::default(), &[], server()).is_some());
}

/// An ICMP error about a segment reaches its connection (RFC 9293, MUST-54), here "port unreachable" from a router.
/// Other ICMP packets count as malformed.
#[test]
fn an_icmp_error_ends_a_call() {
    let (mut driver, far) = driver(Driver::new);
    let config = Config { ip: IpFields { hop_limit: 9, dscp: 46 }, ..Config::default() };
    let id = driver.connect(0, config, &[], server()).unwrap();
    driver.transmit(0, id).unwrap();
    let mut syn = [0; 200];
    let len = far.recv(&mut syn).unwrap();
    let (ip, _) = wire::decode_with(&syn[..len], Checksums::Verify).unwrap();
    assert_eq!((ip.hop_limit, ip.dscp), (9, 46));

    let mut message = vec![3, 3, 0, 0, 0, 0, 0, 0];
    message.extend(&syn[..28]);
    seal(&mut message, 2);
    let mut header = vec![0x45, 0, 0, 56, 0, 0, 0x40, 0, 64, 1, 0, 0, 10, 0, 0, 254, 10, 0, 0, 1];
    seal(&mut header, 10);
    let error = [header, message].concat();
    let mut damaged = error.clone();
    damaged[30] ^= 1;
    for (packet, over, malformed) in [(damaged, false, 1), (error, true, 1)] {
        far.send(&packet).unwrap();
        driver.receive(1).unwrap();
        assert_eq!((driver.connection(id).is_over(), driver.devices()[0].counters().malformed), (over, malformed));
    }
    assert_eq!(driver.connection(id).abort_reason(), Some(transport::AbortReason::Refused));
}

/// Writes the checksum of RFC 1071 at `at`.
fn seal(bytes: &mut [u8], at: usize) {
    let mut sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    bytes[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

use std::collections::BTreeSet;
use std::os::unix::net::UnixDatagram;

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

/// One seed used to mean one row of 1,024 ports and one row of sequence numbers, so that a second run came to a server that
/// took it for the first, and the 1,025th connection took the ends of a living one.
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
    // By chance 1,100 of 64,512 ports are met again 19 times in 1,100 draws.
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

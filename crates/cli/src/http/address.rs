//! Which addresses a request may go to.
//!
//! After the registries of IANA: iana-ipv4-special-registry and iana-ipv6-special-registry. What they do not call globally reachable
//! is refused, and so is what a translator or a tunnel would carry to such an address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Who may ask for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Global,
    /// Endpoints with `allow_private`. The text says what kind of address it is.
    Private(&'static str),
    /// Nobody.
    Never(&'static str),
}

use Reach::{Global, Never, Private};

const METADATA: &str = "an address of a cloud's metadata";
const LINK_LOCAL: &str = "a link-local address";
const LOOPBACK: &str = "a loopback address";
const MULTICAST: &str = "a multicast address";
const DOCUMENTATION: &str = "an address for documentation";
const BENCHMARKS: &str = "an address for benchmarks";
const PROTOCOLS: &str = "an address of IETF protocols";
const UNSPECIFIED: &str = "no address of a host";

/// Why nothing is sent there, or `None` if it may be.
pub fn refusal(address: IpAddr, allow_private: bool) -> Option<&'static str> {
    match reach(address) {
        Global => None,
        Private(_) if allow_private => None,
        Private(kind) | Never(kind) => Some(kind),
    }
}

pub fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_4(address),
        IpAddr::V6(address) => reach_6(address),
    }
}

// ---- IPv4 -----------------------------------------------------------------------------------------

/// Network, length of its prefix, reach. The first that holds the address counts.
const NETWORKS_4: &[([u8; 4], u32, Reach)] = &[
    // Not of any registry: 169.254.0.0/16 has most metadata services, these have others (Alibaba, Azure, Oracle).
    ([100, 100, 100, 200], 32, Never(METADATA)),
    ([168, 63, 129, 16], 32, Never(METADATA)),
    ([192, 0, 0, 192], 32, Never(METADATA)),
    ([169, 254, 169, 254], 32, Never(METADATA)),
    ([169, 254, 170, 2], 32, Never(METADATA)),
    ([0, 0, 0, 0], 8, Never(UNSPECIFIED)),
    ([10, 0, 0, 0], 8, Private("a private address")),
    (
        [100, 64, 0, 0],
        10,
        Private("an address behind a carrier's NAT"),
    ),
    ([127, 0, 0, 0], 8, Private(LOOPBACK)),
    ([169, 254, 0, 0], 16, Never(LINK_LOCAL)),
    ([172, 16, 0, 0], 12, Private("a private address")),
    // 192.0.0.9 and 192.0.0.10 are reachable, but no web server is there.
    ([192, 0, 0, 0], 24, Never(PROTOCOLS)),
    ([192, 0, 2, 0], 24, Never(DOCUMENTATION)),
    ([192, 88, 99, 0], 24, Never("an address of 6to4 relays")),
    ([192, 168, 0, 0], 16, Private("a private address")),
    ([198, 18, 0, 0], 15, Never(BENCHMARKS)),
    ([198, 51, 100, 0], 24, Never(DOCUMENTATION)),
    ([203, 0, 113, 0], 24, Never(DOCUMENTATION)),
    ([224, 0, 0, 0], 4, Never(MULTICAST)),
    ([255, 255, 255, 255], 32, Never("a broadcast address")),
    ([240, 0, 0, 0], 4, Never("a reserved address")),
];

fn reach_4(address: Ipv4Addr) -> Reach {
    let bits = address.to_bits();
    NETWORKS_4
        .iter()
        .find(|(network, length, _)| {
            let differing = bits ^ Ipv4Addr::from(*network).to_bits();
            differing.leading_zeros() >= *length
        })
        .map_or(Global, |(_, _, reach)| *reach)
}

// ---- IPv6 -----------------------------------------------------------------------------------------

/// As above; the segments that are left out are zero.
const NETWORKS_6: &[(&[u16], u32, Reach)] = &[
    (&[0xfd00, 0x0ec2], 32, Never(METADATA)),
    (
        &[0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254],
        128,
        Never(METADATA),
    ),
    (
        &[0xfd00, 0x0042, 0, 0, 0, 0, 0, 0x0042],
        128,
        Never(METADATA),
    ),
    (
        &[0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 0x0001],
        128,
        Never(METADATA),
    ),
    (&[0, 0, 0, 0, 0, 0, 0, 0], 128, Never(UNSPECIFIED)),
    (&[0, 0, 0, 0, 0, 0, 0, 1], 128, Private(LOOPBACK)),
    (
        &[0x0064, 0xff9b, 0x0001],
        48,
        Never("an address of a local translator"),
    ),
    (&[0x0100], 64, Never("an address that discards")),
    (&[0x5f00], 16, Never("an address of segment routing")),
    (&[0xfc00], 7, Private("a unique local address")),
    (&[0xfe80], 10, Never(LINK_LOCAL)),
    (&[0xfec0], 10, Never("a site-local address")),
    (&[0xff00], 8, Never(MULTICAST)),
    // Teredo, benchmarks, ORCHID and its second version among them. The few that are reachable have no web server.
    (&[0x2001], 23, Never(PROTOCOLS)),
    (&[0x2001, 0x0db8], 32, Never(DOCUMENTATION)),
    (&[0x3fff], 20, Never(DOCUMENTATION)),
    (&[0x2000], 3, Global),
    (&[], 0, Never("an address that is not assigned")),
];

fn reach_6(address: Ipv6Addr) -> Reach {
    if let Some(inner) = translated(address) {
        return reach_4(inner);
    }
    let bits = address.to_bits();
    let own = NETWORKS_6
        .iter()
        .find(|(network, length, _)| (bits ^ bits_of(network)).leading_zeros() >= *length)
        .map_or(Never(UNSPECIFIED), |(_, _, reach)| *reach);
    match own {
        Global => isatap(address).map_or(Global, reach_4),
        other => other,
    }
}

fn bits_of(network: &[u16]) -> u128 {
    (0..8).fold(0, |bits, index| {
        bits << 16 | u128::from(network.get(index).copied().unwrap_or(0))
    })
}

/// The IPv4 address that packets for this one end up at: it is mapped, or behind a translator (NAT64) or a relay (6to4).
fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(joined(high, low)),
        [0x0064, 0xff9b, 0, 0, 0, 0, high, low] => Some(joined(high, low)),
        [0x2002, high, low, ..] => Some(joined(high, low)),
        _ => None,
    }
}

/// The same for a tunnel within a site, below any prefix.
fn isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [_, _, _, _, 0 | 0x0200, 0x5efe, high, low] => Some(joined(high, low)),
        _ => None,
    }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

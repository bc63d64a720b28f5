//! Addresses, each with the answer to both who may reach private ones and who may not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::http::address::refusal;

const SENT: bool = true;
const REFUSED: bool = false;

/// Address, whether an ordinary endpoint reaches it, whether one with `allow_private` does.
const TABLE: &[(&str, bool, bool)] = &[
    // Global ones.
    ("1.1.1.1", SENT, SENT),
    ("8.8.8.8", SENT, SENT),
    ("9.255.255.255", SENT, SENT),
    ("11.0.0.0", SENT, SENT),
    ("100.63.255.255", SENT, SENT),
    ("100.128.0.0", SENT, SENT),
    ("126.255.255.255", SENT, SENT),
    ("128.0.0.1", SENT, SENT),
    ("169.253.255.255", SENT, SENT),
    ("172.15.255.255", SENT, SENT),
    ("172.32.0.0", SENT, SENT),
    ("192.0.1.0", SENT, SENT),
    ("192.31.196.1", SENT, SENT),
    ("192.52.193.1", SENT, SENT),
    ("192.167.255.255", SENT, SENT),
    ("198.17.255.255", SENT, SENT),
    ("198.20.0.0", SENT, SENT),
    ("223.255.255.255", SENT, SENT),
    ("2001:200::1", SENT, SENT),
    ("2001:4860:4860::8888", SENT, SENT),
    ("2606:4700:4700::1111", SENT, SENT),
    ("2a00:1450:4001::1", SENT, SENT),
    // Private ones.
    ("10.0.0.0", REFUSED, SENT),
    ("10.255.255.255", REFUSED, SENT),
    ("100.64.0.0", REFUSED, SENT),
    ("100.127.255.255", REFUSED, SENT),
    ("127.0.0.1", REFUSED, SENT),
    ("127.255.255.255", REFUSED, SENT),
    ("172.16.0.0", REFUSED, SENT),
    ("172.31.255.255", REFUSED, SENT),
    ("192.168.0.0", REFUSED, SENT),
    ("192.168.255.255", REFUSED, SENT),
    ("::1", REFUSED, SENT),
    ("fc00::1", REFUSED, SENT),
    ("fd12:3456:789a::1", REFUSED, SENT),
    ("fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", REFUSED, SENT),
    // Nobody's.
    ("0.0.0.0", REFUSED, REFUSED),
    ("0.0.0.1", REFUSED, REFUSED),
    ("0.255.255.255", REFUSED, REFUSED),
    ("169.254.0.1", REFUSED, REFUSED),
    ("169.254.255.255", REFUSED, REFUSED),
    ("192.0.0.1", REFUSED, REFUSED),
    ("192.0.0.255", REFUSED, REFUSED),
    ("192.0.2.1", REFUSED, REFUSED),
    ("192.88.99.1", REFUSED, REFUSED),
    ("198.18.0.0", REFUSED, REFUSED),
    ("198.19.255.255", REFUSED, REFUSED),
    ("198.51.100.1", REFUSED, REFUSED),
    ("203.0.113.255", REFUSED, REFUSED),
    ("224.0.0.1", REFUSED, REFUSED),
    ("239.255.255.255", REFUSED, REFUSED),
    ("240.0.0.1", REFUSED, REFUSED),
    ("255.255.255.254", REFUSED, REFUSED),
    ("255.255.255.255", REFUSED, REFUSED),
    ("::", REFUSED, REFUSED),
    ("::2", REFUSED, REFUSED),
    ("100::1", REFUSED, REFUSED),
    ("100:0:0:1::1", REFUSED, REFUSED),
    ("1fff:ffff::1", REFUSED, REFUSED),
    ("2001::1", REFUSED, REFUSED),
    ("2001:0:4136:e378:8000:63bf:3fff:fdd2", REFUSED, REFUSED),
    ("2001:2::1", REFUSED, REFUSED),
    ("2001:10::1", REFUSED, REFUSED),
    ("2001:2f:ffff::1", REFUSED, REFUSED),
    ("2001:1ff:ffff::1", REFUSED, REFUSED),
    ("2001:db8::1", REFUSED, REFUSED),
    ("2001:db8:ffff::1", REFUSED, REFUSED),
    ("3fff::1", REFUSED, REFUSED),
    ("3fff:fff::1", REFUSED, REFUSED),
    ("4000::1", REFUSED, REFUSED),
    ("5f00::1", REFUSED, REFUSED),
    ("fe00::1", REFUSED, REFUSED),
    ("fe80::1", REFUSED, REFUSED),
    ("febf::1", REFUSED, REFUSED),
    ("fec0::1", REFUSED, REFUSED),
    ("feff::1", REFUSED, REFUSED),
    ("ff02::1", REFUSED, REFUSED),
    ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", REFUSED, REFUSED),
    // Metadata.
    ("169.254.169.254", REFUSED, REFUSED),
    ("169.254.170.2", REFUSED, REFUSED),
    ("100.100.100.200", REFUSED, REFUSED),
    ("100.100.100.201", REFUSED, SENT),
    ("168.63.129.16", REFUSED, REFUSED),
    ("168.63.129.17", SENT, SENT),
    ("192.0.0.192", REFUSED, REFUSED),
    ("fd00:ec2::254", REFUSED, REFUSED),
    ("fd00:ec2::23", REFUSED, REFUSED),
    ("fd20:ce::254", REFUSED, REFUSED),
    ("fd00:42::42", REFUSED, REFUSED),
    ("fd00:a9fe:a9fe::1", REFUSED, REFUSED),
    // An IPv4 address within: mapped, compatible, NAT64, of a local translator, 6to4, ISATAP.
    ("::ffff:8.8.8.8", SENT, SENT),
    ("::ffff:127.0.0.1", REFUSED, SENT),
    ("::ffff:10.1.2.3", REFUSED, SENT),
    ("::ffff:0.0.0.0", REFUSED, REFUSED),
    ("::ffff:169.254.169.254", REFUSED, REFUSED),
    ("::ffff:100.100.100.200", REFUSED, REFUSED),
    ("::ffff:0:127.0.0.1", REFUSED, REFUSED),
    ("::8.8.8.8", REFUSED, REFUSED),
    ("::127.0.0.1", REFUSED, REFUSED),
    ("64:ff9b::8.8.8.8", SENT, SENT),
    ("64:ff9b::192.168.1.1", REFUSED, SENT),
    ("64:ff9b::169.254.169.254", REFUSED, REFUSED),
    ("64:ff9b::168.63.129.16", REFUSED, REFUSED),
    ("64:ff9b:0:0:0:1:808:808", REFUSED, REFUSED),
    ("64:ff9b:1::8.8.8.8", REFUSED, REFUSED),
    ("64:ff9b:1::169.254.169.254", REFUSED, REFUSED),
    ("2002:808:808::1", SENT, SENT),
    ("2002:7f00:1::1", REFUSED, SENT),
    ("2002:a9fe:a9fe::1", REFUSED, REFUSED),
    ("2002:c000:c0::1", REFUSED, REFUSED),
    ("2a00:1450::5efe:8.8.8.8", SENT, SENT),
    ("2a00:1450::200:5efe:10.0.0.1", REFUSED, SENT),
    ("2a00:1450::5efe:169.254.169.254", REFUSED, REFUSED),
    ("2001:db8::5efe:8.8.8.8", REFUSED, REFUSED),
    ("fe80::5efe:8.8.8.8", REFUSED, REFUSED),
];

#[test]
fn the_table_is_long_enough_and_says_nothing_twice() {
    let mut addresses: Vec<IpAddr> = TABLE
        .iter()
        .map(|(text, ..)| text.parse().unwrap())
        .collect();
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), TABLE.len());
    assert!(addresses.len() >= 60, "{}", addresses.len());
}

#[test]
fn each_address_is_refused_or_not() {
    for (text, usually, with_private) in TABLE {
        let address: IpAddr = text.parse().unwrap();
        assert_eq!(refusal(address, false).is_none(), *usually, "{text}");
        assert_eq!(
            refusal(address, true).is_none(),
            *with_private,
            "{text}, allow_private"
        );
    }
}

/// In each form of an IPv4 address: none reaches what the address itself does not.
#[test]
fn no_form_of_an_address_reaches_more_than_the_address() {
    let special = [
        0x0a00, 0x6440, 0x6464, 0x7f00, 0xa83f, 0xa9fe, 0xac1f, 0xc000, 0xc0a8,
    ];
    for high in (0..=u16::MAX).step_by(89).chain(special) {
        for low in [0, 1, 0xa9fe, 0x64c8, 0x8110, 0x00c0, u16::MAX] {
            let inner = Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
            for allow_private in [false, true] {
                let own = refusal(IpAddr::V4(inner), allow_private);
                // ::1 is a compatible form of 0.0.0.1, and has a meaning of its own.
                for form in forms(high, low)
                    .into_iter()
                    .filter(|form| !form.is_loopback())
                {
                    let found = refusal(IpAddr::V6(form), allow_private);
                    assert!(own.is_none() || found.is_some(), "{inner} {form}");
                }
            }
        }
    }
}

fn forms(high: u16, low: u16) -> [Ipv6Addr; 7] {
    [
        [0, 0, 0, 0, 0, 0xffff, high, low],
        [0, 0, 0, 0, 0, 0, high, low],
        [0, 0, 0, 0, 0xffff, 0, high, low],
        [0x64, 0xff9b, 0, 0, 0, 0, high, low],
        [0x64, 0xff9b, 1, 0, 0, 0, high, low],
        [0x2002, high, low, 0, 0, 0, 0, 1],
        [0x2a00, 1, 2, 3, 0, 0x5efe, high, low],
    ]
    .map(Ipv6Addr::from)
}

/// The standard library's own predicates, which know less, never say more.
#[test]
fn what_the_standard_library_calls_special_is_refused() {
    for bits in (0..=u32::MAX).step_by(40_961) {
        let address = Ipv4Addr::from_bits(bits);
        let is_special = address.is_private()
            || address.is_loopback()
            || address.is_link_local()
            || address.is_multicast()
            || address.is_broadcast()
            || address.is_documentation()
            || address.is_unspecified();
        assert!(
            !is_special || refusal(IpAddr::V4(address), false).is_some(),
            "{address}"
        );
    }
}

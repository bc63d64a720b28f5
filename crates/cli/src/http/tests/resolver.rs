//! Names, with a resolver that answers as a test wants it.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tower_service::Service;

use crate::http::resolve::{Lookup, Refused, Unresolved, Vetted, system, vet_url};

/// Gives these answers, one after the other, and says how many it has given.
fn answers(given: &[&[&str]]) -> (Lookup, Arc<AtomicUsize>) {
    let left: VecDeque<Vec<IpAddr>> = given
        .iter()
        .map(|addresses| addresses.iter().map(|text| text.parse().unwrap()).collect())
        .collect();
    let left = Mutex::new(left);
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let lookup: Lookup = Arc::new(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        let next = left.lock().unwrap().pop_front();
        next.ok_or_else(|| io::ErrorKind::NotFound.into())
    });
    (lookup, asked)
}

async fn ask(resolver: &mut Vetted, name: &str) -> Result<Vec<IpAddr>, Unresolved> {
    let found = resolver.call(name.parse().unwrap()).await?;
    Ok(found.map(|address: SocketAddr| address.ip()).collect())
}

fn refused(found: Result<Vec<IpAddr>, Unresolved>) -> Refused {
    let error = found.unwrap_err();
    Refused::behind(&error).unwrap().clone()
}

#[tokio::test]
async fn all_global_addresses_of_a_name_are_given() {
    let (lookup, asked) = answers(&[&["1.1.1.1", "2606:4700:4700::1111"]]);
    let found = ask(&mut Vetted::new(false, lookup), "example.com").await;
    assert_eq!(found.unwrap().len(), 2);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn one_internal_address_refuses_the_name() {
    for internal in ["10.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254"] {
        for answer in [[internal, "1.1.1.1"], ["1.1.1.1", internal]] {
            let (lookup, _) = answers(&[&answer]);
            let told = refused(ask(&mut Vetted::new(false, lookup), "mixed.example").await);
            assert_eq!(told.host, "mixed.example");
            assert_eq!(told.address, internal.parse::<IpAddr>().unwrap());
        }
    }
}

#[tokio::test]
async fn metadata_is_refused_to_private_endpoints_too() {
    let (lookup, _) = answers(&[&["10.0.0.1"], &["10.0.0.1", "169.254.169.254"]]);
    let mut resolver = Vetted::new(true, lookup);
    assert_eq!(ask(&mut resolver, "inside.example").await.unwrap().len(), 1);
    let told = refused(ask(&mut resolver, "inside.example").await);
    assert_eq!(told.reason, "an address of a cloud's metadata");
}

#[tokio::test]
async fn a_name_that_changes_its_answer_is_looked_at_each_time() {
    let (lookup, asked) = answers(&[&["1.1.1.1"], &["127.0.0.1"], &["1.1.1.1"]]);
    let mut resolver = Vetted::new(false, lookup);
    assert!(ask(&mut resolver, "rebinding.example").await.is_ok());
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    refused(ask(&mut resolver, "rebinding.example").await);
    assert!(ask(&mut resolver, "rebinding.example").await.is_ok());
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_name_without_addresses_is_an_error() {
    let (lookup, _) = answers(&[&[]]);
    let mut resolver = Vetted::new(true, lookup);
    for _ in 0..2 {
        let told = ask(&mut resolver, "nothing.example").await.unwrap_err();
        assert!(matches!(told, Unresolved::Unknown { .. }), "{told}");
        assert!(Refused::behind(&told).is_none());
    }
}

#[tokio::test]
async fn a_name_server_that_says_nothing_is_waited_for_so_long() {
    let (done, waits) = std::sync::mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let lookup: Lookup = Arc::new(move |_| {
        _ = waits.lock().unwrap().recv();
        Ok(Vec::new())
    });
    let mut resolver = Vetted::new(false, lookup).within(Duration::from_millis(1));
    let told = ask(&mut resolver, "slow.example").await;
    drop(done);
    assert!(matches!(told, Err(Unresolved::Slow { .. })));
}

#[tokio::test]
async fn connections_that_wait_for_the_same_name_share_its_look_up() {
    let (done, waits) = std::sync::mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let lookup: Lookup = Arc::new(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        _ = waits.lock().unwrap().recv();
        Ok(vec![IpAddr::from([1, 1, 1, 1])])
    });
    let resolver = Vetted::new(false, lookup);
    let (mut one, mut two, mut other) = (resolver.clone(), resolver.clone(), resolver);
    // Each waits before the sender is dropped.
    let (first, second, third, ()) = tokio::join!(
        ask(&mut one, "a.example"),
        ask(&mut two, "a.example"),
        ask(&mut other, "b.example"),
        async { drop(done) },
    );
    for found in [first, second, third] {
        assert_eq!(found.unwrap(), [IpAddr::from([1, 1, 1, 1])]);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    assert!(ask(&mut one, "a.example").await.is_ok());
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn what_this_machine_calls_itself_is_refused() {
    let names = ["localhost", "127.1", "0x7f.1", "2130706433", "0177.0.0.1"];
    for name in names {
        let told = refused(ask(&mut Vetted::new(false, system()), name).await);
        assert_eq!(told.host, name);
        assert!(told.address.is_loopback(), "{name}");
    }
    // Some systems do not know the second. None gives an address.
    for name in ["localhost.", "localhost.localdomain", "ip6-localhost"] {
        assert!(
            ask(&mut Vetted::new(false, system()), name).await.is_err(),
            "{name}"
        );
    }
}

#[test]
fn addresses_in_urls_need_no_resolver() {
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[0:0:0:0:0:ffff:7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "１２７.０.０.１",
        "⑫7.0.0.1",
    ] {
        let url = url::Url::parse(&format!("http://{host}/")).unwrap();
        assert!(vet_url(&url, false).is_err(), "{host}");
        assert!(vet_url(&url, true).is_ok(), "{host}");
    }
    let url = url::Url::parse("http://[::ffff:169.254.169.254]/").unwrap();
    let told = vet_url(&url, true).unwrap_err();
    assert_eq!(
        told.to_string(),
        "[::ffff:a9fe:a9fe] is refused: ::ffff:169.254.169.254 is an address of a cloud's metadata"
    );
}

//! The names by which elements of one array refer to each other.

use crate::api::produce::element::Element;
use crate::pg::error::{Failure, Result, bad_value, quoted};
use crate::table::parents::waits_for_itself;
use std::collections::HashMap;

pub struct References<'j>(HashMap<&'j str, usize>);

impl<'j> References<'j> {
    /// Each name must be of one element, each that is referred to must be there, and no element may come after itself.
    pub fn of(elements: &[Element<'j>]) -> Result<Self> {
        let mut places = HashMap::new();
        for (place, element) in elements.iter().enumerate() {
            if let Some(name) = element.reference
                && places.insert(name, place).is_some()
            {
                return Err(taken(name).of_element(ord(place)));
            }
        }
        let references = Self(places);
        for (place, element) in elements.iter().enumerate() {
            let mut names = element.after_refs.iter();
            if let Some(name) = names.find(|name| references.place_of(name).is_none()) {
                return Err(unknown(name).of_element(ord(place)));
            }
        }
        references.must_have_no_cycle(elements)?;
        Ok(references)
    }

    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.0.get(name).copied()
    }

    /// Elements that come after no other that is left are taken away, until none is left.
    fn must_have_no_cycle(&self, elements: &[Element]) -> Result<()> {
        let mut waits: Vec<usize> = Vec::with_capacity(elements.len());
        let mut followers: HashMap<usize, Vec<usize>> = HashMap::new();
        for (place, element) in elements.iter().enumerate() {
            waits.push(element.after_refs.len());
            let before = element.after_refs.iter();
            for predecessor in before.filter_map(|name| self.place_of(name)) {
                followers.entry(predecessor).or_default().push(place);
            }
        }
        let mut free: Vec<usize> = (0..waits.len())
            .filter(|&place| waits.get(place) == Some(&0))
            .collect();
        let mut done = 0;
        while let Some(place) = free.pop() {
            done += 1;
            for follower in followers.remove(&place).unwrap_or_default() {
                if let Some(left) = waits.get_mut(follower) {
                    *left -= 1;
                    free.extend((*left == 0).then_some(follower));
                }
            }
        }
        let stuck = waits.iter().position(|&left| left > 0);
        match stuck.filter(|_| done < elements.len()) {
            Some(place) => Err(waits_for_itself().of_element(ord(place))),
            None => Ok(()),
        }
    }
}

fn ord(place: usize) -> i32 {
    i32::try_from(place + 1).unwrap_or(i32::MAX)
}

fn taken(name: &str) -> Failure {
    bad_value(format!("ref {} is that of another element", quoted(name)))
        .detail("A ref names one element.")
        .hint("Give each element a ref of its own, or none.")
}

fn unknown(name: &str) -> Failure {
    bad_value(format!("no element has the ref {}", quoted(name)))
        .detail("after_refs names elements of the same array.")
        .hint("Use after for jobs that exist already.")
}

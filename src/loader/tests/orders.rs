//! Several roots, and every order of what happens to them.

use std::rc::Rc;

use proptest::prelude::*;

use super::simulation::{FETCHED, SimulatedRoot, generation, in_effect, inline, serve, text};
use crate::host::fake::{FakeCall, FakeProcess, FakeResponse};
use crate::loader::lease::LoaderRole;

/// The next event. Roots and calls are named by a number that is taken modulo how many there are.
#[derive(Debug, Clone)]
enum OrderEvent {
    /// A root is configured: the singleton, or a filter with its document behind the cluster, or in itself.
    Starts(Starts),
    /// A root is gone.
    Ends(usize),
    Ticks(usize),
    /// A call gets the response that its source gave when it was sent.
    Responds(usize),
    /// A call fails.
    Fails(usize),
    /// A call gets its response, which stays there to come again.
    RespondsTwice(usize),
    /// The source serves another document, or one that is invalid.
    Edited(Option<u32>),
    Passes(u64),
    /// The wall clock is set.
    Stepped(i64),
}

#[derive(Debug, Clone, Copy)]
enum Starts {
    Singleton,
    Fetching,
    Inline(u32),
    /// One more root with the configuration that came last.
    Peer,
}

/// A call on its way, and what the source has responded.
#[derive(Debug)]
struct Flight {
    /// The number of its root.
    root: u64,
    call: FakeCall,
    response: FakeResponse,
    /// The generation when it was sent.
    generation: u64,
}

struct OrderSimulation {
    process: Rc<FakeProcess>,
    /// With the number of each.
    roots: Vec<(u64, SimulatedRoot)>,
    /// The configurations in the order in which they came.
    came: Vec<(LoaderRole, String)>,
    flights: Vec<Flight>,
    /// The text that the source serves.
    served: String,
    /// The documents that somebody was configured with or has been served.
    known: Vec<u32>,
    numbers: u64,
}

impl OrderSimulation {
    fn new() -> Self {
        Self {
            process: FakeProcess::start(),
            roots: Vec::new(),
            came: Vec::new(),
            flights: Vec::new(),
            served: text(0),
            known: vec![0],
            numbers: 0,
        }
    }

    fn start(&mut self, starts: Starts) {
        self.numbers += 1;
        // A blank more makes another configuration of it.
        let blanks = " ".repeat(usize::try_from(self.numbers).unwrap());
        let (role, configuration) = match starts {
            Starts::Singleton => (LoaderRole::Singleton, FETCHED.to_owned() + &blanks),
            Starts::Fetching => (LoaderRole::Fallback, FETCHED.to_owned() + &blanks),
            Starts::Inline(n) => {
                self.known.push(n);
                (LoaderRole::Fallback, inline(n) + &blanks)
            }
            Starts::Peer => self.came.last().unwrap().clone(),
        };
        if role == LoaderRole::Singleton {
            // Envoy has one at a time.
            self.roots.retain(|(_, root)| root.role != role);
        }
        let root = SimulatedRoot::start(&self.process, role, &configuration);
        self.roots.push((self.numbers, root));
        self.came.push((role, configuration));
    }

    fn tick(&mut self, place: usize) {
        let (number, root) = &mut self.roots[place];
        for call in root.tick() {
            self.flights.push(Flight {
                root: *number,
                response: serve(&self.served, &call),
                call,
                generation: generation(&self.process),
            });
        }
    }

    /// A call gets its response, or fails.
    fn respond(&mut self, place: usize, fails: bool, stays: bool) {
        let Flight {
            root,
            call,
            response,
            generation: sent,
        } = &self.flights[place];
        let found = self.roots.iter_mut().find(|(number, _)| number == root);
        if let Some((_, root)) = found {
            let (before, document) = (generation(&self.process), in_effect(&self.process));
            root.respond(call, (!fails).then_some(response));
            assert!(
                document == in_effect(&self.process) || before == *sent,
                "a response took effect that is older than generation {before}"
            );
        }
        if !stays {
            self.flights.remove(place);
        }
    }

    fn happens(&mut self, happens: OrderEvent) {
        let roots = self.roots.len();
        let flights = self.flights.len();
        let root = |n: usize| n.checked_rem(roots);
        let flight = |n: usize| n.checked_rem(flights);
        match happens {
            OrderEvent::Starts(starts) if roots < 4 => self.start(starts),
            OrderEvent::Starts(_) => {}
            OrderEvent::Ends(n) => {
                if let Some(place) = root(n) {
                    self.roots.remove(place);
                }
            }
            OrderEvent::Ticks(n) => {
                if let Some(place) = root(n) {
                    self.tick(place);
                }
            }
            OrderEvent::Responds(n) => {
                if let Some(place) = flight(n) {
                    self.respond(place, false, false);
                }
            }
            OrderEvent::RespondsTwice(n) => {
                if let Some(place) = flight(n) {
                    self.respond(place, false, true);
                }
            }
            OrderEvent::Fails(n) => {
                if let Some(place) = flight(n) {
                    self.respond(place, true, false);
                }
            }
            OrderEvent::Edited(Some(n)) => {
                self.known.push(n);
                self.served = text(n);
            }
            OrderEvent::Edited(None) => self.served = "{}}".to_owned(),
            OrderEvent::Passes(milliseconds) => self.process.pass_ms(milliseconds),
            OrderEvent::Stepped(milliseconds) => self.process.step_ms(milliseconds),
        }
    }

    /// Returns the number of the document that is to take effect when nothing more happens.
    fn winner(&self) -> Option<u32> {
        let rank = |root: &SimulatedRoot| {
            let last = |came: &(LoaderRole, String)| {
                (came.0, came.1.as_str()) == (root.role, root.configuration.as_str())
            };
            (root.role, self.came.iter().rposition(last))
        };
        let (_, winner) = self.roots.iter().max_by_key(|(_, root)| rank(root))?;
        let number = |n: &u32| winner.configuration.trim_end() == inline(*n);
        let own = self.known.iter().copied().find(|n| number(n));
        let served = |n: &u32| self.served == text(*n);
        own.or_else(|| self.known.iter().copied().find(|n| served(n)))
    }
}

fn happens() -> impl Strategy<Value = OrderEvent> {
    let starts = prop_oneof![
        1 => Just(Starts::Singleton),
        2 => Just(Starts::Fetching),
        3 => (1u32..4).prop_map(Starts::Inline),
        2 => Just(Starts::Peer),
    ];
    prop_oneof![
        2 => starts.prop_map(OrderEvent::Starts),
        1 => any::<usize>().prop_map(OrderEvent::Ends),
        8 => any::<usize>().prop_map(OrderEvent::Ticks),
        4 => any::<usize>().prop_map(OrderEvent::Responds),
        1 => any::<usize>().prop_map(OrderEvent::RespondsTwice),
        1 => any::<usize>().prop_map(OrderEvent::Fails),
        2 => (10u32..15).prop_map(|n| OrderEvent::Edited(Some(n))),
        1 => Just(OrderEvent::Edited(None)),
        6 => prop_oneof![Just(20u64), Just(500), Just(2000), 0u64..10_000].prop_map(OrderEvent::Passes),
        1 => (-86_400_000i64..86_400_000).prop_map(OrderEvent::Stepped),
    ]
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    #[test]
    fn whatever_happens(events in prop::collection::vec(happens(), 0..60)) {
        let mut world = OrderSimulation::new();
        world.start(Starts::Fetching);
        let mut told = 0;
        for event in events {
            world.happens(event);
            let now = generation(&world.process);
            prop_assert!(now >= told, "generation {} after {}", now, told);
            told = now;
            let document = in_effect(&world.process);
            prop_assert!(document.is_none_or(|n| world.known.contains(&n)), "{:?}", document);
        }
        // From now on all goes well: whoever has the highest rank gets its document into effect, and nothing changes any more.
        world.happens(OrderEvent::Edited(Some(20)));
        while !world.flights.is_empty() {
            world.respond(0, true, false);
        }
        for round in 0..60 {
            world.process.pass_ms(500);
            for place in 0..world.roots.len() {
                world.tick(place);
                while !world.flights.is_empty() {
                    world.respond(0, false, false);
                }
            }
            if round == 40 {
                told = generation(&world.process);
            }
        }
        if let Some(winner) = world.winner() {
            prop_assert_eq!(in_effect(&world.process), Some(winner));
            prop_assert_eq!(generation(&world.process), told, "nothing changes any more");
        }
    }
}

//! The times at which prices hold: from a day on, on days of the week, at hours. All of it in UTC, in whole minutes.

/// Seconds of a day.
const DAY: u64 = 86_400;
/// Minutes of a day.
const DAY_MINUTES: u16 = 1440;

/// The times at which a request began and ended, by the wall clock, in seconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestTimes {
    /// The time at which the head of the request was accepted.
    pub began: u64,
    /// The time at which the request was over.
    pub ended: u64,
}

/// The instant of a request that decides which prices hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PricedInstant {
    /// The start of the request.
    #[default]
    Start,
    /// The end of the request.
    End,
}

/// A part of a day, which may pass midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hours {
    /// The minute of the day at which it begins.
    from: u16,
    /// The minute at which it is over.
    until: u16,
}

impl Hours {
    /// Reads `16:30-00:30`: the second time is no more in it. `24:00` is midnight at the end of a day.
    pub fn parse(text: &str) -> Option<Self> {
        let (from, until) = text.split_once('-')?;
        let (from, until) = (minute(from)?, minute(until)?);
        (from < DAY_MINUTES && from != until).then_some(Self { from, until })
    }

    /// Whether it passes midnight.
    fn is_overnight(self) -> bool {
        self.until < self.from
    }
}

/// The minute of the day of a time such as `09:05`.
fn minute(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str| {
        let is_plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| text.parse::<u16>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let minute = hours.checked_mul(60)?.checked_add(minutes)?;
    (minutes < 60 && minute <= DAY_MINUTES).then_some(minute)
}

/// A set of days of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weekdays(u8);

impl Weekdays {
    /// All seven.
    pub const ALL: Self = Self(0x7f);
    /// The names, from Monday on.
    pub const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

    /// The set of these names; `None` where one is no day.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut set = 0;
        for name in names {
            let at = Self::NAMES.iter().position(|known| *known == name)?;
            set |= 1_u8.checked_shl(u32::try_from(at).ok()?)?;
        }
        Some(Self(set))
    }

    /// The names of its days.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = Self::NAMES.into_iter().zip(0_u64..);
        all.filter(move |(_, at)| self.contains(*at))
            .map(|(name, _)| name)
    }

    /// Whether it has the day of this number, 0 for Monday.
    fn contains(self, weekday: u64) -> bool {
        u32::try_from(weekday).is_ok_and(|at| self.0.checked_shr(at).unwrap_or_default() & 1 == 1)
    }
}

/// The conditions under which prices hold, all of which must be met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The first day, in days since the Unix epoch; 0: from ever.
    pub from: u32,
    /// The days of the week.
    pub days: Weekdays,
    /// The parts of these days; empty: all of them.
    pub hours: Vec<Hours>,
    /// The instant that decides.
    pub at: PricedInstant,
}

impl Schedule {
    /// Whether it holds for a request. Hours that pass midnight belong to the day on which they begin.
    pub fn holds(&self, request: RequestTimes) -> bool {
        let seconds = match self.at {
            PricedInstant::Start => request.began,
            PricedInstant::End => request.ended,
        };
        let day = seconds / DAY;
        if day < u64::from(self.from) {
            return false;
        }
        let minute = (seconds % DAY) / 60;
        // The epoch was a Thursday.
        let today = self.days.contains(day.saturating_add(3) % 7);
        let yesterday = self.days.contains(day.saturating_add(2) % 7);
        let within = |hours: &Hours| {
            let (from, until) = (u64::from(hours.from), u64::from(hours.until));
            if hours.is_overnight() {
                (today && minute >= from) || (yesterday && minute < until)
            } else {
                today && minute >= from && minute < until
            }
        };
        if self.hours.is_empty() {
            today
        } else {
            self.hours.iter().any(within)
        }
    }
}

/// Writes them as people do.
impl core::fmt::Display for Hours {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let [from, until] = [self.from, self.until].map(|minute| (minute / 60, minute % 60));
        write!(
            f,
            "{:02}:{:02}-{:02}:{:02}",
            from.0, from.1, until.0, until.1
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use time::OffsetDateTime;
    use time::format_description::well_known::Rfc3339;

    use super::*;

    fn seconds(text: &str) -> u64 {
        let time = OffsetDateTime::parse(text, &Rfc3339).unwrap();
        time.unix_timestamp().try_into().unwrap()
    }

    fn day(text: &str) -> u32 {
        (seconds(&format!("{text}T00:00:00Z")) / DAY)
            .try_into()
            .unwrap()
    }

    #[test]
    fn hours_as_written() {
        for (text, want) in [
            ("16:30-00:30", Some("16:30-00:30")),
            ("00:00-24:00", Some("00:00-24:00")),
            ("23:59-00:00", Some("23:59-00:00")),
            ("01:00-04:00", Some("01:00-04:00")),
            ("24:00-01:00", None),
            ("04:00-04:00", None),
            ("4:00-05:00", None),
            ("04:60-05:00", None),
            ("04:00-25:00", None),
            ("04:00-24:01", None),
            ("04:00", None),
            ("04:00-05:00-06:00", None),
            ("+4:00-05:00", None),
            ("", None),
        ] {
            let shown = Hours::parse(text).map(|hours| hours.to_string());
            assert_eq!(shown.as_deref(), want, "{text:?}");
        }
    }

    #[test]
    fn days_as_written() {
        let of = |text: &str| Weekdays::of(text.split(' ').filter(|name| !name.is_empty()));
        let names = |text: &str| of(text).map(|days| days.names().collect::<Vec<_>>().join(" "));
        assert_eq!(names("sun mon mon").as_deref(), Some("mon sun"));
        assert_eq!(of("mon tue wed thu fri sat sun"), Some(Weekdays::ALL));
        assert_eq!(names("").as_deref(), Some(""));
        assert_eq!(names("Mon"), None);
        assert_eq!(names("monday"), None);
    }

    #[test]
    fn when_prices_hold() {
        let hours = |list: &[&str]| {
            list.iter()
                .map(|text| Hours::parse(text).unwrap())
                .collect()
        };
        let all = Schedule {
            from: 0,
            days: Weekdays::ALL,
            hours: Vec::new(),
            at: PricedInstant::Start,
        };
        let december = Schedule {
            from: day("2026-12-01"),
            ..all.clone()
        };
        let peak = Schedule {
            days: Weekdays::of(["mon", "tue", "wed", "thu", "fri"]).unwrap(),
            hours: hours(&["01:00-04:00", "06:00-10:00"]),
            ..all.clone()
        };
        let night = Schedule {
            days: Weekdays::of(["sun"]).unwrap(),
            hours: hours(&["16:30-00:30"]),
            ..all.clone()
        };
        let saturday = Schedule {
            days: Weekdays::of(["sat"]).unwrap(),
            ..all.clone()
        };
        let ended = Schedule {
            at: PricedInstant::End,
            ..december.clone()
        };
        let whole_day = Schedule {
            hours: hours(&["00:00-24:00"]),
            ..saturday.clone()
        };
        // 2026-11-28 is a Saturday. (case, the schedule, start, end, whether it holds)
        let cases = [
            ("always", &all, "2026-11-28T10:00:00Z", "", true),
            (
                "the second before",
                &december,
                "2026-11-30T23:59:59Z",
                "",
                false,
            ),
            (
                "the first second",
                &december,
                "2026-12-01T00:00:00Z",
                "",
                true,
            ),
            ("a year later", &december, "2027-12-01T00:00:00Z", "", true),
            (
                "by its start",
                &december,
                "2026-11-30T23:59:59Z",
                "2026-12-01T00:00:01Z",
                false,
            ),
            (
                "by its end",
                &ended,
                "2026-11-30T23:59:59Z",
                "2026-12-01T00:00:00Z",
                true,
            ),
            (
                "peak, at its start",
                &peak,
                "2026-11-27T01:00:00Z",
                "",
                true,
            ),
            ("before", &peak, "2026-11-27T00:59:59Z", "", false),
            ("its last second", &peak, "2026-11-27T03:59:59Z", "", true),
            ("at its end", &peak, "2026-11-27T04:00:00Z", "", false),
            ("the second part", &peak, "2026-11-27T09:59:59Z", "", true),
            ("at a weekend", &peak, "2026-11-28T02:00:00Z", "", false),
            ("Sunday evening", &night, "2026-11-29T16:30:00Z", "", true),
            (
                "Monday past midnight",
                &night,
                "2026-11-30T00:29:59Z",
                "",
                true,
            ),
            (
                "Monday half past",
                &night,
                "2026-11-30T00:30:00Z",
                "",
                false,
            ),
            (
                "Sunday past midnight",
                &night,
                "2026-11-29T00:10:00Z",
                "",
                false,
            ),
            ("Monday evening", &night, "2026-11-30T17:00:00Z", "", false),
            ("a whole day", &saturday, "2026-11-28T23:59:59Z", "", true),
            ("the next day", &saturday, "2026-11-29T00:00:00Z", "", false),
            (
                "a day by its hours",
                &whole_day,
                "2026-11-28T23:59:59Z",
                "",
                true,
            ),
            ("the epoch", &all, "1970-01-01T00:00:00Z", "", true),
        ];
        for (case, schedule, began, ended, want) in cases {
            let began = seconds(began);
            let ended = if ended.is_empty() {
                began
            } else {
                seconds(ended)
            };
            assert_eq!(
                schedule.holds(RequestTimes { began, ended }),
                want,
                "{case}"
            );
        }
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn weekday_and_minute_are_the_calendars(seconds in 0u64..20_000_000_000) {
            let time = OffsetDateTime::from_unix_timestamp(seconds as i64).unwrap();
            let weekday = usize::from(time.weekday().number_days_from_monday());
            let minute = u16::from(time.hour()) * 60 + u16::from(time.minute());
            let request = RequestTimes { began: seconds, ended: seconds };
            for (at, name) in Weekdays::NAMES.into_iter().enumerate() {
                let schedule = Schedule {
                    from: 0,
                    days: Weekdays::of([name]).unwrap(),
                    hours: vec![Hours { from: minute, until: minute + 1 }],
                    at: PricedInstant::Start,
                };
                prop_assert_eq!(schedule.holds(request), at == weekday, "{}", name);
            }
        }

        #[test]
        fn any_text_and_any_time_are_read(text in "\\PC{0,12}", began in any::<u64>(), ended in any::<u64>()) {
            let hours: Vec<Hours> = Hours::parse(&text).into_iter().collect();
            let schedule = Schedule { from: u32::MAX, days: Weekdays::ALL, hours, at: PricedInstant::End };
            schedule.holds(RequestTimes { began, ended });
        }
    }
}

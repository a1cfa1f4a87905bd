//! Cost of an exchange: the bill over all models that were at work on it, and over a call that has a price of its own.

use std::rc::Rc;

use smol_str::SmolStr;

use super::environment::Clock;
use super::estimating;
use super::route::Route;
use super::upstream_request::UpstreamRequest;
use crate::config::account::Account;
use crate::ledger::{AccountCost, Attempts, UsageStatus};
use crate::model::catalog::ModelKind;
use crate::model::{AnsweredModel, Model};
use crate::money::{Amount, Bill, Charge, Gap, Price, PricedUsage, Prices, RequestTimes, bill};
use crate::usage::{IMAGE_TOOL, Kind, Reading};

/// The bill for what was used of a request's `model`, and by a call of `method`; `None` where nothing of it has a price.
///
/// Usage of another model, such as one that a tool asked for advice, is charged at that model's own prices. A class of
/// service that the response does not tell is the one that was asked for.
pub(super) fn bill_of(
    upstream: &UpstreamRequest,
    model: Option<&Rc<Model>>,
    method: Option<&str>,
    reading: &Reading,
    status: UsageStatus,
    clock: &impl Clock,
) -> Option<Bill> {
    let times = || upstream.times(clock);
    let usage = model.and_then(|model| models_bill(upstream, model, reading, &times));
    let call = method.filter(|_| status.is_of_an_answer());
    let call = call.and_then(|method| call_of(method, &upstream.route));
    let Some(call) = call else { return usage };
    let Some(usage) = usage else {
        return Some(Bill {
            list: Some(call),
            uncovered: Default::default(),
        });
    };
    Some(Bill {
        list: usage.list.and_then(|list| list.plus(call)),
        ..usage
    })
}

/// The cost of a list price, where the account that gave the response has a factor for it.
pub(super) fn cost_of(
    list: Charge,
    route: &Route,
    attempts: Option<&Attempts>,
) -> Option<AccountCost> {
    let factor = answering_account(route, attempts)?.cost?;
    let amount = list.times(factor)?;
    Some(AccountCost { factor, amount })
}

/// The account that gave the response, where the source has accounts.
pub(super) fn answering_account<'a>(
    route: &'a Route,
    attempts: Option<&Attempts>,
) -> Option<&'a Account> {
    let accounts = route.source.accounts.as_ref()?;
    accounts.named(attempts?.last.as_deref()?)
}

/// The expected cost of a request, and of a call of `method`, as far as it has been read: at the prices of the dearest
/// model that it names, at the dearest source that may serve it.
pub(super) fn expected_charge(
    upstream: &mut UpstreamRequest,
    method: Option<&str>,
    clock: &impl Clock,
) -> Amount {
    let mut most = expected_at_source(upstream, method, clock);
    for later in 0..upstream.later_sources() {
        if upstream.exchange_source(later) {
            most = most.max(expected_at_source(upstream, method, clock));
            upstream.exchange_source(later);
        }
    }
    most
}

/// The expected cost at the request's source.
fn expected_at_source(
    upstream: &UpstreamRequest,
    method: Option<&str>,
    clock: &impl Clock,
) -> Amount {
    let models = upstream.body.models();
    let mut expected = Reading {
        usage: estimating::expected(upstream.spec.operation, &upstream.body),
        ..Reading::default()
    };
    let dearest = |expected: &Reading| {
        let charge = |model| {
            let status = UsageStatus::Complete;
            let bill = bill_of(upstream, model, method, expected, status, clock);
            // What has more digits than the type holds is more than any budget.
            bill.map_or(Amount::ZERO, |bill| {
                let list = bill.list;
                let charge = list.and_then(|list| list.times(upstream.route.multiplier));
                charge.and_then(Amount::of).unwrap_or(Amount::GREATEST)
            })
        };
        let others = models.others().iter().map(|model| charge(Some(model)));
        others.fold(charge(models.model()), Amount::max)
    };
    let mut most = dearest(&expected);
    // Which account answers is not known yet.
    let accounts = upstream.route.source.accounts.as_ref();
    for region in accounts.into_iter().flat_map(|it| it.regions()) {
        expected.inference_geo = Some(region.clone());
        most = most.max(dearest(&expected));
    }
    most
}

/// A model without a price that a request may run, as far as it has been read.
pub(super) fn unpriced(upstream: &UpstreamRequest) -> Option<SmolStr> {
    let UpstreamRequest { route, body, .. } = upstream;
    let models = body.models();
    let mut named = models.model().into_iter().chain(models.others());
    let lacking = named.find(|model| !model.is_priced());
    // The upstream takes one of its own, which is charged as the dearest that has a price.
    let of_tool = || {
        let is_unnamed = body.scanner().image_tool_unnamed();
        is_unnamed.then(|| route.unpriced_image_model()).flatten()
    };
    let found = lacking.or_else(of_tool);
    found.map(|model| model.id.clone())
}

/// Returns the bill for the usage of the models.
///
/// If the answer names another model than the one that was asked for, the dearer of the two bills counts if the source
/// lists that one; otherwise the bill says so.
fn models_bill(
    upstream: &UpstreamRequest,
    asked: &Rc<Model>,
    reading: &Reading,
    times: &dyn Fn() -> RequestTimes,
) -> Option<Bill> {
    let catalog = &upstream.route.source.catalog;
    let tool_models = upstream.body.models().others();
    if !tool_models.is_empty()
        && let Some(named) = answering(tool_models, &upstream.route, reading)
    {
        let own = named.prices.as_ref().or(asked.prices.as_ref());
        return bill_at(own?, upstream, reading, times);
    }
    let as_asked = || bill_at(asked.prices.as_ref()?, upstream, reading, times);
    let answered = reading.response_model.as_deref();
    match answered.map(|name| catalog.answered(asked, name)) {
        None | Some(AnsweredModel::Asked) => as_asked(),
        Some(AnsweredModel::Listed(other)) => {
            let as_answered = || bill_at(other.prices.as_ref()?, upstream, reading, times);
            dearer(as_asked(), as_answered())
        }
        Some(AnsweredModel::Unlisted) => {
            let mut bill = as_asked()?;
            bill.uncovered.insert(Gap::Model);
            Some(bill)
        }
    }
}

/// The dearer of two bills.
fn dearer(one: Option<Bill>, another: Option<Bill>) -> Option<Bill> {
    let list = |bill: &Option<Bill>| bill.and_then(|bill| bill.list);
    if list(&another) > list(&one) {
        another
    } else {
        one.or(another)
    }
}

/// The bill of the models, that of the one that answered at these prices.
fn bill_at(
    own: &Prices,
    upstream: &UpstreamRequest,
    reading: &Reading,
    times: &dyn Fn() -> RequestTimes,
) -> Option<Bill> {
    let own = own.at(times);
    let UpstreamRequest { route, body, .. } = upstream;
    let tool_models = body.models().others();
    let scanner = body.scanner();
    let main = reading.usage.as_ref().map(|usage| PricedUsage {
        prices: own,
        usage,
        tier: reading.service_tier.as_deref().or(scanner.service_tier()),
        speed: reading.speed.as_deref().or(scanner.speed()),
        inference_geo: reading.inference_geo.as_deref().or(scanner.inference_geo()),
    });
    let mut strange = false;
    let others = reading.others.iter().filter_map(|(name, usage)| {
        let of_tool = || tool_model(tool_models, route, name);
        let prices = match route.source.catalog.find_upstream(name).or_else(of_tool) {
            // One without prices costs nothing.
            Some(model) => model.prices.as_ref()?.at(times),
            None => {
                strange = true;
                own
            }
        };
        Some(PricedUsage {
            prices,
            usage,
            tier: None,
            speed: None,
            // Everything of an answer is made at its place.
            inference_geo: reading.inference_geo.as_deref().or(scanner.inference_geo()),
        })
    });
    let mut items = main.into_iter().chain(others).peekable();
    items.peek()?;
    let mut bill = bill(items);
    if strange {
        bill.uncovered.insert(Gap::Model);
    }
    Some(bill)
}

/// The model of a tool whose name the answer does not have, or has in other words: the only one that the request names. Of
/// several that may have made a picture, the one that costs most.
fn tool_model<'a>(
    tool_models: &'a [Rc<Model>],
    route: &'a Route,
    name: &str,
) -> Option<&'a Rc<Model>> {
    if let [only] = tool_models {
        return Some(only);
    }
    let makes_images = |model: &&Rc<Model>| model.kind == ModelKind::Image && name == IMAGE_TOOL;
    let cost = |model: &&Rc<Model>| {
        let prices = model.prices.as_ref()?;
        prices.tokens(Kind::OutputImage).map(Price::value)
    };
    let dearest = |models: &'a [Rc<Model>]| models.iter().filter(makes_images).max_by_key(cost);
    dearest(tool_models).or_else(|| dearest(route.source.catalog.models()))
}

/// The model that responded in the place of the one that was asked, where the request names it as one that may.
fn answering<'a>(
    tool_models: &[Rc<Model>],
    route: &'a Route,
    reading: &Reading,
) -> Option<&'a Rc<Model>> {
    let name = reading.response_model.as_deref()?;
    let model = route.source.catalog.find_upstream(name)?;
    let named = tool_models.iter().any(|named| named.id == model.id);
    named.then_some(model)
}

/// Returns the charge of a method of protocol C that is priced by the call.
fn call_of(method: &str, route: &Route) -> Option<Charge> {
    route.source.method_price(method).map(Charge::of_call)
}

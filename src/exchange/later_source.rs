//! Sources that are asked after the first of a request has failed: which they are, and what the request is there.

use std::borrow::Cow;

use super::authorization::check_rights;
use super::model_check::SourceModels;
use super::route::Route;
use super::upstream_head::path_at;
use super::upstream_request::UpstreamRequest;
use crate::failover::LaterTerms;
use crate::protocol::Endpoint;

/// A source that is asked after others have failed.
#[derive(Debug)]
pub(super) struct LaterSource {
    /// The route there.
    route: Route,
    /// The path of the request there, before an account's own base.
    path: Cow<'static, str>,
    /// The models of the request there; `None` while the body is not known, and where it does not fit.
    models: Option<SourceModels>,
    /// The terms of an attempt there; likewise.
    terms: Option<LaterTerms>,
}

impl LaterSource {
    /// The route there.
    pub(super) fn route(&self) -> &Route {
        &self.route
    }

    /// The path of the request there, before an account's own base.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The terms of an attempt there; `None` while the body is not known, and where it does not fit.
    pub(super) fn terms(&self) -> Option<&LaterTerms> {
        self.terms.as_ref()
    }
}

impl UpstreamRequest {
    /// Finds the sources that are asked after the first one, as far as the request is known.
    pub(super) fn find_later(&mut self, endpoint: &Endpoint) {
        let Some(several) = &mut self.several else {
            return;
        };
        let model = self.body.models().model().map(|model| &**model);
        let later = self.route.later(model).into_iter();
        let later = later.filter_map(|route| {
            let model = model.and_then(|model| route.source.catalog.with_id(&model.id));
            Some(LaterSource {
                path: path_at(endpoint, model.map(|model| &**model))?,
                route,
                models: None,
                terms: None,
            })
        });
        several.later = later.collect();
    }

    /// Decides, all of the body being known, which of these sources may serve the request. `is_budgeted`: only at prices.
    pub(super) fn settle_later(&mut self, endpoint: &Endpoint, is_budgeted: impl Fn() -> bool) {
        let Some(several) = &mut self.several else {
            return;
        };
        let body = &self.body;
        for later in &mut several.later {
            let route = &later.route;
            let found = body.models().at(route, body.scanner());
            let found = found.filter(|(models, _)| {
                check_rights(endpoint, route).is_ok()
                    && body.asks_usage_as_at(&route.source, models.has_prices())
                    && (models.are_priced() || !is_budgeted())
            });
            let (models, terms) = found
                .map(|(models, model)| (models, LaterTerms { model }))
                .unzip();
            (later.models, later.terms) = (models, terms);
        }
    }

    /// The number of sources that are asked after the first one.
    pub(super) fn later_sources(&self) -> usize {
        self.several.as_ref().map_or(0, |it| it.later.len())
    }

    /// Exchanges the source of the request, and its models, for those of a later one; once more, and all is as before. Whether
    /// that one may serve the request.
    pub(super) fn exchange_source(&mut self, place: usize) -> bool {
        let later = self.several.as_mut().map(|several| &mut several.later);
        let Some(later) = later.and_then(|later| later.get_mut(place)) else {
            return false;
        };
        let Some(models) = &mut later.models else {
            return false;
        };
        core::mem::swap(&mut self.route, &mut later.route);
        self.body.models_mut().exchange(models);
        true
    }

    /// The request is at the source that was asked last, for all that follows.
    pub(super) fn follow_attempts(&mut self) {
        let several = self.several.as_mut();
        let moved = several.and_then(|several| several.take_move());
        if let Some(place) = moved {
            self.exchange_source(place);
        }
    }
}

//! Models that a request names, and whether it may use them.
//!
//! Every model that the request can run is checked: the request's own, and those of its tools,
//! fallbacks and batches.

use core::ops::Range;
use std::rc::Rc;

use smol_str::{SmolStr, format_smolstr};

use super::route::Route;
use crate::body::{BodyError, BodyScanner, Field, ModelRole, OtherModel};
use crate::config::policy::Source;
use crate::model::Model;
use crate::model::name::names_reasoning;
use crate::money::{Gap, Prices, unpriced};
use crate::protocol::Protocol;
use crate::reply::Rejection;
use crate::usage::Wire;

/// Longest model name that is kept as the client wrote it, in characters.
const MAX_NAME: usize = 128;
/// Bytes of the whole body that change, and what stands there instead.
type Renamed = (Range<u64>, Vec<u8>);

/// The model that a request names.
#[derive(Debug)]
pub(super) struct NamedModel {
    /// The name as the client wrote it, and no more than [`MAX_NAME`] characters of it.
    pub requested: SmolStr,
    /// The model that it means, where there is one.
    pub model: Option<Rc<Model>>,
}

impl NamedModel {
    /// The name `requested`, which means `model`.
    pub(super) fn new(requested: &str, model: Option<&Rc<Model>>) -> Self {
        Self {
            requested: requested.chars().take(MAX_NAME).collect(),
            model: model.map(Rc::clone),
        }
    }

    /// The same name at another source, where it means this model.
    pub(super) fn model_at<'a>(&self, source: &'a Source) -> Option<&'a Rc<Model>> {
        let own = self.model.as_ref()?;
        let found = source.catalog.find(&self.requested)?;
        (found.id == own.id && found.entitled).then_some(found)
    }

    /// The model's name as it goes upstream; `None` where the name means no model.
    pub(super) fn upstream(&self) -> Option<SmolStr> {
        let model = self.model.as_ref()?;
        Some(model.upstream.as_ref().unwrap_or(&self.requested).clone())
    }

    /// Whether the model reasons without being asked to, as it is known or as the request names it.
    pub(super) fn is_thinking(&self) -> bool {
        let model = self.model.as_ref();
        model.is_some_and(|model| model.reasoning || names_reasoning(&self.requested))
    }
}

/// The requirement on the model in the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expectation {
    /// It must name one of the key's list.
    Named,
    /// The path named one already; if the body names one too, it must be the same.
    SameAs {
        /// The catalog id of the path's model.
        id: SmolStr,
        /// The model's name upstream, where that is another.
        upstream: Option<SmolStr>,
    },
    /// It may name one; if so, one of the key's list.
    Any,
    /// It has said what it must.
    Met,
}

/// The models that a request names, checked as the body is read.
#[derive(Debug)]
pub(super) struct ModelCheck {
    expects: Expectation,
    named: Option<NamedModel>,
    /// The models that the body names beside its own: those of tools and fallbacks, each once.
    others: Vec<Rc<Model>>,
    /// The form in which the response reports usage.
    usage: Option<Wire>,
    /// Whether the body names the path's model in a place of its own.
    repeats_path: bool,
}

/// The models of a request at one source.
#[derive(Debug)]
pub(super) struct SourceModels {
    /// The request's own model.
    own: Rc<Model>,
    /// The models of tools and fallbacks.
    others: Vec<Rc<Model>>,
}

impl SourceModels {
    /// Whether a budget can count all of them.
    pub(super) fn are_priced(&self) -> bool {
        self.own.is_priced() && self.others.iter().all(|model| model.is_priced())
    }

    /// Whether the request's own model has prices.
    pub(super) fn has_prices(&self) -> bool {
        self.own.prices.is_some()
    }
}

impl ModelCheck {
    /// The path has named `named`, and the body must say what is expected.
    pub(super) fn new(
        expects: Expectation,
        named: Option<NamedModel>,
        usage: Option<Wire>,
    ) -> Self {
        Self {
            expects,
            named,
            others: Vec::new(),
            usage,
            repeats_path: false,
        }
    }

    /// The models of the request at another source, and the name that the request's own has there, where the body has
    /// another one; `None` where the source does not serve what the body asks for, or more of the body would have to change.
    pub(super) fn at(
        &self,
        route: &Route,
        scanner: &BodyScanner,
    ) -> Option<(SourceModels, Option<SmolStr>)> {
        let here = self.model()?;
        let own = Rc::clone(self.named.as_ref()?.model_at(&route.source)?);
        let other = |known: &Rc<Model>| {
            let found = route.source.catalog.with_id(&known.id)?;
            (found.entitled && found.upstream.is_none()).then(|| Rc::clone(found))
        };
        let others: Option<Vec<_>> = self.others.iter().map(other).collect();
        check_members(scanner, route).ok()?;
        check_class(own.prices.as_ref(), scanner).ok()?;
        let renamed = scanner.model().and_then(|found| {
            let spelled = |model: &Model| match &model.upstream {
                Some(upstream) => spelled_as(&found.name, upstream),
                None => (&*found.name).into(),
            };
            let name = spelled(&own);
            (name != spelled(here)).then_some(name)
        });
        let is_form = matches!(scanner, BodyScanner::Multipart(_));
        let repeats = self.repeats_path && own.upstream != here.upstream;
        if repeats || (is_form && renamed.is_some()) {
            return None;
        }
        let models = SourceModels {
            own,
            others: others?,
        };
        Some((models, renamed))
    }

    /// Exchanges the models for those of another source.
    pub(super) fn exchange(&mut self, models: &mut SourceModels) {
        if let Some(own) = self.named.as_mut().and_then(|named| named.model.as_mut()) {
            core::mem::swap(own, &mut models.own);
        }
        core::mem::swap(&mut self.others, &mut models.others);
    }

    /// The form in which the response reports usage.
    pub(super) fn usage(&self) -> Option<Wire> {
        self.usage
    }

    /// The request's own model.
    pub(super) fn model(&self) -> Option<&Rc<Model>> {
        self.named.as_ref()?.model.as_ref()
    }

    /// The name of the request's own model, as the client wrote it.
    pub(super) fn name(&self) -> Option<&str> {
        Some(&self.named.as_ref()?.requested)
    }

    /// The request's own model as it is named, taken out.
    pub(super) fn take_named(&mut self) -> Option<NamedModel> {
        self.named.take()
    }

    /// Whether the request's own model reasons without being asked to: it is marked so, or its name says it.
    pub(super) fn is_thinking(&self) -> bool {
        self.named.as_ref().is_some_and(NamedModel::is_thinking)
    }

    /// The models of tools and fallbacks, each once.
    pub(super) fn others(&self) -> &[Rc<Model>] {
        &self.others
    }

    /// Whether the body need not name a model.
    pub(super) fn is_optional(&self) -> bool {
        self.expects == Expectation::Any
    }

    /// Whether the body must still name the model.
    pub(super) fn is_awaited(&self) -> bool {
        self.expects == Expectation::Named
    }

    /// Whether the model is known and has no prices.
    pub(super) fn is_unpriced(&self) -> bool {
        self.model().is_some_and(|model| model.prices.is_none())
    }

    /// Whether a model may still come whose name changes.
    pub(super) fn may_rename(&self, scanner: &BodyScanner, route: &Route) -> bool {
        let renames = match &self.expects {
            Expectation::Named => route.source.catalog.renames(),
            Expectation::SameAs { upstream, .. } => upstream.is_some(),
            Expectation::Any | Expectation::Met => false,
        };
        renames && !scanner.complete()
    }

    /// Checks the request's own model as soon as the body names it. Gives the change that renames it.
    pub(super) fn check_own(
        &mut self,
        scanner: &BodyScanner,
        end: bool,
        route: &Route,
    ) -> Result<Option<Renamed>, Rejection> {
        let Some(found) = scanner.model() else {
            let can_come = !end && !scanner.complete();
            return if self.is_awaited() && !can_come {
                Err(Rejection::ModelMissing)
            } else {
                Ok(None)
            };
        };
        if self.expects == Expectation::Met {
            return Ok(None);
        }
        if found.truncated {
            return Err(Rejection::ModelNotFound {
                name: found.name.clone(),
                served_by: None,
            });
        }
        let upstream = match &self.expects {
            Expectation::SameAs { id, upstream } => match route.source.catalog.find(&found.name) {
                Some(model) if model.id == *id => upstream
                    .as_deref()
                    .map(|upstream| spelled_as(&found.name, upstream)),
                _ => return Err(Rejection::ModelMismatch),
            },
            Expectation::Any => {
                route.model(&found.name)?;
                None
            }
            Expectation::Named | Expectation::Met => {
                let model = route.model(&found.name)?;
                self.named = Some(NamedModel::new(&found.name, Some(model)));
                let upstream = model.upstream.as_deref();
                upstream.map(|upstream| spelled_as(&found.name, upstream))
            }
        };
        self.expects = Expectation::Met;
        let renamed = upstream.filter(|upstream| *upstream != found.name);
        Ok(renamed.map(|upstream| (found.span.clone(), scanner.encode_model(&upstream))))
    }

    /// Checks what else the body asks for: background work, images, other models. Gives the changes that rename them.
    /// `released` is how many bytes of the body have gone, once the head has.
    pub(super) fn check_others(
        &mut self,
        scanner: &mut BodyScanner,
        released: Option<u64>,
        route: &Route,
    ) -> Result<Vec<Renamed>, Rejection> {
        if scanner.background() == Some(true) {
            return Err(Rejection::BackgroundNotSupported);
        }
        // That of an image is another member of the same name.
        if scanner.background_text() && self.usage != Some(Wire::Images) {
            let wrong = BodyError::WrongType(Field::Background);
            return Err(Rejection::Body(wrong));
        }
        check_members(scanner, route)?;
        let prices = self.model().and_then(|model| model.prices.as_ref());
        check_class(prices, scanner)?;
        let mut renamed = Vec::new();
        for other in scanner.take_others() {
            renamed.extend(self.check_other(&other, scanner, released, route)?);
        }
        Ok(renamed)
    }

    /// Checks a model that the body names beside its own.
    fn check_other(
        &mut self,
        other: &OtherModel,
        scanner: &BodyScanner,
        released: Option<u64>,
        route: &Route,
    ) -> Result<Option<Renamed>, Rejection> {
        let OtherModel { role, found } = other;
        let name = &found.name;
        if found.truncated {
            return Err(Rejection::ModelNotFound {
                name: name.clone(),
                served_by: None,
            });
        }
        let model = route.model(name)?;
        let upstream = model
            .upstream
            .as_deref()
            .map(|upstream| spelled_as(name, upstream))
            .filter(|upstream| upstream != name);
        let of_path = self
            .model()
            .filter(|_| *role == ModelRole::OfPath && route.source.protocol == Protocol::C);
        match of_path {
            Some(path) if path.id != model.id => Err(Rejection::ModelMismatch),
            Some(_) => {
                self.repeats_path = true;
                let Some(upstream) = upstream else {
                    return Ok(None);
                };
                // A head that was released without an eye to this may have named the body's length.
                let foreseen = matches!(self.expects, Expectation::SameAs { .. });
                if released.is_some_and(|gone| !foreseen || found.span.start < gone) {
                    return Err(Rejection::ModelMismatch);
                }
                Ok(Some((found.span.clone(), scanner.encode_model(&upstream))))
            }
            // Only the request's own model is written anew.
            None if upstream.is_some() => Err(Rejection::OtherModelRenamed { name: name.clone() }),
            None => {
                if !self.others.iter().any(|known| known.id == model.id) {
                    self.others.push(Rc::clone(model));
                }
                Ok(None)
            }
        }
    }
}

/// Rejects members and tools that the source does not let pass.
fn check_members(scanner: &BodyScanner, route: &Route) -> Result<(), Rejection> {
    if let Some(member) = scanner.steering().first_outside(route.source.passes) {
        return Err(Rejection::MemberNotAllowed(member));
    }
    if scanner.image_tool() && !route.may_make_images() {
        return Err(Rejection::ImagesNotSupported);
    }
    // The upstream takes one of its own, which may be any.
    if scanner.image_tool_unnamed() && !route.has_image_model() {
        return Err(Rejection::NoImageModel);
    }
    Ok(())
}

/// Rejects a class of service, a speed or a place that is asked for by name and may be dearer or cheaper than the model's
/// own prices say. A model without prices costs nothing at any.
fn check_class(prices: Option<&Prices>, scanner: &BodyScanner) -> Result<(), Rejection> {
    let Some(prices) = prices else { return Ok(()) };
    let (tier, speed) = (scanner.service_tier(), scanner.speed());
    let uncovered = unpriced(prices, tier, speed, scanner.inference_geo());
    for (gap, member) in [
        (Gap::Tier, "service_tier"),
        (Gap::Speed, "speed"),
        (Gap::InferenceGeo, "inference_geo"),
    ] {
        if uncovered.contains(gap) {
            return Err(Rejection::ClassNotPriced(member));
        }
    }
    Ok(())
}

/// The name upstream, with the prefix that a name in a body of protocol C may have.
fn spelled_as(name: &str, upstream: &str) -> SmolStr {
    if name.starts_with("models/") {
        format_smolstr!("models/{upstream}")
    } else {
        upstream.into()
    }
}

//! Limits in the course of an exchange: those that this Envoy counts, and those of the limits service.

pub(super) mod local;
pub(super) mod service;

pub(super) use service::LimitsService;

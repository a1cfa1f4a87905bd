//! Kinds of subject, as the API's document has them.

use trilane::limits::SubjectKind;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The kinds that have spend.
#[derive(Debug)]
pub struct KindsWithSpend;

/// The kinds that may have a budget in the database.
#[derive(Debug)]
pub struct KindsWithBudgets;

impl PartialSchema for KindsWithSpend {
    fn schema() -> RefOr<Schema> {
        names("The kinds of subject that have spend.", |_| true)
    }
}

impl PartialSchema for KindsWithBudgets {
    fn schema() -> RefOr<Schema> {
        let about = "The kinds of subject that may have a budget here.";
        names(about, SubjectKind::is_of_people)
    }
}

impl ToSchema for KindsWithSpend {}
impl ToSchema for KindsWithBudgets {}

fn names(about: &str, is_one: fn(SubjectKind) -> bool) -> RefOr<Schema> {
    let kinds = SubjectKind::ALL.into_iter().filter(|kind| is_one(*kind));
    let names = ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(about))
        .enum_values(Some(kinds.map(SubjectKind::name)));
    names.into()
}

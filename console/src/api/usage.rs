//! The API of usage.

use axum::Json;

use super::parts::{Params, handlers};
use crate::cases::hour_counts::{self, AttemptsList, CountParams, FirstBytesList};
use crate::cases::paging::{ItemPage, PageParams};
use crate::cases::spend::{self, SpendParams, SpendView};
use crate::cases::statement::{self, StatementParams, StatementView};
use crate::cases::statement_focus;
use crate::cases::usage::{self, UsageParams, UsageView};
use crate::cases::usage_top::{self, TopList, TopParams};
use crate::csv_file::CsvFile;

handlers! {
    /// Sums of usage and charges, as `trilane usage` adds them up. Members see their own.
    #[utoipa::path(get, operation_id = "list_usage", path = "/api/v1/usage", tag = "usage", params(UsageParams, PageParams),
        responses((status = 200, body = ItemPage<UsageView>)))]
    list(asked: Params<UsageParams>, page: Params<PageParams>) -> Json<ItemPage<UsageView>> = usage::list(asked, page);

    /// Ranks the values of a column by their charges. Members see their own.
    #[utoipa::path(get, operation_id = "list_top_usage", path = "/api/v1/usage/top", tag = "usage", params(TopParams),
        responses((status = 200, body = TopList)))]
    top(asked: Params<TopParams>) -> Json<TopList> = usage_top::list(asked);

    /// The statement of a month for a team or an owner. Admins and viewers get everybody's, managers those of their teams, members their own.
    #[utoipa::path(get, operation_id = "get_statement", path = "/api/v1/statement", tag = "usage", params(StatementParams),
        responses((status = 200, body = StatementView)))]
    statement(asked: Params<StatementParams>) -> Json<StatementView> = statement::get(asked);

    /// The same as CSV: sums by day, owner, key and model.
    #[utoipa::path(get, operation_id = "get_statement_csv", path = "/api/v1/statement.csv", tag = "usage", params(StatementParams),
        responses((status = 200, body = String, content_type = "text/csv")))]
    statement_csv(asked: Params<StatementParams>) -> CsvFile = statement::csv(asked);

    /// The same as a dataset of FOCUS 1.2, in CSV.
    #[utoipa::path(get, operation_id = "get_statement_focus", path = "/api/v1/statement.focus.csv", tag = "usage", params(StatementParams),
        responses((status = 200, body = String, content_type = "text/csv")))]
    statement_focus(asked: Params<StatementParams>) -> CsvFile = statement_focus::csv(asked);

    /// Gives the spend of a key, a member, an owner, a team or a group in a day or month; of a key that there is, under its present owner. Members see
    /// what is theirs.
    #[utoipa::path(get, operation_id = "get_spend", path = "/api/v1/spend", tag = "usage", params(SpendParams),
        responses((status = 200, body = SpendView)))]
    spend(asked: Params<SpendParams>) -> Json<SpendView> = spend::get(asked);

    /// Times to the first byte of responses.
    #[utoipa::path(get, operation_id = "list_first_bytes", path = "/api/v1/first-bytes", tag = "usage", params(CountParams),
        responses((status = 200, body = FirstBytesList)))]
    first_bytes(asked: Params<CountParams>) -> Json<FirstBytesList> = hour_counts::first_bytes(asked);

    /// Outcomes of attempts at upstream accounts.
    #[utoipa::path(get, operation_id = "list_attempts", path = "/api/v1/attempts", tag = "usage", params(CountParams),
        responses((status = 200, body = AttemptsList)))]
    attempts(asked: Params<CountParams>) -> Json<AttemptsList> = hour_counts::attempts(asked);
}

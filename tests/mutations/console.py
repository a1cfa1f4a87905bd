"""What keeps the ledger from being counted twice, or not at all."""

from __future__ import annotations

from mutation import Mutation

_take = "console/src/intake/take.rs"
_crash = "crash/test_crash.py::test_crashes"

CONSOLE: tuple[Mutation, ...] = (
    Mutation(
        "a batch is taken wherever it begins",
        _take,
        """    if before.position >= batch.to() && !batch.bytes().is_empty() {
        // It came before.
        return Ok(TakenBatch {
            position: before.position,
            lines: 0,
            aside: 0,
        });
    }
    if before.position != batch.from() {
        return Err(IntakeError::Elsewhere {
            position: before.position,
        });
    }
""",
        "",
        (_crash,),
    ),
    Mutation(
        "the position is committed before what it stands for",
        _take,
        "    lines_aside::insert(transaction, envoy, file, &batch_sums.aside, taken_at).await?;\n",
        """    crate::store::on_either!(transaction, connection => {
        sqlx::raw_sql("COMMIT; BEGIN").execute(connection).await.map_err(StoreError::from)?;
    });
    lines_aside::insert(transaction, envoy, file, &batch_sums.aside, taken_at).await?;
""",
        (_crash,),
    ),
)

//! The tables of keys in SQLite, whoever serves them. Each change of the table `keys` gets its version by triggers.

/// The tables and triggers of format 1, in an empty database.
pub const KEYS: &str = include_str!("keys.sql");
/// What brings format 1 to format 2: keys have limits.
pub const LIMITS: &str = include_str!("limits.sql");
/// What brings format 2 to format 3: keys have owners, labels and times of creation.
pub const OWNER: &str = include_str!("owner.sql");
/// What brings format 3 to format 4: keys have teams, and models and a multiplier of their own.
pub const ACCESS: &str = include_str!("access.sql");
/// The keys of a listing, after digest `$1`, in the order of digests. It names the columns version, sha256, id, group_id, expires_at,
/// disabled, limits, owner, team, models and multiplier, in this order.
pub const LISTING: &str = "SELECT version, sha256, id, group_id, expires_at, disabled, limits, owner, team, models, multiplier FROM key_changes \
     WHERE sha256 > $1 AND removed_at IS NULL AND version IS NOT NULL ORDER BY sha256";
/// Changes after version `$1`, but removals only after version `$2`, in the order of versions. It names the same columns; a removal has no id.
pub const CHANGES: &str = "SELECT version, sha256, id, group_id, expires_at, disabled, limits, owner, team, models, multiplier FROM key_changes \
     WHERE version > $1 AND (removed_at IS NULL OR version > $2) ORDER BY version";

//! The disk use of the database.

use trilane_console::cases::Role;

use crate::api::Api;
use crate::database::on_both;
use crate::retention::many;

on_both! {
    /// The database grows by what is written, and SQLite's disk has room for more.
    async fn what_takes_the_room(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let empty = api.get(&admin, "/api/v1/storage").await.expect(200);
        let entry = "x".repeat(1000);
        let insert = format!(
            "INSERT INTO audit (at, actor, address, action, object, after) SELECT n, 'a', '', 'b', 'c', '{entry}' FROM ({{numbers}}) AS numbers"
        );
        database.execute(&many(database, 2000, &insert)).await.unwrap();
        let full = api.get(&admin, "/api/v1/storage").await.expect(200);
        let bytes = |view: &serde_json::Value| view["bytes"].as_i64().unwrap();
        // A long text of one letter takes little room in PostgreSQL.
        let least = if database.is_postgres() { 100_000 } else { 2_000_000 };
        assert!(bytes(&full) - bytes(&empty) > least, "{empty} {full}");
        assert_eq!(full["disk_free_bytes"].as_i64().is_some_and(|free| free > 0), !database.is_postgres(), "{full}");
        api.was_well();
    }
}

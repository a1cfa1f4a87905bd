"""The metrics of console and agent as they are promised to operators, and which of them an alert reads."""

from __future__ import annotations

import re

from gateway_metrics import RULES, Metric

CONSOLE_METRICS = {
    "trilane_console_build_info": Metric("info", ("version",), "The release."),
    "trilane_console_database_up": Metric("gauge", (), "Whether a change can be made."),
    "trilane_console_database_connections": Metric("gauge", ("pool", "state"), "Connections of the database."),
    "trilane_console_database_connections_most": Metric("gauge", ("pool",), "The most of them."),
    "trilane_console_database_wait_seconds": Metric("histogram", ("workload",), "How long one was waited for."),
    "trilane_console_database_without_connection_total": Metric("counter", ("workload",), "There was none in time."),
    "trilane_console_database_bytes": Metric("gauge", (), "How much room the database takes."),
    "trilane_console_database_free_bytes": Metric("gauge", (), "Room in SQLite's file that is used again."),
    "trilane_console_disk_free_bytes": Metric("gauge", (), "Room on the file system of SQLite's file."),
    "trilane_console_database_errors_total": Metric("counter", ("kind",), "Errors of the database."),
    "trilane_console_database_change_seconds": Metric("histogram", (), "How long changes took."),
    "trilane_console_document_version": Metric("gauge", (), "The document in force; 0 is none."),
    "trilane_console_document_published_timestamp_seconds": Metric("gauge", (), "When it was published, Unix time."),
    "trilane_console_keys_feed_version": Metric("gauge", (), "The greatest version of the feed of keys."),
    "trilane_console_spend_feed_version": Metric("gauge", (), "The greatest version of the spend feed."),
    "trilane_console_envoy_seen_age_seconds": Metric("gauge", ("envoy",), "Since its agent was heard of."),
    "trilane_console_envoy_approved": Metric("gauge", ("envoy",), "Whether its agent gets credentials."),
    "trilane_console_envoy_clock_offset_seconds": Metric("gauge", ("envoy",), "How far its clock is ahead."),
    "trilane_console_key_change_seconds": Metric("histogram", (), "How long a change of keys took to all."),
    "trilane_console_key_change_pending_seconds": Metric("gauge", (), "Since when one waits that not all have."),
    "trilane_console_envoy_document_current": Metric("gauge", ("envoy",), "Whether it has the document in force."),
    "trilane_console_envoy_keys_feed_version": Metric("gauge", ("envoy",), "Up to which version it has the keys."),
    "trilane_console_envoy_ledger_waiting_bytes": Metric("gauge", ("envoy",), "What it has not sent."),
    "trilane_console_envoy_troubles": Metric("gauge", ("envoy",), "What is in its way."),
    "trilane_console_ledger_position_bytes": Metric("gauge", ("envoy",), "What was taken in."),
    "trilane_console_ledger_taken_age_seconds": Metric("gauge", ("envoy",), "Since the last batch."),
    "trilane_console_ledger_lines_total": Metric("counter", ("envoy", "result"), "Lines counted and kept aside."),
    "trilane_console_ledger_batches_total": Metric("counter", ("envoy", "result"), "Batches by what became of them."),
    "trilane_console_requests_total": Metric("counter", ("class", "status"), "Requests."),
    "trilane_console_request_seconds": Metric("histogram", ("class",), "How long they took."),
    "trilane_console_connections": Metric("gauge", (), "Connections of clients."),
    "trilane_console_connections_closed_total": Metric("counter", ("reason",), "Those that it closed."),
    "trilane_console_live_parts": Metric("gauge", (), "Parts of pages that somebody looks at."),
    "trilane_console_sign_ins_total": Metric("counter", ("result",), "Attempts to sign in."),
    "trilane_console_webhook_messages": Metric("gauge", ("state",), "Messages that are not delivered."),
    "trilane_console_webhook_attempts_total": Metric("counter", ("result",), "Attempts to deliver."),
}

AGENT_METRICS = {
    "trilane_agent_build_info": Metric("info", ("version",), "The release."),
    "trilane_agent_console_answer_age_seconds": Metric("gauge", (), "Since the console answered."),
    "trilane_agent_console_requests_total": Metric("counter", ("result",), "Requests to the console."),
    "trilane_agent_credential_refused": Metric("gauge", (), "Whether the console takes its credential."),
    "trilane_agent_document_info": Metric("info", ("digest",), "The document that is here."),
    "trilane_agent_keys_feed_version": Metric("gauge", (), "Up to which version the keys are here."),
    "trilane_agent_spend_feed_version": Metric("gauge", (), "The version that the gateway is told from."),
    "trilane_agent_up_to_date_age_seconds": Metric("gauge", ("part",), "Since a part had nothing left to do."),
    "trilane_agent_trouble": Metric("gauge", ("part",), "Whether something is in its way."),
    "trilane_agent_feed_read_age_seconds": Metric("gauge", ("feed",), "Since the gateway read a feed."),
    "trilane_agent_ledger_waiting_bytes": Metric("gauge", (), "What the console does not have."),
    "trilane_agent_ledger_waiting_age_seconds": Metric("gauge", (), "Since the oldest of it waits."),
    "trilane_agent_ledger_lines_total": Metric("counter", ("result",), "Lines counted and kept aside."),
    "trilane_agent_ledger_faults_total": Metric("counter", ("result",), "Files that became shorter or are gone."),
    "trilane_agent_ledger_lines_lost_total": Metric("counter", (), "Requests that a killed Envoy has no line of."),
    "trilane_agent_ledger_ballast_bytes": Metric("gauge", (), "The room that is given up when the disk is full."),
    "trilane_agent_ledger_batches_total": Metric("counter", ("result",), "Batches by what became of them."),
    "trilane_agent_accounts_without_credential": Metric("gauge", (), "Accounts that serve nothing."),
}


def alert_metrics(alert: str, prefix: str) -> set[str]:
    """The metrics that begin so and that an alert reads."""
    rules = RULES.read_text(encoding="utf-8")
    found = re.findall(rf"- alert: {alert}\n(?: {{8}}#.*\n)*        expr: (.*\n(?: {{10}}.*\n)*)", rules)
    assert found, alert
    return set(re.findall(rf"{prefix}\w+", "".join(found)))

-- The tables that both engines have. Moments are microseconds since 1970; hours, days and months are texts as `trilane usage`
-- writes them. No money is a float.
--
-- What stands in braces is another word in each engine (migration.rs). Where sums grow, rows of PostgreSQL have room beside them
-- (`fillfactor`): a change of one needs no new entry in the indexes then.

-- === Configuration.

-- Every published document, and which is in force: the greatest.
CREATE TABLE documents (
  version      BIGINT NOT NULL PRIMARY KEY,
  -- As it was written, and as gateways get it: with numbers where it names the catalogue of prices.
  body         TEXT NOT NULL,
  served       TEXT NOT NULL,
  -- The digest of what gateways get.
  etag         TEXT NOT NULL,
  -- That of its prices and budgets; empty without one.
  currency     TEXT NOT NULL,
  author       TEXT NOT NULL,
  note         TEXT NOT NULL,
  -- The version that this one publishes again.
  again        BIGINT,
  published_at BIGINT NOT NULL
);

-- Documents that are written but not published.
CREATE TABLE drafts (
  id         TEXT NOT NULL PRIMARY KEY,
  -- Grows with each change: what If-Match compares.
  revision   BIGINT NOT NULL,
  -- The version that was in force when it was begun; 0: none was.
  based_on   BIGINT NOT NULL,
  body       TEXT NOT NULL,
  author     TEXT NOT NULL,
  note       TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL
) {by key};

-- Credentials of upstream accounts, sealed with keys that are not here.
CREATE TABLE credentials (
  name        TEXT NOT NULL,
  -- For where it is: scheme, host, proxy and authorities, as JSON.
  destination TEXT NOT NULL,
  -- Whether a document that was in force has sent it there.
  in_use      BOOLEAN NOT NULL,
  key_id      TEXT NOT NULL,
  nonce       TEXT NOT NULL,
  sealed      TEXT NOT NULL,
  set_at      BIGINT NOT NULL,
  set_by      TEXT NOT NULL,
  PRIMARY KEY (name, destination)
) {by key};

-- What the latest test of an account's kept credential said.
CREATE TABLE account_tests (
  group_id TEXT NOT NULL,
  account  TEXT NOT NULL,
  at       BIGINT NOT NULL,
  outcome  TEXT NOT NULL,
  PRIMARY KEY (group_id, account)
);

-- === People, and how they prove who they are. Of secrets there are digests only.

-- Identity providers, by which people sign in.
CREATE TABLE identity_providers (
  id            TEXT NOT NULL PRIMARY KEY,
  -- Grows with each change.
  revision      BIGINT NOT NULL,
  issuer        TEXT NOT NULL,
  client_id     TEXT NOT NULL,
  -- Sealed for this provider and this issuer; NULL: the client has none.
  client_secret TEXT,
  -- Label, scopes, domains and rules, as JSON.
  settings      TEXT NOT NULL,
  enabled       BOOLEAN NOT NULL,
  created_at    BIGINT NOT NULL
);

-- One row: whether people sign in with passwords.
CREATE TABLE sign_in_settings (
  one       INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  passwords BOOLEAN NOT NULL
);
INSERT INTO sign_in_settings (one, passwords) VALUES (1, TRUE);

CREATE TABLE people (
  id         TEXT NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('admin', 'member', 'viewer', 'agent')),
  disabled   BOOLEAN NOT NULL,
  created_at BIGINT NOT NULL,
  -- The group of keys that sign-ins of this person make; NULL: none is chosen.
  key_group  TEXT,
  -- The addresses and ranges from which this person's keys may be used, a JSON list; NULL: any.
  addresses  TEXT
) {by key};

CREATE TABLE passwords (
  person_id  TEXT NOT NULL PRIMARY KEY REFERENCES people (id) ON DELETE CASCADE,
  -- Argon2id, with its salt and parameters.
  hash       TEXT NOT NULL,
  changed_at BIGINT NOT NULL
) {by key};

CREATE TABLE sessions (
  digest     TEXT NOT NULL PRIMARY KEY,
  person_id  TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  -- The person's role when the session began: it ends when that is another one.
  role       TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  used_at    BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  -- The identity provider by which it began; NULL: by a password or a link.
  provider_id TEXT REFERENCES identity_providers (id) ON DELETE CASCADE
) {by key};
CREATE INDEX sessions_by_person ON sessions (person_id);
CREATE INDEX sessions_by_provider ON sessions (provider_id) WHERE provider_id IS NOT NULL;

-- People, as identity providers know them.
CREATE TABLE identities (
  provider_id     TEXT NOT NULL REFERENCES identity_providers (id) ON DELETE CASCADE,
  subject         TEXT NOT NULL,
  person_id       TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  -- Sealed for this provider and subject; NULL: the provider gave none.
  refresh_token   TEXT,
  -- When the provider last vouched for the person, and when it was last asked.
  checked_at      BIGINT NOT NULL,
  asked_at        BIGINT NOT NULL,
  -- Whether the provider has ended it, until the next sign-in.
  ended           BOOLEAN NOT NULL,
  -- Role and group of keys that a rule of the provider gave last.
  given_role      TEXT,
  given_key_group TEXT,
  created_at      BIGINT NOT NULL,
  PRIMARY KEY (provider_id, subject),
  UNIQUE (provider_id, person_id)
) {by key};
CREATE INDEX identities_by_person ON identities (person_id);

-- Browsers that were sent to an identity provider. Digests only.
CREATE TABLE authorization_requests (
  state       TEXT NOT NULL PRIMARY KEY,
  provider_id TEXT NOT NULL REFERENCES identity_providers (id) ON DELETE CASCADE,
  browser     TEXT NOT NULL,
  -- The path that is shown afterwards.
  target      TEXT NOT NULL,
  expires_at  BIGINT NOT NULL
) {by key};

-- Keys that are ordered for people: each is made when its person takes it, and nobody else sees its value.
CREATE TABLE ordered_keys (
  id         TEXT NOT NULL PRIMARY KEY,
  person_id  TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  -- Group, label, team, models, limits and end of the key, as JSON.
  terms      TEXT NOT NULL,
  created_at BIGINT NOT NULL
) {by key};
CREATE INDEX ordered_keys_by_person ON ordered_keys (person_id, id);

-- Links that sign a person in, once.
CREATE TABLE sign_in_links (
  digest     TEXT NOT NULL PRIMARY KEY,
  person_id  TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
) {by key};
CREATE INDEX sign_in_links_by_person ON sign_in_links (person_id);

-- Devices with which people have signed in: attempts with one of them are counted by themselves, so that nobody else keeps its
-- person out.
CREATE TABLE sign_in_devices (
  digest    TEXT NOT NULL PRIMARY KEY,
  person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  used_at   BIGINT NOT NULL
);
CREATE INDEX sign_in_devices_by_person ON sign_in_devices (person_id, used_at);

-- Clients that wait for somebody to let them in (RFC 8628).
CREATE TABLE device_grants (
  -- Of the device code.
  digest       TEXT NOT NULL PRIMARY KEY,
  user_code    TEXT NOT NULL UNIQUE,
  client       TEXT NOT NULL,
  -- The name of the machine, as the client says it.
  device       TEXT NOT NULL,
  address      TEXT NOT NULL,
  poll_seconds BIGINT NOT NULL,
  polled_at    BIGINT NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied')),
  -- Whoever has let it in, and the team and the group of its key.
  person_id    TEXT REFERENCES people (id) ON DELETE CASCADE,
  team         TEXT,
  group_id     TEXT,
  -- Of a token of the API, with blanks between; NULL: it asks for a key.
  scopes       TEXT,
  created_at   BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL
) {by key};
CREATE INDEX device_grants_by_person ON device_grants (person_id);

-- Clients that a person has let in: each has one key, whose value changes.
CREATE TABLE client_sign_ins (
  -- That of its key, too.
  id           TEXT NOT NULL PRIMARY KEY,
  person_id    TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  -- Of the refresh token.
  digest       TEXT NOT NULL UNIQUE,
  client       TEXT NOT NULL,
  device       TEXT NOT NULL,
  address      TEXT NOT NULL,
  -- Which value of its key is the present one, and until when that is good.
  value_number BIGINT NOT NULL,
  value_until  BIGINT NOT NULL,
  created_at   BIGINT NOT NULL,
  used_at      BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL
) {by key};
CREATE INDEX client_sign_ins_by_person ON client_sign_ins (person_id);

-- How often signing in failed, by address and by person. Persons are digests, so that unknown names are not kept.
CREATE TABLE sign_in_failures (
  subject  TEXT NOT NULL PRIMARY KEY,
  failures BIGINT NOT NULL,
  at       BIGINT NOT NULL,
  -- Until when no further attempt is looked at.
  until    BIGINT NOT NULL
) {by key};

-- Tokens of the API: their digests only.
CREATE TABLE api_tokens (
  id         TEXT NOT NULL PRIMARY KEY,
  digest     TEXT NOT NULL UNIQUE,
  person_id  TEXT NOT NULL REFERENCES people (id),
  name       TEXT NOT NULL,
  hint       TEXT NOT NULL,
  expires_at BIGINT,
  created_at BIGINT NOT NULL,
  -- The scopes, with blanks between; NULL: all that the person may do.
  scopes     TEXT
) {by key};
CREATE INDEX api_tokens_by_person ON api_tokens (person_id);

-- Teams of people. Keys name their team by its id; a team that keys name need not be here.
CREATE TABLE teams (
  id         TEXT NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL,
  -- Which keys members may make by themselves, a JSON object; NULL: none.
  allowance  TEXT,
  created_at BIGINT NOT NULL
);

CREATE TABLE memberships (
  team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  person_id  TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  -- Whether this person sees what the whole team uses.
  manager    BOOLEAN NOT NULL,
  created_at BIGINT NOT NULL,
  -- The identity provider whose rule gave it, and takes it again; NULL: it was given by hand.
  provider_id TEXT REFERENCES identity_providers (id) ON DELETE SET NULL,
  PRIMARY KEY (team_id, person_id)
);
CREATE INDEX memberships_by_person ON memberships (person_id, team_id);

-- The notices that a person is mailed, and where to.
CREATE TABLE notice_choices (
  person_id TEXT NOT NULL PRIMARY KEY REFERENCES people (id) ON DELETE CASCADE,
  -- NULL: the person has none, and no identity provider sets one again.
  email     TEXT,
  budgets   BOOLEAN NOT NULL,
  expiring  BOOLEAN NOT NULL,
  unused    BOOLEAN NOT NULL,
  -- The language of the mails, a tag (BCP 47).
  language  TEXT NOT NULL
) {by key};

-- === What people and programs did.

-- Who changed what.
CREATE TABLE audit (
  id      {number} PRIMARY KEY,
  at      BIGINT NOT NULL,
  actor   TEXT NOT NULL,
  address TEXT NOT NULL,
  action  TEXT NOT NULL,
  object  TEXT NOT NULL,
  before  TEXT,
  after   TEXT
);

-- One row: up to which entry the audit was sent to a collector.
CREATE TABLE audit_export (
  one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  -- The number of the last entry that it has taken.
  sent     BIGINT NOT NULL,
  -- Until when nobody else sends: a console does, or it is the pause after a failure.
  until    BIGINT NOT NULL,
  -- Since the last success.
  failures BIGINT NOT NULL
);
INSERT INTO audit_export (one, sent, until, failures) VALUES (1, 0, 0, 0);

-- Answers to requests that may be sent again.
CREATE TABLE idempotency (
  token_id TEXT NOT NULL,
  key      TEXT NOT NULL,
  -- Of the request: another one under the same key is refused.
  digest   TEXT NOT NULL,
  status   BIGINT NOT NULL,
  body     TEXT NOT NULL,
  at       BIGINT NOT NULL,
  PRIMARY KEY (token_id, key)
) {by key};
CREATE INDEX idempotency_by_time ON idempotency (at);

-- Persons whose data is erased. A pseudonym takes the place of a person's id, so that sums stay what they are.
CREATE TABLE erasures (
  pseudonym TEXT NOT NULL PRIMARY KEY,
  -- SHA-256 of the salt and the id, by which lines of the ledger that come late are known.
  digest    TEXT NOT NULL UNIQUE,
  -- The id, until it is nowhere else; then NULL.
  person_id TEXT,
  -- What is erased now, and up to where that is done.
  step      TEXT NOT NULL,
  place     TEXT NOT NULL,
  begun_at  BIGINT NOT NULL,
  ended_at  BIGINT
);

-- One row, once there is an erasure: what stands before ids in their digests.
CREATE TABLE erasure_salt (
  one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  salt TEXT NOT NULL
);

-- === Envoys.

-- The Envoys whose agents are known. Each is a person of the role `agent` too, with the same id.
CREATE TABLE envoys (
  id           TEXT NOT NULL PRIMARY KEY REFERENCES people (id),
  -- The digest of the enrolment token, until it is used, and until when it is good.
  enrolment    TEXT UNIQUE,
  enrol_until  BIGINT,
  enrolled_at  BIGINT,
  -- The name of the enrolment secret by which its agent enrolled; NULL: an admin added it.
  enrolled_by  TEXT,
  -- The digest of the agent's own credential with which it may have credentials of accounts: somebody on the console's machine
  -- has approved it, and nobody can by the API. With another one it waits again.
  approved     TEXT,
  -- The digest of the one with which credentials of accounts were read first.
  has_read     TEXT,
  -- What its agent said last, as JSON, and when.
  report       TEXT,
  seen_at      BIGINT,
  -- How far its clock is ahead of the console's, in milliseconds; less than nothing: it is behind.
  clock_offset BIGINT,
  created_at   BIGINT NOT NULL
) {by key};

-- Secrets with which agents enrol by themselves, as often as they like, and are approved by that.
CREATE TABLE enrolment_secrets (
  name       TEXT NOT NULL PRIMARY KEY,
  digest     TEXT NOT NULL UNIQUE,
  expires_at BIGINT,
  created_at BIGINT NOT NULL
);

-- === Clients.

-- One row, once there are settings that clients ask gateways for.
CREATE TABLE client_settings (
  one        INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  -- A JSON object.
  settings   TEXT NOT NULL,
  -- The names of members that are not inert, each approved: a JSON list.
  approved   TEXT NOT NULL,
  changed_at BIGINT NOT NULL
);

-- === The ledger.

-- How far the ledger file of an Envoy was taken in.
CREATE TABLE ledger_files (
  envoy_id TEXT NOT NULL,
  file_id  TEXT NOT NULL,
  -- The bytes taken from its beginning.
  position BIGINT NOT NULL,
  -- Whether that is within a line that is too long, whose rest is skipped.
  skipping BOOLEAN NOT NULL,
  -- Lines that were counted, and lines that were kept aside.
  lines    BIGINT NOT NULL,
  aside    BIGINT NOT NULL,
  taken_at BIGINT NOT NULL,
  PRIMARY KEY (envoy_id, file_id)
) {by key};

-- Lines that could not be counted.
CREATE TABLE lines_aside (
  envoy_id TEXT NOT NULL,
  file_id  TEXT NOT NULL,
  position BIGINT NOT NULL,
  length   BIGINT NOT NULL,
  reason   TEXT NOT NULL,
  detail   TEXT NOT NULL,
  -- Its beginning.
  line     TEXT NOT NULL,
  taken_at BIGINT NOT NULL,
  PRIMARY KEY (envoy_id, file_id, position)
) {by key};

-- Times of which the lines of an Envoy are void: neither counted nor charged, whenever they come.
CREATE TABLE void_ranges (
  envoy_id TEXT NOT NULL,
  -- The beginnings of requests: from this moment on, and before that one.
  since    BIGINT NOT NULL,
  until    BIGINT NOT NULL,
  begun_at BIGINT NOT NULL,
  -- Up to where lines that had been counted are taken away, and how many were.
  place    BIGINT NOT NULL,
  lines    BIGINT NOT NULL,
  -- When all were.
  ended_at BIGINT,
  PRIMARY KEY (envoy_id, since, until)
);

-- === Sums of the ledger. An amount has five columns, each of which counts a million times as much as the one before: units of 10^-20,
-- 10^-14, 10^-8, 10^-2 and 10^4 of its currency. The amount is what all five add up to; SUM() of each is exact on both engines.

-- Sums by hour (UTC, when the request began). Texts are empty where a line has none. (With row numbers, which keep the indexes narrow.)
CREATE TABLE usage_by_hour (
  hour {text} NOT NULL, key_id {text} NOT NULL, owner {text} NOT NULL, team {text} NOT NULL, group_id {text} NOT NULL,
  source {text} NOT NULL, account {text} NOT NULL, model {text} NOT NULL, entry {text} NOT NULL, outcome {text} NOT NULL,
  currency {text} NOT NULL,
  {sums}
  PRIMARY KEY (hour, key_id, owner, team, group_id, source, account, model, entry, outcome, currency)
) {with room};
CREATE INDEX usage_by_hour_by_key ON usage_by_hour (key_id, hour);
CREATE INDEX usage_by_hour_by_owner ON usage_by_hour (owner, hour);

-- Sums by day of the hours up to a place, which are not added up anew each time that they are asked for.
CREATE TABLE usage_by_day (
  day {text} NOT NULL, key_id {text} NOT NULL, owner {text} NOT NULL, team {text} NOT NULL, group_id {text} NOT NULL,
  source {text} NOT NULL, account {text} NOT NULL, model {text} NOT NULL, entry {text} NOT NULL, outcome {text} NOT NULL,
  currency {text} NOT NULL,
  {sums}
  PRIMARY KEY (day, key_id, owner, team, group_id, source, account, model, entry, outcome, currency)
) {by key, roomy};
CREATE INDEX usage_by_day_by_key ON usage_by_day (key_id, day);
CREATE INDEX usage_by_day_by_owner ON usage_by_day (owner, day);

-- The same sums of all keys, owners and teams together: few rows, which pages that look at none of them read.
CREATE TABLE usage_of_all_by_hour (
  hour {text} NOT NULL, group_id {text} NOT NULL,
  source {text} NOT NULL, account {text} NOT NULL, model {text} NOT NULL, entry {text} NOT NULL, outcome {text} NOT NULL,
  currency {text} NOT NULL,
  {sums}
  PRIMARY KEY (hour, group_id, source, account, model, entry, outcome, currency)
) {by key, with room};
CREATE TABLE usage_of_all_by_day (
  day {text} NOT NULL, group_id {text} NOT NULL,
  source {text} NOT NULL, account {text} NOT NULL, model {text} NOT NULL, entry {text} NOT NULL, outcome {text} NOT NULL,
  currency {text} NOT NULL,
  {sums}
  PRIMARY KEY (day, group_id, source, account, model, entry, outcome, currency)
) {by key, roomy};

-- That place: usage_by_day has the rows of usage_by_hour whose hour and key come before it or stand at it.
CREATE TABLE usage_by_day_to (
  one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  hour   {text} NOT NULL,
  key_id {text} NOT NULL
);
INSERT INTO usage_by_day_to (one, hour, key_id) VALUES (1, '', '');

-- Sums by day (UTC, when the request began) and by what requests say of themselves: `client`, `session`, or a label, such as
-- `label:project`. Requests that say nothing of it are in no row. Of a day that is over each key has its greatest values, and a row
-- without a value has the rest.
CREATE TABLE usage_by_dimension (
  dimension {text} NOT NULL, day {text} NOT NULL, key_id {text} NOT NULL, owner {text} NOT NULL, team {text} NOT NULL,
  value {text} NOT NULL, currency {text} NOT NULL,
  {sums}
  PRIMARY KEY (dimension, day, key_id, owner, team, value, currency)
) {by key, roomy};
CREATE INDEX usage_by_dimension_by_day ON usage_by_dimension (day, key_id);
CREATE INDEX usage_by_dimension_by_owner ON usage_by_dimension (owner, day);

-- Up to which day and key that is so.
CREATE TABLE usage_by_dimension_to (
  one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  day    {text} NOT NULL,
  key_id {text} NOT NULL
);
INSERT INTO usage_by_dimension_to (one, day, key_id) VALUES (1, '', '');

-- How many requests of an hour had the first byte of their response within so many milliseconds: each counts in the narrowest.
CREATE TABLE first_byte_hours (
  hour      TEXT NOT NULL,
  model     TEXT NOT NULL,
  account   TEXT NOT NULL,
  within_ms BIGINT NOT NULL,
  count     BIGINT NOT NULL,
  PRIMARY KEY (hour, model, account, within_ms)
) {by key};

-- How often an upstream account was asked in an hour, and how that ended: answered, or the kind of the failure.
CREATE TABLE attempt_hours (
  hour    TEXT NOT NULL,
  source  TEXT NOT NULL,
  account TEXT NOT NULL,
  ended   TEXT NOT NULL,
  count   BIGINT NOT NULL,
  PRIMARY KEY (hour, source, account, ended)
) {by key};

-- When an upstream account last answered a request well, and since when its vendor refuses it. 0: never.
CREATE TABLE account_answers (
  source        {text} NOT NULL,
  account       {text} NOT NULL,
  answered_at   BIGINT NOT NULL,
  -- The first refusal since then, and the latest.
  refused_since BIGINT NOT NULL,
  refused_at    BIGINT NOT NULL,
  -- The latest one: the fault of the account in the ledger's words, its status, the vendor's code.
  fault         TEXT NOT NULL,
  status        BIGINT NOT NULL,
  code          TEXT NOT NULL,
  PRIMARY KEY (source, account)
) {by key, roomy};

-- When a key was last used: the beginning of its latest request.
CREATE TABLE key_use (
  key_id TEXT NOT NULL PRIMARY KEY,
  at     BIGINT NOT NULL
) {by key, roomy};

-- Charges by day and by month (UTC, when the request ended, as the gateway counts budgets).
CREATE TABLE spend (
  -- key, member, owner, team or group
  kind     TEXT NOT NULL,
  subject  TEXT NOT NULL,
  -- 2026-11-24 or 2026-11
  period   TEXT NOT NULL,
  currency TEXT NOT NULL,
  amount_0 BIGINT NOT NULL, amount_1 BIGINT NOT NULL, amount_2 BIGINT NOT NULL,
  amount_3 BIGINT NOT NULL, amount_4 BIGINT NOT NULL,
  PRIMARY KEY (kind, subject, period, currency)
) {by key, roomy};

-- === Budgets. What gateways are told of spend: for each subject of a budget the total, and what each process of an Envoy has in its
-- own counters.

-- One row. Whoever gives a version away has it locked until the transaction ends, so versions become visible in their order.
CREATE TABLE spend_feed (
  one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  -- Which sequence of versions this is.
  feed TEXT NOT NULL,
  -- The greatest version given away. Versions follow the clock (microseconds since 1970) where it goes forward, so that those
  -- which a restored backup has taken back are not given again to other changes.
  head BIGINT NOT NULL
);
INSERT INTO spend_feed (one, feed, head) VALUES (1, {random}, 0);

-- Subjects that gateways count budgets of.
CREATE TABLE spend_subjects (
  -- key, member, owner, team or group
  kind      TEXT NOT NULL,
  subject   TEXT NOT NULL,
  -- That of its latest change.
  version   BIGINT NOT NULL UNIQUE,
  -- The budget of a member, an owner or a team. Those of keys and groups stand with their limits.
  per_day   TEXT,
  per_month TEXT,
  -- Whether a manager has set that of a member: then it follows the allowance no more.
  own       BOOLEAN NOT NULL DEFAULT FALSE,
  PRIMARY KEY (kind, subject)
) {by key};

-- Charges that a process of an Envoy has in its counters, by its number. Those of periods that are over go.
CREATE TABLE spend_shares (
  kind     TEXT NOT NULL,
  subject  TEXT NOT NULL,
  period   TEXT NOT NULL,
  envoy_id TEXT NOT NULL,
  instance TEXT NOT NULL,
  currency TEXT NOT NULL,
  amount_0 BIGINT NOT NULL, amount_1 BIGINT NOT NULL, amount_2 BIGINT NOT NULL,
  amount_3 BIGINT NOT NULL, amount_4 BIGINT NOT NULL,
  PRIMARY KEY (kind, subject, period, envoy_id, instance, currency)
) {by key, roomy};
CREATE INDEX spend_shares_by_period ON spend_shares (period);

-- Budgets of which nine tenths were spent in a day or a month. Whoever reads this looks at the exact amounts again: a budget may
-- have become another one.
CREATE TABLE nearly_spent (
  -- 2026-11-24 or 2026-11
  period  TEXT NOT NULL,
  -- key, member, owner, team or group
  kind    TEXT NOT NULL,
  subject TEXT NOT NULL,
  PRIMARY KEY (period, kind, subject)
);

-- === Webhooks: who is told when a budget runs out, and what they are told.

CREATE TABLE webhooks (
  id           TEXT NOT NULL PRIMARY KEY,
  kind         TEXT NOT NULL CHECK (kind IN ('webhook', 'slack', 'teams', 'email')),
  -- As it may be shown: of Slack and Teams without its path, which is a secret.
  url          TEXT NOT NULL,
  -- What its messages are signed with; of Slack and Teams the whole URL; empty: it needs none.
  secret       TEXT NOT NULL,
  -- Percents of a budget, a JSON list.
  thresholds   TEXT NOT NULL,
  -- The language of its sentences, a tag (BCP 47).
  language     TEXT NOT NULL,
  created_at   BIGINT NOT NULL,
  -- The latest message that arrived, and the latest attempt that failed, with why.
  delivered_at BIGINT,
  failed_at    BIGINT,
  problem      TEXT
) {by key};

-- Up to which version of the spend feed budgets were looked at.
CREATE TABLE webhook_watch (
  one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  version BIGINT NOT NULL
);
INSERT INTO webhook_watch (one, version) VALUES (1, 0);

-- Messages, each once for a receiver, a subject, a period and a threshold.
CREATE TABLE webhook_events (
  -- The id of the webhook, or of the person, who is mailed.
  receiver     TEXT NOT NULL,
  webhook_id   TEXT REFERENCES webhooks (id) ON DELETE CASCADE,
  person_id    TEXT REFERENCES people (id) ON DELETE CASCADE,
  kind         TEXT NOT NULL,
  subject      TEXT NOT NULL,
  period       TEXT NOT NULL,
  threshold    BIGINT NOT NULL,
  id           TEXT NOT NULL UNIQUE,
  body         TEXT NOT NULL,
  attempts     BIGINT NOT NULL,
  -- When it is tried next. NULL: it was delivered, or is given up.
  next_at      BIGINT,
  delivered_at BIGINT,
  -- What was in the way last.
  problem      TEXT,
  -- Of a message for a person: a day has a bounded number of them.
  made_at      BIGINT,
  PRIMARY KEY (receiver, kind, subject, period, threshold)
);
CREATE INDEX webhook_events_of_person ON webhook_events (person_id, made_at) WHERE person_id IS NOT NULL;
CREATE INDEX webhook_events_of_webhook ON webhook_events (webhook_id) WHERE webhook_id IS NOT NULL;
CREATE INDEX webhook_events_due ON webhook_events (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX webhook_events_over ON webhook_events (period) WHERE next_at IS NULL;

-- === The console itself.

-- A row that is changed to see whether anything can be.
CREATE TABLE write_probe (
  one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  changes BIGINT NOT NULL
);
INSERT INTO write_probe (one, changes) VALUES (1, 0);

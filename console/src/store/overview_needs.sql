-- What the overview says that somebody has to see to.

-- Budgets of which nine tenths were spent in a day or a month. Whoever reads this looks at the exact amounts again: a budget may
-- have become another one.
CREATE TABLE nearly_spent (
  -- 2026-11-24 or 2026-11
  period  TEXT NOT NULL,
  -- key, owner, team or group
  kind    TEXT NOT NULL,
  subject TEXT NOT NULL,
  PRIMARY KEY (period, kind, subject)
);
-- What was spent before this was noted is looked at once more.
UPDATE webhook_watch SET version = 0;

-- What the latest test of an account's kept credential said.
CREATE TABLE account_tests (
  group_id TEXT NOT NULL,
  account  TEXT NOT NULL,
  at       BIGINT NOT NULL,
  outcome  TEXT NOT NULL,
  PRIMARY KEY (group_id, account)
);

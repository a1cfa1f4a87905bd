-- Format 2: keys with limits. Brings a database of format 1 up to it, and follows keys.sql in a new one.

-- NULL, or a JSON object as `limits` is in a document.
ALTER TABLE keys ADD COLUMN limits TEXT;
ALTER TABLE key_changes ADD COLUMN limits TEXT;
UPDATE key_feed SET format = 2;

-- A page with bad limits is refused whole by every gateway, so none may get in here: each change of a key comes by.
CREATE TRIGGER key_limits BEFORE INSERT ON key_changes WHEN NEW.limits IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'keys.limits: must be NULL or a JSON object of at most 1000 bytes')
    WHERE typeof(NEW.limits) <> 'text' OR length(CAST(NEW.limits AS BLOB)) > 1000 OR NOT json_valid(NEW.limits);
  SELECT RAISE(ABORT, 'keys.limits: has a member that limits of a document have not, or a value that they cannot have')
    FROM json_tree(NEW.limits)
    WHERE NOT CASE
      WHEN key IS NULL THEN type = 'object'
      WHEN path = '$' AND key IN
        ('requests_per_minute', 'input_tokens_per_minute', 'output_tokens_per_minute', 'concurrent_requests')
        THEN type = 'null' OR (type = 'integer' AND atom BETWEEN 1 AND 1000000000)
      WHEN (path = '$' AND key = 'budget') OR (path = '$.budget' AND key = 'spent') THEN type IN ('object', 'null')
      WHEN path = '$.budget.spent' AND key = 'at' THEN type = 'text' AND length(CAST(atom AS BLOB)) = 20
        AND coalesce(strftime('%Y-%m-%dT%H:%M:%SZ', atom, '+0 days') = atom, 0)
      -- Amounts: plain decimals of at most 20 fractional digits, below 10^9, and what is granted is more than 0.
      WHEN (path = '$.budget' AND key IN ('per_day', 'per_month'))
        OR (path = '$.budget.spent' AND key IN ('in_day', 'in_month'))
        THEN type = 'null' OR (type = 'text' AND length(CAST(atom AS BLOB)) <= 28 AND atom NOT GLOB '*[^0-9.]*'
          AND atom GLOB '[0-9]*' AND atom GLOB '*[0-9]' AND atom NOT GLOB '*.*.*'
          AND (instr(atom, '.') = 0 OR length(atom) - instr(atom, '.') <= 20) AND CAST(atom AS INTEGER) < 1000000000
          AND (path = '$.budget.spent' OR atom GLOB '*[1-9]*'))
      ELSE 0 END;
  SELECT RAISE(ABORT, 'keys.limits: has a member twice')
    FROM json_tree(NEW.limits) GROUP BY path, key HAVING count(*) > 1;
  SELECT RAISE(ABORT, 'keys.limits: limits nothing: put NULL')
    WHERE coalesce(
      json_extract(NEW.limits, '$.requests_per_minute'), json_extract(NEW.limits, '$.input_tokens_per_minute'),
      json_extract(NEW.limits, '$.output_tokens_per_minute'), json_extract(NEW.limits, '$.concurrent_requests'),
      json_extract(NEW.limits, '$.budget')) IS NULL;
  SELECT RAISE(ABORT, 'keys.limits: budget needs per_day or per_month')
    WHERE json_extract(NEW.limits, '$.budget') IS NOT NULL AND
      coalesce(json_extract(NEW.limits, '$.budget.per_day'), json_extract(NEW.limits, '$.budget.per_month')) IS NULL;
  SELECT RAISE(ABORT, 'keys.limits: budget.spent needs at')
    WHERE json_extract(NEW.limits, '$.budget.spent') IS NOT NULL
      AND json_extract(NEW.limits, '$.budget.spent.at') IS NULL;
  -- Whole parts, then fractions of 20 digits: as exact as amounts are.
  SELECT RAISE(ABORT, 'keys.limits: budget.spent.in_month is less than in_day, which is part of it')
    FROM (SELECT json_extract(NEW.limits, '$.budget.spent.in_day') || '.' AS d,
      json_extract(NEW.limits, '$.budget.spent.in_month') || '.' AS m)
    WHERE (CAST(m AS INTEGER), substr(rtrim(substr(m, instr(m, '.') + 1), '.') || '00000000000000000000', 1, 20))
        < (CAST(d AS INTEGER), substr(rtrim(substr(d, instr(d, '.') + 1), '.') || '00000000000000000000', 1, 20));
END;

DROP TRIGGER keys_inserted;
CREATE TRIGGER keys_inserted AFTER INSERT ON keys BEGIN
  UPDATE key_feed SET head = max(head + 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 = NEW.sha256;
  INSERT INTO key_changes (version, sha256, id, group_id, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.expires_at, NEW.disabled, NEW.limits FROM key_feed;
END;

DROP TRIGGER keys_updated;
CREATE TRIGGER keys_updated AFTER UPDATE ON keys
WHEN NEW.sha256 = OLD.sha256 AND (NEW.id <> OLD.id OR NEW.group_id <> OLD.group_id
  OR NEW.expires_at IS NOT OLD.expires_at OR NEW.disabled <> OLD.disabled OR NEW.limits IS NOT OLD.limits) BEGIN
  UPDATE key_feed SET head = max(head + 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 = NEW.sha256;
  INSERT INTO key_changes (version, sha256, id, group_id, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.expires_at, NEW.disabled, NEW.limits FROM key_feed;
END;

-- Another digest is another key; the one before is gone.
DROP TRIGGER keys_exchanged;
CREATE TRIGGER keys_exchanged AFTER UPDATE OF sha256 ON keys WHEN NEW.sha256 <> OLD.sha256 BEGIN
  UPDATE key_feed SET head = max(head + 2, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 IN (OLD.sha256, NEW.sha256);
  INSERT INTO key_changes (version, sha256, removed_at)
    SELECT head - 1, OLD.sha256, CAST(strftime('%s', 'now') AS INTEGER) FROM key_feed;
  INSERT INTO key_changes (version, sha256, id, group_id, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.expires_at, NEW.disabled, NEW.limits FROM key_feed;
END;

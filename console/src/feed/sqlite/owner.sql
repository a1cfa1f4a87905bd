-- Format 3: whose a key is, and what whoever issued it notes beside. Brings a database of format 2 up to it, and follows
-- limits.sql in a new one.

-- NULL, or a text for ledgers, which the feed gives.
ALTER TABLE keys ADD COLUMN owner TEXT;
-- NULL, or a note, and when the key was made. They stay here: no feed gives them.
ALTER TABLE keys ADD COLUMN label TEXT;
ALTER TABLE keys ADD COLUMN created_at TEXT;
ALTER TABLE key_changes ADD COLUMN owner TEXT;
UPDATE key_feed SET format = 3;

-- A page with a bad owner is refused whole by every gateway, so none may get in here: each change of a key comes by. A text
-- that is not UTF-8 is not the same when its characters are put together again, one by one.
CREATE TRIGGER key_owner BEFORE INSERT ON key_changes WHEN NEW.owner IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'keys.owner: must be NULL or a text of 1 to 128 bytes without control characters')
    WHERE typeof(NEW.owner) <> 'text' OR length(CAST(NEW.owner AS BLOB)) NOT BETWEEN 1 AND 128
      OR instr(CAST(NEW.owner AS BLOB), x'00') > 0
      OR NEW.owner GLOB '*[' || char(1) || '-' || char(31) || char(127) || '-' || char(159) || ']*';
  SELECT RAISE(ABORT, 'keys.owner: must be UTF-8')
    WHERE (SELECT group_concat(char(unicode(substr(NEW.owner, key + 1, 1))), '')
      FROM json_each('[' || rtrim(replace(hex(zeroblob(64)), '0', '0,'), ',') || ']')
      WHERE key < length(NEW.owner)) IS NOT NEW.owner;
END;

DROP TRIGGER keys_inserted;
CREATE TRIGGER keys_inserted AFTER INSERT ON keys BEGIN
  UPDATE key_feed SET head = max(head + 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 = NEW.sha256;
  INSERT INTO key_changes (version, sha256, id, group_id, owner, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.expires_at, NEW.disabled, NEW.limits FROM key_feed;
END;

DROP TRIGGER keys_updated;
CREATE TRIGGER keys_updated AFTER UPDATE ON keys
WHEN NEW.sha256 = OLD.sha256 AND (NEW.id <> OLD.id OR NEW.group_id <> OLD.group_id OR NEW.owner IS NOT OLD.owner
  OR NEW.expires_at IS NOT OLD.expires_at OR NEW.disabled <> OLD.disabled OR NEW.limits IS NOT OLD.limits) BEGIN
  UPDATE key_feed SET head = max(head + 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 = NEW.sha256;
  INSERT INTO key_changes (version, sha256, id, group_id, owner, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.expires_at, NEW.disabled, NEW.limits FROM key_feed;
END;

-- Another digest is another key; the one before is gone.
DROP TRIGGER keys_exchanged;
CREATE TRIGGER keys_exchanged AFTER UPDATE OF sha256 ON keys WHEN NEW.sha256 <> OLD.sha256 BEGIN
  UPDATE key_feed SET head = max(head + 2, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 IN (OLD.sha256, NEW.sha256);
  INSERT INTO key_changes (version, sha256, removed_at)
    SELECT head - 1, OLD.sha256, CAST(strftime('%s', 'now') AS INTEGER) FROM key_feed;
  INSERT INTO key_changes (version, sha256, id, group_id, owner, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.expires_at, NEW.disabled, NEW.limits FROM key_feed;
END;

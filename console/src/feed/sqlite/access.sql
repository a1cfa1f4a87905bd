-- Format 4: keys with models and a multiplier of their own, and the team that a key belongs to. Brings a database of format 3 up to
-- it, and follows owner.sql in a new one.

-- NULL, or an id.
ALTER TABLE keys ADD COLUMN team TEXT;
-- NULL, or a JSON list of those models of its group that the key may use.
ALTER TABLE keys ADD COLUMN models TEXT;
-- NULL, or the final multiplier of the key's requests, such as 0.2000.
ALTER TABLE keys ADD COLUMN multiplier TEXT;
ALTER TABLE key_changes ADD COLUMN team TEXT;
ALTER TABLE key_changes ADD COLUMN models TEXT;
ALTER TABLE key_changes ADD COLUMN multiplier TEXT;
UPDATE key_feed SET format = 4;

-- A page with one that is bad is refused whole by every gateway, so none may get in here: each change of a key comes by.
CREATE TRIGGER key_team BEFORE INSERT ON key_changes WHEN NEW.team IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'keys.team: must be NULL or 1 to 64 letters, digits or any of - _ . :')
    WHERE typeof(NEW.team) <> 'text' OR length(NEW.team) NOT BETWEEN 1 AND 64
      OR length(CAST(NEW.team AS BLOB)) <> length(NEW.team) OR NEW.team GLOB '*[^-A-Za-z0-9_.:]*';
END;

CREATE TRIGGER key_multiplier BEFORE INSERT ON key_changes WHEN NEW.multiplier IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'keys.multiplier: must be NULL or a plain decimal of at most 4 fractional digits, at most 1000000')
    WHERE typeof(NEW.multiplier) <> 'text' OR length(CAST(NEW.multiplier AS BLOB)) > 12
      OR NEW.multiplier GLOB '*[^0-9.]*' OR NEW.multiplier NOT GLOB '[0-9]*' OR NEW.multiplier NOT GLOB '*[0-9]'
      OR NEW.multiplier GLOB '*.*.*'
      OR (instr(NEW.multiplier, '.') > 0 AND length(NEW.multiplier) - instr(NEW.multiplier, '.') > 4)
      OR CAST(NEW.multiplier AS INTEGER) > 1000000
      OR (CAST(NEW.multiplier AS INTEGER) = 1000000 AND NEW.multiplier GLOB '*.*[1-9]*');
END;

CREATE TRIGGER key_models BEFORE INSERT ON key_changes WHEN NEW.models IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'keys.models: must be NULL or a JSON list of 1 to 64 names of models')
    WHERE typeof(NEW.models) <> 'text' OR length(CAST(NEW.models AS BLOB)) > 9000 OR NEW.models GLOB '*[^ -~]*'
      OR NOT json_valid(NEW.models);
  SELECT RAISE(ABORT, 'keys.models: must be NULL or a JSON list of 1 to 64 names of models')
    WHERE json_type(NEW.models) <> 'array' OR json_array_length(NEW.models) NOT BETWEEN 1 AND 64;
  SELECT RAISE(ABORT, 'keys.models: each must be 1 to 128 letters, digits or any of - _ . : / @ + [ ]')
    FROM json_each(NEW.models)
    WHERE type <> 'text' OR length(CAST(atom AS BLOB)) NOT BETWEEN 1 AND 128 OR atom GLOB '*[^]-A-Za-z0-9_.:/@+[]*';
  SELECT RAISE(ABORT, 'keys.models: names a model twice')
    FROM json_each(NEW.models) GROUP BY atom HAVING count(*) > 1;
END;

DROP TRIGGER keys_inserted;
CREATE TRIGGER keys_inserted AFTER INSERT ON keys BEGIN
  UPDATE key_feed SET head = max(head + 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 = NEW.sha256;
  INSERT INTO key_changes (version, sha256, id, group_id, owner, team, models, multiplier, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.team, NEW.models, NEW.multiplier, NEW.expires_at,
      NEW.disabled, NEW.limits FROM key_feed;
END;

DROP TRIGGER keys_updated;
CREATE TRIGGER keys_updated AFTER UPDATE ON keys
WHEN NEW.sha256 = OLD.sha256 AND (NEW.id <> OLD.id OR NEW.group_id <> OLD.group_id OR NEW.owner IS NOT OLD.owner
  OR NEW.team IS NOT OLD.team OR NEW.models IS NOT OLD.models OR NEW.multiplier IS NOT OLD.multiplier
  OR NEW.expires_at IS NOT OLD.expires_at OR NEW.disabled <> OLD.disabled OR NEW.limits IS NOT OLD.limits) BEGIN
  UPDATE key_feed SET head = max(head + 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 = NEW.sha256;
  INSERT INTO key_changes (version, sha256, id, group_id, owner, team, models, multiplier, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.team, NEW.models, NEW.multiplier, NEW.expires_at,
      NEW.disabled, NEW.limits FROM key_feed;
END;

-- Another digest is another key; the one before is gone.
DROP TRIGGER keys_exchanged;
CREATE TRIGGER keys_exchanged AFTER UPDATE OF sha256 ON keys WHEN NEW.sha256 <> OLD.sha256 BEGIN
  UPDATE key_feed SET head = max(head + 2, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
  DELETE FROM key_changes WHERE sha256 IN (OLD.sha256, NEW.sha256);
  INSERT INTO key_changes (version, sha256, removed_at)
    SELECT head - 1, OLD.sha256, CAST(strftime('%s', 'now') AS INTEGER) FROM key_feed;
  INSERT INTO key_changes (version, sha256, id, group_id, owner, team, models, multiplier, expires_at, disabled, limits)
    SELECT head, NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.team, NEW.models, NEW.multiplier, NEW.expires_at,
      NEW.disabled, NEW.limits FROM key_feed;
END;

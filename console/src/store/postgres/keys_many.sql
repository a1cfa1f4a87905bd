-- Many keys changed by one statement: what the feed says of them is written at once. Row by row, each would change the row of
-- the feed, and a transaction that does so a million times looks for it among a million versions of it.

-- The last of so many versions that follow each other. The row of the feed stays locked until the transaction ends: versions
-- become visible in their order, and a reader that has seen one has seen all before it, however late a transaction commits.
CREATE FUNCTION trilane_last_of_next_versions(many bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  UPDATE key_feed SET head = greatest(head, floor(extract(epoch FROM clock_timestamp()))::bigint * 1000000 - 1) + many RETURNING head
$$;

-- Each key is looked for by its digest: a session keeps a plan, and one that was made for a million keys would read the whole
-- table for one. The row of the feed has no index; PostgreSQL takes reading it for so dear that it would compile the statement.
CREATE FUNCTION trilane_keys_changed() RETURNS trigger LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
  problem text;
  many bigint;
  last_version bigint;
BEGIN
  IF TG_OP <> 'INSERT' THEN
    -- Another digest is another key; the one before is gone.
    SELECT count(*) INTO many FROM old_keys WHERE NOT EXISTS (SELECT FROM keys WHERE keys.sha256 = old_keys.sha256);
    IF many > 0 THEN
      last_version := trilane_last_of_next_versions(many);
      DELETE FROM key_changes USING old_keys WHERE key_changes.sha256 = old_keys.sha256
        AND NOT EXISTS (SELECT FROM keys WHERE keys.sha256 = old_keys.sha256);
      INSERT INTO key_changes (version, sha256, removed_at)
        SELECT last_version - many + row_number() OVER (), sha256, floor(extract(epoch FROM clock_timestamp()))::bigint
        FROM old_keys WHERE NOT EXISTS (SELECT FROM keys WHERE keys.sha256 = old_keys.sha256);
    END IF;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    -- A page with bad limits or models is refused whole by every gateway, so none may get in here.
    SELECT trilane_limits_problem(limits) INTO problem FROM new_keys WHERE trilane_limits_problem(limits) IS NOT NULL LIMIT 1;
    IF problem IS NOT NULL THEN
      RAISE EXCEPTION 'keys.limits: %', problem USING ERRCODE = 'check_violation';
    END IF;
    SELECT trilane_models_problem(models) INTO problem FROM new_keys WHERE trilane_models_problem(models) IS NOT NULL LIMIT 1;
    IF problem IS NOT NULL THEN
      RAISE EXCEPTION 'keys.models: %', problem USING ERRCODE = 'check_violation';
    END IF;
    -- What the feed says of them already is said no second time.
    DELETE FROM key_changes said USING new_keys k WHERE said.sha256 = k.sha256
      AND (said.id, said.group_id, said.owner, said.team, said.models, said.multiplier, said.expires_at, said.disabled, said.limits)
        IS DISTINCT FROM
        (k.id, k.group_id, k.owner, k.team, k.models, k.multiplier, k.expires_at, k.disabled, k.limits);
    SELECT count(*) INTO many FROM new_keys k WHERE NOT EXISTS (SELECT FROM key_changes said WHERE said.sha256 = k.sha256);
    IF many > 0 THEN
      last_version := trilane_last_of_next_versions(many);
      INSERT INTO key_changes (version, sha256, id, group_id, owner, team, models, multiplier, expires_at, disabled, limits)
        SELECT last_version - many + row_number() OVER (), sha256, id, group_id, owner, team, models, multiplier, expires_at,
          disabled, limits
        FROM new_keys k WHERE NOT EXISTS (SELECT FROM key_changes said WHERE said.sha256 = k.sha256);
    END IF;
  END IF;
  RETURN NULL;
END $$;

DROP TRIGGER keys_changed ON keys;
CREATE TRIGGER keys_inserted AFTER INSERT ON keys REFERENCING NEW TABLE AS new_keys
  FOR EACH STATEMENT EXECUTE FUNCTION trilane_keys_changed();
CREATE TRIGGER keys_updated AFTER UPDATE ON keys REFERENCING OLD TABLE AS old_keys NEW TABLE AS new_keys
  FOR EACH STATEMENT EXECUTE FUNCTION trilane_keys_changed();
CREATE TRIGGER keys_deleted AFTER DELETE ON keys REFERENCING OLD TABLE AS old_keys
  FOR EACH STATEMENT EXECUTE FUNCTION trilane_keys_changed();
DROP FUNCTION trilane_key_changed();
DROP FUNCTION trilane_next_version();

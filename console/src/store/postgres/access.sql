-- Keys with models and a multiplier of their own, and the team that a key belongs to.

-- What is wrong with the models of a key; NULL: nothing.
CREATE FUNCTION trilane_models_problem(given text) RETURNS text LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE
  form constant text := 'must be NULL or a JSON list of 1 to 64 names of models';
  whole json;
BEGIN
  IF octet_length(given) > 9000 OR given ~ '[^ -~]' THEN
    RETURN form;
  END IF;
  BEGIN
    whole := given::json;
  EXCEPTION WHEN data_exception THEN
    RETURN form;
  END;
  IF json_typeof(whole) <> 'array' OR json_array_length(whole) NOT BETWEEN 1 AND 64 THEN
    RETURN form;
  END IF;
  IF EXISTS (SELECT FROM json_array_elements(whole) WHERE json_typeof(value) <> 'string'
    OR value #>> '{}' !~ '^[]A-Za-z0-9_.:/@+[-]{1,128}$') THEN
    RETURN 'each must be 1 to 128 letters, digits or any of - _ . : / @ + [ ]';
  END IF;
  IF (SELECT count(*) <> count(DISTINCT value #>> '{}') FROM json_array_elements(whole)) THEN
    RETURN 'names a model twice';
  END IF;
  RETURN NULL;
EXCEPTION WHEN data_exception OR feature_not_supported THEN
  RETURN form;
END $$;

ALTER TABLE keys
  ADD COLUMN team TEXT CONSTRAINT "team must be 1 to 64 letters, digits or any of - _ . :" CHECK (team ~ '^[-A-Za-z0-9_.:]{1,64}$'),
  ADD COLUMN models TEXT,
  ADD COLUMN multiplier TEXT CONSTRAINT "multiplier must be a plain decimal, at most 1000000"
    CHECK (multiplier ~ '^[0-9]{1,7}(\.[0-9]{1,4})?$' AND multiplier::numeric <= 1000000);
ALTER TABLE key_changes ADD COLUMN team TEXT, ADD COLUMN models TEXT, ADD COLUMN multiplier TEXT;

CREATE OR REPLACE FUNCTION trilane_key_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  problem text;
BEGIN
  IF TG_OP = 'UPDATE' AND (NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.team, NEW.models, NEW.multiplier, NEW.expires_at,
    NEW.disabled, NEW.limits) IS NOT DISTINCT FROM (OLD.sha256, OLD.id, OLD.group_id, OLD.owner, OLD.team, OLD.models,
    OLD.multiplier, OLD.expires_at, OLD.disabled, OLD.limits) THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND NEW.sha256 <> OLD.sha256) THEN
    -- Another digest is another key; the one before is gone.
    DELETE FROM key_changes WHERE sha256 = OLD.sha256;
    INSERT INTO key_changes (version, sha256, removed_at)
      VALUES (trilane_next_version(), OLD.sha256, floor(extract(epoch FROM clock_timestamp()))::bigint);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    -- A page with bad limits or models is refused whole by every gateway, so none may get in here.
    problem := trilane_limits_problem(NEW.limits);
    IF problem IS NOT NULL THEN
      RAISE EXCEPTION 'keys.limits: %', problem USING ERRCODE = 'check_violation';
    END IF;
    problem := trilane_models_problem(NEW.models);
    IF problem IS NOT NULL THEN
      RAISE EXCEPTION 'keys.models: %', problem USING ERRCODE = 'check_violation';
    END IF;
    DELETE FROM key_changes WHERE sha256 = NEW.sha256;
    INSERT INTO key_changes (version, sha256, id, group_id, owner, team, models, multiplier, expires_at, disabled, limits)
      VALUES (trilane_next_version(), NEW.sha256, NEW.id, NEW.group_id, NEW.owner, NEW.team, NEW.models, NEW.multiplier,
        NEW.expires_at, NEW.disabled, NEW.limits);
  END IF;
  RETURN NULL;
END $$;

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

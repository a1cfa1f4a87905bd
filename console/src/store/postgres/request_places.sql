-- Lines of one moment stand in the order of their positions, and numbers come before texts in indexes: every line that is taken
-- is compared with many others, and an index without the names of files is a third as long.
DROP INDEX requests_by_time;
DROP INDEX requests_by_key;
DROP INDEX requests_by_owner;
CREATE INDEX requests_by_time ON requests (at, position);
CREATE INDEX requests_by_key ON requests (key_id, at, position);
CREATE INDEX requests_by_owner ON requests (owner, at, position);
ALTER TABLE requests DROP CONSTRAINT requests_pkey;
ALTER TABLE requests ADD PRIMARY KEY (position, file_id, envoy_id, taken_on);

-- Sums grow where they stand: with room beside a row, a change of it needs no new entry in the indexes.
ALTER TABLE usage_by_hour SET (fillfactor = 70);
ALTER TABLE usage_by_day SET (fillfactor = 50);
ALTER TABLE spend SET (fillfactor = 50);
ALTER TABLE spend_shares SET (fillfactor = 50);
ALTER TABLE key_use SET (fillfactor = 50);

-- How far the clock of an Envoy is ahead of the console's, in milliseconds; less than nothing: it is behind.
ALTER TABLE envoys ADD COLUMN clock_offset BIGINT;

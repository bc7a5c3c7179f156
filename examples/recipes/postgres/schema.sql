-- An id alone is not a position, because a transaction may commit a lower id after a higher one was read. The position is
-- (xid, id), among the events that are older than every running transaction.
CREATE TABLE events (
	xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
	id bigint GENERATED ALWAYS AS IDENTITY,
	body text NOT NULL,
	PRIMARY KEY (xid, id)
);

CREATE VIEW settled_events AS
	SELECT * FROM events WHERE xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint;

CREATE FUNCTION notify_events() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NOTIFY events; RETURN NULL; END';
CREATE TRIGGER notify_events AFTER INSERT ON events EXECUTE FUNCTION notify_events();

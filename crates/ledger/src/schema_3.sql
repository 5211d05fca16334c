-- Amounts are integers: epsilon in units of 1e-12, delta in units of 1e-18. Times are seconds since 1970, UTC.
-- The checks and triggers enforce the rules of the ledger for every SQL client. Checksums detect
-- damage: each row has one, and `whole` has the number of rows and the exclusive or of their checksums.

CREATE TABLE data_set (
    id                 INTEGER PRIMARY KEY,
    name               TEXT    NOT NULL UNIQUE,
    schema_fingerprint TEXT    NOT NULL,
    adjacency          TEXT    NOT NULL CHECK (adjacency IN ('replace-one', 'add/remove')),
    cap_epsilon        INTEGER NOT NULL CHECK (cap_epsilon > 0),
    cap_delta          INTEGER NOT NULL CHECK (cap_delta >= 0),
    added_at           INTEGER NOT NULL,
    checksum           BLOB    NOT NULL
) STRICT;

-- The charged amount is consistent with the state: in full until settled, and zero once cancelled.
-- `journal` is the path of the journal of its releases, and `progress` the digest of its newest durable entry.
CREATE TABLE charge (
    id               INTEGER PRIMARY KEY,
    token            TEXT    NOT NULL UNIQUE,
    data_set         INTEGER NOT NULL REFERENCES data_set (id),
    state            TEXT    NOT NULL CHECK (state IN ('reserved', 'started', 'settled', 'cancelled')),
    reserved_epsilon INTEGER NOT NULL CHECK (reserved_epsilon > 0),
    reserved_delta   INTEGER NOT NULL CHECK (reserved_delta >= 0),
    charged_epsilon  INTEGER NOT NULL CHECK (charged_epsilon BETWEEN 0 AND reserved_epsilon),
    charged_delta    INTEGER NOT NULL CHECK (charged_delta BETWEEN 0 AND reserved_delta),
    reserved_at      INTEGER NOT NULL,
    changed_at       INTEGER NOT NULL,
    purpose          TEXT    NOT NULL,
    plan             TEXT    NOT NULL,
    receipt          TEXT    CHECK ((receipt IS NOT NULL) = (state = 'settled')),
    journal          TEXT,
    progress         TEXT    CHECK (progress IS NULL OR state IN ('started', 'settled')),
    checksum         BLOB    NOT NULL,
    CHECK (state = 'settled'
        OR (state = 'cancelled' AND charged_epsilon = 0 AND charged_delta = 0)
        OR (state <> 'cancelled' AND charged_epsilon = reserved_epsilon AND charged_delta = reserved_delta))
) STRICT;

CREATE TABLE whole (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    data_sets INTEGER NOT NULL CHECK (data_sets >= 0),
    charges   INTEGER NOT NULL CHECK (charges >= 0),
    checksum  BLOB    NOT NULL
) STRICT;

CREATE TRIGGER data_set_is_fixed BEFORE UPDATE ON data_set
BEGIN SELECT RAISE(ABORT, 'a data set is fixed when it is added'); END;

CREATE TRIGGER data_set_stays BEFORE DELETE ON data_set
BEGIN SELECT RAISE(ABORT, 'a data set is never deleted'); END;

CREATE TRIGGER charge_stays BEFORE DELETE ON charge
BEGIN SELECT RAISE(ABORT, 'a charge is never deleted'); END;

CREATE TRIGGER whole_only_grows BEFORE UPDATE ON whole
WHEN NEW.data_sets < OLD.data_sets OR NEW.charges < OLD.charges
BEGIN SELECT RAISE(ABORT, 'nothing is ever deleted'); END;

CREATE TRIGGER charge_moves_forward BEFORE UPDATE ON charge
WHEN NOT ((OLD.state = 'reserved' AND NEW.state IN ('started', 'cancelled'))
        OR (OLD.state = 'started' AND NEW.state = 'settled')
        OR (OLD.state = 'started' AND NEW.state = 'started' AND NEW.progress IS NOT OLD.progress))
    OR NEW.id <> OLD.id OR NEW.token <> OLD.token OR NEW.data_set <> OLD.data_set
    OR NEW.reserved_epsilon <> OLD.reserved_epsilon OR NEW.reserved_delta <> OLD.reserved_delta
BEGIN SELECT RAISE(ABORT, 'a charge only moves forward'); END;

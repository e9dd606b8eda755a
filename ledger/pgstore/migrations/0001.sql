-- Keys compare bytewise. Times are nanoseconds since the Unix epoch, UTC.
-- realm leads every key: one realm is one ledger.

-- Every accepted Tx, for ever. receipt is '' only inside the transaction that
-- claims the id.
CREATE TABLE ledger_tx (
	realm   TEXT COLLATE "C" NOT NULL,
	id      TEXT COLLATE "C" NOT NULL,
	at      BIGINT NOT NULL DEFAULT 0,
	digest  BYTEA NOT NULL DEFAULT '',
	tx      TEXT NOT NULL DEFAULT '',
	receipt TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (realm, id)
);

-- What is committed and has no place in the journal yet. stamp is not less
-- than the time of the Tx and greater than the stamp of every row it saw. docs
-- are the documents it writes, separated by spaces.
CREATE TABLE ledger_unsealed (
	realm  TEXT COLLATE "C" NOT NULL,
	stamp  BIGINT NOT NULL,
	id     TEXT COLLATE "C" NOT NULL,
	at     BIGINT NOT NULL,
	digest BYTEA NOT NULL,
	docs   TEXT NOT NULL,
	PRIMARY KEY (realm, stamp, id)
);

-- The places given: the journal is this joined with ledger_tx.
CREATE TABLE ledger_chain (
	realm TEXT COLLATE "C" NOT NULL,
	seq   BIGINT NOT NULL,
	id    TEXT COLLATE "C" NOT NULL,
	hash  BYTEA NOT NULL,
	PRIMARY KEY (realm, seq),
	CHECK (seq > 0)
);

CREATE TABLE ledger_doc_entry (
	realm TEXT COLLATE "C" NOT NULL,
	doc   TEXT COLLATE "C" NOT NULL,
	seq   BIGINT NOT NULL,
	PRIMARY KEY (realm, doc, seq)
);

-- The end of the journal; who seals locks it.
CREATE TABLE ledger_head (
	realm TEXT COLLATE "C" NOT NULL,
	seq   BIGINT NOT NULL,
	hash  BYTEA NOT NULL,
	PRIMARY KEY (realm)
);

-- version 0: a row that is only there to be locked.
CREATE TABLE ledger_balance (
	realm   TEXT COLLATE "C" NOT NULL,
	account TEXT COLLATE "C" NOT NULL,
	asset   TEXT COLLATE "C" NOT NULL,
	posted  BIGINT NOT NULL DEFAULT 0,
	held    BIGINT NOT NULL DEFAULT 0,
	floor   BIGINT NOT NULL DEFAULT 0,
	version BIGINT NOT NULL DEFAULT 0,
	closed  BOOLEAN NOT NULL DEFAULT false,
	stamp   BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (realm, account, asset),
	CONSTRAINT ledger_balance_floor CHECK (posted - held >= floor),
	CONSTRAINT ledger_balance_held CHECK (held >= 0)
);

-- state: 1 open, 2 captured, 3 voided; 0 a row that is only there to be locked.
CREATE TABLE ledger_hold (
	realm      TEXT COLLATE "C" NOT NULL,
	id         TEXT COLLATE "C" NOT NULL,
	account    TEXT COLLATE "C" NOT NULL DEFAULT '',
	asset      TEXT COLLATE "C" NOT NULL DEFAULT '',
	amount     BIGINT NOT NULL DEFAULT 0,
	expires_at BIGINT NOT NULL DEFAULT 0,
	remaining  BIGINT NOT NULL DEFAULT 0,
	state      SMALLINT NOT NULL DEFAULT 0,
	PRIMARY KEY (realm, id),
	CHECK (state BETWEEN 0 AND 3),
	CHECK (remaining BETWEEN 0 AND amount),
	CHECK ((state = 1) = (remaining > 0))
);

-- version 0: a row that is only there to be locked.
CREATE TABLE ledger_doc (
	realm   TEXT COLLATE "C" NOT NULL,
	key     TEXT COLLATE "C" NOT NULL,
	version BIGINT NOT NULL DEFAULT 0,
	status  TEXT COLLATE "C" NOT NULL DEFAULT '',
	body    BYTEA NOT NULL DEFAULT '',
	sealed  BOOLEAN NOT NULL DEFAULT false,
	updated BIGINT NOT NULL DEFAULT 0,
	stamp   BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (realm, key),
	CHECK (version >= 0)
);

CREATE INDEX ledger_doc_status ON ledger_doc (realm, status, key);

CREATE TABLE ledger_counter (
	realm TEXT COLLATE "C" NOT NULL,
	key   TEXT COLLATE "C" NOT NULL,
	value BIGINT NOT NULL DEFAULT 0,
	stamp BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (realm, key)
);

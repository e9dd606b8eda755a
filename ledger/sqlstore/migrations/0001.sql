-- Keys compare bytewise. Times are nanoseconds since the Unix epoch, UTC.
-- stamp orders entries by what they depend on: not less than the time of the
-- entry, greater than the stamp of every row the entry saw.

CREATE TABLE {p}entry (
	realm   {key} NOT NULL,
	id      {key} NOT NULL,
	at      {int} NOT NULL,
	digest  {bytes} NOT NULL,
	stamp   {int} NOT NULL,
	seq     {int},
	hash    {bytes},
	tx      TEXT NOT NULL,
	receipt TEXT NOT NULL,
	PRIMARY KEY (realm, id),
	CHECK ((seq IS NULL) = (hash IS NULL))
){rowid};

CREATE UNIQUE INDEX {p}entry_seq ON {p}entry (realm, seq);

CREATE INDEX {p}entry_unsealed ON {p}entry (realm, stamp, id) WHERE seq IS NULL;

CREATE TABLE {p}head (
	realm {key} NOT NULL,
	seq   {int} NOT NULL,
	hash  {bytes} NOT NULL,
	PRIMARY KEY (realm),
	CHECK (seq >= 0)
){clustered};

CREATE TABLE {p}doc_entry (
	realm {key} NOT NULL,
	doc   {key} NOT NULL,
	seq   {int} NOT NULL,
	PRIMARY KEY (realm, doc, seq)
){clustered};

CREATE TABLE {p}balance (
	realm   {key} NOT NULL,
	account {key} NOT NULL,
	asset   {key} NOT NULL,
	posted  {int} NOT NULL,
	held    {int} NOT NULL,
	floor   {int} NOT NULL,
	version {int} NOT NULL,
	closed  {int} NOT NULL,
	stamp   {int} NOT NULL,
	PRIMARY KEY (realm, account, asset),
	CHECK (posted - held >= floor),
	CHECK (held >= 0),
	CHECK (version >= 0),
	CHECK (closed IN (0, 1))
){clustered};

-- state: 1 open, 2 captured, 3 voided; 0 a row that only holds a lock.
CREATE TABLE {p}hold (
	realm      {key} NOT NULL,
	id         {key} NOT NULL,
	account    {key} NOT NULL,
	asset      {key} NOT NULL,
	amount     {int} NOT NULL,
	expires_at {int} NOT NULL,
	remaining  {int} NOT NULL,
	state      {int} NOT NULL,
	PRIMARY KEY (realm, id),
	CHECK (state BETWEEN 0 AND 3),
	CHECK (remaining BETWEEN 0 AND amount),
	CHECK ((state = 1) = (remaining > 0))
){clustered};

-- version 0: a row that only holds a lock.
CREATE TABLE {p}doc (
	realm   {key} NOT NULL,
	key     {key} NOT NULL,
	version {int} NOT NULL,
	status  {key} NOT NULL,
	body    {bytes} NOT NULL,
	sealed  {int} NOT NULL,
	updated {int} NOT NULL,
	stamp   {int} NOT NULL,
	PRIMARY KEY (realm, key),
	CHECK (version >= 0),
	CHECK (sealed IN (0, 1))
){rowid};

CREATE INDEX {p}doc_status ON {p}doc (realm, status, key);

CREATE TABLE {p}counter (
	realm {key} NOT NULL,
	key   {key} NOT NULL,
	value {int} NOT NULL,
	stamp {int} NOT NULL,
	PRIMARY KEY (realm, key)
){clustered};

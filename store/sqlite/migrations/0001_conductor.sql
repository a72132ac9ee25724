CREATE TABLE conductor_submission (
	hotkey       TEXT    NOT NULL PRIMARY KEY,
	block        INTEGER NOT NULL CHECK (block >= 0),
	registration TEXT    NOT NULL CHECK (length(registration) = 64),
	manifest     TEXT    NOT NULL CHECK (length(manifest) = 64)
) STRICT;

CREATE TABLE conductor_window (
	number INTEGER NOT NULL PRIMARY KEY CHECK (number > 0),
	block  INTEGER NOT NULL CHECK (block >= 0),
	nonce  TEXT    NOT NULL CHECK (nonce <> ''),
	phase  INTEGER NOT NULL CHECK (phase BETWEEN 1 AND 4)
) STRICT;

CREATE TABLE conductor_shot (
	hotkey TEXT    NOT NULL REFERENCES conductor_submission (hotkey),
	window INTEGER NOT NULL REFERENCES conductor_window (number),
	status TEXT    NOT NULL CHECK (status IN ('duelled', 'refused', 'skipped', 'deferred', 'unqueued')),
	detail TEXT    NOT NULL,
	PRIMARY KEY (hotkey, window)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX conductor_shot_spent ON conductor_shot (hotkey) WHERE status IN ('duelled', 'refused');
CREATE INDEX conductor_shot_window ON conductor_shot (window, hotkey);

CREATE TABLE conductor_coronation (
	window INTEGER NOT NULL PRIMARY KEY REFERENCES conductor_window (number),
	hotkey TEXT    NOT NULL REFERENCES conductor_submission (hotkey)
) STRICT;

package store

import sqlite3 "modernc.org/sqlite/lib"

// SQLiteVersion is the version of the embedded database engine.
func SQLiteVersion() string { return sqlite3.SQLITE_VERSION }

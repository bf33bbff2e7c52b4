#!/usr/bin/env bash
# SQLite (modernc.org/sqlite v1.61.1) reads all pages of a large value to tell whether it IS NULL, although the header
# of the row says so. length(value) IS NOT NULL reads only the header. One would expect the opposite, or no difference.
#
# Output seen on 2026-11-30:
#   200 values of 400,000 bytes: IS NOT NULL takes at least 10 times as long as length(value) IS NOT NULL
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"

cat >main.go <<'GO'
package main

import (
	"database/sql"
	"fmt"
	"time"

	_ "modernc.org/sqlite"
)

func main() {
	db, err := sql.Open("sqlite", "test.db")
	if err != nil {
		panic(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, value BLOB)"); err != nil {
		panic(err)
	}
	for range 200 {
		if _, err := db.Exec("INSERT INTO t (value) VALUES (randomblob(400000))"); err != nil {
			panic(err)
		}
	}
	took := func(condition string) time.Duration {
		least := time.Hour
		for range 5 {
			began, n := time.Now(), 0
			if err := db.QueryRow("SELECT sum(" + condition + ") FROM t").Scan(&n); err != nil || n != 200 {
				panic(fmt.Sprint(n, err))
			}
			least = min(least, time.Since(began))
		}
		return least
	}
	text := "less than"
	if took("value IS NOT NULL") >= 10*took("length(value) IS NOT NULL") {
		text = "at least"
	}
	fmt.Println("200 values of 400,000 bytes: IS NOT NULL takes", text, "10 times as long as length(value) IS NOT NULL")
}
GO
go mod init finding 2>/dev/null
go get modernc.org/sqlite@v1.61.1 2>/dev/null

go run . | tee seen
diff seen - <<'WANT'
200 values of 400,000 bytes: IS NOT NULL takes at least 10 times as long as length(value) IS NOT NULL
WANT

package store

const (
	rowValues  = "day, id, account, kind, state, data"
	insertRows = "INSERT INTO attempt_rows (" + rowValues + ") VALUES "
	numValues  = 6
)

// insertOpened returns the insertion of open attempts. It leaves existing rows unchanged.
func insertOpened() *insertion {
	return &insertion{head: insertRows, columns: numValues, tail: " ON CONFLICT (day, id) DO NOTHING"}
}

// insertSettled returns the insertion of settled attempts. It settles rows that are open and leaves settled rows
// unchanged, so that they do not count as changed.
func insertSettled() *insertion {
	return &insertion{
		head: insertRows, columns: numValues,
		tail: " ON CONFLICT (day, id) DO UPDATE SET account = excluded.account, kind = excluded.kind," +
			" state = excluded.state, data = excluded.data WHERE attempt_rows.state = 0",
	}
}

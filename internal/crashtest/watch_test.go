//go:build unix

package crashtest_test

import "testing"

// watching has the database check, at every commit that changes a balance or a slice, whether the budget of that scope
// is exceeded by the nodes' possible spending: the grant or the spending of each node, whichever is greater. It records
// each checked commit, and the result. Commits wait for each other there, so that concurrent ones are checked, too.
const watching = `
CREATE TABLE watched (scope text, reached bigint, allowed bigint);
CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE allowed bigint; reached bigint;
BEGIN
  SELECT budget INTO allowed FROM accounts WHERE id = NEW.scope AND budget > 0 AND budget_period = 'total';
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM pg_advisory_xact_lock(4711);
  SELECT sum(greatest(spent, granted)) INTO reached FROM (
    SELECT journal, sum(spent) AS spent, sum(granted) AS granted FROM (
      SELECT journal, spent, 0 AS granted FROM balances WHERE scope = NEW.scope
      UNION ALL SELECT journal, 0, granted FROM slices WHERE scope = NEW.scope AND period = 0) AS each
    GROUP BY journal) AS nodes;
  INSERT INTO watched VALUES (NEW.scope, reached, allowed);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER watch_balances AFTER INSERT OR UPDATE ON balances
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION watch();
CREATE CONSTRAINT TRIGGER watch_slices AFTER INSERT OR UPDATE ON slices
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION watch();
`

// watch starts the checks, and verifies that they find a fault.
func (f *fleet) watch() {
	f.t.Helper()
	f.query(watching)
	const scope = "'a budget of the test'"
	account := "INSERT INTO accounts (id, name, suspended, on_hangup, budget, budget_period, created) VALUES (" + scope + ", " + scope + ", 0, 'cancel', 100, 'total', 0); "
	spent := func(journal, amount string) string {
		return "INSERT INTO balances (scope, day, journal, spent) VALUES (" + scope + ", 0, " + journal + ", " + amount + "); "
	}
	granted := func(journal, amount string) string {
		return "INSERT INTO slices (scope, period, journal, granted, wanted) VALUES (" + scope + ", 0, " + journal + ", " + amount + ", 0); "
	}
	end := "DELETE FROM balances WHERE scope = " + scope + "; DELETE FROM slices WHERE scope = " + scope + "; "
	for _, c := range []struct {
		statements string
		want       int64
	}{
		{spent("1", "50") + granted("1", "60") + granted("2", "40"), 0},
		{spent("1", "50") + granted("1", "60") + granted("2", "41"), 3},
		{spent("1", "61") + granted("1", "60") + granted("2", "40"), 3},
		{granted("1", "200") + "UPDATE slices SET granted = 100 WHERE scope = " + scope + "; ", 0},
	} {
		f.query("BEGIN; " + account + c.statements + "COMMIT")
		f.query("BEGIN; " + end + "DELETE FROM accounts WHERE id = " + scope + "; COMMIT")
		if got := f.overdrawn(scope); got != c.want {
			f.t.Fatalf("%s: the watch found %d passed budgets, want %d", c.statements, got, c.want)
		}
		f.query("DELETE FROM watched WHERE scope = " + scope)
	}
}

// overdrawn returns how often the budget of a scope, in quotes, was found exceeded.
func (f *fleet) overdrawn(scope string) int64 {
	f.t.Helper()
	return f.count("SELECT count(*) FROM watched WHERE reached > allowed AND scope = " + scope)
}

// neverOverdrawn fails the test if a budget was exceeded, or nothing was checked.
func (f *fleet) neverOverdrawn(t *testing.T, scope string) (looked int64) {
	t.Helper()
	if got := f.overdrawn("'" + scope + "'"); got > 0 {
		t.Errorf("the budget was passed at %d commits: %v", got,
			f.query("SELECT reached, allowed FROM watched WHERE reached > allowed AND scope = '"+scope+"' LIMIT 8"))
	}
	looked = f.count("SELECT count(*) FROM watched WHERE scope = '" + scope + "'")
	if looked == 0 {
		t.Error("no commit touched the budget")
	}
	return looked
}

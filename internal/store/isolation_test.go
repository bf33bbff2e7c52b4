package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/store"
)

// TestStricterIsolation creates many accounts at once in a database with the strictest default isolation.
func TestStricterIsolation(t *testing.T) {
	t.Parallel()
	o := engines()["PostgreSQL"](t)
	db := behind(t, o)
	defer db.Close()
	name := must.Get(scalar[string](t, db, "SELECT current_database()"))(t)
	for _, setting := range []string{"default_transaction_isolation = 'serializable'", "idle_in_transaction_session_timeout = '20ms'"} {
		must.Get(db.ExecContext(t.Context(), "ALTER DATABASE "+name+" SET "+setting))(t)
	}
	stores := []*store.DB{open(t, o), open(t, o), open(t, o)}
	var all sync.WaitGroup
	errs := make([]error, 36)
	for i := range errs {
		all.Go(func() {
			a := account.Account{ID: fmt.Sprint(i), Name: fmt.Sprint("n", i)}
			errs[i] = stores[i%len(stores)].Accounts.CreateAccount(context.WithoutCancel(t.Context()), audit.Gateway(), a)
		})
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("create %d: %v", i, err)
		}
	}
	must.Do(t, stores[0].Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, many(2100)...)))
	v := must.Get(stores[0].Ledger.Verify(t.Context(), func(int64, int64) { time.Sleep(100 * time.Millisecond) }))(t)
	must.Equal(t, v.Rows, int64(2100), "rows, with pauses in between")
}

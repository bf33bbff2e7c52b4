package store_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
	"weir/internal/store"
)

// TestForgottenPersonIsNowhere searches the whole database for a person, before and after their removal.
func TestForgottenPersonIsNowhere(t *testing.T) {
	t.Parallel()
	everywhere(t, testForgottenPersonIsNowhere)
}

func testForgottenPersonIsNowhere(t *testing.T, o store.Options) {
	s := open(t, o)
	ann, bob := joined(t, s, "ann"), joined(t, s, "bob")
	by := audit.Actor{Kind: audit.User, ID: ann, Name: "ann@x.example", Address: "192.0.2.77", Request: "r"}
	must.Do(t, s.Users.RenameUser(t.Context(), by, ann, "Annabel Marker"))
	_, err := s.Accounts.AddCredit(t.Context(), by, account.CreditEntry{ID: "c", AccountID: "a", Amount: llm.USD, At: time.Now()})
	must.Do(t, err)
	must.Do(t, s.Admissions.CreateReset(t.Context(), audit.Actor{Kind: audit.Nobody, Address: "192.0.2.78"},
		people.NewReset{UserID: ann, Mailed: true, Created: time.Now(), Expires: time.Now().Add(time.Hour)}, people.Hash{7}))
	tamper(t, o, "INSERT INTO managed_versions (seq, at, who, summary, document) VALUES (1, 0, 'user ann@x.example', '', '')")
	must.Get(s.Invitations.Invite(t.Context(), by, people.Invitation{ // the inviter is an owner who leaves
		ID: "inv_cy", Email: "cy@x.example", AccountID: "a", Role: people.Viewer, By: by.Name, Created: time.Now(),
		Expires: time.Now().Add(time.Hour),
	}, people.Hash{9}))(t)
	marks := []string{"ann@x.example", "Annabel", "ANN Marker", "192.0.2.77", "192.0.2.78", "ann's browser"}
	for _, mark := range marks {
		if found := holding(t, o, mark); len(found) == 0 {
			t.Errorf("before: %q is nowhere, so that this test would find nothing", mark)
		}
	}
	others := holding(t, o, "bob@x.example")
	head := must.Get(s.Audit.Verify(t.Context(), audit.Hash{}))(t)
	must.Do(t, s.Users.RemoveUser(t.Context(), audit.Actor{Kind: audit.Command, Name: "root"}, ann))
	for _, mark := range marks {
		if found := holding(t, o, mark); len(found) > 0 {
			t.Errorf("after: %q is in %v", mark, found)
		}
	}
	must.Equal(t, holding(t, o, "bob@x.example"), others, "another person's data")
	v := must.Get(s.Audit.Verify(t.Context(), head.Head))(t)
	if !v.Whole() || v.Entries <= head.Entries {
		t.Errorf("the chain: got %+v, want it whole, behind %+v", v, head)
	}
	list := must.Get(s.Audit.Entries(t.Context(), audit.Query{Actor: ann, Limit: 9}))(t)
	if len(list) == 0 || list[0].Actor.ID != ann || list[0].Actor.Name != "" {
		t.Errorf("the person's actions: got %+v, want them under their id", list)
	}
	// Deleted values cannot be written again, nor existing ones be changed.
	for _, statement := range []string{
		"UPDATE audit SET actor_name = 'eve' WHERE actor_id = '" + ann + "'",
		"UPDATE audit SET object_name = 'eve@x.example' WHERE object_kind = 'user' AND object_id = '" + bob + "'",
		"UPDATE audit SET became = NULL WHERE object_kind = 'user' AND object_id = '" + bob + "'",
	} {
		tamper(t, o, statement)
		if v := must.Get(s.Audit.Verify(t.Context(), audit.Hash{}))(t); v.Whole() {
			t.Errorf("%s: got a whole chain", statement)
		}
		tamper(t, o, "UPDATE audit SET actor_name = '' WHERE actor_id = '"+ann+"'")
	}
}

// joined creates a user who owns the account a. The first call creates the account, too.
func joined(t *testing.T, s *store.DB, name string) (id string) {
	t.Helper()
	ctx, now, by := t.Context(), time.Now(), audit.Actor{Kind: audit.Command, Name: "root"}
	_ = s.Accounts.CreateAccount(ctx, by, account.Account{ID: "a", Name: "a", Created: now})
	i := people.Invitation{
		ID: "inv_" + name, Email: name + "@x.example", AccountID: "a", Role: people.Owner, By: "root",
		Created: now, Expires: now.Add(time.Hour),
	}
	link := people.Hash{name[0]}
	must.Get(s.Invitations.Invite(ctx, by, i, link))(t)
	u := people.User{ID: "user-" + name[:1], Email: i.Email, Name: strings.ToUpper(name) + " Marker", Created: now}
	n := signin.NewSession{Token: people.Hash{name[0], 1}, Session: people.Session{
		ID: "session-" + u.ID, UserID: u.ID, Method: people.ByInvitation, Agent: name + "'s browser", Created: now,
		Seen: now, Expires: now.Add(time.Hour),
	}}
	must.Do(t, s.Admissions.UseInvitation(ctx, signin.Admission{
		Link: link, User: u, Password: llm.NewSecret("$hash"), Session: &n, At: now,
		By: audit.Actor{Kind: audit.User, ID: u.ID, Name: u.Email},
	}))
	return u.ID
}

// holding lists the tables with a row that contains a text, and the number of these rows.
func holding(t *testing.T, o store.Options, text string) (found []string) {
	t.Helper()
	db := behind(t, o)
	defer db.Close()
	list := "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
	if !o.URL.IsZero() {
		list = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename"
	}
	for _, table := range cells(t, db, list) {
		n := 0
		for _, row := range cells(t, db, "SELECT * FROM "+table[0]) {
			if strings.Contains(strings.Join(row, "\x00"), text) {
				n++
			}
		}
		if n > 0 {
			found = append(found, fmt.Sprint(table[0], " ", n))
		}
	}
	return found
}

// cells returns the rows of a query as texts.
func cells(t *testing.T, db *sql.DB, query string) (all [][]string) {
	t.Helper()
	rows := must.Get(db.QueryContext(t.Context(), query))(t)
	defer rows.Close()
	columns := must.Get(rows.Columns())(t)
	for rows.Next() {
		row, dest := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range row {
			dest[i] = &row[i]
		}
		must.Do(t, rows.Scan(dest...))
		texts := make([]string, len(row))
		for i := range row {
			texts[i] = row[i].String
		}
		all = append(all, texts)
	}
	must.Do(t, rows.Err())
	return all
}

package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/contentlog"
	"weir/internal/e2e/harness"
	"weir/internal/must"
	"weir/internal/store"
)

// TestExportGoesOnAfterUnreadableContent has a record that cannot be decrypted between two that can: the export has the
// two, names the third in a line with an error, and ends with an error for a command.
func TestExportGoesOnAfterUnreadableContent(t *testing.T) {
	t.Parallel()
	o := openOfficeWith(t, operatorsRead)
	o.call(200, "PATCH /accounts/{account}", `{"content_percent": 100}`, "default")
	setContent(o.Gateway, 100)
	o.call(200, "DELETE /accounts/{account}/content", "", "default")
	first := o.MustAnswer(o.Chat("house/echo")).ID
	idle(o.Gateway)
	lost := uuid.Must(uuid.NewV7())
	db := must.Get(store.Open(t.Context(), store.Options{Path: filepath.Join(o.Data, "weir.db")}))(t)
	must.Do(t, db.Content.Write(t.Context(), []contentlog.Record{{
		Account: accountID(o.Gateway), Key: "k", Request: lost, Created: time.Now(), Sealed: []byte("not what was written"),
	}}))
	must.Do(t, db.Close())
	second := o.MustAnswer(o.Chat("house/echo")).ID
	want := []string{first, lost.String() + " The content cannot be decrypted.", second}
	wantLines := func(what string, body string) {
		var got []string
		for line := range strings.Lines(body) {
			var c admin.LoggedContent
			must.Do(t, json.Unmarshal([]byte(line), &c))
			if (c.Error == "") != strings.Contains(string(c.Answer), "choices") {
				t.Errorf("%s: got %s, want an error or an answer", what, line)
			}
			got = append(got, strings.TrimSpace(c.RequestID+" "+c.Error))
		}
		must.Equal(t, got, want, "lines of %s", what)
	}
	r := o.Do(harness.Ask{Path: "/admin/v1/accounts/default/content", Key: o.admin})
	must.Equal(t, r.Status, 200, "status")
	wantLines("the API", r.Body)
	withPeople(o.Gateway, func(ctx context.Context, d *admin.Admin) error {
		var text strings.Builder
		a := must.Get(d.Accounts.Account(ctx, account.DefaultName))(t)
		err := d.Content.Export(ctx, audit.Gateway(), &a, a.Created, d.Now(), func(c *admin.LoggedContent) error {
			return json.NewEncoder(&text).Encode(c)
		})
		wantLines("the operation", text.String())
		problem, ok := errors.AsType[*admin.Unreadable](err)
		if !ok || problem.Count != 1 || !strings.Contains(err.Error(), lost.String()) {
			t.Errorf("got %v, want an error that names %s", err, lost)
		}
		return nil
	})
}

// TestContentHasTheProvidersWords checks that the content of a failed request has the provider's explanation, redacted,
// and that of an answered one has none.
func TestContentHasTheProvidersWords(t *testing.T) {
	t.Parallel()
	o := openOfficeWith(t, operatorsRead)
	o.call(200, "PATCH /accounts/{account}", `{"content_percent": 100}`, "default")
	setContent(o.Gateway, 100)
	const one = "GET /accounts/{account}/requests/{id}/content"
	failed := o.call(200, one, "", "default", o.Chat("house/chat:status=500").Header.Get("X-Request-Id"))
	if got := at(failed, "failures", "0", "provider_message"); !strings.Contains(got, "simul") || at(failed, "failures", "0", "attempt") != "1" {
		t.Errorf("got %v, want the simulator's words", failed)
	}
	if got := at(o.call(200, one, "", "default", o.MustAnswer(o.Chat("house/echo")).ID), "failures"); got != "<nil>" {
		t.Errorf("an answered request: got the failures %s", got)
	}
}

// accountID returns the id of the account default.
func accountID(h *harness.Gateway) (id string) {
	h.Administer(func(ctx context.Context, s *account.Service) error {
		a, err := s.Account(ctx, account.DefaultName)
		id = a.ID
		return err
	})
	return id
}

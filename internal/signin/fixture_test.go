package signin_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
	"weir/internal/store"
	"weir/internal/store/opentest"
	"weir/internal/worktest"
)

func TestMain(m *testing.M) {
	worktest.Begin(8)
	goleak.VerifyTestMain(m)
}

// fixture is a directory with its sign-in over a real database, with a manual clock.
type fixture struct {
	*people.Directory
	signIn  *signin.Service
	store   *store.DB
	account account.Account // named default
	dir     string          // of the database
	ctx     context.Context
	t       testing.TB

	mu  sync.Mutex
	now time.Time
	log bytes.Buffer
}

const publicURL = "https://weir.example.com"

func newFixture(t testing.TB, change ...func(*people.Options, *signin.Options)) *fixture {
	t.Helper()
	h := &fixture{t: t, dir: t.TempDir(), ctx: t.Context(), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	log := slog.New(slog.NewTextHandler(h, nil))
	h.store = opentest.Open(t, store.Options{Path: filepath.Join(h.dir, "weir.db"), Clock: h.clock, Log: log})
	h.account = h.newAccount("default")
	h.open(log, change...)
	return h
}

// open builds the directory and its sign-in.
func (h *fixture) open(log *slog.Logger, change ...func(*people.Options, *signin.Options)) {
	public := func() string { return publicURL }
	d := people.Options{Stores: h.store.PeopleStores(), Now: h.clock, Log: log, PublicURL: public}
	o := signin.Options{Light: true, Stores: h.store.SignInStores(), Now: h.clock, Log: log, PublicURL: public}
	for _, c := range change {
		c(&d, &o)
	}
	h.Directory = people.New(d)
	o.Directory = h.Directory
	h.signIn = signin.New(o)
}

// newAccount adds an account without the services.
func (h *fixture) newAccount(name string) account.Account {
	h.t.Helper()
	a := account.Account{ID: "acc_" + name, Name: name, OnDisconnect: account.DisconnectCancel, Created: h.now}
	must.Do(h.t, h.store.Accounts.CreateAccount(h.ctx, audit.Gateway(), a))
	return a
}

func (h *fixture) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *fixture) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// Write records a log line.
func (h *fixture) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(p)
}

// The people and their origins.
var (
	home     = people.Origin{Address: "192.0.2.1", Agent: "Browser/1", Request: "req_1"}
	stranger = people.Origin{Address: "198.51.100.7", Agent: "Robot/1"}
)

const goodPassword = "a few words in a row"

func secret(text string) llm.Secret { return llm.NewSecret(text) }

func person(email string) signin.Person {
	return signin.Person{Email: email, Name: "Ada", Password: secret(goodPassword)}
}

// setUp creates the first operator and returns their session.
func (h *fixture) setUp(email string) *people.Visitor {
	h.t.Helper()
	link := h.setupLink()
	session, err := h.signIn.Links.SetUp(h.ctx, link, person(email), home)
	if err != nil {
		h.t.Fatalf("set up: %v", err)
	}
	return h.visitor(session)
}

func (h *fixture) setupLink() string {
	h.t.Helper()
	s := account.NewService(h.store.Accounts.Stores(), h.clock, slog.New(slog.DiscardHandler))
	token := must.Get(s.CreateSetupToken(h.ctx, audit.Gateway()))(h.t)
	return token.Reveal()
}

// visitor returns the owner of a session, which must be valid.
func (h *fixture) visitor(session llm.Secret) *people.Visitor {
	h.t.Helper()
	v, err := h.signIn.Sessions.Visitor(h.ctx, session.Reveal(), home)
	if err != nil || v == nil {
		h.t.Fatalf("visitor: got %v, %v; want a person", v, err)
	}
	return v
}

// gone fails if a session is still valid.
func (h *fixture) gone(session llm.Secret, why string) {
	h.t.Helper()
	if v, err := h.signIn.Sessions.Visitor(h.ctx, session.Reveal(), home); v != nil || err != nil {
		h.t.Errorf("a session after %s: got %v, %v; want none", why, v, err)
	}
}

// newInvitation creates an invitation, and returns the token of its link and the reason why it was not mailed.
func (h *fixture) newInvitation(by audit.Actor, i people.Invitation) (llm.Secret, people.Invitation, error) {
	one, err := h.Invite(h.ctx, by, i, "")
	return tokenOf(one.Link), one.Invitation, cmp.Or(err, one.Unmailed)
}

// resetLink returns the token of a link for a new password.
func (h *fixture) resetLink(by audit.Actor, userID string) (llm.Secret, error) {
	link, err := h.ResetLink(h.ctx, by, userID, "")
	return tokenOf(link), err
}

// signInLink returns the token of a link that signs an operator in.
func (h *fixture) signInLink(by audit.Actor, userID string) (llm.Secret, error) {
	link, err := h.SignInLink(h.ctx, by, userID)
	return tokenOf(link), err
}

// tokenOf returns the token of a link.
func tokenOf(link llm.Secret) llm.Secret {
	return llm.NewSecret(link.Reveal()[strings.LastIndexByte(link.Reveal(), '/')+1:])
}

// join creates a member of the account default.
func (h *fixture) join(by audit.Actor, email string, r people.Role) *people.Visitor {
	h.t.Helper()
	token, _, err := h.newInvitation(by, people.Invitation{Email: email, AccountID: h.account.ID, Role: r})
	if err != nil {
		h.t.Fatalf("invite %s: %v", email, err)
	}
	session, err := h.signIn.Links.Accept(h.ctx, token.Reveal(), person(""), home)
	if err != nil {
		h.t.Fatalf("accept as %s: %v", email, err)
	}
	return h.visitor(session)
}

// wantCode fails when an error has another code.
func wantCode(t testing.TB, doing string, err error, want llm.Code) {
	t.Helper()
	if err == nil || llm.AsError(err).Code != want {
		t.Errorf("%s: got %v, want %s", doing, err, want)
	}
}

// actions lists the actions in the audit log, the oldest first, with the object.
func (h *fixture) actions() string {
	h.t.Helper()
	list := must.Get(h.store.Audit.Entries(h.ctx, audit.Query{Limit: 1000}))(h.t)
	var all []string
	for i := len(list) - 1; i >= 0; i-- {
		name := list[i].Object.Name
		if list[i].Object.Kind == "session" {
			name = "-"
		}
		all = append(all, fmt.Sprintf("%s %s by %s", list[i].Action, name, list[i].Actor.Name))
	}
	return strings.Join(all, "\n")
}

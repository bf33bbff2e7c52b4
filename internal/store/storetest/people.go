package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
)

var root = audit.Actor{Kind: audit.Command, Name: "root"}

func newSession(f *fixture, id, userID string) signin.NewSession {
	return signin.NewSession{Token: hashNamed(id), Session: people.Session{
		ID: id, UserID: userID, Method: people.ByPassword, Address: "192.0.2.1", Agent: "Brøwser", Created: f.now,
		Seen: f.now, Expires: f.now.Add(day),
	}}
}

func hashNamed(name string) (h people.Hash) {
	copy(h[:], name)
	return h
}

// admit makes a user by an invitation to the account, or to operate.
func admit(t *testing.T, f *fixture, name, accountID string, r people.Role) people.User {
	t.Helper()
	i := people.Invitation{
		ID: "inv_" + name, Email: name + "@x.example", AccountID: accountID, Role: r,
		Operator: accountID == "", By: "root", Created: f.now, Expires: f.now.Add(day),
	}
	if _, err := f.Invitations.Invite(t.Context(), root, i, hashNamed(i.ID)); err != nil {
		t.Fatalf("invite %s: %v", name, err)
	}
	a := admission(f, i.ID, name)
	if err := f.Admissions.UseInvitation(t.Context(), a); err != nil {
		t.Fatalf("admit %s: %v", name, err)
	}
	l := must.Get(f.Users.Login(t.Context(), a.User.ID))(t)
	return l.User
}

func admission(f *fixture, link, name string) signin.Admission {
	u := people.User{ID: "user_" + name, Email: name + "@x.example", Name: "Ünï " + name, Created: f.now}
	n := newSession(f, "session_"+name, u.ID)
	return signin.Admission{
		Link: hashNamed(link), User: u, Password: llm.NewSecret("$hash"), Session: &n, At: f.now,
		By: audit.Actor{Kind: audit.User, ID: u.ID, Name: u.Email},
	}
}

func testPeople(t *testing.T, f *fixture) {
	create(t, f, "a", "b")
	if has, err := f.Users.HasOperator(t.Context()); has || err != nil {
		t.Errorf("operator at first: got %v, %v; want none", has, err)
	}
	boss, ann := admit(t, f, "boss", "", ""), admit(t, f, "ann", "acc_a", people.Owner)
	want := people.User{
		ID: "user_ann", Email: "ann@x.example", Name: "Ünï ann", Password: true, Proven: true,
		Created: f.now, Seen: &f.now,
	}
	if diff := cmp.Diff(ann, want); diff != "" || !boss.Operator {
		t.Errorf("users: operator %v\n%s", boss.Operator, diff)
	}
	for _, name := range []string{"user_ann", "ann@x.example"} {
		if l, err := f.Users.Login(t.Context(), name); err != nil || l.ID != "user_ann" || l.Hash.Reveal() != "$hash" {
			t.Errorf("login %s: got %+v, %v; want Ann's", name, l, err)
		}
	}
	if _, err := f.Users.Login(t.Context(), "nobody"); !errors.Is(err, people.ErrNotFound) {
		t.Errorf("login of an unknown user: got %v, want ErrNotFound", err)
	}
	if err := f.Users.RenameUser(t.Context(), root, "user_ann", "Ann"); err != nil {
		t.Error(err)
	}
	if list, err := f.Users.Users(t.Context()); err != nil || len(list) != 2 || list[0].Name != "Ann" ||
		list[1].ID != "user_boss" {
		t.Errorf("users: got %+v, %v; want Ann and boss", list, err)
	}
	member := people.Membership{
		AccountID: "acc_a", AccountName: "a", UserID: "user_ann", Email: "ann@x.example",
		Name: "Ann", Role: people.Owner, Since: f.now,
	}
	if list, err := f.Members.Memberships(t.Context()); err != nil || !cmp.Equal(list, []people.Membership{member}) {
		t.Errorf("members of all accounts: got %+v, %v, want %+v", list, err, member)
	}
	if list, err := f.Members.Members(t.Context(), "acc_a"); err != nil || !cmp.Equal(list,
		[]people.Membership{member}) {
		t.Errorf("members: %v\n%s", err, cmp.Diff(list, []people.Membership{member}))
	}
	for what, err := range map[string]error{
		"the last owner":    f.Members.SetRole(t.Context(), root, "acc_a", "user_ann", people.Viewer),
		"her leaving":       f.Members.RemoveMember(t.Context(), root, "acc_a", "user_ann"),
		"the last operator": f.Users.SetOperator(t.Context(), root, "user_boss", false),
	} {
		if !errors.Is(err, people.ErrLast) {
			t.Errorf("%s: got %v, want ErrLast", what, err)
		}
	}
	for what, err := range map[string]error{
		"a role in another account": f.Members.SetRole(t.Context(), root, "acc_b", "user_ann", people.Viewer),
		"removing nobody":           f.Members.RemoveMember(t.Context(), root, "acc_a", "nobody"),
		"nobody as operator":        f.Users.SetOperator(t.Context(), root, "nobody", true),
		"renaming nobody":           f.Users.RenameUser(t.Context(), root, "nobody", "x"),
		"a link for nobody": f.Admissions.CreateReset(t.Context(), root, people.NewReset{
			UserID: "nobody", Created: f.now,
			Expires: f.now,
		}, hashNamed("x")),
	} {
		if !errors.Is(err, people.ErrNotFound) {
			t.Errorf("%s: got %v, want ErrNotFound", what, err)
		}
	}
}

// testProven checks that a person invited by an owner cannot become an operator until their address is proven.
func testProven(t *testing.T, f *fixture) {
	create(t, f, "a")
	admit(t, f, "boss", "", "")
	ann := admit(t, f, "ann", "acc_a", people.Owner)
	i := people.Invitation{
		ID: "inv_cy", Email: "cy@x.example", AccountID: "acc_a", Role: people.Member, By: ann.Email,
		Created: f.now, Expires: f.now.Add(day),
	}
	if _, err := f.Invitations.Invite(t.Context(), audit.Actor{Kind: audit.User, ID: ann.ID, Name: ann.Email}, i,
		hashNamed(i.ID)); err != nil {
		t.Fatal(err)
	}
	must.Do(t, f.Admissions.UseInvitation(t.Context(), admission(f, i.ID, "cy")))
	if l, err := f.Users.Login(t.Context(), "user_cy"); err != nil || l.Proven {
		t.Errorf("whom an owner invited: got %+v, %v; want a user who is not proven", l.User, err)
	}
	if err := f.Users.SetOperator(t.Context(), root, "user_cy", true); !errors.Is(err, people.ErrUnproven) {
		t.Errorf("an operator who is not proven: got %v, want ErrUnproven", err)
	}
	if err := f.Admissions.CreateReset(t.Context(), root, people.NewReset{
		UserID: "user_cy", Created: f.now,
		Expires: f.now.Add(time.Hour),
	}, hashNamed("reset")); err != nil {
		t.Fatal(err)
	}
	a := admission(f, "reset", "cy")
	a.Session.ID, a.Session.Token = "after", hashNamed("after")
	must.Do(t, f.Admissions.UseReset(t.Context(), a))
	if err := f.Users.SetOperator(t.Context(), root, "user_cy", true); err != nil {
		t.Errorf("an operator who is proven: got %v", err)
	}
	if list, err := f.Users.Users(t.Context()); err != nil || len(list) != 3 || !list[2].Proven || !list[2].Operator {
		t.Errorf("users: got %+v, %v; want Cy proven, an operator", list, err)
	}
}

func testPeopleAudit(t *testing.T, f *fixture) {
	create(t, f, "a")
	before := lastSeq(t, f)
	admit(t, f, "ann", "acc_a", people.Owner)
	admit(t, f, "bob", "acc_a", people.Member)
	for _, err := range []error{
		f.Members.SetRole(t.Context(), root, "acc_a", "user_bob", people.Viewer),
		f.Members.SetRole(t.Context(), root, "acc_a", "user_bob", people.Viewer), // changes nothing
		f.Members.RemoveMember(t.Context(), root, "acc_a", "user_bob"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	_ = f.Members.RemoveMember(t.Context(), root, "acc_a", "user_ann") // refused: testPeople checks that
	if _, err := f.Sessions.EndSessions(t.Context(), root, "user_ann", signin.Ending{}); err != nil {
		t.Error(err)
	}
	list := must.Get(f.Audit.Entries(t.Context(), audit.Query{Limit: 100}))(t)
	var got []string
	for i := len(list) - 1; i >= 0; i-- {
		if e := &list[i]; e.Seq > before {
			got = append(got, fmt.Sprintf("%s %s %s %s>%s", e.Action, e.Object.ID, e.Account, e.Before, e.After))
		}
	}
	came := func(name, role string) []string {
		return []string{
			"member.invited inv_" + name + ` acc_a >{"role":"` + role + `"}`,
			"user.created user_" + name + `  >{"email":"` + name + `@x.example","name":"Ünï ` + name +
				`","password":true}`,
			"member.added user_" + name + ` acc_a >{"role":"` + role + `"}`,
			"session.started session_" + name + `  >{"agent":"Brøwser","method":"password"}`,
		}
	}
	want := append(append(came("ann", "owner"), came("bob", "member")...),
		`member.changed user_bob acc_a {"role":"member"}>{"role":"viewer"}`,
		`member.removed user_bob acc_a {"role":"viewer"}>`,
		`session.ended session_ann  >`)
	must.Equal(t, got, want, "audit log:")
	if v, err := f.Audit.Verify(t.Context(), audit.Hash{}); err != nil || v.Broken != 0 {
		t.Errorf("verify: got %+v, %v; want it whole", v, err)
	}
}

func lastSeq(t *testing.T, f *fixture) int64 {
	t.Helper()
	list := must.Get(f.Audit.Entries(t.Context(), audit.Query{Limit: 1}))(t)
	if len(list) == 0 {
		return 0
	}
	return list[0].Seq
}

func testPeopleSessions(t *testing.T, f *fixture) {
	create(t, f, "a")
	ann := admit(t, f, "ann", "acc_a", people.Owner)
	for _, id := range []string{"s1", "s2", "s3"} {
		must.Do(t, f.Sessions.StartSession(t.Context(), root, newSession(f, id, ann.ID)))
	}
	v, err := f.Sessions.VisitorBySession(t.Context(), hashNamed("s2"))
	if err != nil || v.User().ID != ann.ID || v.Role("acc_a") != people.Owner ||
		!cmp.Equal(*v.Session(), newSession(f, "s2", ann.ID).Session) {
		t.Errorf("visitor: got %+v, %v; want Ann by s2", v.Session(), err)
	}
	if _, err := f.Sessions.VisitorBySession(t.Context(), hashNamed("nothing")); !errors.Is(err, people.ErrNotFound) {
		t.Errorf("an unknown token: got %v, want ErrNotFound", err)
	}
	used := newSession(f, "s3", ann.ID).Session
	used.Seen, used.Address = f.now.Add(time.Minute), "192.0.2.2"
	if err := f.Sessions.TouchSession(t.Context(), used); err != nil {
		t.Error(err)
	}
	if list, err := f.Sessions.Sessions(t.Context(), ann.ID); err != nil || len(list) != 4 ||
		!cmp.Equal(list[0], used) {
		t.Errorf("sessions: got %+v, %v; want s3 first of 4", list, err)
	}
	for _, test := range []struct {
		user string
		e    signin.Ending
		want int
	}{
		{"nobody", signin.Ending{}, 0},
		{ann.ID, signin.Ending{Only: "nothing"}, 0},
		{ann.ID, signin.Ending{Only: "s1"}, 1},
		{ann.ID, signin.Ending{Except: "s2"}, 2},
		{ann.ID, signin.Ending{}, 1},
	} {
		if n, err := f.Sessions.EndSessions(t.Context(), root, test.user, test.e); n != test.want || err != nil {
			t.Errorf("end %+v of %s: got %d, %v; want %d", test.e, test.user, n, err, test.want)
		}
	}
	if err := f.Sessions.StartSession(t.Context(), root, newSession(f, "old", ann.ID)); err != nil {
		t.Error(err)
	}
	f.advance(2 * day)
	if err := f.Sessions.StartSession(t.Context(), root, newSession(f, "now", ann.ID)); err != nil {
		t.Error(err)
	}
	if err := f.Factors.SetPassword(t.Context(), root, "now", llm.NewSecret("$new"), newSession(f, "new",
		ann.ID)); err != nil {
		t.Error(err)
	}
	if list, err := f.Sessions.Sessions(t.Context(), ann.ID); err != nil || len(list) != 1 || list[0].ID != "new" {
		t.Errorf("sessions after a new password: got %+v, %v; want the new one", list, err)
	}
	for _, old := range []string{"$hash", "$new"} {
		if err := f.Factors.Rehash(t.Context(), ann.ID, llm.NewSecret(old), llm.NewSecret("$newer "+old)); err != nil {
			t.Error(err)
		}
	}
	if l, err := f.Users.Login(t.Context(), ann.ID); err != nil || l.Hash.Reveal() != "$newer $new" {
		t.Errorf("rehash: got %q, %v; want that of the present hash alone", l.Hash.Reveal(), err)
	}
}

func testLinks(t *testing.T, f *fixture) {
	create(t, f, account.DefaultName)
	must.Do(t, f.Accounts.CreateSetupToken(t.Context(), audit.Gateway(), hashNamed("setup"), f.now, f.now.Add(day)))
	link := func(name string, want people.LinkKind) {
		t.Helper()
		l, err := f.Admissions.LinkByHash(t.Context(), hashNamed(name), f.clock())
		if want == "" && errors.Is(err, people.ErrNotFound) {
			return
		}
		if err != nil || l.Kind != want {
			t.Errorf("link %s: got %+v, %v; want %q", name, l, err, want)
		}
	}
	link("setup", people.SetupLink)
	link("nothing", "")
	oneWins(t, "set-up link",
		func(i int) error {
			return f.Admissions.UseSetup(t.Context(), admission(f, "setup", fmt.Sprintf("boss%d", i)))
		})
	link("setup", "")
	users, err := f.Users.Users(t.Context())
	if err != nil || len(users) != 1 || !users[0].Operator {
		t.Fatalf("users: got %+v, %v; want one operator", users, err)
	}
	if list, err := f.Members.Members(t.Context(), "acc_default"); err != nil || len(list) != 1 ||
		list[0].Role != people.Owner {
		t.Errorf("members of default: got %+v, %v; want an owner", list, err)
	}
	i := people.Invitation{
		ID: "inv", Email: "ann@x.example", AccountID: "acc_default", AccountName: "default",
		Role: people.Member, By: "root", Created: f.now, Expires: f.now.Add(day),
	}
	if got, err := f.Invitations.Invite(t.Context(), root, i, hashNamed("inv")); err != nil || !cmp.Equal(got, i) {
		t.Errorf("invite: %v\n%s", err, cmp.Diff(got, i))
	}
	if list, err := f.Invitations.Invitations(t.Context(), "acc_default", f.now); err != nil ||
		!cmp.Equal(list, []people.Invitation{i}, cmpopts.EquateEmpty()) {
		t.Errorf("invitations: %v\n%s", err, cmp.Diff(list, []people.Invitation{i}))
	}
	link("inv", people.InviteLink)
	oneWins(t, "invitation",
		func(int) error { return f.Admissions.UseInvitation(t.Context(), admission(f, "inv", "ann")) })
	link("inv", "")
	if _, err := f.Invitations.Invite(t.Context(), root, i, hashNamed("again")); !errors.Is(err, people.ErrExists) {
		t.Errorf("invite a member: got %v, want ErrExists", err)
	}
	if err := f.Admissions.CreateReset(t.Context(), root, people.NewReset{
		UserID: "user_ann", Created: f.now,
		Expires: f.now.Add(time.Hour),
	}, hashNamed("reset")); err != nil {
		t.Fatal(err)
	}
	link("reset", people.ResetLink)
	oneWins(t, "reset", func(i int) error {
		a := admission(f, "reset", "ann")
		a.Session.ID, a.Session.Token = fmt.Sprint("r", i), hashNamed(fmt.Sprint("r", i))
		return f.Admissions.UseReset(t.Context(), a)
	})
	link("reset", "")
	signIn := people.NewReset{UserID: "user_ann", SignIn: true, Created: f.now, Expires: f.now.Add(time.Hour)}
	if err := f.Admissions.CreateReset(t.Context(), root, signIn, hashNamed("sign-in")); !errors.Is(err,
		people.ErrNoOperator) {
		t.Errorf("a link to sign in for no operator: got %v, want ErrNoOperator", err)
	}
	must.Do(t, f.Users.SetOperator(t.Context(), root, "user_ann", true))
	must.Do(t, f.Admissions.CreateReset(t.Context(), root, signIn, hashNamed("sign-in")))
	link("sign-in", people.SignInLink)
	if err := f.Admissions.UseReset(t.Context(), admission(f, "sign-in", "ann")); !errors.Is(err, people.ErrNotFound) {
		t.Errorf("a new password by a link to sign in: got %v, want ErrNotFound", err)
	}
	oneWins(t, "link to sign in", func(i int) error {
		a := admission(f, "sign-in", "ann")
		a.Password, a.Session.ID, a.Session.Token = llm.Secret{}, fmt.Sprint("s", i), hashNamed(fmt.Sprint("s", i))
		return f.Admissions.UseReset(t.Context(), a)
	})
	link("sign-in", "")
}

// oneWins calls do many times concurrently, and checks that one call succeeds and the others are refused.
func oneWins(t *testing.T, what string, do func(i int) error) {
	t.Helper()
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			switch err := do(i); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, people.ErrNotFound):
				t.Errorf("%s: got %v, want ErrNotFound", what, err)
			}
		})
	}
	if all.Wait(); won.Load() != 1 {
		t.Errorf("%s used by 6 at once: got %d winners, want 1", what, won.Load())
	}
}

func testArrive(t *testing.T, f *fixture) {
	create(t, f, "a", "b")
	admit(t, f, "boss", "", "")
	n := 0
	arrive := func(subject, email string, change func(*signin.Arrival)) (people.User, error) {
		n++
		a := signin.Arrival{
			Issuer: "https://id.example", Subject: subject, Email: email, Name: "Ann",
			NewID: fmt.Sprint("new", n), Session: newSession(f, fmt.Sprint("arrival", n), ""),
			By: audit.Actor{Kind: audit.Nobody},
		}
		if change != nil {
			change(&a)
		}
		return f.Admissions.Arrive(t.Context(), a)
	}
	if _, err := arrive("ann", "ann@x.example", nil); !errors.Is(err, people.ErrNotFound) {
		t.Errorf("not invited: got %v, want ErrNotFound", err)
	}
	if _, err := arrive("ann", "", func(a *signin.Arrival) { a.SignUp = true }); !errors.Is(err, people.ErrNotFound) {
		t.Errorf("no verified address: got %v, want ErrNotFound", err)
	}
	ann, err := arrive("ann", "ann@x.example", func(a *signin.Arrival) { a.SignUp = true })
	if err != nil || ann.ID != "new3" || ann.Password {
		t.Fatalf("sign up: got %+v, %v; want a new user", ann, err)
	}
	if u, err := arrive("ann", "", nil); err != nil || u.ID != ann.ID {
		t.Errorf("a known subject: got %+v, %v; want Ann", u, err)
	}
	if _, err := arrive("other", "ann@x.example", nil); !errors.Is(err, people.ErrTaken) {
		t.Errorf("another subject with Ann's address: got %v, want ErrTaken", err)
	}
	for _, test := range []struct{ role, want people.Role }{
		{people.Owner, people.Owner},
		{people.Viewer, people.Owner},
		{"", people.Owner},
	} {
		_, err := arrive("ann", "", func(a *signin.Arrival) {
			a.Grants.Roles = map[string]people.Role{"a": test.role, "absent": people.Owner}
		})
		list, err2 := f.Members.Members(t.Context(), "acc_a")
		if err != nil || err2 != nil || len(list) != 1 || list[0].Role != test.want {
			t.Errorf("groups set %q for the last owner: got %+v, %v, %v; want %q", test.role, list, err, err2,
				test.want)
		}
	}
	for _, on := range []bool{true, false} {
		if _, err := arrive("ann", "", func(a *signin.Arrival) { a.Grants.Operator = &on }); err != nil {
			t.Error(err)
		}
		if l, err := f.Users.Login(t.Context(), ann.ID); err != nil || l.Operator != on {
			t.Errorf("operator by group: got %v, %v; want %v", l.Operator, err, on)
		}
	}
}

func testThrottle(t *testing.T, f *fixture) {
	marks := []signin.Mark{
		{Scope: "pair", Free: 2, Most: time.Minute},
		{Scope: "email", Free: 4, Most: 6 * time.Second},
		{Scope: "network", Free: 6, Most: time.Minute, Shared: true},
	}
	try := func(marks []signin.Mark, want time.Duration) {
		t.Helper()
		if got, _, err := f.Sessions.TrySignIn(t.Context(), marks, f.clock()); got != want || err != nil {
			t.Errorf("try: got %v, %v; want %v", got, err, want)
		}
	}
	try(marks, 0)
	try(marks, 0)
	try(marks, time.Second)
	try(marks, time.Second) // refused attempts do not count
	f.advance(time.Second)
	try(marks, 0)
	try(marks, 2*time.Second)
	must.Do(t, f.Sessions.PassSignIn(t.Context(), marks, f.clock()))
	elsewhere := []signin.Mark{{Scope: "pair 2", Free: 2, Most: time.Minute}, marks[1]}
	for range 3 {
		elsewhere[0].Scope += "x"
		try(elsewhere, 0)
	}
	elsewhere[0].Scope += "x"
	try(elsewhere, 0)
	elsewhere[0].Scope += "x"
	try(elsewhere, time.Second)
	try(marks, 0) // known here
	var free atomic.Int64
	var all sync.WaitGroup
	crowd := []signin.Mark{{Scope: "crowd", Free: 3, Most: time.Minute}}
	for range 8 {
		all.Go(func() {
			wait, _, err := f.Sessions.TrySignIn(t.Context(), crowd, f.clock())
			if err != nil {
				t.Error(err)
			}
			if wait == 0 {
				free.Add(1)
			}
		})
	}
	if all.Wait(); free.Load() != 3 {
		t.Errorf("8 at once: got %d free, want 3", free.Load())
	}
}

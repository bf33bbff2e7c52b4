// Package audit says who did what to what: the entries of the audit log, and the
// chain of hashes that shows whether one was changed or taken out afterwards.
package audit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind says what sort of actor somebody is.
type Kind string

// The kinds.
const (
	User    Kind = "user"    // a person who is signed in
	Key     Kind = "key"     // an API key
	Command Kind = "command" // somebody at the command line
	System  Kind = "system"  // the gateway itself
	Nobody  Kind = "nobody"  // somebody who is not signed in, yet
)

// Actor is who does something.
type Actor struct {
	Kind    Kind   `json:"kind"`
	ID      string `json:"id,omitempty"`      // of the user or the key
	Name    string `json:"name,omitempty"`    // e-mail, label of the key, or login name
	Address string `json:"address,omitempty"` // from which it came: an IP address
	Request string `json:"request,omitempty"` // id
}

// String is the actor as one line of text: the kind, and the name or else the id.
func (a Actor) String() string {
	return strings.TrimRight(string(a.Kind)+" "+cmp.Or(a.Name, a.ID), " ")
}

// ErrNotAllowed says that the actor may not do this, or not any more: since they asked, their role was
// taken away or their key revoked.
var ErrNotAllowed = errors.New("audit: the actor may not do this")

// Gateway is the actor of what nobody asked for.
func Gateway() Actor { return Actor{Kind: System, Name: "weir"} }

// Object is what something was done to.
type Object struct {
	Kind string `json:"kind"` // account, key, user, member, …
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// Action says what was done: a kind of object and a verb in the past tense.
type Action string

// The actions.
const (
	AccountCreated      Action = "account.created"
	AccountChanged      Action = "account.changed"
	AccountSuspended    Action = "account.suspended"
	AccountResumed      Action = "account.resumed"
	AccountClosed       Action = "account.closed"
	AccountCredited     Action = "account.credited"
	AccountGoodwill     Action = "account.goodwill_given"
	AccountPriced       Action = "account.price_list_set" // of the installation, for what an account costs is not its own
	KeyCreated          Action = "key.created"
	KeyChanged          Action = "key.changed"
	KeyRevoked          Action = "key.revoked"
	KeyRotated          Action = "key.rotated"
	BudgetOpened        Action = "budget.opened"
	AttemptResolved     Action = "attempt.resolved"
	AttemptCorrected    Action = "attempt.corrected"
	StatementClosed     Action = "statement.closed"
	NodeForgotten       Action = "node.forgotten"
	SetupLinkCreated    Action = "setup_link.created"
	UserCreated         Action = "user.created"
	UserChanged         Action = "user.changed"
	UserDisabled        Action = "user.disabled"
	UserEnabled         Action = "user.enabled"
	UserRemoved         Action = "user.removed"
	FactorSet           Action = "second_factor.set"
	FactorRemoved       Action = "second_factor.removed"
	PasskeyAdded        Action = "passkey.added"
	PasskeyRemoved      Action = "passkey.removed"
	MemberInvited       Action = "member.invited"
	InvitationCancelled Action = "invitation.cancelled"
	MemberAdded         Action = "member.added"
	MemberChanged       Action = "member.changed"
	MemberRemoved       Action = "member.removed"
	OperatorInvited     Action = "operator.invited"
	OperatorAdded       Action = "operator.added"
	OperatorRemoved     Action = "operator.removed"
	PasswordChanged     Action = "password.changed"
	PasswordForgot      Action = "password.reset_requested"
	SignInLinkCreated   Action = "sign_in_link.created"
	SessionStarted      Action = "session.started"
	SessionEnded        Action = "session.ended"
	WebhookCreated      Action = "webhook.created"
	WebhookChanged      Action = "webhook.changed"
	WebhookRotated      Action = "webhook.secret_rotated"
	WebhookRemoved      Action = "webhook.removed"
	SecretsResealed     Action = "secrets.resealed"
	KeptPurged          Action = "kept.purged"
	ConfigChanged       Action = "config.changed"
	ConfigTested        Action = "config.tested"
)

// Entry is one line of the log. Before and After are JSON objects of what was
// changed; a secret is in them as a fingerprint, never itself.
type Entry struct {
	Seq     int64           `json:"seq"` // from 1, without a gap
	At      time.Time       `json:"at"`  // UTC, whole microseconds
	Actor   Actor           `json:"actor"`
	Action  Action          `json:"action"`
	Object  Object          `json:"object"`
	Account string          `json:"account,omitempty"` // id of the account that it concerns
	Before  json.RawMessage `json:"before,omitempty"`
	After   json.RawMessage `json:"after,omitempty"`
	Proofs  *Proofs         `json:"proofs,omitempty"` // nil for an older entry, and for one of no person
	Hash    Hash            `json:"hash"`
}

// Hash is a SHA-256 over an entry and the hash of the one before it.
type Hash [sha256.Size]byte

// String is the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText is String.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what String gives.
func (h *Hash) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(h) {
		return fmt.Errorf("audit: %q is not a SHA-256 in hexadecimal", text)
	}
	copy(h[:], b)
	return nil
}

// HashAfter is the hash of the entry where before is that of the one before it;
// the first one's is zero. It is the SHA-256 of a JSON array: the hash before,
// the place, the time in microseconds since 1970, the actor, the action, the
// object, the account, and what there was before and after. Of an entry with
// proofs these stand in the place of the words of which they are, at the end. An
// error says that words and proof differ.
func (e *Entry) HashAfter(before Hash) (Hash, error) {
	if e.Proofs != nil {
		text, err := e.provenText(before)
		return sha256.Sum256(text), err
	}
	text, err := json.Marshal([]any{
		before, e.Seq, e.At.UnixMicro(), e.Actor, e.Action, e.Object, e.Account, orNull(e.Before), orNull(e.After),
	})
	return sha256.Sum256(text), err
}

// orNull is JSON as it was given, as a text: a database may not keep its spaces.
func orNull(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	return string(bytes.TrimSpace(raw))
}

// Query selects entries, the newest first.
type Query struct {
	Account string    // id; empty for all
	Actor   string    // id or name; empty for all
	Action  Action    // or the beginning of some, as "key."; empty for all
	Object  string    // id; empty for all
	From    time.Time // zero for no bound
	To      time.Time // not included; zero for no bound
	Before  int64     // only places below that; 0 for no bound
	After   int64     // only places above that, and of these the nearest; 0 for no bound
	Limit   int       // at least 1
}

// Verification is the result of a look at the whole chain.
type Verification struct {
	Entries int64 // that follow one from the other, from the first on
	Head    Hash  // of the last of them: keep it elsewhere, and a later look can tell that the log goes on from it
	// Broken is the place of the first entry whose hash is not what it should be,
	// or before which one is missing; 0 for none.
	Broken int64
	// GoesOn says that the head of an earlier look is that of one of these entries;
	// true where none was given.
	GoesOn bool
}

// Whole reports whether nothing is wrong.
func (v *Verification) Whole() bool { return v.Broken == 0 && v.GoesOn }

// Chain looks at entries in the order of their places.
type Chain struct {
	Verification
	from Hash
}

// NewChain looks for entries from the first on, and for the one whose hash was the
// head of an earlier look; zero for none.
func NewChain(from Hash) *Chain {
	return &Chain{from: from, Verification: Verification{GoesOn: from == Hash{}}}
}

// Add looks at the next entry. It reports false where the chain is broken; what
// comes after that is not looked at.
func (c *Chain) Add(e *Entry) bool {
	if c.Broken != 0 {
		return false
	}
	want, err := e.HashAfter(c.Head)
	if err != nil || want != e.Hash || e.Seq != c.Entries+1 {
		c.Broken = max(e.Seq, 1)
		return false
	}
	c.Entries, c.Head = e.Seq, e.Hash
	c.GoesOn = c.GoesOn || e.Hash == c.from
	return true
}

// Package audit defines the entries of the audit log, which record who did what, and the hash chain that reveals
// changed or removed entries.
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

// Kind is the kind of an actor.
type Kind string

// These are the kinds.
const (
	User    Kind = "user"    // a signed-in person
	Key     Kind = "key"     // an API key
	Command Kind = "command" // a person at the command line
	System  Kind = "system"  // the gateway itself
	Nobody  Kind = "nobody"  // a person who is not signed in
)

// Actor is the person or program that performs an action.
type Actor struct {
	Kind    Kind   `json:"kind"`
	ID      string `json:"id,omitempty"`      // of the user or the key
	Name    string `json:"name,omitempty"`    // e-mail address, label of the key, or login name
	Address string `json:"address,omitempty"` // IP address
	Request string `json:"request,omitempty"` // id
	Tool    string `json:"tool,omitempty"`    // MCP tool of the administration that a model called; empty for none
}

// String returns the actor on one line: the kind, the name or else the id, and the tool.
func (a Actor) String() string {
	who := strings.TrimRight(string(a.Kind)+" "+cmp.Or(a.Name, a.ID), " ")
	if a.Tool != "" {
		who += " by the tool " + a.Tool
	}
	return who
}

// ErrNotAllowed is returned if the actor may not perform the action. Their role may have been removed, or their key
// revoked, after the request arrived.
var ErrNotAllowed = errors.New("audit: the actor may not do this")

// Gateway returns the actor of the gateway's own actions.
func Gateway() Actor { return Actor{Kind: System, Name: "weir"} }

// Object is the object of an action.
type Object struct {
	Kind string `json:"kind"` // account, key, user, member, …
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// Action names a kind of object and what happened to it: a verb in the past tense.
type Action string

// These are the actions.
const (
	AccountCreated   Action = "account.created"
	AccountChanged   Action = "account.changed"
	AccountSuspended Action = "account.suspended"
	AccountResumed   Action = "account.resumed"
	AccountClosed    Action = "account.closed"
	AccountCredited  Action = "account.credited"
	AccountGoodwill  Action = "account.goodwill_given"
	// an action of the installation, because an account may not see its cost
	AccountPriced       Action = "account.price_list_set"
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
	ConnectionMade      Action = "connection.created"
	ConnectionEnded     Action = "connection.removed"
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
	ContentRead         Action = "content.read"
	ContentExported     Action = "content.exported"
	ContentPurged       Action = "content.purged"
	AnswersPurged       Action = "answers.purged"
	SocketEnded         Action = "websocket.ended"
	ConfigChanged       Action = "config.changed"
	ConfigTested        Action = "config.tested"
)

// Entry is an entry of the log. Before and After are JSON objects of the changed fields. They contain secrets only as
// fingerprints.
type Entry struct {
	Seq     int64           `json:"seq"` // from 1, without gaps
	At      time.Time       `json:"at"`  // UTC, whole microseconds
	Actor   Actor           `json:"actor"`
	Action  Action          `json:"action"`
	Object  Object          `json:"object"`
	Account string          `json:"account,omitempty"` // id of the account concerned
	Before  json.RawMessage `json:"before,omitempty"`
	After   json.RawMessage `json:"after,omitempty"`
	Proofs  *Proofs         `json:"proofs,omitempty"` // nil for an older entry, and for one without a person
	Hash    Hash            `json:"hash"`
}

// Hash is the SHA-256 of an entry and of the previous entry's hash.
type Hash [sha256.Size]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns the same as String.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText parses the result of String.
func (h *Hash) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(h) {
		return fmt.Errorf("audit: %q is not a SHA-256 in hexadecimal", text)
	}
	copy(h[:], b)
	return nil
}

// HashAfter returns the hash of the entry, given the previous entry's hash; zero for the first entry. It is the SHA-256
// of a JSON array: the previous hash, the sequence number, the time in microseconds since 1970, the actor, the action,
// the object, the account, and before and after. In an entry with proofs, the hashes at the end of the array replace
// the texts that they cover. The error reports that a text does not match its hash.
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

// orNull returns JSON as a text in its original form, because a database may not preserve its spaces.
func orNull(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	return string(bytes.TrimSpace(raw))
}

// Query selects entries, newest first.
type Query struct {
	Account string    // id; empty for all
	Actor   string    // id or name; empty for all
	Action  Action    // or a prefix of actions, such as "key."; empty for all
	Object  string    // id; empty for all
	From    time.Time // zero for no bound
	To      time.Time // exclusive; zero for no bound
	Before  int64     // only lower sequence numbers; 0 for no bound
	After   int64     // only higher sequence numbers, nearest first; 0 for no bound
	Limit   int       // at least 1
}

// Verification is the result of checking the whole chain.
type Verification struct {
	Entries int64 // consecutive valid entries from the first one
	Head    Hash  // hash of the last one; stored elsewhere, it lets a later check prove that the log continues from it
	// Broken is the sequence number of the first entry with a wrong hash or a missing predecessor; 0 for none.
	Broken int64
	// GoesOn reports that the head of an earlier check is the hash of one of these entries; true if none was given.
	GoesOn bool
}

// Whole reports whether the chain is valid.
func (v *Verification) Whole() bool { return v.Broken == 0 && v.GoesOn }

// Chain checks entries in the order of their sequence numbers.
type Chain struct {
	Verification
	from Hash
}

// NewChain returns a Chain that checks entries from the first one, and searches for the head of an earlier check; zero
// for none.
func NewChain(from Hash) *Chain {
	return &Chain{from: from, Verification: Verification{GoesOn: from == Hash{}}}
}

// Add checks the next entry. It returns false if the chain is broken; later entries are not checked.
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

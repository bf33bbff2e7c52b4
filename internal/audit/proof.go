package audit

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// Proof is a salted hash that replaces personal texts of an entry in the chain, so that the texts can be deleted and
// the chain stays valid. The salt is stored with the texts and lets a reader verify them. Without the salt the texts
// cannot be guessed.
type Proof struct {
	Salt string `json:"salt,omitempty"` // 128 random bits, hexadecimal; empty if the texts were deleted
	Hash string `json:"hash"`           // SHA-256, hexadecimal, of a JSON array of the salt and the texts
}

// Proofs holds the proofs of an entry; nil for texts that the chain contains directly.
type Proofs struct {
	Actor  *Proof `json:"actor,omitempty"`  // of the name and the address
	Object *Proof `json:"object,omitempty"` // of the name; for a user and a session also of before and after
}

// errProof is returned if the personal texts of an entry have changed.
var errProof = errors.New("audit: the texts of an entry do not match their hash")

// Prove creates the proofs of a new entry: of the actor, if that is a person who signs in or may become one, and of the
// person, account or key that the action concerns.
func (e *Entry) Prove() {
	var p Proofs
	if e.Actor.Kind == User || e.Actor.Kind == Nobody {
		p.Actor = newProof(e.actorWords())
	}
	switch e.Object.Kind {
	case "user", "member", "invitation", "session", "account", "key":
		p.Object = newProof(e.objectWords())
	}
	if p.Actor != nil || p.Object != nil {
		e.Proofs = &p
	}
}

func (e *Entry) actorWords() []any { return []any{e.Actor.Name, e.Actor.Address} }

func (e *Entry) objectWords() []any {
	if e.factsOfPerson() {
		return []any{e.Object.Name, orNull(e.Before), orNull(e.After)}
	}
	return []any{e.Object.Name}
}

// factsOfPerson reports whether before and after contain personal data, such as a name, an address or a browser, or may
// contain some, such as the name of an account and the label of a key.
func (e *Entry) factsOfPerson() bool {
	switch e.Object.Kind {
	case "user", "session", "key":
		return true
	}
	return e.Action == AccountCreated
}

func newProof(words []any) *Proof {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails: see crypto/rand
	p := &Proof{Salt: hex.EncodeToString(salt)}
	p.Hash = p.of(words)
	return p
}

// of returns the hash of texts. Encoding texts and null as JSON cannot fail.
func (p *Proof) of(words []any) string {
	text, _ := json.Marshal(append([]any{p.Salt}, words...))
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// holds reports whether the texts match the proof, or were deleted with its salt.
func (p *Proof) holds(words []any) bool {
	if p.Salt != "" {
		return p.of(words) == p.Hash
	}
	for _, w := range words {
		if w != nil && w != "" {
			return false
		}
	}
	return true
}

// provenText returns the text that the hash of an entry with proofs covers.
func (e *Entry) provenText(before Hash) ([]byte, error) {
	actor, object, was, became := e.Actor, e.Object, orNull(e.Before), orNull(e.After)
	hashes := [2]any{}
	if p := e.Proofs.Actor; p != nil {
		if !p.holds(e.actorWords()) {
			return nil, errProof
		}
		actor.Name, actor.Address, hashes[0] = "", "", p.Hash
	}
	if p := e.Proofs.Object; p != nil {
		if !p.holds(e.objectWords()) {
			return nil, errProof
		}
		object.Name, hashes[1] = "", p.Hash
		if e.factsOfPerson() {
			was, became = nil, nil
		}
	}
	return json.Marshal([]any{
		before, e.Seq, e.At.UnixMicro(), actor, e.Action, object, e.Account, was, became, hashes[0], hashes[1],
	})
}

package audit

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// Proof stands in the chain for what an entry says of a person, so that this can be forgotten and the chain still
// holds. Whoever has the words has the salt too, and can tell that these are the words. Without the salt nobody can
// guess them.
type Proof struct {
	Salt string `json:"salt,omitempty"` // 128 random bits, hexadecimal; empty where the words were forgotten
	Hash string `json:"hash"`           // SHA-256, hexadecimal, over a JSON array of the salt and the words
}

// Proofs are those of an entry; nil where the chain has the words themselves.
type Proofs struct {
	Actor  *Proof `json:"actor,omitempty"`  // of the name and the address
	Object *Proof `json:"object,omitempty"` // of the name; of a user and a session of before and after too
}

// errProof says that what an entry says of a person is not what it was.
var errProof = errors.New("audit: words and proof differ")

// Prove makes the proofs of an entry that is about to be written: of whoever acts, if that is a person who signs in,
// or may become one, and of the person, the account or the key to whom something is done.
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

// factsOfPerson reports whether before and after tell of a person: a name, an address, a browser; or may, as the name of
// an account and the label of a key.
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

// of is the hash of words that cannot fail to be JSON: texts and null.
func (p *Proof) of(words []any) string {
	text, _ := json.Marshal(append([]any{p.Salt}, words...))
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// holds reports whether the words are those of the proof, or were forgotten with its salt.
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

// provenText is what the hash of an entry with proofs is of.
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

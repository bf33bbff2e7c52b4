// Package contentlog stores the content of requests and answers, for accounts that have the content log switched on.
// Content is redacted and then encrypted with a key of its account and day; the master key encrypts that key.
//
// A Capture collects the content of one request while it runs. A Recorder writes ended captures in the background.
package contentlog

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/google/uuid"

	"weir/internal/seal"
)

var (
	// ErrNotFound means that the store has no content of the request, or no longer.
	ErrNotFound = errors.New("contentlog: not found")
	// ErrOtherKey means that another master key encrypts now.
	ErrOtherKey = errors.New("contentlog: the master key was replaced")
	// ErrUnreadable means that content cannot be decrypted: its key is lost, or it was changed.
	ErrUnreadable = errors.New("contentlog: the content cannot be decrypted")
)

// Record is the stored form of the content of a request.
type Record struct {
	Account string // id, as the others
	Key     string
	Request uuid.UUID
	Created time.Time
	Sealed  []byte
}

// Day returns the day of the record's key, in days since 1970.
func (r *Record) Day() int64 { return DayOf(r.Created) }

// DayOf returns the UTC day of a time, in days since 1970.
func DayOf(at time.Time) int64 { return at.Unix() / int64(24*time.Hour/time.Second) }

// Content is the content of a request.
type Content struct {
	// Request is the request as the client sent it: JSON, or a JSON string with the start of it.
	Request json.RawMessage `json:"request"`
	// Answer is the Answer of a chat, the JSON of another answer, or null.
	Answer json.RawMessage `json:"answer"`
	// RequestTruncated and AnswerTruncated report that a part is left out because of its size.
	RequestTruncated bool `json:"request_truncated"`
	AnswerTruncated  bool `json:"answer_truncated"`
	// Failures are the attempts that failed, in order, at most mostFailures.
	Failures []Failure `json:"failures,omitempty"`
	Redacted int       `json:"redacted"` // number of marks in place of secrets and personal data
}

// Failure is a failed attempt, with the provider's own words.
type Failure struct {
	Attempt int    `json:"attempt"` // from 1
	Target  string `json:"target"`  // provider/model
	Message string `json:"message"`
	// Provider is the provider's explanation; empty without one.
	Provider string `json:"provider_message"`
}

// Answer is the answer of a chat, in the same form for all wire formats.
type Answer struct {
	Choices []Choice `json:"choices"`
}

// Choice is one of the alternative answers.
type Choice struct {
	Index     int    `json:"index"`
	Text      string `json:"text"`
	Reasoning string `json:"reasoning,omitempty"`
	Refusal   string `json:"refusal,omitempty"`
	Calls     []Call `json:"tool_calls,omitempty"`
	Finish    string `json:"finish_reason,omitempty"`
}

// Call is a call of a tool.
type Call struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Sampled reports whether a request is among the percentage of requests that are logged, 0 to 100. It depends only on
// the request's id.
func Sampled(request uuid.UUID, percent int64) bool {
	if percent <= 0 {
		return false
	}
	h := fnv.New32a()
	_, _ = h.Write(request[:]) // a hash never returns an error
	return int64(h.Sum32()%100) < percent
}

// KeyStore stores the encrypted keys of accounts and days.
type KeyStore interface {
	// ContentKey returns the key of an account and day. If there is none, it stores the given one, or returns
	// ErrNotFound if that is empty, or ErrOtherKey if it is not encrypted with the current master key.
	ContentKey(ctx context.Context, account string, day int64, sealed string) (string, error)
}

// Keys encrypts and decrypts content. Its methods may be called concurrently.
type Keys struct {
	// Store, Seal and Open are required. Seal encrypts a text with the master key, and Open decrypts it.
	Store KeyStore
	Seal  func(ctx context.Context, text []byte, about string) (string, error)
	Open  func(sealed, about string) ([]byte, error)

	mu    sync.Mutex
	day   int64 // of boxes
	boxes map[string]cipher.AEAD
}

// KeyOf returns the name of a key of the content log, which binds it to its account and day.
func KeyOf(account string, day int64) string { return fmt.Sprintf("content log %s %d", account, day) }

// sealed encrypts the content of a record.
func (k *Keys) sealed(ctx context.Context, r *Record, text []byte) ([]byte, error) {
	box, err := k.boxOf(ctx, r.Account, r.Day())
	if err != nil {
		return nil, err
	}
	return box.Seal(nil, nil, text, []byte(r.Request.String())), nil
}

// boxOf returns the cipher of an account for a day on which content is written. It creates the key if there is none.
func (k *Keys) boxOf(ctx context.Context, account string, day int64) (cipher.AEAD, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.boxes == nil || k.day != day {
		k.day, k.boxes = day, map[string]cipher.AEAD{}
	}
	if box := k.boxes[account]; box != nil {
		return box, nil
	}
	box, err := k.make(ctx, account, day)
	if errors.Is(err, ErrOtherKey) {
		box, err = k.make(ctx, account, day)
	}
	if err == nil {
		k.boxes[account] = box
	}
	return box, err
}

// keySize is the size of a key, in bytes.
const keySize = 32

// make returns the cipher of the stored key, or of a new one if there is none.
func (k *Keys) make(ctx context.Context, account string, day int64) (cipher.AEAD, error) {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never returns an error
	sealed, err := k.Seal(ctx, key, KeyOf(account, day))
	if err != nil {
		return nil, err
	}
	if sealed, err = k.Store.ContentKey(ctx, account, day, sealed); err != nil {
		return nil, err
	}
	return k.opened(sealed, account, day)
}

func (k *Keys) opened(sealed, account string, day int64) (cipher.AEAD, error) {
	key, err := k.Open(sealed, KeyOf(account, day))
	if err != nil {
		return nil, err
	}
	return seal.New(string(key), account, "weir content log v1")
}

// Read decrypts the content of a record, in place. The error is ErrUnreadable if that will fail again.
func (k *Keys) Read(ctx context.Context, r *Record) (c Content, err error) {
	sealed, err := k.Store.ContentKey(ctx, r.Account, r.Day(), "")
	if errors.Is(err, ErrNotFound) {
		return c, fmt.Errorf("%w: its key was deleted", ErrUnreadable)
	}
	if err != nil {
		return c, fmt.Errorf("read the key of logged content: %w", err)
	}
	box, err := k.opened(sealed, r.Account, r.Day())
	if err != nil {
		return c, fmt.Errorf("%w: its key: %w", ErrUnreadable, err)
	}
	text, err := box.Open(r.Sealed[:0], nil, r.Sealed, []byte(r.Request.String()))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return Content{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return c, nil
}

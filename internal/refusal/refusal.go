// Package refusal counts the requests that the gateway refuses before any attempt at a provider. The ledger has no row
// for them.
//
// A Recorder counts in memory, so that a refusal costs a fraction of a microsecond, and writes the counts every second.
// A flood of refusals adds to counts and not to rows. A crash loses the counts of the last second.
package refusal

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"weir/internal/llm"
)

const (
	// MostLatest is the number of refusals of an account that are stored individually.
	MostLatest = 100
	// OtherModels is the name for the models beyond MostModels.
	OtherModels = "(other)"
	// MostModels is the number of an account's models that a node counts by name within an hour.
	MostModels = 20
)

// Refusal is a request that got an error without an attempt at a provider.
type Refusal struct {
	Request uuid.UUID
	At      time.Time // UTC
	// Account and Key are ids. They are empty if the request was not authenticated; then Model is empty, too.
	Account, Key string
	Reason       llm.Code
	Status       int    // HTTP status of the answer
	Model        string // as the client requested it; empty if it is not known
	Message      string // of the error; it holds no content of the request
	Param        string // the invalid field or parameter; empty for none
}

// Bucket identifies a count of refusals.
type Bucket struct {
	Minute       int64 // start of the minute, in Unix seconds
	Account, Key string
	Reason       llm.Code
	Model        string
}

// Count is the number of refusals in a bucket.
type Count struct {
	Bucket
	N int64
}

// Batch holds counts and the latest refusals, in no order.
type Batch struct {
	Counts []Count
	Latest []Refusal
}

// Reasons returns the codes that refusals can have.
func Reasons() []llm.Code {
	return []llm.Code{
		llm.CodeInvalidRequest, llm.CodeAuthentication, llm.CodeBudgetExceeded, llm.CodeForbidden, llm.CodeNotFound,
		llm.CodeModelNotFound, llm.CodeMethodNotAllowed, llm.CodeIdempotencyConflict, llm.CodeConflict,
		llm.CodeRequestTooLarge, llm.CodeUnsupportedMedia, llm.CodeMisdirected, llm.CodeRateLimited,
		llm.CodeProviderError, llm.CodeProviderUnavailable, llm.CodeProviderTimeout, llm.CodeOverloaded,
		llm.CodeInternal,
	}
}

const (
	maxMessage = 500 // bytes
	maxParam   = 100 // bytes
	maxQuoted  = 64  // bytes of a quoted word
)

// Text returns the message with the invalid parameter, cut to a bound. It leaves out quoted values and parameters that
// are no names, because a client may have written content in place of one.
func (r *Refusal) Text() string {
	message, param := r.Message, cut(r.Param, maxParam)
	if r.Reason != llm.CodeAuthentication { // which quotes a header
		message = withoutValues(message)
	}
	if strings.ContainsFunc(param, notOfName) {
		param = ""
	}
	text := cut((&llm.Error{Message: message, Param: param}).Placed(), maxMessage)
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "") // PostgreSQL stores neither
}

// notOfName reports whether a character cannot be part of a field's path.
func notOfName(r rune) bool {
	return r != '_' && r != '-' && r != '.' && r != '[' && r != ']' && (r < '0' || r > '9') &&
		(r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// withoutValues replaces quoted text that is long or has white space.
func withoutValues(message string) string {
	var out strings.Builder
	for {
		begin := strings.IndexByte(message, '"')
		if single := strings.Index(message, " '"); single >= 0 && (begin < 0 || single < begin) {
			begin = single + 1 // an apostrophe follows a letter
		}
		length := -1
		if begin >= 0 {
			length = strings.IndexByte(message[begin+1:], message[begin])
		}
		if length < 0 {
			out.WriteString(message)
			return out.String()
		}
		end := begin + 1 + length
		if value := message[begin+1 : end]; length > maxQuoted || strings.ContainsAny(value, " \t\n\\") {
			out.WriteString(message[:begin+1] + "…" + message[end:end+1])
		} else {
			out.WriteString(message[:end+1])
		}
		message = message[end+1:]
	}
}

// cut shortens a text to that many bytes of valid UTF-8.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

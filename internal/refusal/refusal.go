// Package refusal counts the requests that the gateway refuses before any attempt at a provider. The ledger has no row
// for them.
//
// A Recorder counts in memory, so that a refusal costs a fraction of a microsecond, and writes the counts every second.
// A flood of refusals adds to counts and not to rows. A crash loses the counts of the last second.
package refusal

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"weir/internal/llm"
)

const (
	// MostLatest is the number of refusals of an account that are stored individually, shared equally by its keys.
	MostLatest = 100
	// OtherModels is the name for the models beyond MostModels.
	OtherModels = "(other)"
	// MostModels is the number of an account's models that a node counts by name within an hour.
	MostModels = 20
	// MostCounts is the number of an account's counts, by key, reason and model, that a node keeps apart within an
	// hour. The others are counted by reason.
	MostCounts = 500
)

// CodePriceUnknown is the reason of a request that got CodeForbidden because a budget cannot bound the cost of its
// model, whose price is unknown. Clients never get it.
const CodePriceUnknown llm.Code = "PRICE_UNKNOWN"

// Refusal is a request that got an error without an attempt at a provider.
type Refusal struct {
	Request uuid.UUID
	At      time.Time // UTC
	// Account and Key are ids. They are empty if the request was not authenticated; then Model is empty, too.
	Account, Key string
	// AccountName and KeyLabel are for metrics and reports; they are not stored with the refusal.
	AccountName, KeyLabel string
	Reason                llm.Code
	Status                int    // HTTP status of the answer
	Model                 string // as the client requested it; empty if it is not known
	Message               string // of the error; it holds no content of the request
	Param                 string // the invalid field or parameter; empty for none
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

// Reasons returns the codes that refusals can have: those of errors, and CodePriceUnknown.
func Reasons() []llm.Code {
	return []llm.Code{
		llm.CodeInvalidRequest, llm.CodeAuthentication, llm.CodeBudgetExceeded, CodePriceUnknown, llm.CodeForbidden,
		llm.CodeNotFound, llm.CodeModelNotFound, llm.CodeMethodNotAllowed, llm.CodeIdempotencyConflict,
		llm.CodeConflict, llm.CodeRequestTooLarge, llm.CodeUnsupportedMedia, llm.CodeMisdirected, llm.CodeRateLimited,
		llm.CodeProviderError, llm.CodeProviderUnavailable, llm.CodeProviderTimeout, llm.CodeOverloaded,
		llm.CodeInternal,
	}
}

const (
	maxMessage = 500 // bytes
	maxParam   = 100 // bytes
	maxQuoted  = 40  // bytes of a quoted name
)

// Text returns the message with the invalid parameter, cut to a bound. It leaves out quoted values and parameters that
// are no names, because a client may have written content in place of one.
func (r *Refusal) Text() string {
	message, param := r.Message, cut(r.Param, maxParam)
	if r.Reason != llm.CodeAuthentication { // which quotes a header
		message = withoutValues(message, r.Model)
	}
	if strings.ContainsFunc(param, notOfName) {
		param = ""
	}
	text := cut((&llm.Error{Message: message, Param: param}).Placed(), maxMessage)
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) { // it might control a terminal; PostgreSQL does not store U+0000
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// notOfName reports whether a character cannot be part of a field's path.
func notOfName(r rune) bool {
	return r != '_' && r != '-' && r != '.' && r != '[' && r != ']' && (r < '0' || r > '9') &&
		(r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// withoutValues replaces quoted text that may be a value: all between single quotes, and between double quotes all but
// the model and names of fields.
func withoutValues(message, model string) string {
	if begin := strings.Index(message, " '"); begin >= 0 { // an apostrophe follows a letter
		if end := strings.LastIndexByte(message, '\''); end > begin+1 {
			message = message[:begin+2] + "…" + message[end:]
		}
	}
	var out strings.Builder
	for {
		begin := strings.IndexByte(message, '"')
		if begin < 0 {
			out.WriteString(message)
			return out.String()
		}
		out.WriteString(message[:begin+1])
		value := message[begin+1:]
		length := endOfQuoted(value)
		if length < 0 {
			out.WriteString("…")
			return out.String()
		}
		word := value[:length]
		if word == model || length <= maxQuoted && !strings.ContainsFunc(word, notOfField) {
			out.WriteString(word)
		} else {
			out.WriteString("…")
		}
		out.WriteByte('"')
		message = value[length+1:]
	}
}

// endOfQuoted returns the length of a text up to its closing double quote, as Go quotes texts; -1 if there is none.
func endOfQuoted(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// notOfField reports whether a character cannot be part of the name of a field. Keys and models have hyphens.
func notOfField(r rune) bool { return r == '-' || notOfName(r) }

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

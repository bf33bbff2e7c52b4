package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"weir/internal/llm"
	"weir/internal/promptcache"
)

// Bounds of records. Every database can store a record within them, and the sums of billions of such records.
const (
	maxName  = 512  // bytes of a name
	allNames = 1800 // bytes of all names of an attempt: PostgreSQL's indexes have at most 2,704 bytes
	maxLabel = 2048 // bytes of an end user or of a tag's value: 512 characters
	// Times are in these years, so that a date has eight digits.
	firstYear, lastYear = 1970, 9999
	// maxWait is the longest time between a request and its attempt. The journal has it as a difference.
	maxWait = 366 * 24 * time.Hour
)

// errRecord means that a record has a value that no database could store or no report could read.
var errRecord = errors.New("not a record of the ledger")

// check validates an attempt before it is written and after it was read. Its bound must be within llm.Usage.Clamp.
func (a *Attempt) check() error {
	texts := [...]string{a.Account, a.Key, a.Requested, a.Provider, a.Model, a.Region, a.Price.Version, ""}
	if a.Terms != nil {
		texts[len(texts)-1] = a.Terms.Price.Version
	}
	switch {
	case a.ID.N == 0:
		return fmt.Errorf("%w: the attempt's number is 0", errRecord)
	case slices.ContainsFunc(texts[:], isNoName):
		return fmt.Errorf("%w: a name is longer than %d bytes or is not UTF-8 without NUL", errRecord, maxName)
	case totalLen(texts[:]) > allNames:
		return fmt.Errorf("%w: the names are longer than %d bytes together", errRecord, allNames)
	case !a.isLabelled():
		return fmt.Errorf("%w: the end user or a tag is longer than %d bytes or is not UTF-8 without NUL", errRecord,
			maxLabel)
	case strings.Contains(a.Provider, "/"):
		return fmt.Errorf("%w: the provider's name has a slash, so the model's name is ambiguous", errRecord)
	case isNoTime(a.Opened) || isNoTime(a.Arrived) || a.Opened.Sub(a.Arrived).Abs() > maxWait:
		return fmt.Errorf("%w: a time is not in the years %d to %d, or the times differ by more than %s", errRecord,
			firstYear, lastYear, maxWait)
	case isNoCost(a.Hold) || isNoCost(a.ChargeHold):
		return fmt.Errorf("%w: the hold is not from $0 to $%s", errRecord, llm.MaxCost)
	}
	return nil
}

func (a *Attempt) isLabelled() bool {
	if len(a.Attribution.User) > maxLabel || !llm.IsText(a.Attribution.User) || len(a.Attribution.Tags) > llm.MaxTags {
		return false
	}
	return !slices.ContainsFunc(a.Attribution.Tags, func(t llm.Tag) bool {
		return isNoName(t.Name) || len(t.Value) > maxLabel || !llm.IsText(t.Value)
	})
}

// check validates a settlement before it is written and after it was read. Its usage must be within llm.Usage.Clamp.
// Only the projector settles attempts as unknown.
func (s *Settlement) check() error {
	texts := [...]string{string(s.Finish), s.Tier, string(s.Code), s.Served.Model, s.ReplyID, ""}
	if s.Served.Price != nil {
		texts[len(texts)-1] = s.Served.Price.Version
	}
	amounts := [...]llm.Money{
		s.Cost, s.AtMost, s.Cached.Saved, s.Missed.Cost, max(s.Margin, -s.Margin),
		max(s.MarginUncertain, -s.MarginUncertain), 0,
	}
	if s.ProviderCost != nil {
		amounts[len(amounts)-1] = *s.ProviderCost
	}
	causes := promptcache.Causes()
	switch {
	case s.Outcome == OutcomeOpen || s.Outcome == OutcomeUnknown || !slices.Contains(outcomes, s.Outcome):
		return fmt.Errorf("%w: the outcome %q is not the end of an attempt", errRecord, s.Outcome)
	case s.Provenance == Unknown || !slices.Contains(provenances, s.Provenance):
		return fmt.Errorf("%w: the provenance %q is not that of a settlement", errRecord, s.Provenance)
	case s.Missed.Tokens > llm.MaxCount || s.Missed.Tokens > 0 && !slices.Contains(causes[:], s.Missed.Cause):
		return fmt.Errorf("%w: %d missed tokens with the cause %q", errRecord, s.Missed.Tokens, s.Missed.Cause)
	case slices.ContainsFunc(texts[:], isNoName):
		return fmt.Errorf("%w: a text is longer than %d bytes or is not UTF-8 without NUL", errRecord, maxName)
	case slices.ContainsFunc(amounts[:], isNoCost):
		return fmt.Errorf("%w: an amount is not from $0 to $%s", errRecord, llm.MaxCost)
	}
	return nil
}

func totalLen(texts []string) (n int) {
	for _, s := range texts {
		n += len(s)
	}
	return n
}

func isNoName(s string) bool { return len(s) > maxName || !llm.IsText(s) }

func isNoTime(t time.Time) bool { return t.UTC().Year() < firstYear || t.UTC().Year() > lastYear }

func isNoCost(m llm.Money) bool { return m < 0 || m > llm.MaxCost }

// printable returns at most that many bytes of a provider's text, without control characters.
func printable(s string, most int) string {
	s = strings.ToValidUTF8(s[:min(len(s), most)], "")
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}

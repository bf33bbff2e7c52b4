package dialect

import "weir/internal/llm"

// Vocabulary is how a vendor says the codes of errors.
type Vocabulary map[llm.Code]Words

// Words are how a vendor says one code: the HTTP status and its own words, so that its SDKs
// raise their own exception classes.
type Words struct {
	Status     int
	Kind, More string
}

// Say are the words for one code. More may be empty.
func Say(status int, kind, more string) Words { return Words{Status: status, Kind: kind, More: more} }

// Of are the words for a code; those of an internal error for one that nobody listed.
func (v Vocabulary) Of(c llm.Code) Words {
	if w, ok := v[c]; ok {
		return w
	}
	return v[llm.CodeInternal]
}

// Status is the HTTP status of an error.
func (v Vocabulary) Status(c llm.Code) int { return v.Of(c).Status }

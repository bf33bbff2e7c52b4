package dialect

import "weir/internal/llm"

// Vocabulary maps codes of errors to a vendor's terms.
type Vocabulary map[llm.Code]Words

// Words holds the HTTP status and a vendor's terms for one code, so that its SDKs raise their own exception classes.
type Words struct {
	Status     int
	Kind, More string
}

// Say returns the terms for one code. more may be empty.
func Say(status int, kind, more string) Words { return Words{Status: status, Kind: kind, More: more} }

// Of returns the terms for a code; those of an internal error for an unlisted one.
func (v Vocabulary) Of(c llm.Code) Words {
	if w, ok := v[c]; ok {
		return w
	}
	return v[llm.CodeInternal]
}

// Status returns the HTTP status of an error.
func (v Vocabulary) Status(c llm.Code) int { return v.Of(c).Status }

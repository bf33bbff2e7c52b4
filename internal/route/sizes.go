package route

import (
	"weir/internal/llm"
	"weir/internal/pricing"
)

// bytesPerToken is the least number of bytes of text in a token, in nearly any language: a text that is too long by
// this measure is too long for certain.
const bytesPerToken = 6

// sizes knows the sizes and abilities of the targets' models.
type sizes struct {
	book             *pricing.Book
	defaultMaxOutput int64 // for models of unknown size
}

// Suits reports whether the target may be able to serve the request, which is so unless its model is known to lack an
// ability.
func (s *sizes) Suits(target *Target, n *llm.Needs) bool {
	info, _ := s.book.Model(target.Provider.Name(), target.Model)
	can := &info.Abilities
	for _, a := range []struct {
		needed bool
		able   pricing.Ability
	}{
		{n.Images, can.Images},
		{n.Documents, can.Documents},
		{n.Audio, can.Audio},
		{n.Tools, can.Tools},
		{n.Structured, can.Structured},
	} {
		if a.needed && a.able == pricing.No {
			return false
		}
	}
	return info.Context == 0 || n.Text/bytesPerToken+n.MaxOutput <= info.Context
}

// RefusesAssumed reports whether requests are refused if their price is not that of exactly the requested model.
func (s *sizes) RefusesAssumed() bool { return s.book.Assumed() == pricing.RefuseAssumed }

// UsualTools reports whether holds for providers' tools use their usual cost instead of their highest.
func (s *sizes) UsualTools() bool { return s.book.UsualTools() }

// Context returns the target's context window in tokens; 0 if unknown.
func (s *sizes) Context(target *Target) int64 {
	info, _ := s.book.Model(target.Provider.Name(), target.Model)
	return info.Context
}

// MaxOutput returns the target's largest output in tokens: the model's own bound, or else its context window; known is
// false if both are unknown, and the result is the configured default.
func (s *sizes) MaxOutput(target *Target) (tokens int64, known bool) {
	info, _ := s.book.Model(target.Provider.Name(), target.Model)
	switch {
	case info.MaxOutput > 0:
		return info.MaxOutput, true
	case info.Context > 0:
		return info.Context, true
	}
	return s.defaultMaxOutput, false
}

// OutputCap returns the output cap, in tokens, for a request without one: the model's largest output, or the configured
// default if that is unknown, within the context window.
func (s *sizes) OutputCap(target *Target) int64 {
	info, _ := s.book.Model(target.Provider.Name(), target.Model)
	switch {
	case info.MaxOutput > 0:
		return info.MaxOutput
	case info.Context > 0:
		return min(s.defaultMaxOutput, info.Context)
	}
	return s.defaultMaxOutput
}

// MayReason reports whether the target's model may reason before it answers, which is so unless it is known not to.
func (s *sizes) MayReason(target *Target) bool {
	info, _ := s.book.Model(target.Provider.Name(), target.Model)
	return info.Abilities.Reasoning != pricing.No
}

// TakesDocuments reports whether the target's model is known to accept documents.
func (s *sizes) TakesDocuments(target *Target) bool {
	info, _ := s.book.Model(target.Provider.Name(), target.Model)
	return info.Abilities.Documents == pricing.Yes
}

package gateway

import (
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/promptcache"
)

// findMissed records the input of a whole answer that could have been read from the provider's prompt cache. Only
// prompts of some length count, and only where reading is cheaper: others cost nothing here.
func findMissed(a *attempt, s *ledger.Settlement) {
	total := s.Usage.InputTokens()
	if total < promptcache.Smallest || a.Op.Op != llm.OpChat || a.resumes != nil {
		return
	}
	rates := &a.hold.Attempt().Price.Rates
	rule, cached := promptcache.RuleOf(a.Speaks.Name, a.Target.Model)
	if read := rates[llm.CacheRead]; !cached || !read.Known() || read.Pico() >= rates[llm.Input].Pico() ||
		!a.outcome().LastWord() {
		return
	}
	in := a.in
	conversation := in.conversation
	if conversation == 0 {
		conversation = nameConversation(in)
	}
	turn := in.held.TurnAnyway(len(in.Body))
	defer turn.End()
	s.Missed.Miss = in.server.prompts.Look(&promptcache.Sent{
		Account: in.principal.Account().ID, Conversation: uint64(conversation), Target: a.Target.FullName(),
		Key: a.Target.Key, Rule: rule, Body: in.Body, Sent: a.body, Total: total,
		Read:    s.Usage[llm.CacheRead] + s.Usage[llm.CacheReadAudio],
		Written: s.Usage[llm.CacheWrite] + s.Usage[llm.CacheWrite1h], At: in.started,
	})
}

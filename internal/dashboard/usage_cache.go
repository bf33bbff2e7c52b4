package dashboard

import (
	"strconv"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/promptcache"
	"weir/internal/report"
)

// cachedInput shows what prompt caches did with the input.
type cachedInput struct {
	Rows   []cachedRow
	Causes []missedRow
}

// cachedRow is a part of the input.
type cachedRow struct{ Label, Tokens, Share string }

// missedRow is a cause of misses, with what reading would have saved.
type missedRow struct{ Cause, Advice, Cost string }

// cachedInputOf describes the input of some usage; without rows if no cache did anything.
func cachedInputOf(u *report.Use) (c cachedInput) {
	read := u.Usage[llm.CacheRead] + u.Usage[llm.CacheReadAudio]
	written, missed := u.Usage[llm.CacheWrite]+u.Usage[llm.CacheWrite1h], u.Missed.Tokens
	if read|written|missed == 0 {
		return c
	}
	for _, r := range []struct {
		label  string
		tokens int64
	}{{"Read from caches", read}, {"Stored in caches", written}, {"Missed", missed}} {
		share := percentText(r.tokens, max(1, u.Usage.InputTokens()))
		c.Rows = append(c.Rows, cachedRow{r.label, number(r.tokens), share})
	}
	for i, cause := range promptcache.Causes() {
		if cost := u.Missed.Costs[i]; cost != 0 {
			what, advice := causeTexts(cause)
			c.Causes = append(c.Causes, missedRow{what, advice, dollars(cost)})
		}
	}
	return c
}

// causeTexts returns a cause of misses in words, and what to do about it.
func causeTexts(c promptcache.Cause) (what, advice string) {
	switch c {
	case promptcache.BelowLeast:
		return "Prompt too short for the model’s cache", "Nothing, or another model."
	case promptcache.Changed:
		return "Earlier part of the prompt changed", "Put what changes, such as a date, at the end of the prompt."
	case promptcache.OtherTarget:
		return "Other model or provider", "Keep conversations on their target: affinity of the alias."
	case promptcache.OtherKey:
		return "Other key of the provider", "Keep conversations on their key: affinity of the alias."
	case promptcache.NoMark:
		return "No cache mark", "Mark the end of the prompt in the client."
	case promptcache.MarkDropped:
		return "Cache mark dropped", "Use a client API of the provider’s own wire format."
	case promptcache.Expired:
		return "Cache expired", "Ask for a longer lifetime, such as 1h."
	}
	return "Not known", "The provider does not say why."
}

// missedText describes what an attempt missed; empty for nothing.
func missedText(m *ledger.Missed) string {
	if m.Tokens == 0 {
		return ""
	}
	what, _ := causeTexts(m.Cause)
	if m.Cause == promptcache.Changed {
		what = placeText(m.Message) + " changed since the earlier request"
	}
	text := number(m.Tokens) + " tokens"
	if m.Cost > 0 {
		text += ", " + dollars(m.Cost)
	}
	return text + ": " + what
}

// placeText names the message with that number.
func placeText(message int) string {
	switch message {
	case -1:
		return "tools"
	case 0:
		return "system prompt"
	}
	return "message " + strconv.Itoa(message)
}

// missedTile shows the misses of some usage.
func missedTile(u *report.Use) Tile {
	t := Tile{Label: "Missed in caches", Value: amount(u.Missed.Cost()), Note: none}
	if u.Missed.Tokens > 0 {
		t.Note = number(u.Missed.Tokens) + " tokens"
	}
	return t
}

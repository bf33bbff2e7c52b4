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
type missedRow struct{ Cause, Cost string }

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
	}{{"Read", read}, {"Stored", written}, {"Missed", missed}} {
		share := percentText(r.tokens, max(1, u.Usage.InputTokens()))
		c.Rows = append(c.Rows, cachedRow{r.label, number(r.tokens), share})
	}
	for i, cause := range promptcache.Causes() {
		if cost := u.Missed.Costs[i]; cost != 0 {
			c.Causes = append(c.Causes, missedRow{causeText(cause), dollars(cost)})
		}
	}
	return c
}

// causeText returns a cause of misses in words.
func causeText(c promptcache.Cause) string {
	switch c {
	case promptcache.BelowLeast:
		return "Prompt too short to be stored"
	case promptcache.Changed:
		return "Earlier part of the prompt changed"
	case promptcache.OtherTarget:
		return "Other model or provider"
	case promptcache.OtherKey:
		return "Other key of the provider"
	case promptcache.NoMark:
		return "No cache mark"
	case promptcache.MarkDropped:
		return "Cache mark dropped"
	case promptcache.Expired:
		return "Cache expired"
	}
	return "Not known"
}

// missedText describes what an attempt missed; empty for nothing.
func missedText(m *ledger.Missed) string {
	if m.Tokens == 0 {
		return ""
	}
	what := causeText(m.Cause)
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

// missedNote says what misses cost; empty for nothing.
func missedNote(u *report.Use) string {
	if cost := u.Missed.Cost(); cost > 0 {
		return amount(cost) + " missed"
	}
	return ""
}

// cacheTile returns the part of the input tokens that was read from prompt caches.
func cacheTile(x *report.Use) Tile {
	t := Tile{Label: "Read from caches", Value: cachedOf(&x.Usage), Note: noted("of the tokens in", missedNote(x))}
	if t.Value == none {
		t.Note = noted("none of the tokens in", missedNote(x))
	}
	return t
}

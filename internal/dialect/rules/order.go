package rules

import (
	"slices"
	"strconv"

	"weir/internal/llm"
)

// ResultsNext requires tool results directly after the message with their calls, before any other message.
type ResultsNext struct {
	Beside bool // allows other content between the results of one message
}

// Broken returns the id of the first call with a later result.
func (a ResultsNext) Broken(r *llm.Request, _ []byte) string {
	for i, end := range turns(r.Messages) {
		if late := a.late(r.Messages[i:end]); late != "" {
			return quoted(late)
		}
	}
	return ""
}

// Fit moves the results there.
func (a ResultsNext) Fit(f *Fitting) error {
	var ordered []llm.Message
	from := 0
	for i, end := range turns(f.Messages) {
		ordered = append(ordered, f.Messages[from:i]...)
		turn := f.Messages[i:end]
		if a.late(turn) == "" {
			ordered = append(ordered, turn...)
		} else {
			ordered = append(ordered, inOrder(turn)...)
		}
		from = end
	}
	f.Messages = append(ordered, f.Messages[from:]...)
	f.parts = map[int]bool{} // the indexes of messages changed
	return nil
}

// turns iterates over the ranges of a conversation that begin with a message with tool calls and end after the last
// message with a result for one of them.
func turns(messages []llm.Message) func(yield func(from, end int) bool) {
	return func(yield func(from, end int) bool) {
		for i := 0; i < len(messages); {
			if !slices.ContainsFunc(messages[i].Parts, isCall) {
				i++
				continue
			}
			open := callsOf(&messages[i])
			end := i + 1
			for j := i + 1; j < len(messages) && !slices.ContainsFunc(messages[j].Parts, isCall); j++ {
				if answers(&messages[j], open) {
					end = j + 1
				}
			}
			if !yield(i, end) {
				return
			}
			i = end
		}
	}
}

// callsOf returns the ids of the calls of a message.
func callsOf(m *llm.Message) map[string]bool {
	ids := map[string]bool{}
	for i := range m.Parts {
		if c := m.Parts[i].Call; c != nil {
			ids[c.ID] = true
		}
	}
	return ids
}

func answers(m *llm.Message, calls map[string]bool) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Result != nil && calls[p.Result.CallID] })
}

func isCall(p llm.Part) bool { return p.Call != nil }

func isResult(p llm.Part) bool { return p.Result != nil }

// late returns the id of the first call whose result follows other content; empty for none.
func (a ResultsNext) late(turn []llm.Message) string {
	before, other := false, false // other content in earlier messages, and up to here
	for i := 1; i < len(turn); i++ {
		for j := range turn[i].Parts {
			r := turn[i].Parts[j].Result
			switch {
			case r == nil:
				other = true
			case before || other && !a.Beside:
				return r.CallID
			}
		}
		before = other
	}
	return ""
}

// inOrder returns the messages with the results directly after their calls. Content of the assistant between them
// joins the message with the calls.
func inOrder(turn []llm.Message) []llm.Message {
	calls := turn[0]
	var said []llm.Part
	var results, rest []llm.Message
	for _, m := range turn[1:] {
		switch {
		case m.Role == llm.RoleAssistant:
			said = append(said, m.Parts...)
		case !slices.ContainsFunc(m.Parts, isResult):
			rest = append(rest, m)
		default:
			some, others := splitResults(m)
			results = append(results, some)
			if len(others.Parts) > 0 {
				rest = append(rest, others)
			}
		}
	}
	calls.Parts = slices.Concat(said, calls.Parts)
	return slices.Concat([]llm.Message{calls}, results, rest)
}

func (ResultsNext) String() string { return "Tool results directly follow the calls that they answer" }

// LastPrefix requires the field prefix on a last message of the assistant, which the answer continues.
type LastPrefix struct{}

// Broken returns the role of such a message without the field.
func (LastPrefix) Broken(r *llm.Request, _ []byte) string {
	if !endsWithAssistant(r) || r.Wants.Prefix {
		return ""
	}
	last := &r.Messages[len(r.Messages)-1]
	if slices.ContainsFunc(last.Extra, func(f llm.Field) bool { return f.Name == "prefix" }) {
		return ""
	}
	return string(last.Role)
}

// Fit makes the encoder set the field.
func (LastPrefix) Fit(f *Fitting) error {
	f.Wants.Prefix = true
	return nil
}

func endsWithAssistant(r *llm.Request) bool {
	n := len(r.Messages)
	return n > 0 && r.Messages[n-1].Role == llm.RoleAssistant && !slices.ContainsFunc(r.Messages[n-1].Parts, isCall)
}

func (LastPrefix) String() string {
	return "A last message of the assistant has the field `prefix` and is continued"
}

// BridgedResults requires a message of the assistant between tool results and the user's next message.
type BridgedResults struct{}

// bridge is the text of an inserted message.
const bridge = "OK."

// Broken returns the index of the first message in which the user's content follows tool results.
func (BridgedResults) Broken(r *llm.Request, _ []byte) string {
	answered := false
	for i := range r.Messages {
		m := &r.Messages[i]
		results := slices.ContainsFunc(m.Parts, isResult)
		if (answered || results) && speaks(m) {
			return strconv.Itoa(i)
		}
		answered = results || answered && isUnwritten(m)
	}
	return ""
}

// isUnwritten reports whether an assistant's message is not sent, because it has only thinking.
func isUnwritten(m *llm.Message) bool {
	return m.Role == llm.RoleAssistant && len(m.Parts) > 0 &&
		!slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return !isThinking(p) })
}

// speaks reports whether a message has content of the user other than tool results.
func speaks(m *llm.Message) bool {
	return m.Role != llm.RoleAssistant && m.Role != llm.RoleSystem &&
		slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return !isResult(p) })
}

// Fit inserts a message of the assistant.
func (BridgedResults) Fit(f *Fitting) error {
	var bridged []llm.Message
	answered := false
	for _, m := range f.Messages {
		if results, rest := splitResults(m); len(results.Parts) > 0 && len(rest.Parts) > 0 {
			bridged, m = append(bridged, results), rest
			answered = true
		}
		if answered && speaks(&m) {
			bridged = append(bridged, says(llm.RoleAssistant, bridge))
		}
		bridged = append(bridged, m)
		answered = slices.ContainsFunc(m.Parts, isResult) || answered && isUnwritten(&m)
	}
	f.Messages, f.parts = bridged, map[int]bool{}
	f.Drop("user message after tool results")
	return nil
}

// splitResults splits a message into its tool results and the rest.
func splitResults(m llm.Message) (results, rest llm.Message) {
	results, rest = m, m
	results.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p llm.Part) bool { return !isResult(p) })
	rest.Parts = slices.DeleteFunc(slices.Clone(m.Parts), isResult)
	return results, rest
}

func (BridgedResults) String() string {
	return "A message of the assistant is between tool results and the user's next message"
}

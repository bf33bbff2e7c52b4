package rules

import (
	"slices"
	"strconv"

	"weir/internal/llm"
)

// ResultsShown requires that tool results are text. Images and documents must be the user's.
type ResultsShown struct{}

// Broken returns the index of the first message with a result that has a medium.
func (ResultsShown) Broken(r *llm.Request, _ []byte) string {
	for i := range r.Messages {
		if slices.ContainsFunc(r.Messages[i].Parts, shows) {
			return strconv.Itoa(i)
		}
	}
	return ""
}

func shows(p llm.Part) bool { return p.Result != nil && slices.ContainsFunc(p.Result.Parts, isMedium) }

func isMedium(p llm.Part) bool { return p.Media != nil }

// Fit moves media into a user message after the results. A text document stays in its result, as text.
func (ResultsShown) Fit(f *Fitting) error {
	var messages []llm.Message
	var shown []llm.Part
	show := func() {
		if n := len(messages); len(shown) > 0 {
			messages, shown = append(messages, llm.Message{Role: llm.RoleUser, Parts: shown, At: messages[n-1].At}), nil
		}
	}
	for _, m := range f.Messages {
		if !slices.ContainsFunc(m.Parts, isResult) {
			show()
		} else if results, rest := splitResults(m); slices.ContainsFunc(m.Parts, shows) && len(rest.Parts) > 0 {
			messages = append(messages, worded(results, &shown))
			show()
			m = rest
		}
		messages = append(messages, worded(m, &shown))
	}
	show()
	f.Messages, f.parts = messages, map[int]bool{}
	return nil
}

// worded returns the message with results of only text, and appends their media to shown.
func worded(m llm.Message, shown *[]llm.Part) llm.Message {
	if !slices.ContainsFunc(m.Parts, shows) {
		return m
	}
	m.Parts = slices.Clone(m.Parts)
	for i := range m.Parts {
		if !shows(m.Parts[i]) {
			continue
		}
		result := *m.Parts[i].Result
		result.Parts = llm.Texts(result.Parts)
		words := slices.DeleteFunc(slices.Clone(result.Parts), isMedium)
		if len(words) < len(result.Parts) {
			*shown = append(*shown, llm.Part{
				Kind: llm.PartText, Text: "What the tool call " + result.CallID + " gave back:",
			})
		}
		for _, p := range result.Parts {
			if isMedium(p) {
				*shown = append(*shown, p)
			}
		}
		result.Parts, m.Parts[i].Result = words, &result
	}
	return m
}

func (ResultsShown) String() string {
	return "Tool results are text: their images and documents are sent in a user message"
}

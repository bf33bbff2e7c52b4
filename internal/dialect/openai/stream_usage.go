package openai

import "weir/internal/llm"

// usages adds up the usage of a stream. llama.cpp's server ends each of several choices with the usage of that choice,
// in a chunk after the choice's end (https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-task.cpp).
// Others report all choices: OpenAI and vLLM once after the last end, and some all so far, next to the choices.
type usages struct {
	ended choices
	ends  int       // choices that have ended
	told  int       // ended choices before the last usage in a chunk of its own
	sum   llm.Usage // of usages in chunks of their own, each after the end of another choice
}

// end records the end of a choice.
func (s *usages) end(choice int) {
	if !s.ended.has(choice) {
		s.ended.add(choice)
		s.ends++
	}
}

// alone returns the usage of all ended choices after u arrived in a chunk of its own. Input counts once.
func (s *usages) alone(u llm.Usage) llm.Usage {
	if s.told > 0 && s.ends > s.told {
		earlier := s.sum.InputTokens() >= u.InputTokens()
		for c := range u {
			switch {
			case !llm.Class(c).IsInput():
				u[c] += s.sum[c]
			case earlier:
				u[c] = s.sum[c]
			}
		}
	}
	s.told, s.sum = s.ends, u
	return u
}

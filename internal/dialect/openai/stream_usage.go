package openai

import "weir/internal/llm"

// usages adds up what a stream tells of its usage. llama.cpp's server ends each of several choices with a usage of that
// choice's own, alone in a chunk behind the choice's end
// (https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-task.cpp). Others tell of all choices: OpenAI
// and vLLM once, behind the last one's end, and some of all so far, beside the choices.
type usages struct {
	ended [maxChoices]bool
	ends  int       // choices that have ended
	told  int       // of these, before the last usage that came alone
	sum   llm.Usage // of the usages that came alone, each behind the end of another choice
}

// end takes note that a choice has ended.
func (s *usages) end(choice int) {
	if !s.ended[choice] {
		s.ended[choice] = true
		s.ends++
	}
}

// alone is the usage of all choices that have ended where u came alone. What was read counts once.
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

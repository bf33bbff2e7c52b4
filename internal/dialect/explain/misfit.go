package explain

import (
	"strings"

	"weir/internal/llm"
)

// Misfit derives how a request exceeds the model from a provider's code, in the form of Code, and its message.
func Misfit(code, message string) llm.Misfit {
	text := strings.ToLower(message)
	if code == Context {
		m := llm.Misfit{Kind: llm.ContextOverflow}
		readFirst(&m, text, contextSizes)
		return m
	}
	m := llm.Misfit{Kind: llm.OutputTooLong}
	if readFirst(&m, text, outputSizes) {
		return m
	}
	m = llm.Misfit{Kind: llm.ImageTooLarge}
	if readFirst(&m, text, imageSizes) || code == "image_too_large" || code == "image_file_too_large" {
		return m
	}
	for _, words := range badSignatures {
		if strings.Contains(text, words) {
			return llm.Misfit{Kind: llm.ThinkingSignature}
		}
	}
	if code == "invalid_encrypted_content" {
		return llm.Misfit{Kind: llm.ThinkingSignature}
	}
	return llm.Misfit{}
}

// The providers' messages with sizes, in lower case: {i} stands for Input, {o} for Output, {l} for Limit, {e} for
// Limit plus one, {_} for any other number. A comment names the provider if the message does not.
var (
	contextSizes = []string{
		"maximum context length is {l} tokens. however, you requested {_} tokens (" +
			"{i} in the messages, {o} in the completion", // OpenAI, vLLM
		"maximum context length is {l} tokens. however, your messages resulted in {i} tokens",
		"you passed {i} input tokens and requested {o} output tokens. however, " +
			"the model's context length is only {l}", // vLLM
		"request ({i} tokens) exceeds the available context size ({l} tokens",       // llama.cpp
		"(total length {i}) is too long to fit into the model (context length {l})", // vLLM
		"(length {i}) is longer than the maximum model length of {l}",
		"input length ({i} tokens) exceeds the maximum allowed length ({l} tokens", // SGLang
		"the input ({i} tokens) is longer than the model's context length ({l} tokens",
		"exceed context limit: {i} + {o} > {l}", // Claude
		"prompt is too long: {i} tokens > {l}",
		"input token count ({i}) exceeds the maximum number of tokens allowed ({l})",      // Gemini
		"input token count is {i} but model only supports up to {l}",                      // Vertex AI
		"prompt contains {i} tokens and {_} draft tokens, too large for model with {l} m", // Mistral
		"cannot exceed {l} - received {i}",                                                // Cohere
		"maximum prompt length is {l} but the request contains {i} tokens",                // xAI
		"model token limit: {l} (requested: {i})",                                         // Moonshot
		"range of input length should be [{_}, {l}]",                                      // Alibaba
		"context length of only {l} tokens",                                               // LM Studio
		"maximum context length is {l} tokens",
	}
	outputSizes = []string{
		"tokens is too large: {o}. this model supports at most {l} completion tokens", // OpenAI
		"tokens is too large: {o}",
		"max_tokens: {o} > {l}, which is the maximum allowed number of output tokens", // Anthropic
		"maxoutputtokens value of {o} but the supported range is from {_} (inclusive) to {e}",
		"maximum tokens you requested exceeds the model limit of {l}", // Bedrock
		"max_tokens is [{_}, {l}]",                                                              // DeepSeek
		"range of max_tokens should be [{_}, {l}]",                                              // Alibaba
		"max_tokens ({o}) exceeds model's maximum output tokens ({l})",                          // vLLM and gateways
		"max_tokens={o} cannot be greater than max_model_len={l}",                               // vLLM
		"max_tokens` must be less than or equal to `{l}`",                                       // Groq
		"max_completion_tokens` must be less than or equal to `{l}`",                            // Groq
		"max tokens must be less than or equal to {l}, the maximum output",                      // Cohere
		"maximum output length for this model - received {o}",                                   // Cohere
		"max_output_tokens': integer above maximum value. expected a value <= {l}, but got {o}", // OpenAI, Responses
		"max_tokens': integer above maximum value. expected a value <= {l}, but got {o}",
	}
	imageSizes = []string{
		"image exceeds {_} mb maximum: {i} bytes > {l} bytes", // Anthropic
		"image exceeds",
		"image dimensions exceed",
		"image is too large",
		"image too large",
		"image size exceeds",
		"image file is too large",
	}
	badSignatures = []string{
		"invalid `signature` in `thinking` block", // Anthropic
		"`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified",
		"thought signature is not valid", // Gemini
		"missing a thought_signature",
		"encrypted content could not be decrypted", // OpenAI
	}
)

// readFirst reads the sizes by the first matching pattern.
func readFirst(m *llm.Misfit, text string, patterns []string) bool {
	for _, p := range patterns {
		if read, ok := readSizes(*m, text, p); ok {
			*m = read
			return true
		}
	}
	return false
}

// readSizes reads the sizes of a text by one pattern.
func readSizes(m llm.Misfit, text, pattern string) (llm.Misfit, bool) {
	words, pattern, more := strings.Cut(pattern, "{")
	_, text, found := strings.Cut(text, words)
	for found && more {
		var n int64
		if n, text, found = number(text); !found {
			return m, false
		}
		switch pattern[0] {
		case 'i':
			m.Input = n
		case 'o':
			m.Output = n
		case 'l':
			m.Limit = n
		case 'e':
			m.Limit = n - 1
		}
		words, pattern, more = strings.Cut(pattern[len("i}"):], "{")
		text, found = strings.CutPrefix(text, words)
	}
	return m, found
}

// number reads the number at the start of a text, which may have commas between its digits; found is false for none,
// and for one that is too large for a count.
func number(text string) (n int64, rest string, found bool) {
	const most = 1 << 50
	for text != "" && n < most {
		switch c := text[0]; {
		case '0' <= c && c <= '9':
			n, found = 10*n+int64(c-'0'), true
		case c == ',' && found && len(text) > 1 && '0' <= text[1] && text[1] <= '9':
		default:
			return n, text, found
		}
		text = text[1:]
	}
	return n, text, found && n < most
}

// Sentences are a vendor's messages for requests that exceed a model.
type Sentences struct {
	// Own are parts of these, in lower case, by which a message is recognised as already in this form.
	Own map[llm.MisfitKind][]string
	// Write returns one with the known sizes.
	Write func(m *llm.Misfit) string
}

// Message returns the error message for the vendor's programs: for a Misfit, the vendor's sentence followed by the
// provider's message. fits is false if the parameter must not be added to the message.
func (s *Sentences) Message(e *llm.Error) (message string, fits bool) {
	if e.Misfit.Kind == 0 {
		return e.Message, true
	}
	lower := strings.ToLower(e.Message)
	for _, own := range s.Own[e.Misfit.Kind] {
		if strings.Contains(lower, own) {
			return e.Message, false
		}
	}
	return strings.TrimSuffix(s.Write(&e.Misfit), ".") + ". " + e.Message, false
}

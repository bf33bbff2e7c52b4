package harness

// Shelf has models of three vendors' providers, one more provider that shares a model name with one of them, and an
// alias.
const Shelf = `
providers:
  openai: {api_keys: [x], models: [gpt-5.4, mine, org/deep]}
  anthropic: {api_keys: [x], models: [claude-opus-4-5, o1]}
  gemini: {api_keys: [x], models: [gemini-2.5-pro]}
  house: {base_url: "http://127.0.0.1:1/v1", allow_private: true, models: [small, mine, o1, "a//b"]}
models:
  house/small: {context: 32768, max_output: 4096}
aliases:
  fast: {targets: [house/small]}
`

// WholeShelf lists the names of the shelf, in order.
var WholeShelf = []string{
	"anthropic/claude-opus-4-5", "anthropic/o1", "fast", "gemini/gemini-2.5-pro", "house/a//b", "house/mine",
	"house/o1", "house/small",
	"openai/gpt-5.4", "openai/mine", "openai/org/deep",
}

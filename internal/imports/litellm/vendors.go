package litellm

import (
	"net/url"
	"strings"
)

// vendor describes our provider for a provider of LiteLLM.
type vendor struct {
	name    string // our name of the provider
	home    string // the vendor's own address; empty if every api_base belongs to the vendor
	suffix  string // part of an api_base here that LiteLLM adds itself
	dialect string // of a second server of this kind; empty for the default
	auth    string // of a second server of this kind; empty for the wire format's default
}

// vendors returns LiteLLM's providers by the first part of litellm_params.model
// (https://docs.litellm.ai/docs/providers, 2026-10).
func vendors() map[string]vendor {
	return map[string]vendor{
		"openai":        {name: "openai", home: "https://api.openai.com/v1"},
		"custom_openai": {name: "openai", home: "https://api.openai.com/v1"},
		"azure":         {name: "azure", suffix: "/openai/v1", auth: "entra"},
		"anthropic":     {name: "anthropic", suffix: "/v1", dialect: "anthropic", auth: "x-api-key"},
		"gemini":        {name: "gemini", dialect: "gemini", auth: "x-goog-api-key"},
		"vertex_ai":     {name: "vertex", dialect: "gemini", auth: "google"},
		"bedrock":       {name: "bedrock", dialect: "bedrock", auth: "aws"},
		"mistral":       {name: "mistral"},
		"cohere":        {name: "cohere", dialect: "cohere"},
		"cohere_chat":   {name: "cohere", dialect: "cohere"},
		"groq":          {name: "groq"},
		"xai":           {name: "xai"},
		"deepseek":      {name: "deepseek"},
		"together_ai":   {name: "together"},
		"fireworks_ai":  {name: "fireworks"},
		"openrouter":    {name: "openrouter"},
		"perplexity":    {name: "perplexity"},
		"cerebras":      {name: "cerebras"},
		"moonshot":      {name: "moonshot"},
		"dashscope":     {name: "alibaba"},
		"nvidia_nim":    {name: "nvidia"},
		"huggingface":   {name: "huggingface"},
		"ollama":        {name: "ollama", suffix: "/v1"},
		"ollama_chat":   {name: "ollama", suffix: "/v1"},
		"vllm":          {name: "vllm"},
		"hosted_vllm":   {name: "vllm"},
		"lm_studio":     {name: "lmstudio"},
	}
}

// bareModels returns prefixes of model names that LiteLLM knows without a provider.
func bareModels() [][2]string {
	return [][2]string{
		{"gpt-", "openai"},
		{"chatgpt-", "openai"},
		{"o1", "openai"},
		{"o3", "openai"},
		{"o4", "openai"},
		{"text-embedding-", "openai"},
		{"dall-e-", "openai"},
		{"whisper-", "openai"},
		{"tts-", "openai"},
		{"claude-", "anthropic"},
		{"command-", "cohere"},
		{"embed-", "cohere"},
	}
}

// vendorOf returns the provider of a model, and its name there.
func vendorOf(model, custom string) (prefix, name string, ok bool) {
	prefix, name, found := strings.Cut(model, "/")
	switch {
	case custom != "":
		if prefix != custom {
			name = model
		}
		return custom, name, true
	case found:
		return prefix, name, true
	}
	for _, bare := range bareModels() {
		if strings.HasPrefix(model, bare[0]) {
			return bare[1], model, true
		}
	}
	return "", "", false
}

// hostName derives a provider's name from the host of its address.
func hostName(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "server"
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(u.Host))
	const most = 40
	return strings.Trim(name[:min(len(name), most)], "-.")
}

package pricing

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
)

// The notice travels with the data into the binary, as its licence asks.
//
//go:embed data/index.json data/providers/*.json data/NOTICE
var data embed.FS

// index says what the data is and which price sources it has.
type index struct {
	Source  string         `json:"source"`
	Version string         `json:"version"`
	Day     string         `json:"day"`
	SHA256  string         `json:"sha256"`
	Vendors map[string]int `json:"providers"` // how many models each has
}

func readIndex() (*index, error) {
	b, err := data.ReadFile("data/index.json")
	if err != nil {
		return nil, fmt.Errorf("read price index: %w", err)
	}
	var x index
	if err := json.Unmarshal(b, &x); err != nil {
		return nil, fmt.Errorf("read price index: %w", err)
	}
	return &x, nil
}

func readVendor(id string) (*vendor, error) {
	b, err := data.ReadFile(vendorFile(id))
	if err != nil {
		return nil, fmt.Errorf("read prices of %s: %w", id, err)
	}
	var v vendor
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("read prices of %s: %w", id, err)
	}
	v.compile()
	return &v, nil
}

func vendorFile(id string) string { return "data/providers/" + id + ".json" }

// SourceFor is the id under which the price data knows the provider of that
// name: "google" for "gemini". It is empty for a provider that the data does
// not have; such a provider is unpriced unless the operator prices it.
//
// A provider's name is one that configuration files use; the data's own ids
// stand for themselves.
func SourceFor(provider string) string {
	switch provider {
	case "gemini", "vertex", "vertexai", "vertex-ai", "google-ai", "google-vertex":
		return "google"
	case "xai", "grok":
		return "x-ai"
	case "bedrock", "amazon", "amazon-bedrock", "aws-bedrock":
		return "aws"
	case "azure-openai", "azure-ai", "azure_openai":
		return "azure"
	case "claude":
		return "anthropic"
	case "moonshot", "kimi":
		return "moonshotai"
	case "together-ai", "togetherai":
		return "together"
	case "fireworks-ai":
		return "fireworks"
	case "mistralai":
		return "mistral"
	case "voyage":
		return "voyageai"
	case "z-ai", "z.ai":
		return "zai"
	case "zhipu", "bigmodel":
		return "zhipuai"
	case "ovh":
		return "ovhcloud"
	case "workers-ai", "cloudflare-ai":
		return "cloudflare"
	case "copilot":
		return "github-copilot"
	}
	if _, err := fs.Stat(data, vendorFile(provider)); err != nil {
		return ""
	}
	return provider
}

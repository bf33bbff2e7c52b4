package pricing

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

// The notices are embedded with the data, because its licences require it.
//
//go:embed data/index.json data/providers/*.json data/NOTICE data/supplement.json
//go:embed data/abilities.json data/abilities/*.json data/abilities/NOTICE
var data embed.FS

const (
	priceIndex   = "data/index.json"
	abilityIndex = "data/abilities.json"

	supplementFile = "data/supplement.json"
)

// index describes data and lists its providers.
type index struct {
	Source  string         `json:"source"`
	Version string         `json:"version"`
	Day     string         `json:"day"`
	Vendors map[string]int `json:"providers"` // number of models of each
}

func (x *index) title() string { return x.Source + " " + x.Version }

func readIndex(file string) (*index, error) {
	b, err := data.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read index of the model data: %w", err)
	}
	var x index
	if err := json.Unmarshal(b, &x); err != nil {
		return nil, fmt.Errorf("read index of the model data: %w", err)
	}
	return &x, nil
}

// readVendor returns the vendor's imported data, without the supplement.
func readVendor(id string) (*vendor, error) {
	b, err := data.ReadFile("data/providers/" + id + ".json")
	if err != nil {
		return nil, fmt.Errorf("read prices of %s: %w", id, err)
	}
	v, err := parseVendor(b)
	if err != nil {
		return nil, fmt.Errorf("read prices of %s: %w", id, err)
	}
	return v, nil
}

func readSheet(id string) (*sheet, error) {
	b, err := data.ReadFile("data/abilities/" + id + ".json")
	if err != nil {
		return nil, fmt.Errorf("read abilities of %s: %w", id, err)
	}
	s, err := parseSheet(b)
	if err != nil {
		return nil, fmt.Errorf("read abilities of %s: %w", id, err)
	}
	return s, nil
}

// sheetFor returns the id of the ability data of the provider with that name and price source; empty for none. Vertex
// AI has other models than the Gemini API at the same prices.
func (x *index) sheetFor(provider, source string) string {
	if isVertex(provider) {
		return "vertex"
	}
	for _, id := range []string{source, provider} {
		if _, ok := x.Vendors[id]; ok {
			return id
		}
	}
	return ""
}

// SourceName returns the source of a ModelInfo in the short form of tables: the host of a page's address, a package
// without its scope, other sources unchanged.
func SourceName(source string) string {
	if _, address, ok := strings.Cut(source, "://"); ok {
		host, _, _ := strings.Cut(address, "/")
		return host
	}
	if scope, name, ok := strings.Cut(source, "/"); ok && strings.HasPrefix(scope, "@") {
		return name
	}
	return source
}

// isVertex reports whether a provider's name is one of Vertex AI.
func isVertex(provider string) bool {
	switch provider {
	case "vertex", "vertexai", "vertex-ai", "google-vertex":
		return true
	}
	return false
}

// sourceFor returns the id of the provider's price data: "google" for "gemini". It is empty for a provider that the
// data does not contain; such a provider is unpriced unless the operator prices it.
//
// The name is one that configuration files use; the data's own ids map to themselves.
func (x *index) sourceFor(provider string) string {
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
	if _, ok := x.Vendors[provider]; !ok {
		return ""
	}
	return provider
}

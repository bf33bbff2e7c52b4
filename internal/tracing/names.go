package tracing

// Convention is a version of the semantic conventions for generative AI.
type Convention string

const (
	// Convention141 is the last version in the core conventions, which most tools read in 2026
	// (https://github.com/open-telemetry/semantic-conventions/tree/v1.41.1/docs/gen-ai, 2026-11-28).
	Convention141 Convention = "1.41"
	// ConventionLatest is the state of the repository of their own
	// (https://github.com/open-telemetry/semantic-conventions-genai, 2026-11-28).
	ConventionLatest Convention = "latest"
)

// names holds the names that differ between versions; empty for an attribute that a version does not have.
type names struct {
	schema             string // URL
	cacheWrite         string
	audioIn, imageIn   string
	audioOut, imageOut string
}

// names returns the names of a version. The zero Convention is Convention141.
func (c Convention) names() *names {
	if c == ConventionLatest {
		return &names{
			schema:     "https://opentelemetry.io/schemas/gen-ai/1.42.0",
			cacheWrite: "gen_ai.usage.cache_write.input_tokens",
			audioIn:    "gen_ai.usage.audio.input_tokens", imageIn: "gen_ai.usage.image.input_tokens",
			audioOut: "gen_ai.usage.audio.output_tokens", imageOut: "gen_ai.usage.image.output_tokens",
		}
	}
	return &names{
		schema:     "https://opentelemetry.io/schemas/1.41.0",
		cacheWrite: "gen_ai.usage.cache_creation.input_tokens",
	}
}

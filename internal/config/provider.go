package config

import (
	"time"

	"weir/internal/llm"
)

// Provider is an entry of providers. Zero fields take the value of the catalogue's entry with that name.
type Provider struct {
	// Name is the <provider> of <provider>/<model-name>.
	Name string `yaml:"-"`
	// Dialect is one of Dialects.
	Dialect string `yaml:"dialect,omitempty"`
	// BaseURL is http or https, without credentials, query, fragment or a trailing slash.
	BaseURL string `yaml:"base_url,omitempty"`
	// WrittenURL is BaseURL with unexpanded references; empty if it has none.
	WrittenURL string `yaml:"-"`
	// Also lists further wire formats that the provider speaks at BaseURL.
	Also []string `yaml:"also,omitempty"`
	// AllowPrivate permits private and loopback addresses.
	AllowPrivate bool `yaml:"allow_private,omitempty"`
	// Auth is one of Auths.
	Auth string `yaml:"auth,omitempty"`
	// APIKeys are distinct and not empty.
	APIKeys []llm.Secret `yaml:"api_keys,omitempty"`
	// AdminKey gives access to the provider's cost reports; empty to skip the comparison with the ledger.
	AdminKey llm.Secret `yaml:"admin_key,omitempty"`
	// Models are the only models that are requested; empty for no restriction.
	Models []string `yaml:"models,omitempty"`
	// Timeouts bound one attempt.
	Timeouts Timeouts `yaml:"timeouts,omitempty"`
	// Retries is 0 to 10; nil if the file does not set it.
	Retries *int `yaml:"retries,omitempty"`
	// Prefill is "yes", "no" or empty: whether the provider continues a conversation that ends with an assistant's
	// message.
	Prefill string `yaml:"prefill,omitempty"`
	// CacheMarks is "client", "add" or empty for client: whether chats without marks of a prompt cache get them.
	CacheMarks string `yaml:"cache_marks,omitempty"`
	// Counter is a method of counting the tokens of a chat, "none" or empty.
	Counter string `yaml:"counter,omitempty"`
	// BillsAfterDisconnect is "yes", "no" or empty: whether the provider charges for a whole stream after the client
	// disconnects.
	BillsAfterDisconnect string `yaml:"bills_after_disconnect,omitempty"`
	// BillBy is "provider" or empty for the provider's reported charge, if it reports one, and "computed" for usage
	// times price.
	BillBy string `yaml:"bill_by,omitempty"`
	// Resells reports that the provider resells models of others at their own prices, so that no price is exactly its
	// own.
	Resells bool `yaml:"resells,omitempty"`
	// TraceContext sends the provider the trace context of attempts, or the client's if the gateway does not trace.
	TraceContext bool `yaml:"trace_context,omitempty"`
	// WebSocket asks the provider for streams of the wire format responses over WebSockets.
	WebSocket bool `yaml:"websocket,omitempty"`
}

// Timeouts bounds one attempt at a provider; 0 if the configuration does not set it.
type Timeouts struct {
	Connect   time.Duration `yaml:"connect,omitempty"`
	FirstByte time.Duration `yaml:"first_byte,omitempty"`
	Idle      time.Duration `yaml:"idle,omitempty"`
	Total     time.Duration `yaml:"total,omitempty"`
}

// Model holds the operator's data about a model: its sizes in tokens, inputs and abilities. 0 and nil mean unset.
type Model struct {
	Context    int64 `yaml:"context,omitempty"`
	MaxOutput  int64 `yaml:"max_output,omitempty"`
	Images     *bool `yaml:"images,omitempty"`
	Documents  *bool `yaml:"documents,omitempty"`
	Audio      *bool `yaml:"audio,omitempty"`
	Tools      *bool `yaml:"tools,omitempty"`
	Structured *bool `yaml:"structured,omitempty"`
	Reasoning  *bool `yaml:"reasoning,omitempty"`
}

// Pricing configures the use of prices.
type Pricing struct {
	// Assumed is "accept", "refuse" or "unpriced": the policy for a price that is not of exactly the requested model.
	Assumed string `yaml:"assumed"`
	// Tools is "bound" or "usual": whether budgets reserve the maximum or the usual cost of providers' tools.
	Tools string `yaml:"tools"`
	// Margin is the percentage by which the true charge may exceed such a price, or a reseller's.
	Margin int64 `yaml:"margin"`
}

// Alias is a name for one or more models.
type Alias struct {
	// Targets are distinct <provider>/<model-name>, at least one.
	Targets []string `yaml:"targets"`
	// Weights are 0 to 1000, one per target; empty for 1 each. A target of weight 0 is only a fallback.
	Weights []int `yaml:"weights,omitempty"`
	// Strategy is "fallback", "weighted" or "latency".
	Strategy string `yaml:"strategy"`
	// On lists the failures of a target that cause a fallback, as llm.Causes names them; nil for the default rules,
	// empty for no fallback.
	On []llm.Cause `yaml:"on,omitempty"`
	// Rescue is "on", "off" or empty for on: whether the next target continues an answer that breaks off.
	Rescue string `yaml:"rescue,omitempty"`
	// Affinity is "conversation", "none" or empty for conversation: whether the requests of a conversation prefer the
	// same target and the same key of its provider.
	Affinity string `yaml:"affinity,omitempty"`
	// ServedModel is "accept", "flag", "refuse" or empty for flag: the policy for answers of another model than the
	// requested one.
	ServedModel string `yaml:"served_model,omitempty"`
	// CacheMarks is "client", "add" or empty for the setting of the target's provider: whether chats without marks of a
	// prompt cache get them.
	CacheMarks string `yaml:"cache_marks,omitempty"`
	// AnswerCache is the greatest age of stored answers to requests for the alias; 0 for no stored answers.
	AnswerCache time.Duration `yaml:"answer_cache,omitempty"`
}

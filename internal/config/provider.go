package config

import (
	"time"

	"weir/internal/llm"
)

// Provider is one entry of providers. Whatever is zero is left to the
// catalogue's entry of that name.
type Provider struct {
	// Name is the <provider> of <provider>/<model-name>.
	Name string `yaml:"-"`
	// Dialect is one of Dialects.
	Dialect string `yaml:"dialect,omitempty"`
	// BaseURL is http or https, without credentials, query, fragment or a
	// slash at its end.
	BaseURL string `yaml:"base_url,omitempty"`
	// WrittenURL is BaseURL with its references as they were written; empty where it has none.
	WrittenURL string `yaml:"-"`
	// Also are further wire formats that it speaks at BaseURL.
	Also []string `yaml:"also,omitempty"`
	// AllowPrivate allows private and loopback addresses.
	AllowPrivate bool `yaml:"allow_private,omitempty"`
	// Auth is one of Auths.
	Auth string `yaml:"auth,omitempty"`
	// APIKeys are distinct and not empty.
	APIKeys []llm.Secret `yaml:"api_keys,omitempty"`
	// AdminKey is for the provider's reports of what it charges; empty for no comparison with the ledger.
	AdminKey llm.Secret `yaml:"admin_key,omitempty"`
	// Models are the only ones asked for; empty for whatever is asked.
	Models []string `yaml:"models,omitempty"`
	// Timeouts bound one attempt.
	Timeouts Timeouts `yaml:"timeouts,omitempty"`
	// Retries is 0 to 10; nil where the file says nothing.
	Retries *int `yaml:"retries,omitempty"`
	// Prefill is "yes", "no" or empty: whether a conversation that ends with an
	// assistant's message is continued behind it.
	Prefill string `yaml:"prefill,omitempty"`
	// Counter is a way of counting the tokens of a chat, "none" or empty.
	Counter string `yaml:"counter,omitempty"`
	// BillsAfterDisconnect is "yes", "no" or empty: whether all of a stream is charged
	// whose client has left.
	BillsAfterDisconnect string `yaml:"bills_after_disconnect,omitempty"`
	// BillBy is "provider" or empty for what the provider says that it charges, where it says so, and "computed" for
	// usage times price.
	BillBy string `yaml:"bill_by,omitempty"`
	// Resells says that it has others serve its models at prices of their own, so that no price is exactly its own.
	Resells bool `yaml:"resells,omitempty"`
}

// Timeouts bound one attempt at a provider; 0 where the configuration says
// nothing.
type Timeouts struct {
	Connect   time.Duration `yaml:"connect,omitempty"`
	FirstByte time.Duration `yaml:"first_byte,omitempty"`
	Idle      time.Duration `yaml:"idle,omitempty"`
	Total     time.Duration `yaml:"total,omitempty"`
}

// Model is what the operator says of a model: its sizes in tokens, and what it
// takes and does. 0 and nil are "not said".
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

// Pricing is what prices are taken for.
type Pricing struct {
	// Assumed is "accept", "refuse" or "unpriced": what becomes of a price that is not of
	// exactly the model asked for.
	Assumed string `yaml:"assumed"`
	// Tools is "bound" or "usual": whether budgets hold the most that tools of providers can
	// cost, or what they usually do.
	Tools string `yaml:"tools"`
	// Margin is by how many percent such a price, or a reseller's, may lie below what is charged.
	Margin int64 `yaml:"margin"`
}

// Alias is a name for one or more models.
type Alias struct {
	// Targets are <provider>/<model-name>, at least one, none twice.
	Targets []string `yaml:"targets"`
	// Weights are 0 to 1000, one for each of Targets; none for 1 each. A target of weight 0 is only a fallback.
	Weights []int `yaml:"weights,omitempty"`
	// Strategy is "fallback", "weighted" or "latency".
	Strategy string `yaml:"strategy"`
	// On are the failures of a target after which the next one is asked, as llm.Causes names them; nil for those of the
	// rules, none for no failure.
	On []llm.Cause `yaml:"on,omitempty"`
	// Rescue is "on", "off" or empty for on: whether an answer that breaks off
	// is continued by the next target.
	Rescue string `yaml:"rescue,omitempty"`
}

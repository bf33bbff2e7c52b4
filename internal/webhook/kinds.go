package webhook

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Audience says which endpoints receive an event, in addition to those of the installation, which receive all.
type Audience string

// These are the audiences.
const (
	ToAccount   Audience = "account"   // those of the account concerned
	ToEverybody Audience = "everybody" // those of all accounts
	ToOperators Audience = "operators" // no others
)

// Kind describes a type of event.
type Kind struct {
	Type    Type
	To      Audience
	About   string // when it is sent, in a sentence or two
	Example Event
}

// Kinds returns all types except Test, which cannot be subscribed to.
func Kinds() []Kind { return slices.Concat(accountKinds(), modelKinds(), alertKinds()) }

// accountKinds returns the types about accounts, their keys and budgets.
func accountKinds() []Kind {
	return []Kind{
		{Type: KeyCreated, To: ToAccount, About: "An API key was created.", Example: example(KeyCreated,
			Data{Account: acme(), Key: exampleKey()})},
		{
			Type: KeyExpiring, To: ToAccount,
			About:   "An API key will expire. Sent 7 days and 1 day before, if the key existed then.",
			Example: example(KeyExpiring, Data{Account: acme(), Key: exampleKey()}),
		},
		{Type: KeyRevoked, To: ToAccount, About: "An API key was revoked.", Example: example(KeyRevoked,
			Data{Account: acme(), Key: exampleKey()})},
		{
			Type: AccountSuspended, To: ToAccount, About: "The account was suspended: its keys are refused.",
			Example: example(AccountSuspended, Data{Account: acme()}),
		},
		{
			Type: AccountResumed, To: ToAccount, About: "The account was resumed: its keys are valid again.",
			Example: example(AccountResumed, Data{Account: acme()}),
		},
		{
			Type: BudgetThreshold, To: ToAccount,
			About: "50, 80, 95 or 100 percent of a budget or of prepaid credit is spent. Sent once per threshold, " +
				"limit and period.", Example: example(BudgetThreshold, Data{
				Account: acme(), Budget: exampleBudget("80.12"), Threshold: 80,
			}),
		},
		{
			Type: BudgetExceeded, To: ToAccount,
			About: "A budget or prepaid credit is spent, or a request was refused because it did not fit into the " +
				"rest. Sent once per limit and period; for an end user or a tag only after some money was spent.",
			Example: example(BudgetExceeded, Data{Account: acme(), Budget: exampleBudget("99.97")}),
		},
		{
			Type: RateLimitExceeded, To: ToAccount,
			About: "A request was refused because of a rate limit. Sent at most once a minute per account and " +
				"limit. `key` is the key of the first such request.",
			Example: example(RateLimitExceeded, Data{Account: acme(), Key: exampleKey(), RateLimit: &RateLimit{
				Of: "key", What: "rpm", Limit: 60,
			}}),
		},
		{
			Type: UsageDaily, To: ToAccount,
			About: "A UTC day with usage of the account is over. Sent about an hour later. Attempts that settle " +
				"afterwards appear only in the usage reports.", Example: example(UsageDaily,
				Data{Account: acme(), Usage: &Usage{
					Date: "2026-11-20", AsOf: exampleTime(), Requests: 1204, Tokens: 3310877, CostUSD: "12.40713",
				}}),
		},
	}
}

// modelKinds returns the types about providers and their models.
func modelKinds() []Kind {
	return []Kind{
		{
			Type: ProviderUnavailable, To: ToEverybody,
			About: "A model failed five times in a row at its provider, as seen by one node. Failures of only one " +
				"account do not count. For a model that only requests have named, the event goes only to endpoints " +
				"of the installation.", Example: example(ProviderUnavailable,
				Data{Target: &Target{Provider: "openai", Model: "gpt-5-mini", Node: "weir-1", Reason: "status 503"}}),
		},
		{
			Type: ProviderRecovered, To: ToEverybody,
			About: "A model that was unavailable answers again, as seen by the same node.",
			Example: example(ProviderRecovered, Data{Target: &Target{
				Provider: "openai", Model: "gpt-5-mini", Node: "weir-1",
			}}),
		},
		{
			Type: ModelUnpriced, To: ToOperators,
			About: "A model without a known price was used, so its cost is unknown. Sent once per UTC day and " +
				"model.",
			Example: example(ModelUnpriced, Data{Model: "house/experimental"}),
		},
		{
			Type: ModelSubstituted, To: ToOperators,
			About: "A provider has answered with another model than the requested one. Sent once per UTC day and " +
				"requested model, with the first such answer's model.",
			Example: example(ModelSubstituted, Data{Model: "openai/gpt-5", Served: "openai/gpt-5-mini"}),
		},
		{
			Type: UsageDrift, To: ToOperators,
			About: "A provider's report of a UTC day differs from the ledger without an explanation. Sent once per " +
				"day and provider with an admin_key.",
			Example: example(UsageDrift, Data{Drift: &Drift{
				Provider: "openai", Date: "2026-11-20", Rows: 1,
				Models: []DriftedOf{{Model: "gpt-5-mini", Finding: "more", OursUSD: "12.40", TheirsUSD: new("13.07")}},
			}}),
		},
		{
			Type: ToolsHeld, To: ToOperators,
			About: "An MCP server has changed the definitions of tools, or has new ones that need an approval. They " +
				"cannot be called until an operator approves them. Sent at most once per hour and server.",
			Example: example(ToolsHeld, Data{Held: &Held{Server: "github", Count: 1, Tools: []string{"get_issue"}}}),
		},
	}
}

// alertKinds returns the types about alerts.
func alertKinds() []Kind {
	fired := Alert{
		ID: "019aa39e-51f1-7b3c-9d40-6a2f0c1e8b78", Kind: "spend_jump", Value: 412, Limit: 300, Unit: "%",
		Text:  "$41.20 was spent in the last full hour, and at most $10 in the same hour of the seven days before.",
		Fired: exampleTime(),
	}
	ended := fired
	ended.Ended = new(exampleTime().Add(time.Hour))
	return []Kind{
		{
			Type: AlertFired, To: ToAccount,
			About: "A condition needs attention, such as spending far above the usual. Alerts that concern no single " +
				"account go only to endpoints of the installation. Sent once until the alert ends.",
			Example: example(AlertFired, Data{Account: acme(), Alert: &fired}),
		},
		{
			Type: AlertEnded, To: ToAccount, About: "The condition of an alert no longer holds.",
			Example: example(AlertEnded, Data{Account: acme(), Alert: &ended}),
		},
	}
}

// KindOf returns the description of a type; false for a type that cannot be subscribed to.
func KindOf(t Type) (Kind, bool) {
	all := Kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Type == t })
	if i < 0 {
		return Kind{}, false
	}
	return all[i], true
}

func exampleTime() time.Time { return time.Date(2026, 11, 21, 1, 0, 12, 345678000, time.UTC) }

func example(t Type, d Data) Event {
	e := Event{ID: uuid.MustParse("019aa39e-51f1-7b3c-9d40-6a2f0c1e8b77"), Type: t, At: exampleTime(), Data: d}
	if d.Account != nil {
		e.Account = d.Account.ID
	}
	return e
}

func acme() *Account { return &Account{ID: "019a9e21-7c54-7e0a-8f6d-2b9d5a3c4e10", Name: "acme"} }

func exampleKey() *Key {
	expires := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	return &Key{ID: "019a9e22-03b8-7d11-a4c2-91f07e6d5b32", Label: "ci", Last4: "x9Qf", Expires: &expires}
}

func exampleBudget(spent string) *Budget {
	from := "2026-11-01"
	return &Budget{Of: "account", Period: "month", From: &from, LimitUSD: "100", SpentUSD: spent}
}

package main

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// exporter writes what each yields.
type exporter func(w io.Writer, each func(func(*ledger.Entry) error) error) error

func exportFormats() map[string]exporter {
	return map[string]exporter{
		"csv":   columns(csvHeads(), csvRow),
		"focus": columns(focusHeads, focusRow),
	}
}

func columns(heads []string, row func(*ledger.Entry) []string) exporter {
	return func(w io.Writer, each func(func(*ledger.Entry) error) error) error {
		out := csv.NewWriter(w)
		if err := out.Write(heads); err != nil {
			return err
		}
		if err := each(func(e *ledger.Entry) error { return out.Write(row(e)) }); err != nil {
			return err
		}
		out.Flush()
		return out.Error()
	}
}

func csvHeads() []string {
	heads := []string{
		"attempt", "opened", "account", "key", "requested_model", "model", "outcome", "provenance",
		"finish_reason", "status", "error", "counts", "stream", "first_token_ms", "duration_ms", "price", "cost_usd",
	}
	for c := range llm.NumClasses {
		heads = append(heads, llm.Class(c).String())
	}
	return append(heads, "arrived", "booked_on", "service_tier", "unpriced", "cost_at_most_usd", "provider_cost_usd")
}

func csvRow(e *ledger.Entry) []string {
	row := []string{
		e.ID.String(), e.Opened.Format(time.RFC3339Nano), e.Account, e.Key, audit.PlainCell(e.Requested), audit.PlainCell(e.FullModel()),
		string(e.Outcome), string(e.Provenance), string(e.Finish), strconv.Itoa(e.Status), string(e.Code),
		strconv.FormatBool(e.Counts), strconv.FormatBool(e.Stream),
		count(e.FirstToken.Milliseconds()), count(e.Duration.Milliseconds()), e.Price.Version, knownCost(e),
	}
	for _, n := range e.Usage {
		row = append(row, count(n))
	}
	atMost, providers := "", ""
	if e.AtMost > 0 {
		atMost = e.AtMost.String()
	}
	if e.ProviderCost != nil {
		providers = e.ProviderCost.String()
	}
	return append(row, e.Arrived.Format(time.RFC3339Nano), e.Arrived.UTC().Format(time.DateOnly), audit.PlainCell(e.Tier),
		strings.Join(e.Unpriced.Names(), " "), atMost, providers)
}

// knownCost is the best estimate; where a class of usage has no known rate, what is known
// of it, and empty where nothing is.
func knownCost(e *ledger.Entry) string {
	if e.Unpriced != 0 && e.Cost == 0 {
		return ""
	}
	return e.Cost.String()
}

// focusHeads are columns of FOCUS 1.2 (https://focus.finops.org/focus-specification/v1-2/),
// with the tokens in columns of our own, which begin with x_. A cost that nobody knows is
// empty, and not 0; x_Unpriced has the classes without a price.
var focusHeads = []string{
	"BilledCost", "BillingAccountId", "BillingCurrency", "ChargeCategory", "ChargeDescription",
	"ChargePeriodStart", "ChargePeriodEnd", "ConsumedQuantity", "ConsumedUnit", "EffectiveCost", "ListCost",
	"ProviderName", "ResourceId", "ResourceName", "ServiceCategory", "ServiceName", "SubAccountId",
	"x_InputTokens", "x_OutputTokens", "x_Provenance", "x_Unpriced", "x_CostAtMost",
}

func focusRow(e *ledger.Entry) []string {
	cost := knownCost(e)
	return []string{
		cost, "weir", "USD", "Usage", "Tokens of " + e.FullModel(),
		e.Opened.Format(time.RFC3339), e.Opened.Add(max(e.Duration, time.Second)).Format(time.RFC3339),
		count(e.Usage.TotalTokens()), "Tokens", cost, cost,
		audit.PlainCell(e.Provider), e.ID.String(), audit.PlainCell(e.Model), "AI and Machine Learning", "Chat", e.Account,
		count(e.Usage.InputTokens()), count(e.Usage.OutputTokens()), string(e.Provenance),
		strings.Join(e.Unpriced.Names(), " "), e.Charged().String(),
	}
}

package main

import (
	"encoding/csv"
	"io"
	"strconv"
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
	return heads
}

func csvRow(e *ledger.Entry) []string {
	cost := ""
	if e.Price.Version != "" {
		cost = e.Cost.String()
	}
	row := []string{
		e.ID.String(), e.Opened.Format(time.RFC3339Nano), e.Account, e.Key, audit.PlainCell(e.Requested), audit.PlainCell(e.FullModel()),
		string(e.Outcome), string(e.Provenance), string(e.Finish), strconv.Itoa(e.Status), string(e.Code),
		strconv.FormatBool(e.Counts), strconv.FormatBool(e.Stream),
		count(e.FirstToken.Milliseconds()), count(e.Duration.Milliseconds()), e.Price.Version, cost,
	}
	for _, n := range e.Usage {
		row = append(row, count(n))
	}
	return row
}

// focusHeads are columns of FOCUS 1.2 (https://focus.finops.org/focus-specification/v1-2/),
// with the tokens in columns of our own, which begin with x_.
var focusHeads = []string{
	"BilledCost", "BillingAccountId", "BillingCurrency", "ChargeCategory", "ChargeDescription",
	"ChargePeriodStart", "ChargePeriodEnd", "ConsumedQuantity", "ConsumedUnit", "EffectiveCost", "ListCost",
	"ProviderName", "ResourceId", "ResourceName", "ServiceCategory", "ServiceName", "SubAccountId",
	"x_InputTokens", "x_OutputTokens", "x_Provenance",
}

func focusRow(e *ledger.Entry) []string {
	cost := e.Cost.String()
	return []string{
		cost, "weir", "USD", "Usage", "Tokens of " + e.FullModel(),
		e.Opened.Format(time.RFC3339), e.Opened.Add(max(e.Duration, time.Second)).Format(time.RFC3339),
		count(e.Usage.TotalTokens()), "Tokens", cost, cost,
		audit.PlainCell(e.Provider), e.ID.String(), audit.PlainCell(e.Model), "AI and Machine Learning", "Chat", e.Account,
		count(e.Usage.InputTokens()), count(e.Usage.OutputTokens()), string(e.Provenance),
	}
}

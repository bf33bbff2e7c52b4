package main

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/report"
)

// attempts calls a function with each attempt, until that returns an error.
type attempts func(func(*report.Exported) error) error

// exporter writes attempts to w, and to notes what it left out.
type exporter func(w, notes io.Writer, each attempts) error

func exportFormats() map[string]exporter {
	return map[string]exporter{"csv": exportCSV, "focus": exportFOCUS}
}

func exportCSV(w, _ io.Writer, each attempts) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvHeads()); err != nil {
		return err
	}
	if err := each(func(e *report.Exported) error { return out.Write(csvRow(e)) }); err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

func csvHeads() []string {
	heads := []string{
		"attempt", "opened", "account", "key", "requested_model", "model", "outcome", "provenance",
		"finish_reason", "status", "error", "counts", "stream", "first_token_ms", "duration_ms", "price", "cost_usd",
	}
	for c := range llm.NumClasses {
		heads = append(heads, llm.Class(c).String())
	}
	return append(heads, "arrived", "booked_on", "service_tier", "unpriced", "cost_at_most_usd", "provider_cost_usd",
		"account_name", "key_label", "user", "tags", "charge_usd", "charge_at_most_usd")
}

func csvRow(e *report.Exported) []string {
	row := []string{
		e.ID.String(), e.Opened.Format(time.RFC3339Nano), e.Account, e.Key, audit.PlainCell(e.Requested),
		audit.PlainCell(e.FullModel()), string(e.Outcome), string(e.Provenance), string(e.Finish),
		strconv.Itoa(e.Status), string(e.Code), strconv.FormatBool(e.Counts), strconv.FormatBool(e.Stream),
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
	charged := knownCost(e)
	if e.Terms != nil {
		charged = e.Charge().String()
	}
	return append(row, e.Arrived.Format(time.RFC3339Nano), e.Arrived.UTC().Format(time.DateOnly),
		audit.PlainCell(e.Tier),
		strings.Join(e.Unpriced.Names(), " "), atMost, providers, audit.PlainCell(e.AccountName),
		audit.PlainCell(e.KeyLabel), audit.PlainCell(e.Attribution.User),
		audit.PlainCell(llm.FormatTags(e.Attribution.Tags)), charged, e.Charged().String())
}

// knownCost is the best estimate; where a class of usage has no known rate, what is known
// of it, and empty where nothing is.
func knownCost(e *report.Exported) string {
	if e.Unpriced != 0 && e.Cost == 0 {
		return ""
	}
	return e.Cost.String()
}

package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// ExportQuery selects attempts. Dates are UTC calendar dates in time.DateOnly, both inclusive; empty for no bound.
type ExportQuery struct {
	Account string // account id; empty for all
	From    string
	To      string
}

// Attempts calls a function with each attempt until the function returns an error.
type Attempts func(func(*Exported) error) error

// Exporter writes attempts as a file, and reports the attempts that it omits.
type Exporter func(w io.Writer, each Attempts) (Omitted, error)

// Omitted counts attempts that a file does not contain completely, because a part of their price is unknown.
type Omitted struct {
	Whole int // not in the file
	Part  int // in the file with only the known part of the cost
}

// ExportFormats returns the file formats by name. Csv (RFC 4180) has a row per attempt. Focus has a row per class of
// usage, in one of FOCUSVersions; the newest if focus is empty.
func ExportFormats(focus string) map[string]Exporter {
	if focus == "" {
		focus = FOCUSVersions()[len(FOCUSVersions())-1]
	}
	return map[string]Exporter{
		"csv": exportCSV,
		"focus": func(w io.Writer, each Attempts) (Omitted, error) {
			return exportFOCUS(focus, w, each)
		},
	}
}

// fixedTime has a fixed number of digits, so that times sort as text.
const fixedTime = "2006-01-02T15:04:05.000000Z"

func exportCSV(w io.Writer, each Attempts) (o Omitted, err error) {
	out := csv.NewWriter(w)
	if err := out.Write(csvHeads()); err != nil {
		return o, err
	}
	if err := each(func(e *Exported) error { return out.Write(csvRow(e)) }); err != nil {
		return o, err
	}
	out.Flush()
	return o, out.Error()
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
		"account_name", "key_label", "user", "tags", "charge_usd", "charge_at_most_usd", "provider", "tags_json",
		"charge_unpriced", "served_model", "substituted", "cached", "saved_usd",
		"argument_bytes", "result_bytes")
}

func csvRow(e *Exported) []string {
	row := []string{
		e.ID.String(), e.Opened.UTC().Format(fixedTime), e.Account, e.Key, audit.PlainCell(e.Requested),
		audit.PlainCell(e.FullModel()), string(e.Outcome), string(e.Provenance), string(e.Finish),
		strconv.Itoa(e.Status), string(e.Code), strconv.FormatBool(e.Counts), strconv.FormatBool(e.Stream),
		count(e.FirstToken.Milliseconds()), count(e.Duration.Milliseconds()), e.Price.Version,
		known(e.Cost, e.Unpriced),
	}
	for _, n := range e.Usage {
		row = append(row, count(n))
	}
	atMost, providers := "", ""
	if e.AtMost > 0 {
		atMost = e.AtMost.Fixed()
	}
	if e.ProviderCost != nil {
		providers = e.ProviderCost.Fixed()
	}
	unpriced := e.UnpricedCharge()
	chargedAtMost := e.Charged().Fixed()
	if unpriced != 0 && e.Charged() == e.Charge() {
		chargedAtMost = "" // there is no upper bound
	}
	saved := ""
	if e.Cached.Hit {
		saved = e.Cached.Saved.Fixed()
	}
	return append(row, e.Arrived.UTC().Format(fixedTime), e.Arrived.UTC().Format(time.DateOnly),
		audit.PlainCell(e.Tier),
		strings.Join(e.Unpriced.Names(), " "), atMost, providers, audit.PlainCell(e.AccountName),
		audit.PlainCell(e.KeyLabel), audit.PlainCell(e.Attribution.User),
		audit.PlainCell(llm.FormatTags(e.Attribution.Tags)), known(e.Charge(), unpriced), chargedAtMost,
		audit.PlainCell(e.Provider), tagsObject(e.Attribution.Tags), strings.Join(unpriced.Names(), " "),
		audit.PlainCell(e.Served.Model), strconv.FormatBool(e.Served.Other),
		strconv.FormatBool(e.Cached.Hit), saved, count(e.Sizes.Arguments), count(e.Sizes.Result))
}

// tagsObject returns tags as a JSON object. It escapes semicolons, because a spreadsheet that splits cells at them
// could read the following text as a formula. The escape does not change the JSON value.
func tagsObject(tags []llm.Tag) string {
	object := []byte{'{'}
	for _, t := range tags {
		object = rawjson.AppendComma(object)
		object = rawjson.AppendString(append(rawjson.AppendString(object, t.Name), ':'), t.Value)
	}
	return strings.ReplaceAll(string(append(object, '}')), ";", `\u003b`)
}

// known returns an amount; if it excludes some classes of usage, the known part, or an empty string if that is 0.
func known(amount llm.Money, unpriced llm.Classes) string {
	if unpriced != 0 && amount == 0 {
		return ""
	}
	return amount.Fixed()
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

package config

import (
	"slices"
	"strings"
)

// TagLabel begins a value of Telemetry.Labels that names a tag.
const TagLabel = "tag:"

const maxTagLabels = 4

// checkLabels reports invalid labels of metrics.
func (ch *checker) checkLabels(all []string) {
	var tags []string
	for i, name := range all {
		place := index("telemetry.labels", i)
		tag, isTag := strings.CutPrefix(name, TagLabel)
		switch {
		case slices.Contains(all[:i], name):
			ch.report(place, "`telemetry.labels` has %s twice: remove one", ch.quote(place, name))
		case name == "account" || name == "key":
		case isTag && slices.Contains(tags, LabelOf(tag)):
			ch.report(place, "`telemetry.labels` has two tags with the label %s: remove one", LabelOf(tag))
		case isTag && tag != "":
			tags = append(tags, LabelOf(tag))
		default:
			ch.report(place, "`telemetry.labels[%d]` must be account, key, or %sNAME for a tag, not %s", i, TagLabel,
				ch.quote(place, name))
		}
	}
	if len(tags) > maxTagLabels {
		ch.report("telemetry.labels", "`telemetry.labels` has %d tags: choose at most %d", len(tags), maxTagLabels)
	}
}

// LabelOf returns the label of a tag: tag_ and its name, with underscores for characters that a label cannot have
// (https://prometheus.io/docs/concepts/data_model/, 2026-11-29).
func LabelOf(tag string) string {
	return "tag_" + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, tag)
}

// Alerts holds the limits of alerts; 0 switches an alert off.
type Alerts struct {
	// BudgetPercent is the part of a budget that will be spent at the rate of its period so far.
	BudgetPercent int64 `yaml:"budget_percent"`
	// SpendFactor is how many times the highest spending in the same hour of the seven days before an account spends in
	// an hour. If that was less than SpendLeastUSD, it counts as SpendLeastUSD.
	SpendFactor   int64 `yaml:"spend_factor"`
	SpendLeastUSD int64 `yaml:"spend_least_usd"`
	// ErrorPercent is the part of an account's attempts that failed, if it has at least ErrorLeast.
	ErrorPercent int64 `yaml:"error_percent"`
	ErrorLeast   int64 `yaml:"error_least"`
	// Refusals is the number of refused requests of a key in an hour.
	Refusals int64 `yaml:"refusals"`
	// Unpriced is the number of attempts of a model without a price.
	Unpriced int64 `yaml:"unpriced"`
	// PricesDays is the age of the newest price data in days.
	PricesDays int64 `yaml:"prices_days"`
}

func usualAlerts() Alerts {
	return Alerts{
		BudgetPercent: 100, SpendFactor: 3, SpendLeastUSD: 10, ErrorPercent: 25, ErrorLeast: 50, Refusals: 100,
		Unpriced: 1, PricesDays: 90,
	}
}

const mostAlertLimit = 1_000_000

// checkAlerts reports limits of alerts that are out of range.
func (ch *checker) checkAlerts(a *Alerts) {
	for name, limit := range map[string]int64{
		"budget_percent": a.BudgetPercent, "spend_factor": a.SpendFactor, "spend_least_usd": a.SpendLeastUSD,
		"error_percent": a.ErrorPercent, "error_least": a.ErrorLeast, "refusals": a.Refusals, "unpriced": a.Unpriced,
		"prices_days": a.PricesDays,
	} {
		most := int64(mostAlertLimit)
		if name == "error_percent" {
			most = 100
		}
		if limit < 0 || limit > most {
			ch.report(join("alerts", name), "`alerts.%s` must be from 0 to %d; 0 switches the alert off", name, most)
		}
	}
}

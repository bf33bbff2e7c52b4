package dashboard

import (
	"time"

	"weir/internal/llm"
	"weir/internal/reconcile"
)

// reconciliationSamples returns the page before days are chosen, with every finding, without costs, and with a failure.
func reconciliationSamples(show func(name, template string, data any) sample) []sample {
	a := &reconcile.Ask{Provider: "openai", From: testTime.AddDate(0, 0, -7).Truncate(24 * time.Hour), To: testTime.AddDate(0, 0, -1).Truncate(24 * time.Hour)}
	var full, costless reconcile.Result
	for i, f := range []reconcile.Finding{
		reconcile.Agrees, reconcile.Rounded, reconcile.Midnight, reconcile.Unseen, reconcile.Priced, reconcile.Cached, reconcile.More, reconcile.Less, reconcile.Mixed,
	} {
		row := reconcile.Row{
			Place:   reconcile.Place{Day: a.From.AddDate(0, 0, i%7).Format(time.DateOnly), Model: "gpt-5-mini"},
			Ours:    reconcile.Ours{Usage: reconcile.Usage{Input: 1_204_077, Output: 12_000}, Cost: llm.Money(i+1) * llm.USD, Uncertain: llm.USD / 3},
			Theirs:  reconcile.Usage{Input: 1_204_077 + int64(i), Output: 12_000},
			Finding: f,
		}
		costless.Rows = append(costless.Rows, row)
		row.Cost = new(row.Ours.Cost + llm.Money(i)*llm.USD/7)
		full.Rows = append(full.Rows, row)
	}
	full.Rows[2].Model, full.Other = hostile, 7*llm.USD/3
	for range reconciledShown {
		full.Rows = append(full.Rows, full.Rows[6])
	}
	failed := &form{general: []string{"openai does not answer: " + hostile}}
	return []sample{
		show("reconciliation", "reconciliation", reconciliationPageOf(a, &form{}, &full, true)),
		show("reconciliation-costless", "reconciliation", reconciliationPageOf(a, &form{}, &costless, true)),
		show("reconciliation-none", "reconciliation", reconciliationPageOf(a, &form{}, &reconcile.Result{}, true)),
		show("reconciliation-new", "reconciliation", reconciliationPageOf(a, &form{}, &reconcile.Result{}, false)),
		show("reconciliation-failed", "reconciliation", reconciliationPageOf(a, failed, &reconcile.Result{}, false)),
	}
}

package dashboard

import (
	"html/template"
	"net/http"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
)

// designPage shows all components with invented values.
type designPage struct {
	Colours  []string
	Tiles    []Tile
	Badges   []Badge
	Fields   []Field
	Choices  Field
	Problems []Problem
	Confirm  Confirm
	Code     Code
	Empty    Empty
	Views    []Link
	Filters  Filters
	Pager    Pager
	Levels   []Level
	Chart    Chart
	Changes  []Change
	Icons    []string
	Now      time.Time
}

func (s *site) showDesign(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	return s.show(w, r, v, page{
		name: "design", title: "Design", scripts: []string{"chart.js"}, data: designPageOf(s.now()),
	})
}

func designPageOf(now time.Time) designPage {
	return designPage{
		Colours: []string{
			"paper", "wash", "ink", "soft", "line", "edge", "accent", "accent-deep", "accent-wash",
			"good", "warn", "bad", "river", "data-1", "data-2", "data-3", "data-4", "data-5", "data-6",
		},
		Tiles: []Tile{
			{"Spend", "$1,204.18", "this month"},
			{"Requests", "86,112", "of which 214 failed"},
			{"Tokens", "48.2 M", "in and out"},
			{"First token", "412 ms", "median; 95 % within 1.3 s"},
		},
		Badges: []Badge{{"good", "Active"}, {"warn", "Paused"}, {"bad", "Suspended"}, {"off", "Expired"}, {"", "New"}},
		Fields: designFields(),
		Choices: Field{Name: "d-may", Label: "Permissions", Kind: "checkbox", Choices: []Choice{
			{Value: "chat", Label: "Chat", Note: "Send messages to models", Chosen: true},
			{Value: "uses", Label: "Uses", Note: "Read the usage of the account"},
		}},
		Problems: []Problem{{badLimit, "#f-d-rpm"}},
		Confirm: Confirm{
			Ident: "d-confirm", Button: "Revoke", Object: "the example", Title: "Revoke this key?",
			Text: "A question before an action that cannot be undone. This one does nothing.", Action: "/theme",
			Verb: "Revoke the key",
		},
		Code: Code{Ident: "d-code", Label: "curl", Text: curlOf("https://weir.example.com", "$WEIR_KEY", "")},
		Empty: Empty{
			Icon: "keys", Title: "No API keys", Text: "What this list contains, and how to add the first entry.",
			Action: "The next step", Href: "#empty",
		},
		Views: []Link{{Label: "Active 3", Href: "#views", Current: true}, {Label: "Revoked 1", Href: "#views"}},
		Filters: Filters{Action: "/design", Label: "Filters", Reset: "/design", Fields: []Field{
			{Name: "from", ID: "d-from", Label: "From", Kind: "date", Value: now.UTC().Format(time.DateOnly)},
			{Name: "model", ID: "d-model", Label: "Model", Kind: "text"},
		}},
		Pager: Pager{Newer: "#pager", Older: "#pager", Shown: "26 to 50"},
		Levels: []Level{
			levelOf(24, 100, ""), levelOf(51, 100, "good"), levelOf(82, 100, "warn"), levelOf(99, 100, "bad"),
		},
		Chart: Chart{
			Title: "Spend by day", Summary: "Three days, total $32.00", Legend: []string{
				"openai/gpt-5-mini",
				"anthropic/claude-haiku-4-5",
			}, Picture: designChart(),
			Columns: []string{"Day", "Spend"}, Rows: [][]string{
				{"Monday", "$5.00"},
				{"Tuesday", "$10.00"},
				{"Wednesday", "$17.00"},
			},
		},
		Changes: []Change{{"budget_usd", "25", "250"}, {"label", "", "nightly report"}, {"rpm", "600", ""}},
		Icons: []string{
			"overview", "keys", "usage", "requests", "playground", "models", "webhooks", "members",
			"accounts", "providers", "prices", "audit", "system", "settings",
		},
		Now: now.Add(-3 * time.Hour),
	}
}

func designFields() []Field {
	return []Field{
		{
			Name: "d-label", Label: "Label", Kind: "text", Hint: "What the key is for, such as “nightly report”.",
			Required: true,
		},
		{Name: "d-rpm", Label: "Requests per minute", Kind: "text", Value: "many", Error: badLimit, Short: true},
		{Name: "d-period", Label: "Period", Choices: []Choice{
			{Value: "month", Label: "a month", Chosen: true},
			{Value: "day", Label: "a day"},
		}},
		{Name: "d-models", Label: "Models", Lines: 3, Optional: true, Value: "openai/*"},
	}
}

// designChart draws an example with a few bars.
func designChart() template.HTML {
	b := bars{label: "Spend rose from 5 to 17 dollars a day", unit: func(n int64) string {
		return amount(llm.Money(n))
	}}
	for i, name := range []string{"Monday", "Tuesday", "Wednesday"} {
		n := int64(i + 1)
		b.stack = append(b.stack, stack{name: name, title: name, values: []int64{
			n * int64(3*llm.USD),
			n*n*int64(llm.USD) - n*int64(llm.USD) + 2*int64(llm.USD),
		}})
	}
	return b.picture()
}

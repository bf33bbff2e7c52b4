package dashboard

import (
	"net/url"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/refusal"
	"weir/internal/report"
)

// requestsShown is the number of requests per page.
const requestsShown = 50

// moreRequestFilters returns the names of the filters that are folded away until one is set.
func moreRequestFilters() []string {
	return []string{
		"requested_model", "user", "tag", "socket", "status", "error_code", "min_cost_usd", "max_cost_usd",
		"start_time", "end_time",
	}
}

// requestFilters returns the names of all filters.
func requestFilters() []string {
	return append([]string{"id", "key", "model", "ended", "start_date", "end_date"}, moreRequestFilters()...)
}

// requestQuery reads the filters of a list. It adds mistakes to the form.
func requestQuery(f *form, accountID string) report.RequestsQuery {
	params := map[string]string{}
	for _, name := range report.RequestFilters() {
		params[name] = strings.TrimSpace(f.values.Get(name))
	}
	for name, value := range tagsOfForm(f) {
		params[report.TagParameter+name] = value
	}
	params["start_date"], params["end_date"] = dateText(f.bound("start_date")), dateText(f.bound("end_date"))
	if from, to := params["start_date"], params["end_date"]; from != "" && to != "" && from > to {
		f.mistake("start_date", "The first day is after the last day. Choose an earlier first day.")
		params["end_date"] = ""
	}
	params["from"] = f.momentOf("start_date", "start_time", 0)
	params["to"] = f.momentOf("end_date", "end_time", time.Minute)
	if len(params["model"]) > maxModelName {
		f.mistake("model", "The model name is longer than 256 bytes. Enter a shorter one.")
	}
	if params["ended"] == endedRefused {
		params["ended"] = ""
	}
	q, err := report.ParseRequests(accountID, params)
	if err != nil {
		e := llm.AsError(err)
		f.mistake(fieldOfFilter(e.Param), e.Message)
	}
	q.Limit = requestsShown
	after, err := report.ParseCursor(f.values.Get("after"))
	if err != nil {
		f.mistake("after", "This page of the list does not exist. Start with the newest page.")
	}
	q.After = after
	return q
}

// fieldOfFilter returns the field of the form for a parameter.
func fieldOfFilter(param string) string {
	switch {
	case strings.HasPrefix(param, report.TagParameter):
		return "tag"
	case param == "from":
		return "start_time"
	case param == "to":
		return "end_time"
	}
	return param
}

// tagsOfForm reads the field of tags, such as "team=search, step=1".
func tagsOfForm(f *form) map[string]string {
	text := f.values.Get("tag")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	tags := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			f.mistake("tag", "A tag is a name and a value. Write it as team=search.")
			return nil
		}
		tags[name] = strings.TrimSpace(value)
	}
	return tags
}

// momentOf returns the time of a day and a time field, plus more; empty without a time.
func (f *form) momentOf(date, clock string, more time.Duration) string {
	text := f.values.Get(clock)
	if text == "" {
		return ""
	}
	at, err := time.Parse("15:04", text)
	if err != nil {
		f.mistake(clock, "This is not a time. Enter one such as 14:30, in UTC.")
		return ""
	}
	day := f.bound(date)
	if day.IsZero() {
		f.mistake(date, "The time needs a day. Choose one.")
		return ""
	}
	ofDay := time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	return day.Add(ofDay + more).Format(time.RFC3339)
}

func requestFields(f *form, keys []account.Key) []Field {
	choices := []Choice{{Value: "", Label: "All keys"}}
	for i := range keys {
		choices = append(choices, Choice{Value: keys[i].ID, Label: keys[i].Label + " …" + keys[i].Last4})
	}
	ended := []Choice{
		{Value: "", Label: "Any"},
		{Value: string(report.EndedOK), Label: "Answered"},
		{Value: string(report.EndedError), Label: "Not answered"},
		{Value: string(report.EndedUnseen), Label: "End not seen"},
		{Value: endedRefused, Label: "Refused"},
	}
	return []Field{
		f.field(Field{Name: "id", Label: "Id", Kind: "search", Example: "request or reply", Max: 512}),
		f.field(Field{Name: "key", Label: "Key", Choices: choices}),
		f.field(Field{Name: "model", Label: "Model", Example: "provider/model", Max: maxModelName}),
		f.field(Field{Name: "ended", Label: "Outcome", Choices: ended}),
		f.field(Field{Name: "start_date", Label: "From", Kind: "date"}),
		f.field(Field{Name: "end_date", Label: "To", Kind: "date"}),
	}
}

// moreRequestFields returns the fields that are folded away until one has a value.
func moreRequestFields(f *form) []Field {
	codes := []Choice{{Value: "", Label: "Any"}}
	for _, code := range refusal.Reasons() {
		codes = append(codes, Choice{Value: string(code), Label: string(code)})
	}
	return []Field{
		f.field(Field{Name: "requested_model", Label: "Requested model", Example: "fast", Max: maxModelName}),
		f.field(Field{Name: "user", Label: "End user", Max: 512}),
		f.field(Field{Name: "tag", Label: "Tags", Example: "team=search", Max: 512}),
		f.field(Field{Name: "socket", Label: "WebSocket", Example: "id", Max: 64}),
		f.field(Field{Name: "error_code", Label: "Error code", Choices: codes}),
		f.field(Field{Name: "status", Label: "Status of the provider", Example: "429", Mode: "numeric", Max: 3}),
		f.field(Field{Name: "min_cost_usd", Label: "Cost from, $", Example: "0.05", Mode: "decimal", Max: 20}),
		f.field(Field{Name: "max_cost_usd", Label: "Cost to, $", Mode: "decimal", Max: 20}),
		f.field(Field{Name: "start_time", Label: "From time, UTC", Kind: "time"}),
		f.field(Field{Name: "end_time", Label: "To time, UTC", Kind: "time"}),
	}
}

// requestForm returns the filters of the list.
func requestForm(f *form, keys []account.Key, base string) Filters {
	return Filters{
		Action: base, Label: "Requests to show", Reset: base, Fields: requestFields(f, keys),
		More: moreRequestFields(f), Open: f.sets(moreRequestFilters()),
	}
}

// sets reports whether one of the fields has a value.
func (f *form) sets(names []string) bool {
	for _, name := range names {
		if f.values.Get(name) != "" {
			return true
		}
	}
	return false
}

// filtersOf returns the parameters of the same filters.
func filtersOf(f *form) url.Values {
	values := url.Values{}
	for _, name := range requestFilters() {
		if value := f.values.Get(name); value != "" {
			values.Set(name, value)
		}
	}
	return values
}

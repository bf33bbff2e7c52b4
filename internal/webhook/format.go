package webhook

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"slices"
	"strings"

	"weir/internal/llm"
)

// Format is the form in which an endpoint receives events.
type Format string

// The formats. The zero Format is JSON.
const (
	JSON  Format = "json"  // the event by Standard Webhooks
	Slack Format = "slack" // a text for an incoming webhook of Slack, and of programs with the same form
	Teams Format = "teams" // a card for a workflow of Microsoft Teams
	Mail  Format = "mail"  // a mail; the address is mailto:NAME@HOST
)

// Formats returns all formats.
func Formats() []Format { return []Format{JSON, Slack, Teams, Mail} }

// mailScheme begins the address of an endpoint that receives mail.
const mailScheme = "mailto:"

// check returns the format, JSON if it is empty, or an error if it is unknown.
func (f Format) check() (Format, error) {
	if f == "" {
		return JSON, nil
	}
	if !slices.Contains(Formats(), f) {
		return f, llm.Invalidf("format", "There is no format %.60q. Choose from: json, slack, teams, mail.", f)
	}
	return f, nil
}

// checkMailTo returns an error for an address that receives no mail.
func checkMailTo(text string) error {
	to, ok := strings.CutPrefix(text, mailScheme)
	a, err := mail.ParseAddress(to)
	if !ok || err != nil || a.Address != to || len(text) > maxURL {
		return llm.Invalidf("url", `The address %.200q cannot receive mail. Write it like "mailto:ops@example.com".`,
			text)
	}
	return nil
}

// Body returns what a try sends for an event's payload.
func (f Format) Body(payload []byte) ([]byte, error) {
	if f == JSON || f == "" {
		return payload, nil
	}
	title, text, err := Sentences(payload)
	if err != nil {
		return nil, err
	}
	if f == Slack {
		return json.Marshal(slackMessage{escapeSlack(title + "\n" + text)})
	}
	title, text = withoutLinks(title), withoutLinks(text)
	return json.Marshal(teamsMessage{"message", []teamsAttachment{{
		"application/vnd.microsoft.card.adaptive", teamsCard{
			"http://adaptivecards.io/schemas/adaptive-card.json", "AdaptiveCard", "1.2", []teamsBlock{
				{"TextBlock", title, "Bolder", true}, {"TextBlock", text, "Default", true},
			},
		},
	}}})
}

// slackMessage is a message for an incoming webhook (https://api.slack.com/messaging/webhooks, 2026-11-29).
type slackMessage struct {
	Text string `json:"text"`
}

// escapeSlack escapes the control characters of a text
// (https://api.slack.com/reference/surfaces/formatting#escaping, 2026-11-29).
func escapeSlack(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// withoutLinks breaks links of Markdown, which names of keys might contain.
func withoutLinks(text string) string { return strings.ReplaceAll(text, "](", "] (") }

// teamsMessage is a message with a card for a workflow
// (https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using,
// 2026-11-29). Workflows support Adaptive Cards only.
type teamsMessage struct {
	Type        string            `json:"type"`
	Attachments []teamsAttachment `json:"attachments"`
}

type teamsAttachment struct {
	ContentType string    `json:"contentType"`
	Content     teamsCard `json:"content"`
}

type teamsCard struct {
	Schema  string       `json:"$schema"`
	Type    string       `json:"type"`
	Version string       `json:"version"`
	Body    []teamsBlock `json:"body"`
}

type teamsBlock struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Weight string `json:"weight"`
	Wrap   bool   `json:"wrap"`
}

// Sentences returns a title and a text for people about an event, by its payload.
func Sentences(body []byte) (title, text string, err error) {
	var p payload
	if err := json.Unmarshal(body, &p); err != nil {
		return "", "", fmt.Errorf("read event: %w", err)
	}
	d := &p.Data
	title = "Weir: " + string(p.Type)
	if d.Alert != nil {
		title = d.Alert.title()
	}
	if d.Account != nil && d.Account.Name != "" {
		title += ", account " + d.Account.Name
	}
	if d.Key != nil && d.Key.Label != "" {
		title += fmt.Sprintf(", key %s (…%s)", d.Key.Label, d.Key.Last4)
	}
	if d.Alert != nil {
		text = d.Alert.Text
	} else if kind, ok := KindOf(p.Type); ok {
		text = kind.About
		if more := d.amounts(); more != "" {
			text += " " + more
		}
	} else {
		text = "This is a test: the endpoint works."
	}
	return title, text, nil
}

// amounts names the numbers of an event that is no alert.
func (d *Data) amounts() string {
	switch {
	case d.Budget != nil:
		return fmt.Sprintf("$%s of $%s is spent (%s).", d.Budget.SpentUSD, d.Budget.LimitUSD, d.Budget.Period)
	case d.RateLimit != nil:
		return fmt.Sprintf("The limit is %d %s of the %s.", d.RateLimit.Limit, d.RateLimit.What, d.RateLimit.Of)
	case d.Target != nil:
		return strings.TrimSpace(fmt.Sprintf("%s/%s, seen by %s. %s", d.Target.Provider, d.Target.Model, d.Target.Node,
			d.Target.Reason))
	case d.Usage != nil:
		return fmt.Sprintf("%s: %d requests, %d tokens, $%s.", d.Usage.Date, d.Usage.Requests, d.Usage.Tokens,
			d.Usage.CostUSD)
	case d.Held != nil:
		return fmt.Sprintf("%s: %s.", d.Held.Server, strings.Join(d.Held.Tools, ", "))
	case d.Served != "":
		return d.Served + " answered for " + d.Model + "."
	case d.Model != "":
		return d.Model
	}
	return ""
}

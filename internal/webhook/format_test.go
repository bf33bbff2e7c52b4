package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"weir/internal/must"
	"weir/internal/webhook"
)

// TestSentencesNameWhatHappened checks that each event has a title and a text for people, with the names of its account
// and key.
func TestSentencesNameWhatHappened(t *testing.T) {
	t.Parallel()
	for _, k := range webhook.Kinds() {
		title, text, err := webhook.Sentences(must.Get(k.Example.Payload())(t))
		must.Do(t, err)
		if k.Example.Data.Account != nil && !strings.Contains(title, "acme") || text == "" || title == "" {
			t.Errorf("%s: got %q, %q", k.Type, title, text)
		}
	}
	ended, _ := webhook.KindOf(webhook.AlertEnded)
	title, text, err := webhook.Sentences(must.Get(ended.Example.Payload())(t))
	must.Do(t, err)
	if want := "Weir: ended: spend jump, account acme"; title != want || !strings.Contains(text, "$41.20") {
		t.Errorf("got %q, %q, want %q and the amount", title, text, want)
	}
}

// TestFormatsOfVendors checks the messages for Slack and Teams against the forms of their documentation.
func TestFormatsOfVendors(t *testing.T) {
	t.Parallel()
	fired, _ := webhook.KindOf(webhook.AlertFired)
	e := fired.Example
	e.Data.Account = &webhook.Account{ID: e.Account, Name: "a<b>&c[d](https://e)"}
	payload := must.Get(e.Payload())(t)
	var slack map[string]string
	must.Do(t, json.Unmarshal(must.Get(webhook.Slack.Body(payload))(t), &slack))
	if len(slack) != 1 || !strings.Contains(slack["text"], "a&lt;b&gt;&amp;c") || !strings.Contains(slack["text"], "$41.20") {
		t.Errorf("got %v for Slack", slack)
	}
	var teams struct {
		Type        string
		Attachments []struct {
			ContentType string
			Content     struct {
				Type, Version string
				Body          []struct{ Type, Text string }
			}
		}
	}
	must.Do(t, json.Unmarshal(must.Get(webhook.Teams.Body(payload))(t), &teams))
	if teams.Type != "message" || len(teams.Attachments) != 1 {
		t.Fatalf("got %+v for Teams", teams)
	}
	card := teams.Attachments[0]
	if card.ContentType != "application/vnd.microsoft.card.adaptive" || card.Content.Type != "AdaptiveCard" || len(card.Content.Body) != 2 ||
		!strings.Contains(card.Content.Body[0].Text, "a<b>&c[d] (https://e)") || !strings.Contains(card.Content.Body[1].Text, "$41.20") {
		t.Errorf("got %+v for Teams", card)
	}
	if got := must.Get(webhook.JSON.Body(payload))(t); string(got) != string(payload) {
		t.Errorf("got %s as JSON, want the payload", got)
	}
}

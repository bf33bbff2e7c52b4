package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/webhook"
)

// deliveryView holds a delivery as listings show it.
type deliveryView struct {
	ID         string `json:"id"`
	EventID    string `json:"event_id"`
	Type       string `json:"type"`
	Timestamp  string `json:"timestamp"` // of the event
	State      string `json:"state"`
	Due        string `json:"due,omitempty"`
	Ended      string `json:"ended,omitempty"`
	Tries      int    `json:"tries"`
	LastStatus int    `json:"last_status,omitempty"`
	LastError  string `json:"last_error,omitempty"`
}

func viewDelivery(d *webhook.Delivery) deliveryView {
	v := deliveryView{
		ID: d.ID, EventID: d.Event, Type: string(d.Type), Timestamp: d.At.Format(time.RFC3339), State: string(d.State),
		Due: timeText(d.Due), Ended: timeText(d.Ended), Tries: d.Tries,
	}
	if d.Last != nil {
		v.LastStatus, v.LastError = d.Last.Status, d.Last.Error
	}
	return v
}

var deliveryHeads = []string{"ID", "EVENT", "HAPPENED", "STATE", "TRIES", "LAST TRY"}

func (v *deliveryView) row() []string {
	state, last := v.State, none
	if v.Due != "" {
		state += ", due " + v.Due
	}
	if v.Tries > 0 {
		last = outcomeText(v.LastStatus, v.LastError)
	}
	return []string{v.ID, v.Type, v.Timestamp, state, strconv.Itoa(v.Tries), last}
}

// outcomeText formats the result of a try.
func outcomeText(status int, problem string) string {
	switch {
	case status == 0:
		return visible(problem)
	case problem == "":
		return strconv.Itoa(status)
	}
	return strconv.Itoa(status) + ": " + visible(problem)
}

// visible escapes the characters of a foreign text that would control a terminal or break a table.
func visible(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r == ' ' || unicode.IsGraphic(r) {
			out.WriteRune(r)
			continue
		}
		out.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return out.String()
}

// visibleLines escapes a text of several lines in the same way.
func visibleLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, visible(strings.TrimRight(line, "\r\n")))
	}
	return strings.Join(lines, "\n")
}

func newWebhooksDeliveries(env *environment) *cobra.Command {
	q := webhook.DeliveryQuery{}
	var state string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "deliveries ID", Short: "List the deliveries of an endpoint, newest first",
		Example: "  weir webhooks deliveries ID --state failed", Args: oneArg("the endpoint's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Webhook, q.State = args[0], webhook.State(state); state != "" && !slices.Contains(deliveryStates(),
				state) {
				return usageError{fmt.Errorf("--state is %s; got %q", strings.Join(deliveryStates(), ", "), state)}
			}
			if q.Limit < 1 || q.Limit > maxDeliveries {
				return usageError{fmt.Errorf("--limit is from 1 to %d; got %d", maxDeliveries, q.Limit)}
			}
			return env.withData(cmd, func(w *admin.Admin) error {
				ctx := cmd.Context()
				if _, err := w.Webhooks.Endpoint(ctx, q.Webhook); err != nil {
					return err
				}
				all, err := w.Webhooks.Deliveries(ctx, q)
				return listViews(&env.output, all, err, viewDelivery, deliveryHeads, (*deliveryView).row)
			})
		},
	})
	cmd.Flags().StringVar(&state, "state", "", strings.Join(deliveryStates(), ", ")+" (default all)")
	cmd.Flags().IntVar(&q.Limit, "limit", 100, "maximum number of deliveries, 1 to 1000")
	cmd.Flags().StringVar(&q.Before, "before", "", "id of a delivery; list only older ones")
	complete(cmd, "state", deliveryStates()...)
	return cmd
}

const maxDeliveries = 1000 // deliveries of one listing

func deliveryStates() (all []string) {
	for _, s := range webhook.States() {
		all = append(all, string(s))
	}
	return all
}

// detailView holds a delivery with its request and its tries.
type detailView struct {
	deliveryView
	WebhookID string         `json:"webhook_id"`
	URL       string         `json:"url"`
	Request   admin.SentView `json:"request"`
	History   []tryView      `json:"history"`
}

// tryView holds one try.
type tryView struct {
	N      int    `json:"n"`
	At     string `json:"at"`
	TookMS int64  `json:"took_ms"`
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
	Answer string `json:"answer,omitempty"`
}

func (v *tryView) row() []string {
	return []string{strconv.Itoa(v.N), v.At, strconv.FormatInt(v.TookMS, 10) + " ms", outcomeText(v.Status, v.Error)}
}

func viewDetail(d *webhook.Detail) detailView {
	v := detailView{
		deliveryView: viewDelivery(&d.Delivery), WebhookID: d.Webhook, URL: d.URL, Request: admin.ViewSent(d),
		History: []tryView{},
	}
	for _, t := range d.History {
		v.History = append(v.History, tryView{
			N: t.N, At: t.At.Format(time.RFC3339), TookMS: t.Took.Milliseconds(),
			Status: t.Status, Error: t.Error, Answer: t.Answer,
		})
	}
	return v
}

func newWebhooksDelivery(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "delivery DELIVERY", Short: "Show a delivery: its request, each try, and the receiver's answers",
		Example: "  weir webhooks delivery DELIVERY", Args: oneArg("the delivery's id"),
		RunE: env.data(func(ctx context.Context, a *admin.Admin, args []string) error {
			d, err := a.Webhooks.Delivery(ctx, args[0])
			if err != nil {
				return err
			}
			v := viewDetail(&d)
			if env.asJSON {
				return printJSON(env.stdout, v)
			}
			return env.printDetail(&v)
		}),
	})
}

// printDetail prints a delivery for people: its state, its request, and each try with the start of the answer.
func (o *output) printDetail(v *detailView) error {
	w := o.stdout
	if err := printTable(w, deliveryHeads, [][]string{v.row()}); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nPOST %s\n", v.URL)
	for _, name := range []string{"content-type", "webhook-id", "webhook-timestamp"} {
		if value, ok := v.Request.Headers[name]; ok {
			fmt.Fprintf(w, "%s: %s\n", name, value)
		}
	}
	fmt.Fprintf(w, "\n%s\n", visible(string(v.Request.Body)))
	for i := range v.History {
		t := &v.History[i]
		if _, err := fmt.Fprintf(w, "\ntry %s\n", strings.Join(t.row(), "  ")); err != nil {
			return err
		}
		if t.Answer != "" {
			fmt.Fprintln(w, visibleLines(t.Answer))
		}
	}
	return nil
}

func newWebhooksTest(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "test ID", Short: "Send a webhook.test event to an endpoint, and print the result",
		Long: "Send an event of the type webhook.test to an endpoint, whichever events it receives, and wait up to\n" +
			"20 seconds for the result. A running gateway sends the event, and retries like with any other\n" +
			"event.",
		Example: "  weir webhooks test ID", Args: oneArg("the endpoint's id"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			id, err := d.Webhooks.Test(ctx, args[0])
			if err != nil {
				return err
			}
			sent, err := d.Webhooks.AwaitTry(ctx, id)
			if err != nil {
				return err
			}
			return env.printOutcome(&sent)
		}),
	}
}

// printOutcome prints the result of a delivery's last try; it returns an error if the try failed.
func (o *output) printOutcome(d *webhook.Detail) error {
	last := outcomeText(d.Last.Status, d.Last.Error)
	took := d.Last.Took.Round(time.Millisecond).Milliseconds()
	if d.State == webhook.Delivered {
		_, err := fmt.Fprintf(o.stdout, "delivered: %s in %d ms\n", last, took)
		return err
	}
	again := ""
	if d.Due != nil {
		again = "; the next try is at " + timeText(d.Due)
	}
	return fmt.Errorf("the endpoint did not accept delivery %s, after %d ms: %s%s",
		d.ID, took, cmp.Or(last, string(d.State)), again)
}

func newWebhooksRedeliver(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "redeliver DELIVERY", Short: "Send an event again with the same id; retries start over",
		Example: "  weir webhooks redeliver DELIVERY", Args: oneArg("the delivery's id"),
		RunE: env.data(func(ctx context.Context, a *admin.Admin, args []string) error {
			if err := a.Webhooks.Redeliver(ctx, args[0]); err != nil {
				return err
			}
			d, err := a.Webhooks.Delivery(ctx, args[0])
			if err != nil {
				return err
			}
			return list(&env.output, []deliveryView{viewDelivery(&d.Delivery)}, deliveryHeads, (*deliveryView).row)
		}),
	})
}

func newWebhooksRecover(env *environment) *cobra.Command {
	var since string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "recover ID", Short: "Send the events again that an endpoint has missed since a time",
		Long: "Send at once the events that an endpoint has missed: deliveries that failed or wait for their next\n" +
			"try, and events that were never sent, such as those from the time when it was disabled. Enable the\n" +
			"endpoint first.",
		Example: "  weir webhooks recover ID --since 24h\n  weir webhooks recover ID --since 2026-11-20T08:00:00Z",
		Args:    oneArg("the endpoint's id"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			from, err := parseTime("since", since, d.Now())
			if err != nil {
				return err
			}
			n, err := d.Webhooks.Recover(ctx, args[0], from)
			if err != nil {
				return err
			}
			if env.asJSON {
				return printJSON(env.stdout, map[string]int{"deliveries": n})
			}
			more := ""
			if n >= webhook.MostRecovered {
				more = "; there may be more: run the command again"
			}
			_, err = fmt.Fprintf(env.stdout, "deliveries started again: %d%s\n", n, more)
			return err
		}),
	})
	cmd.Flags().StringVar(&since, "since", "",
		"events since a UTC date or time, or of the last duration such as 24h; at most of the last 28 days")
	_ = cmd.MarkFlagRequired("since") // the flag is defined one line above
	return cmd
}

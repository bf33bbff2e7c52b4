package admin

import (
	"context"
	"time"

	"weir/internal/account"
	"weir/internal/alert"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/store"
	"weir/internal/webhook"
)

// Alerts reads alerts, and sends tests of them.
type Alerts struct {
	store    *store.DB
	accounts *account.Service
	webhooks *Webhooks
	limits   func() *config.Alerts // in force
}

func newAlerts(o *Options, accounts *account.Service, webhooks *Webhooks) *Alerts {
	limits := func() *config.Alerts { return &o.Config.Alerts }
	if o.InForce != nil {
		limits = func() *config.Alerts {
			cfg, _ := o.InForce()
			return &cfg.Alerts
		}
	}
	return &Alerts{o.Store, accounts, webhooks, limits}
}

// Rules returns the limits in force.
func (a *Alerts) Rules() alert.Rules { return AlertRules(a.limits()) }

// AlertRules returns the limits of a configuration.
func AlertRules(c *config.Alerts) alert.Rules {
	return alert.Rules{
		BudgetPercent: c.BudgetPercent, SpendFactor: c.SpendFactor, SpendLeast: llm.Money(c.SpendLeastUSD) * llm.USD,
		ErrorPercent: c.ErrorPercent, ErrorLeast: c.ErrorLeast, Refusals: c.Refusals, Unpriced: c.Unpriced,
		PricesDays: c.PricesDays,
	}
}

// AlertReport holds the kinds of alerts with their limits, and the alerts that fired last.
type AlertReport struct {
	Kinds  []AlertKind `json:"kinds"`
	Alerts []AlertView `json:"alerts"` // newest first, at most alert.MostListed
}

// AlertKind is a kind of alert with its limit.
type AlertKind struct {
	Kind      alert.Kind `json:"kind"`
	About     string     `json:"about"`
	Limit     int64      `json:"limit"`   // in force; 0 if it is switched off
	Default   int64      `json:"default"` // the installation's limit
	Own       bool       `json:"own"`     // whether the account has set the limit itself
	Unit      string     `json:"unit"`
	LastFired *time.Time `json:"last_fired"` // null if not in the last 90 days
}

// AlertView is an alert that fired.
type AlertView struct {
	ID          string     `json:"id"`
	Kind        alert.Kind `json:"kind"`
	AccountID   string     `json:"account_id"` // empty for an alert of the installation, like the name
	AccountName string     `json:"account_name"`
	Subject     string     `json:"subject"`   // id of a key, or name of a model; empty for neither
	KeyLabel    string     `json:"key_label"` // empty for none
	Value       int64      `json:"value"`     // when it fired, in the unit of the kind
	Limit       int64      `json:"limit"`
	Unit        string     `json:"unit"`
	Text        string     `json:"text"`
	Fired       time.Time  `json:"fired"`
	Ended       *time.Time `json:"ended"` // null while it is active
}

// List returns the kinds and the latest alerts of everything.
func (a *Alerts) List(ctx context.Context) (v AlertReport, err error) {
	names, err := a.store.Reports.AccountNames(ctx)
	if err != nil {
		return v, err
	}
	return a.report(ctx, store.AlertQuery{}, nil, names)
}

// ListOf returns the kinds and the latest alerts of an account.
func (a *Alerts) ListOf(ctx context.Context, of *account.Account) (AlertReport, error) {
	own, err := a.store.Alerts.Limits(ctx, of.ID)
	if err != nil {
		return AlertReport{}, err
	}
	return a.report(ctx, store.AlertQuery{Account: of.ID}, own, map[string]string{of.ID: of.Name})
}

// SetLimits changes limits of an account, all of them or nothing, and returns its alerts afterwards. The error is a
// *llm.Error whose Param is the wrong kind.
func (a *Alerts) SetLimits(ctx context.Context, by audit.Actor, of *account.Account, c alert.Changes) (AlertReport,
	error,
) {
	for k, limit := range c {
		if limit == nil {
			limit = new(int64)
		}
		if err := alert.CheckLimit(k, *limit); err != nil {
			return AlertReport{}, err
		}
	}
	if _, err := a.store.Alerts.SetLimits(ctx, by, of.ID, c); err != nil {
		return AlertReport{}, err
	}
	return a.ListOf(ctx, of)
}

// Active returns the active alerts of an account, those that fired last first.
func (a *Alerts) Active(ctx context.Context, of *account.Account) ([]AlertView, error) {
	all, err := a.store.Alerts.Latest(ctx, store.AlertQuery{Account: of.ID, Active: true})
	list := make([]AlertView, len(all))
	for i := range all {
		list[i] = viewAlert(&all[i], map[string]string{of.ID: of.Name})
	}
	return list, err
}

// report returns the alerts that the query selects. own holds the limits that its account has set itself, and names the
// names of its accounts, by id.
func (a *Alerts) report(ctx context.Context, q store.AlertQuery, own alert.Limits, names map[string]string) (
	v AlertReport, err error,
) {
	last, err := a.store.Alerts.LastFired(ctx, q)
	if err != nil {
		return v, err
	}
	all, err := a.store.Alerts.Latest(ctx, q)
	v = AlertReport{[]AlertKind{}, []AlertView{}}
	rules := a.Rules()
	for _, k := range alert.Kinds() {
		if q.Account != "" && !k.OfAccounts() {
			continue
		}
		x := AlertKind{Kind: k, About: k.About(), Default: rules.Limit(k), Unit: k.Unit()}
		x.Limit = own.Limit(k, &rules)
		_, x.Own = own[k]
		if at, ok := last[k]; ok {
			x.LastFired = &at
		}
		v.Kinds = append(v.Kinds, x)
	}
	for i := range all {
		v.Alerts = append(v.Alerts, viewAlert(&all[i], names))
	}
	return v, err
}

func viewAlert(a *alert.Alert, names map[string]string) AlertView {
	return AlertView{
		ID: a.ID, Kind: a.Kind, AccountID: a.Account, AccountName: names[a.Account], Subject: a.Subject,
		KeyLabel: a.Label, Value: a.Value, Limit: a.Limit, Unit: a.Kind.Unit(), Text: a.Text, Fired: a.Fired,
		Ended: a.Ended,
	}
}

// AlertTest is the result of a test.
type AlertTest struct {
	Kind       alert.Kind `json:"kind"`
	Deliveries []string   `json:"deliveries"` // ids
}

// Test sends a test of a kind to the endpoints of the installation that receive alerts.
func (a *Alerts) Test(ctx context.Context, name string) (t AlertTest, err error) {
	if t.Kind, err = alert.ParseKind(name); err != nil {
		return t, err
	}
	endpoints, err := a.webhooks.List(ctx, "")
	if err != nil {
		return t, err
	}
	rules := a.Rules()
	now, limit := a.store.Now(), rules.Limit(t.Kind)
	for i := range endpoints {
		e := &endpoints[i]
		if e.Disabled != nil || !e.Wants(webhook.AlertFired) {
			continue
		}
		event := webhook.NewEvent(webhook.AlertFired, "", now, webhook.Data{Alert: &webhook.Alert{
			Kind: string(t.Kind), Text: "This is a test. " + t.Kind.About(), Value: limit, Limit: limit,
			Unit: t.Kind.Unit(), Fired: now, Test: true,
		}})
		event.Data.Alert.ID = event.ID.String()
		delivery, err := a.store.Deliveries.TellOne(ctx, e.ID, event)
		if err != nil {
			return t, err
		}
		t.Deliveries = append(t.Deliveries, delivery)
	}
	if len(t.Deliveries) == 0 {
		return t, llm.Invalid("", "No endpoint of the installation receives alerts. Add one for the event "+
			string(webhook.AlertFired)+", or enable it.")
	}
	return t, nil
}

package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/people"
	"weir/internal/route"
)

// providerPage shows one provider.
type providerPage struct {
	Name, Path string
	ListPath   string
	Row        providerRow
	Facts      []Fact
	Managed    bool // whether it can be changed here
	Keys       []providerKey
	NewKey     Field
	Version    string // version that the page was built from
	Targets    []targetRow
	More       int64 // number of targets that are not shown; their state is not worse
	Test       Field
	Finding    *findingPart // nil without a test
	TryAt      string       // path of the playground for trying models; empty for none
	TryIn      string       // account of the playground
	Try        Field
	Fields     providerFields
	Remove     Confirm
	Problems   []Problem
}

// providerKey shows a key of a provider.
type providerKey struct {
	Name   string // last characters, or a reference
	Until  string // end of its pause; empty if it is not paused
	Remove Confirm
}

// targetRow shows the state of a provider's model.
type targetRow struct {
	Name      string
	Badge     Badge
	Until     string // when it is tried again; empty for now
	Failures  int64  // consecutive
	Latency   string
	LastError string
	LastAt    *time.Time
}

// findingPart shows the result of a test.
type findingPart struct {
	managed.Finding
	Shown    []string // shown models
	Answers  []answerRow
	TakeOver string // all models, to set as the provider's models; empty if they are too many
	Latency  string
}

// answerRow shows an answer of a test.
type answerRow struct {
	What, Latency, Said, Cost string
	Badge                     Badge
}

const (
	// mostTargets bounds the shown models of a provider.
	mostTargets = 100
	// mostTested bounds the shown models of a test, and those that can be set.
	mostTested = 200
)

// one returns the provider in the path.
func (h *providerHandlers) one(r *http.Request) (s managed.State, c *route.ProviderCondition, o *managed.Object,
	err error,
) {
	name := r.PathValue("provider")
	if s, err = h.admin.Configuration.State(r.Context()); err != nil {
		return s, nil, nil, err
	}
	o = objectOf(s.Objects, "providers", name)
	all := h.installation.Providers()
	if i := slices.IndexFunc(all, func(c route.ProviderCondition) bool { return c.Name == name }); i >= 0 {
		return s, &all[i], o, nil
	}
	if o.Value == nil {
		return s, nil, nil, llm.Errorf(llm.CodeNotFound, "There is no such provider.")
	}
	return s, &route.ProviderCondition{Name: name}, o, nil
}

func (h *providerHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	return h.showTested(w, r, v, f, nil)
}

// showTested shows a provider with the result of a test; nil for none.
func (h *providerHandlers) showTested(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form,
	tested *managed.Finding,
) error {
	s, c, o, err := h.one(r)
	if err != nil {
		return err
	}
	p := providerPageOf(c, o, f, h.installation.Dialects)
	p.Version = strconv.FormatInt(s.Version, 10)
	if tested != nil {
		p.Finding = findingPartOf(tested)
	}
	name, err := h.trialAccount(r.Context(), v)
	if err != nil {
		return err
	}
	if name != "" {
		p.TryAt, p.TryIn = accountPath(name)+"/playground", name
		p.Try.Value = h.trialModel(c.Name)
	}
	return h.site.show(w, r, v, page{name: "provider", title: c.Name, status: f.status(), data: p})
}

func providerPageOf(c *route.ProviderCondition, o *managed.Object, f *form, dialects []string) providerPage {
	p := providerPage{
		Name: c.Name, Path: providerPath(c.Name), ListPath: providersPath, Row: providerRowOf(c, o),
		Managed: o.Source == managed.FromManaged, Facts: []Fact{
			{"From", fromOf(o)}, {"Wire format", c.Dialect}, {"Base URL", c.BaseURL},
		},
		NewKey: f.field(Field{
			Name: "key", Label: "New API key", Kind: "password", Complete: "off", Max: 4096,
			Hint: "The key itself, or a reference such as ${NAME} or ${file:/path}.",
		}),
		Test: f.field(Field{
			Name: "model", Label: "Model to call", Optional: true, Complete: "off", Max: 256,
			Hint: "The provider’s own name of the model. The test requests three short answers, which cost money.",
		}),
		Try: Field{
			Name: "model", ID: "try", Label: "Model to try", Kind: "text", Example: c.Name + "/…", Required: true,
			Max: 256, Complete: "off",
		},
	}
	p.Keys = providerKeysOf(p.Path, c, o)
	p.Targets, p.More = targetRowsOf(c.Targets)
	if p.Managed {
		p.Fields = providerFieldsOf(f, fieldsOf(o.Value), dialects)
		p.Remove = Confirm{
			Ident: "remove", Button: "Remove the provider", Object: c.Name, Title: "Remove this provider?",
			Text: "Requests for its models are refused from then on. Aliases that name its models must be " +
				"changed first. " +
				"You can undo this on the page Configuration.",
			Action: p.Path + "/remove", Verb: "Remove the provider",
		}
	}
	p.Problems = f.problems()
	return p
}

// fieldsOf returns the members of an object.
func fieldsOf(value any) map[string]any {
	fields, _ := value.(map[string]any) // other values have no members
	return fields
}

// keyTexts returns a provider's keys in the form that the configuration shows.
func keyTexts(value any) (all []string) {
	list, _ := fieldsOf(value)["api_keys"].([]any)
	for _, key := range list {
		all = append(all, fmt.Sprint(key))
	}
	return all
}

// keyName returns the last characters of a key for people, if they are known.
func keyName(text string) string {
	sealed, ok := strings.CutPrefix(text, "sealed:")
	if !ok {
		return text
	}
	if _, last, long := strings.Cut(sealed, ":"); long {
		return "…" + last
	}
	return "too short to show its end"
}

func providerKeysOf(path string, c *route.ProviderCondition, o *managed.Object) (all []providerKey) {
	texts := keyTexts(o.Value)
	for i, text := range texts {
		key := providerKey{Name: keyName(text)}
		if i < len(c.Credentials) && len(c.Credentials) == len(texts) {
			key.Until = secondOf(c.Credentials[i].Until)
		}
		if len(texts) > 1 && o.Source == managed.FromManaged {
			key.Remove = Confirm{
				Ident: "key-" + strconv.Itoa(i), Button: "Remove", Object: "the key " + key.Name,
				Title:  "Remove this key?",
				Text:   "Requests no longer use the key " + key.Name + ". Running requests finish with it.",
				Action: path + "/keys/" + strconv.Itoa(i) + "/remove", Verb: "Remove the key", Once: text,
			}
		}
		all = append(all, key)
	}
	if len(texts) == 0 {
		for _, k := range c.Credentials {
			all = append(all, providerKey{Name: "fingerprint " + k.Fingerprint, Until: secondOf(k.Until)})
		}
	}
	return all
}

func targetRowsOf(all []route.Condition) (rows []targetRow, more int64) {
	targets := slices.Clone(all)
	slices.SortStableFunc(targets, func(a, b route.Condition) int { return b.State.Compare(a.State) })
	room := min(mostTargets, len(targets))
	for i := range targets[:room] {
		rows = append(rows, targetRowOf(&targets[i]))
	}
	return rows, int64(len(targets) - room)
}

func targetRowOf(c *route.Condition) targetRow {
	row := targetRow{
		Name: c.Target, Badge: stateBadge(c.State), Until: secondOf(c.Until), Failures: int64(c.Failures),
		LastError: c.LastError, LastAt: c.LastAt,
	}
	if c.LatencyMS > 0 {
		row.Latency = number(c.LatencyMS) + " ms"
	}
	return row
}

func findingPartOf(f *managed.Finding) *findingPart {
	p := &findingPart{
		Finding: *f, Shown: f.Models[:min(len(f.Models), mostTested)], Latency: took(f.Latency),
	}
	if n := len(f.Models); n > 0 && n <= mostTested {
		p.TakeOver = strings.Join(f.Models, " ")
	}
	for _, a := range f.Answers {
		row := answerRow{
			What: map[string]string{
				managed.Streaming: "Streaming", managed.Tools: "Tools", managed.Images: "Images",
			}[a.What],
			Latency: took(a.Latency), Said: a.Said, Badge: Badge{"good", "Works"},
		}
		if !a.Works {
			row.Badge = Badge{"warn", "Does not work"}
		}
		if a.Cost != "" {
			row.Cost = "$" + a.Cost
		}
		p.Answers = append(p.Answers, row)
	}
	return p
}

// test tests the provider, and shows the result.
func (h *providerHandlers) test(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	name := r.PathValue("provider")
	model := strings.TrimPrefix(strings.TrimSpace(r.PostFormValue("model")), name+"/")
	found, err := h.admin.Configuration.Test(r.Context(), v.By, managed.Trial{Name: name, Model: model})
	if err != nil {
		return err
	}
	return h.showTested(w, r, v, sent(r), &found)
}

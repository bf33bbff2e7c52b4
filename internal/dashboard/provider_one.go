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

// providerPage is one provider.
type providerPage struct {
	Name, Path string
	ListPath   string
	Row        providerRow
	Facts      []Fact
	Managed    bool // it can be changed here
	Keys       []providerKey
	NewKey     Field
	Version    string // that the page was made of
	Targets    []targetRow
	More       int64 // targets that are not shown, none of which fares worse
	Test       Field
	Finding    *findingPart // nil where nothing was tested
	TryAt      string       // path of the playground where models are tried; empty for nowhere
	TryIn      string       // account of that
	Try        Field
	Fields     providerFields
	Remove     Confirm
	Problems   []Problem
}

// providerKey is a key of a provider, as people see it.
type providerKey struct {
	Name   string // its last characters, or a reference
	Until  string // when its rest ends; empty while it does not rest
	Remove Confirm
}

// targetRow is how a model of a provider fares.
type targetRow struct {
	Name      string
	Badge     Badge
	Until     string // when it is tried again; empty for at once
	Failures  int64  // in a row
	Latency   string
	LastError string
	LastAt    *time.Time
}

// findingPart is what came of a test.
type findingPart struct {
	managed.Finding
	Shown    []string // models
	Answers  []answerRow
	TakeOver string // all models, to be the only ones; empty where there are too many
	Latency  string
}

// answerRow is an answer of a test.
type answerRow struct {
	What, Latency, Said, Cost string
	Badge                     Badge
}

const (
	// mostTargets is how many models of a provider are shown.
	mostTargets = 100
	// mostTested is how many models of a test are shown, and may be taken over.
	mostTested = 200
)

// one finds the provider that the path names.
func (h *providerHandlers) one(r *http.Request) (s managed.State, c *route.ProviderCondition, o *managed.Object,
	err error,
) {
	name := r.PathValue("provider")
	if s, err = h.installation.Config.State(r.Context()); err != nil {
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

// showTested shows a provider with what came of a test; nil for none.
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
	if h.site.has["GET /accounts/{account}/playground"] {
		name, err := h.trialAccount(r.Context(), v)
		if err != nil {
			return err
		}
		if name != "" {
			p.TryAt, p.TryIn = accountPath(name)+"/playground", name
			p.Try.Value = h.trialModel(c.Name)
		}
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
			Name: "model", Label: "Model to ask", Optional: true, Complete: "off", Max: 256,
			Hint: "The provider’s name of it. It is asked for three answers of a few tokens, which cost.",
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
			Text: "Requests for its models are refused from then on. Aliases that name its models must be changed first. " +
				"It can be undone on the page Configuration.",
			Action: p.Path + "/remove", Verb: "Remove the provider",
		}
	}
	p.Problems = f.problems()
	return p
}

// fieldsOf are the members of an object.
func fieldsOf(value any) map[string]any {
	fields, _ := value.(map[string]any) // what is none has no members
	return fields
}

// keyTexts are a provider's keys as the configuration shows them.
func keyTexts(value any) (all []string) {
	list, _ := fieldsOf(value)["api_keys"].([]any)
	for _, key := range list {
		all = append(all, fmt.Sprint(key))
	}
	return all
}

// keyName is a key for people: its last characters, where its text ends with these.
func keyName(text string) string {
	sealed, ok := strings.CutPrefix(text, "sealed:")
	if !ok {
		return text
	}
	if _, last, long := strings.Cut(sealed, ":"); long {
		return "…" + last
	}
	return "a short key"
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
				Text:   "Requests no longer use the key " + key.Name + ". Those under way end with it.",
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

// test asks the provider, and shows what came of it.
func (h *providerHandlers) test(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	name := r.PathValue("provider")
	model := strings.TrimPrefix(strings.TrimSpace(r.PostFormValue("model")), name+"/")
	found, err := h.installation.Config.Test(r.Context(), v.By, managed.Trial{Name: name, Model: model})
	if err != nil {
		return err
	}
	return h.showTested(w, r, v, sent(r), &found)
}

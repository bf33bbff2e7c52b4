package provider_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"weir/internal/dialect/registry"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/worktest"
)

var update = flag.Bool("update", false, "write docs/providers.md and docs/providers")

const pages = "../../docs/providers"

// written is the beginning of every generated page; a page without it is written by hand, and is not overwritten.
const written = "<!-- Written by "

// page holds the data of a provider for the templates in testdata. It reads the catalogue's files by itself, and
// preserves unknown members.
type page struct {
	Name         string                     `json:"name"`
	Title        string                     `json:"title"`
	BaseURL      string                     `json:"base_url"`
	Placeholders map[string]placeholder     `json:"placeholders"`
	Dialect      string                     `json:"dialect"`
	Auth         string                     `json:"auth"`
	Local        bool                       `json:"local"`
	KeyEnv       []string                   `json:"key_env"`
	SwitchEnv    []string                   `json:"switch_env"`
	AmbientEnv   []string                   `json:"ambient_env"`
	BaseURLEnv   string                     `json:"base_url_env"`
	HostEnv      string                     `json:"host_env"`
	RawQuirks    map[string]json.RawMessage `json:"quirks"`
	PriceSource  string                     `json:"price_source"`
	DefaultModel string                     `json:"default_model"`
	Rank         int                        `json:"rank"`
	Docs         string                     `json:"docs"`

	Notes                        string
	Filled                       string `json:"-"` // the base URL with its examples
	PriceURL                     string
	Default                      string // the abilities of the default model
	Listed, Unpriced, Deprecated int
	Abilities                    []tally
	Rules                        []asked
}

// Simulated reports whether the simulator of the program speaks the provider's wire format.
func (p *page) Simulated() bool { return registry.All().Named(p.Dialect).EncodeReply != nil }

// asked describes a rule of the vendor's.
type asked struct{ Says, Of, Source, Seen string }

// placeholder is a part of an address that the environment fills in.
type placeholder struct {
	Env     []string `json:"env"`
	Default string   `json:"default"`
}

// tally is how many models have an ability.
type tally struct {
	Does             string
	Yes, No, Unknown int
}

// TestPagesMatchCatalogue compares docs/providers.md and the pages below it with the catalogue, its notes, and the
// embedded data.
func TestPagesMatchCatalogue(t *testing.T) {
	worktest.NotRaced(t)
	t.Parallel()
	all := readPages(t)
	want := map[string]string{pages + ".md": render(t, "index", all) + "\n" + read(t, "catalog/notes/index.md")}
	for i := range all {
		want[filepath.Join(pages, all[i].Name+".md")] = render(t, "page", &all[i])
	}
	for file, text := range want {
		checkPage(t, file, text)
	}
	files := must.Get(filepath.Glob(pages + "/*"))(t)
	for _, file := range files {
		if want[file] == "" {
			wrongEntry(t, "%s: there is no such provider", file)
		}
	}
	notes := must.Get(filepath.Glob("catalog/notes/*.md"))(t)
	for _, file := range notes {
		name := filepath.Base(file)
		switch {
		case name == "index.md":
		case want[filepath.Join(pages, name)] == "":
			wrongEntry(t, "%s: there is no such provider", file)
		case !strings.HasPrefix(read(t, file), "## "):
			wrongEntry(t, "%s: notes begin with a heading, such as \"## Good to know\"", file)
		}
	}
}

func checkPage(t *testing.T, file, want string) {
	t.Helper()
	got, err := os.ReadFile(file)
	switch {
	case err == nil && string(got) == want:
	case !*update:
		wrongEntry(t, "%s is not current (%v): run make docs", file, err)
	case err == nil && !bytes.HasPrefix(got, []byte(written)):
		wrongEntry(t, "%s is written by hand: move its text to internal/provider/catalog/notes", file)
	default:
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Error(err)
		}
	}
}

func readPages(t *testing.T) []page {
	t.Helper()
	files, err := filepath.Glob("catalog/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("catalogue: got %d files, %v", len(files), err)
	}
	all := make([]page, len(files))
	sources := map[string]string{}
	for i, file := range files {
		if err := json.Unmarshal([]byte(read(t, file)), &all[i]); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		e := catalogue(t).Find(all[i].Name)
		all[i].Filled = e.FromEnv(examples(e)).BaseURL
		if source := all[i].PriceSource; source != "" {
			sources[all[i].Name] = source
		}
	}
	book := must.Get(pricing.NewBook(pricing.Overrides{Sources: sources}))(t)
	for i := range all {
		all[i].describe(t, book)
	}
	slices.SortFunc(all, func(a, b page) int { return cmp.Or(a.Rank-b.Rank, strings.Compare(a.Name, b.Name)) })
	return all
}

// read returns a file's text, empty for missing notes.
func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

func render(t *testing.T, name string, data any) string {
	t.Helper()
	tmpl := must.Get(template.ParseFiles("testdata/" + name + ".md.tmpl"))(t)
	var out strings.Builder
	must.Do(t, tmpl.Execute(&out, data))
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// describe adds the facts of the data and the notes.
func (p *page) describe(t *testing.T, book *pricing.Book) {
	t.Helper()
	p.Notes = read(t, "catalog/notes/"+p.Name+".md")
	for _, rule := range rules.For(p.Name, p.Dialect).All() {
		p.Rules = append(p.Rules, asked{rule.Ask.String(), ofModels(rule.Of), rule.Source, rule.Seen})
	}
	if urls := book.URLs(p.Name); len(urls) > 0 {
		p.PriceURL = urls[0]
	}
	does := map[string]string{
		"images": "accepts images", "documents": "accepts documents (PDF)", "audio": "accepts audio",
		"tools": "calls tools", "structured": "follows a JSON schema", "reasoning": "reasons before it answers",
	}
	for _, name := range pricing.AbilityNames() {
		p.Abilities = append(p.Abilities, tally{Does: does[name]})
	}
	// A day on which all prices of the data are valid, so that a page changes only with the data.
	day := must.Get(time.Parse(time.DateOnly, book.Day()))(t)
	for _, l := range book.Models(p.Name, day.Add(12*time.Hour)) {
		p.count(&l)
		if l.ID == p.DefaultModel {
			p.Default = sentence(&l)
		}
	}
	if p.Default == "" && p.DefaultModel != "" {
		info, _ := book.Model(p.Name, p.DefaultModel)
		p.Default = sentence(&pricing.Listing{ModelInfo: info, Price: book.Price(p.Name, p.DefaultModel, day.Add(12*time.Hour))})
	}
}

// ofModels names the models of a rule.
func ofModels(groups []rules.Of) string {
	var words, except []string
	for _, of := range groups {
		if len(of.Models) == 0 {
			return "all"
		}
		for _, word := range of.Models {
			words = append(words, "`"+word+"`"+ofVersions(of))
		}
		except = append(except, of.Except...)
	}
	said := strings.Join(words, ", ")
	if len(except) > 0 {
		said += ", except `" + strings.Join(except, "`, `") + "`"
	}
	return said
}

// ofVersions names the versions of a rule.
func ofVersions(of rules.Of) (said string) {
	if of.Since > 0 {
		said = " from " + of.Since.String() + " on"
	}
	if of.Before > 0 {
		said += ", before " + of.Before.String()
	}
	return said
}

func (p *page) count(l *pricing.Listing) {
	p.Listed++
	if !l.Price.Known() {
		p.Unpriced++
	}
	if l.Deprecated {
		p.Deprecated++
	}
	for i, a := range l.Abilities.List() {
		switch a.Ability {
		case pricing.Yes:
			p.Abilities[i].Yes++
		case pricing.No:
			p.Abilities[i].No++
		default:
			p.Abilities[i].Unknown++
		}
	}
}

// sentence describes the abilities of one model.
func sentence(l *pricing.Listing) string {
	parts := []string{"a context of " + thousands(l.Context) + " tokens"}
	if l.MaxOutput > 0 {
		parts = append(parts, "answers of up to "+thousands(l.MaxOutput))
	}
	for _, a := range l.Abilities.List() {
		if a.Ability == pricing.Yes {
			parts = append(parts, a.Name)
		}
	}
	price := "unpriced"
	if l.Price.Known() {
		rates := &l.Price.Rates
		price = fmt.Sprintf("%s in, %s out per million tokens", dollars(rates[llm.Input]), dollars(rates[llm.Output]))
	}
	return strings.Join(parts, ", ") + "; " + price + "."
}

// dollars formats a rate for a million tokens.
func dollars(r llm.Rate) string {
	if !r.Known() {
		return "unknown"
	}
	return "$" + llm.FormatRate(r.Pico())
}

// thousands writes 1050000 as 1,050,000.
func thousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// Switch describes how the provider is enabled.
func (p *page) Switch() string {
	switch {
	case p.Name == "ollama":
		return "A server at the usual port is detected. Another one is enabled by its address in " + p.SwitchShort() +
			", or in `weir.yaml`:"
	case p.Local:
		return "Enabled by its address in " + p.SwitchShort() + ", or in `weir.yaml`:"
	}
	return "Enabled by " + p.SwitchShort() + ", or in `weir.yaml`:"
}

// SwitchShort lists the variables that enable it.
func (p *page) SwitchShort() string {
	names := slices.Concat(p.KeyEnv, p.SwitchEnv, p.AmbientEnv)
	if p.Local {
		names = slices.DeleteFunc([]string{p.HostEnv, p.BaseURLEnv}, func(name string) bool { return name == "" })
	}
	if needs := p.needs(); len(needs) > 0 {
		return code(needs) + " with " + either(names)
	}
	return either(names)
}

// needs lists the variables without which the address is unknown.
func (p *page) needs() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(p.Placeholders)) {
		h := p.Placeholders[name]
		if h.Default == "" && !slices.Contains(p.SwitchEnv, h.Env[0]) {
			names = append(names, h.Env[0])
		}
	}
	return names
}

// Snippet returns the configuration that enables it.
func (p *page) Snippet() string {
	setting := ""
	switch {
	case p.Local:
		setting = "\n    base_url: " + p.BaseURL + "\n    allow_private: true"
	case len(p.Placeholders) > 0:
		setting = "\n    base_url: " + p.Filled
	}
	if !p.Local && len(p.KeyEnv) > 0 && len(p.AmbientEnv) == 0 {
		setting += fmt.Sprintf("\n    api_keys: [\"${%s}\"]", p.KeyEnv[0])
	}
	return "providers:\n  " + p.Name + ":" + cmp.Or(setting, " {}")
}

// Format returns the wire format by its vendor's name.
func (p *page) Format() string {
	titles := map[string]string{
		"openai": "OpenAI's Chat Completions", "responses": "OpenAI's Responses", "anthropic": "Anthropic's Messages",
		"gemini": "Google's generateContent", "bedrock": "Amazon Bedrock's Converse", "cohere": "Cohere's Chat, version 2", "ollama": "Ollama's own chat",
	}
	return strings.TrimSuffix(fmt.Sprintf("`%s`: %s", p.Dialect, titles[p.Dialect]), ": ")
}

// Address describes the address, and the values of its placeholders.
func (p *page) Address() string {
	s := fmt.Sprintf("`%s`; set another in `%s`", p.BaseURL, p.BaseURLEnv)
	if p.HostEnv != "" {
		s += fmt.Sprintf(" (a whole URL) or `%s` (a host, or host and port)", p.HostEnv)
	}
	s += " or `base_url`"
	var sources []string // each once, with all its placeholders
	names := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(p.Placeholders)) {
		h := p.Placeholders[name]
		source := either(h.Env)
		if h.Default != "" {
			source += fmt.Sprintf(", else `%s`", h.Default)
		}
		if names[source] == nil {
			sources = append(sources, source)
		}
		names[source] = append(names[source], "`{"+name+"}`")
	}
	for _, source := range sources {
		verb := " is from "
		if len(names[source]) > 1 {
			verb = " are from "
		}
		s += "; " + strings.Join(names[source], " and ") + verb + source
	}
	return s
}

// Credentials describes how requests are authenticated.
func (p *page) Credentials() string {
	ways := map[string]string{
		"bearer": "a key in `Authorization: Bearer`", "api-key": "a key in `api-key`", "x-api-key": "a key in `x-api-key`",
		"x-goog-api-key": "a key in `x-goog-api-key`", "none": "none",
		"aws":    "AWS credentials (environment, profile, role), or a Bedrock API key",
		"google": "Application Default Credentials, or a key in `x-goog-api-key`",
		"entra":  "a key in `api-key`, or Microsoft Entra ID",
	}
	s := cmp.Or(ways[p.Auth], "`"+p.Auth+"`")
	if p.Local {
		s += ", if the server requires one"
		if len(p.KeyEnv) > 0 {
			s += ": " + either(p.KeyEnv) + " or `api_keys`"
		}
	}
	return s
}

// Prices describes the source of the prices.
func (p *page) Prices() string {
	if p.PriceURL == "" {
		return "none embedded: models are *unpriced* until you set `prices`"
	}
	return "embedded; your `prices` take precedence"
}

// Quirks describes the quirks in sentences; one without a sentence is printed as it is.
func (p *page) Quirks() (all []string) {
	for _, key := range slices.Sorted(maps.Keys(p.RawQuirks)) {
		all = append(all, quirk(key, p.RawQuirks[key]))
	}
	return all
}

func quirk(key string, raw json.RawMessage) string {
	var q llm.Quirks
	_ = json.Unmarshal([]byte(fmt.Sprintf("{%q:%s}", key, raw)), &q) // an unknown key is printed as it is
	switch {
	case q.MaxOutputField != "":
		return fmt.Sprintf("The output cap is sent as `%s`.", q.MaxOutputField)
	case q.NoStreamOptions:
		return "`stream_options` is not sent, because streams report usage without it."
	case q.Rename != nil:
		var names []string
		for _, from := range slices.Sorted(maps.Keys(q.Rename)) {
			names = append(names, fmt.Sprintf("`%s` is sent as `%s`", from, q.Rename[from]))
		}
		return strings.Join(names, ", ") + "."
	case q.RequiredToolChoice != "":
		return fmt.Sprintf("A required tool call is sent as `\"tool_choice\": \"%s\"`.", q.RequiredToolChoice)
	case q.ReasoningBesideOutput:
		return "Its `completion_tokens` exclude reasoning tokens, which Weir adds."
	case q.ReasoningBesideCap:
		return "The output cap may exclude reasoning: under a budget the hold also covers the context window, " +
			"unless the request has a `thinking_budget` or `\"enable_thinking\": false`."
	case q.SoundApart:
		return "Sound in a chat may be charged by its length: if the model has no rate for sound, it counts as " +
			"an unpriced `other_tool`, which a budget refuses."
	case q.ParsesDocuments:
		return "For a model that is not known to accept documents, the provider converts a document to text " +
			"for a fee that no reply reports: it counts as an unpriced `other_tool`, which a budget refuses."
	case q.Documents == llm.DocumentsByURL:
		return "A document is sent as a `document_url`, an inline one as a data URL; a text document is sent as text."
	case q.PlainSounds:
		return "A sound is sent as a string: its data in base64."
	case q.SearchBlocks != "":
		return fmt.Sprintf("In Responses, the excluded domains of a search are the filter `%s`.", q.SearchBlocks)
	case q.SearchOneList:
		return "In Responses, a search accepts allowed or excluded domains, and not both: Weir sends the allowed ones."
	case q.BillsFetches:
		return "It charges for each page that its own web search opens; these count as `other_tool`."
	case q.IgnoresCallCaps:
		return "It ignores caps on calls of its own tools, such as `max_tool_calls`: under a budget the hold " +
			"covers ten calls of each."
	case q.Drop != nil:
		return "These fields are not supported and are left out: " + code(q.Drop) + "."
	case q.Takes != nil:
		return "It supports these in addition to its wire format, for clients of all APIs: " + code(q.Takes) + "."
	case q.LeastAudioSeconds > 0:
		return fmt.Sprintf("A recording is charged as at least %d seconds.", q.LeastAudioSeconds)
	case q.NoTier:
		return "Its answers do not report the service tier: Weir assumes the requested one."
	case q.Prefill == "yes":
		return "It accepts a conversation that ends with an assistant's message, so an interrupted answer can " +
			"be continued behind its text."
	case q.Prefill == "no":
		return "It does not accept a conversation that ends with an assistant's message."
	}
	return fmt.Sprintf("`%s`: `%s`", key, raw)
}

// code formats a list of names as code.
func code(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// either does the same for alternatives.
func either(names []string) string {
	last := len(names) - 1
	switch {
	case last < 0:
		return "–"
	case last == 0:
		return code(names)
	}
	return code(names[:last]) + " or " + code(names[last:])
}

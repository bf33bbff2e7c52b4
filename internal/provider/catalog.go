package provider

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"weir/internal/credential"
	"weir/internal/dialect"
	"weir/internal/llm"
)

//go:embed catalog/*.json
var catalogFiles embed.FS

// Entry describes a provider of the catalogue.
type Entry struct {
	Name  string `json:"name"`  // the <provider> of <provider>/<model-name>
	Title string `json:"title"` // the name as people write it
	// BaseURL may have placeholders, such as {region}.
	BaseURL      string                 `json:"base_url"`
	Placeholders map[string]Placeholder `json:"placeholders,omitempty"`
	Dialect      string                 `json:"dialect"` // name of its wire format
	// Also names further wire formats that it uses at BaseURL.
	Also []string          `json:"also,omitempty"`
	Auth credential.Scheme `json:"auth"`
	// Local marks a self-hosted server: it needs no key and may have a private address.
	Local bool `json:"local,omitempty"`
	// Notice is the path at which such a server at BaseURL reports its version. A server that does so is used without
	// being configured. Empty for none.
	Notice string `json:"notice,omitempty"`
	// KeyEnv names the environment variables that may hold a key; the first one that is set counts.
	KeyEnv []string `json:"key_env,omitempty"`
	// SwitchEnv names variables that enable the provider, as a key does. "0" and "false" count as unset.
	SwitchEnv []string `json:"switch_env,omitempty"`
	// AmbientEnv names variables that also enable the provider, but may have been set for other programs.
	AmbientEnv []string `json:"ambient_env,omitempty"`
	// BaseURLEnv names the environment variable for another base URL.
	BaseURLEnv string `json:"base_url_env"`
	// BaseURLPath is the end of the path that an address in BaseURLEnv may omit: the vendor's own SDKs read the same
	// variable and append the path.
	BaseURLPath string `json:"base_url_path,omitempty"`
	// HostEnv names a variable that holds an address in a looser form, such as a host without scheme. Missing parts are
	// taken from BaseURL.
	HostEnv string     `json:"host_env,omitempty"`
	Quirks  llm.Quirks `json:"quirks"`
	// BaseURLs maps the names of other wire formats to their base URLs, if they differ from BaseURL.
	BaseURLs map[string]string `json:"base_urls,omitempty"`
	// BillsAfterDisconnect is "yes" if the vendor states that it charges for all of a stream after the client has left,
	// "no" if it states that it does not; empty if it states nothing. docs/metering.md quotes it.
	BillsAfterDisconnect string `json:"bills_after_disconnect,omitempty"`
	// BillsRefusals is the vendor's page which states that it charges for requests refused for their content or length,
	// and for requests that time out (408); empty if there is none. docs/metering.md quotes it.
	BillsRefusals string `json:"bills_refusals,omitempty"`
	// FreesFailures is the vendor's page which states that it does not charge for requests answered with any error
	// status; empty if there is none. docs/metering.md quotes it.
	FreesFailures string `json:"frees_failures,omitempty"`
	// Ask names the method of querying the provider about a reply by its id; empty if that is impossible.
	Ask string `json:"ask,omitempty"`
	// Counter names the method by which the provider counts the tokens of a chat; empty if it cannot, or is not known
	// to do so free of charge. docs/metering.md quotes the vendors.
	Counter string `json:"counter,omitempty"`
	// PriceSource is the provider's id in the price data if it differs from Name; empty otherwise.
	PriceSource string `json:"price_source,omitempty"`
	// TraceName is the provider's name in OpenTelemetry's conventions if it differs from Name; empty otherwise.
	TraceName string `json:"trace_name,omitempty"`
	// RegionHost is a regular expression with one group that matches the region in the host of a base URL, if prices
	// differ by region; empty otherwise.
	RegionHost string `json:"region_host,omitempty"`
	// DefaultModel is a fast and cheap model; empty if the models depend on the server.
	DefaultModel string `json:"default_model,omitempty"`
	// Rank orders the catalogue and with it the default models: the enabled entry with a DefaultModel and the lowest
	// rank, from 1, provides the default. Each rank is unique. Entries that need a key come first, then those that
	// variables for other programs may enable, then Local ones.
	Rank int    `json:"rank"`
	Docs string `json:"docs"` // the vendor's API documentation
}

// Catalogue is the list of well-known providers, ordered by Rank.
type Catalogue []Entry

// LoadCatalogue reads the embedded catalogue. Each call returns a new copy.
func LoadCatalogue() (Catalogue, error) {
	files, err := fs.Glob(catalogFiles, "catalog/*.json")
	if err != nil {
		return nil, err
	}
	var c Catalogue
	for _, file := range files {
		text, err := catalogFiles.ReadFile(file)
		if err != nil {
			return nil, err
		}
		e, err := parseEntry(text)
		if err == nil && e.Name+".json" != path.Base(file) {
			err = fmt.Errorf("its name is %q", e.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("catalogue file %s: %w", file, err)
		}
		c = append(c, e)
	}
	slices.SortFunc(c, func(a, b Entry) int { return cmp.Or(a.Rank-b.Rank, strings.Compare(a.Name, b.Name)) })
	return c, nil
}

func parseEntry(text []byte) (Entry, error) {
	var e Entry
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return e, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return e, errors.New("data follows the JSON object")
	}
	if e.Name == "" || e.Title == "" || e.Dialect == "" || e.BaseURLEnv == "" || e.Docs == "" {
		return e, errors.New("name, title, dialect, base_url_env and docs are required")
	}
	if err := e.Auth.Check(); err != nil {
		return e, fmt.Errorf("auth: %w", err)
	}
	if re, err := regexp.Compile(e.RegionHost); err != nil || e.RegionHost != "" && re.NumSubexp() != 1 {
		return e, fmt.Errorf("region_host: %q is not a regular expression with one group", e.RegionHost)
	}
	return e, e.checkPlaceholders()
}

// Find returns the entry of that name, or nil.
func (c Catalogue) Find(name string) *Entry {
	i := slices.IndexFunc(c, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &c[i]
}

// Options returns the options of the provider for New, without keys, and without a base URL if it has placeholders.
func (e *Entry) Options(dialects dialect.Set) Options {
	base := e.BaseURL
	if len(e.Placeholders) > 0 {
		base = ""
	}
	return Options{
		Name:         e.Name,
		Dialect:      dialects.Named(e.Dialect),
		BaseURL:      base,
		Auth:         e.Auth,
		AllowPrivate: e.Local,
		SelfHosted:   e.Local,
		Quirks:       e.Quirks,
		Also:         also(e.Also, dialects),
		Ask:          dialects.Inquiry(e.Ask),
		Counter:      dialects.Counter(e.Counter),
		PriceSource:  e.PriceSource,
		Traces:       Traces{Name: e.TraceName},
		RegionHost:   e.RegionHost,
		Retries:      DefaultRetries,

		BillsAfterDisconnect: e.BillsAfterDisconnect == "yes",
		BillsRefusals:        e.BillsRefusals != "",
		FreesFailures:        e.FreesFailures != "",
	}
}

func also(names []string, dialects dialect.Set) (all []*dialect.Dialect) {
	for _, name := range names {
		if d := dialects.Named(name); d != nil {
			all = append(all, d)
		}
	}
	return all
}

// Found describes the settings of the environment for a provider.
type Found struct {
	// On is true if the environment enables the provider: by a key or another variable of the entry, or by the address
	// of a Local one.
	On bool
	// Ambient is true if only variables that may have been set for other programs enable it.
	Ambient bool
	APIKeys []llm.Secret // at most one
	// BaseURL is the entry's own, unless the environment sets another; empty if Missing is not.
	BaseURL string
	// Moved is true if the environment sets another address than the vendor's.
	Moved bool
	// Missing names the variables that the base URL needs and that are not set.
	Missing []string
}

// Into copies the settings into the options of the provider.
func (f *Found) Into(o *Options) {
	if f.Moved {
		o.Move(f.BaseURL)
	}
	o.APIKeys, o.BaseURL = f.APIKeys, cmp.Or(f.BaseURL, o.BaseURL)
}

// Move sets another address than the vendor's. The server there may support fewer wire formats and may charge for
// counts of tokens, unless the provider is a self-hosted server anyway.
func (o *Options) Move(address string) {
	o.BaseURL, o.Also = address, nil
	if !o.AllowPrivate {
		o.Counter = nil
	}
}

// FromEnv reads the provider's settings from the environment. Getenv is os.Getenv.
func (e *Entry) FromEnv(getenv func(string) string) Found {
	var f Found
	f.BaseURL, f.Missing = e.fill(getenv)
	for _, name := range e.KeyEnv {
		if key := strings.TrimSpace(getenv(name)); key != "" {
			f.APIKeys = []llm.Secret{llm.NewSecret(key)}
			break
		}
	}
	if u := strings.TrimSpace(getenv(e.BaseURLEnv)); u != "" {
		f.BaseURL, f.On, f.Missing, f.Moved = e.withPath(u), e.Local, nil, true
	} else if host := e.host(getenv); host != "" {
		f.BaseURL, f.On, f.Moved = completeURL(host, e.BaseURL), e.Local, true
	}
	if e.Local {
		return f
	}
	meant := len(f.APIKeys) > 0 || anySet(e.SwitchEnv, getenv)
	f.Ambient = !meant && anySet(e.AmbientEnv, getenv)
	f.On = meant || f.Ambient
	return f
}

// withPath returns an address with the path that it may omit.
func (e *Entry) withPath(address string) string {
	bare := strings.TrimRight(address, "/")
	if e.BaseURLPath == "" || strings.HasSuffix(bare, e.BaseURLPath) {
		return address
	}
	return bare + e.BaseURLPath
}

// anySet reports whether one of the variables is set to other than "0" or "false".
func anySet(names []string, getenv func(string) string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		v := strings.ToLower(strings.TrimSpace(getenv(name)))
		return v != "" && v != "0" && v != "false"
	})
}

func (e *Entry) host(getenv func(string) string) string {
	if e.HostEnv == "" {
		return ""
	}
	return strings.TrimSpace(getenv(e.HostEnv))
}

// completeURL completes an address such as "gpu-box", "0.0.0.0:11434" or "https://gpu-box" from base. A server that
// listens on all interfaces is reached by the loopback address.
func completeURL(host, base string) string {
	b, err := url.Parse(base)
	if err != nil {
		return host
	}
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = b.Scheme, host
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		return host // New reports the error
	}
	name, port := u.Hostname(), u.Port()
	if name == "" || name == "0.0.0.0" || name == "::" {
		name = b.Hostname()
	}
	if port == "" && !ok {
		port = b.Port()
	}
	switch {
	case port != "":
		u.Host = net.JoinHostPort(name, port)
	case strings.Contains(name, ":"):
		u.Host = "[" + name + "]"
	default:
		u.Host = name
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = b.Path
	}
	return u.String()
}

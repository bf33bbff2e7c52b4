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

// Entry is a provider of the catalogue.
type Entry struct {
	Name  string `json:"name"`  // the <provider> of <provider>/<model-name>
	Title string `json:"title"` // as people write it
	// BaseURL may have placeholders, such as {region}.
	BaseURL      string                 `json:"base_url"`
	Placeholders map[string]Placeholder `json:"placeholders,omitempty"`
	Dialect      string                 `json:"dialect"` // the name of its wire format
	// Also are the names of further ones that it speaks at BaseURL.
	Also []string          `json:"also,omitempty"`
	Auth credential.Scheme `json:"auth"`
	// Local is a server of one's own: it needs no key, and private addresses
	// are where it lives.
	Local bool `json:"local,omitempty"`
	// Notice is the path at which such a server at BaseURL tells its version: one that
	// does is used without being configured. Empty for none.
	Notice string `json:"notice,omitempty"`
	// KeyEnv are the environment variables that hold a key; the first that is
	// set counts.
	KeyEnv []string `json:"key_env,omitempty"`
	// SwitchEnv are variables that say, as a key does, that the provider is
	// meant. "0" and "false" are as good as nothing.
	SwitchEnv []string `json:"switch_env,omitempty"`
	// AmbientEnv are variables that switch it on, too, but may have been set
	// for other programs.
	AmbientEnv []string `json:"ambient_env,omitempty"`
	// BaseURLEnv is the environment variable that holds another base URL.
	BaseURLEnv string `json:"base_url_env"`
	// BaseURLPath is what the address in BaseURLEnv leaves out at its end: the
	// vendor's own SDKs, which read the variable too, add it to the address.
	BaseURLPath string `json:"base_url_path,omitempty"`
	// HostEnv is one that holds an address in a looser form, such as a host
	// alone; what it leaves out is taken from BaseURL.
	HostEnv string     `json:"host_env,omitempty"`
	Quirks  llm.Quirks `json:"quirks"`
	// BaseURLs are where it speaks other wire formats, by their names, where
	// that is not at BaseURL.
	BaseURLs map[string]string `json:"base_urls,omitempty"`
	// BillsAfterDisconnect is "yes" where the vendor says that it charges for all of a
	// stream whose client has left, "no" where it says that it does not; empty where it
	// says nothing. docs/metering.md has its words.
	BillsAfterDisconnect string `json:"bills_after_disconnect,omitempty"`
	// BillsRefusals is the vendor's page that says that it charges for requests that it
	// refuses for what they say or for their length, and for those that run out of time
	// (408); empty where none does. docs/metering.md has its words.
	BillsRefusals string `json:"bills_refusals,omitempty"`
	// FreesFailures is the vendor's page that says that it charges nothing for a request which it answers with an error
	// status, whichever; empty where none does. docs/metering.md has its words.
	FreesFailures string `json:"frees_failures,omitempty"`
	// Ask is the name of the way in which the provider is asked about a reply by its id;
	// empty where it cannot be.
	Ask string `json:"ask,omitempty"`
	// Counter is the name of the way in which the provider counts the tokens of a chat; empty where it does not, and
	// where it is not known to charge nothing for that. docs/metering.md has the vendors' words.
	Counter string `json:"counter,omitempty"`
	// PriceSource is the provider's id in the price data where that is not Name; empty where
	// it is, and for none.
	PriceSource string `json:"price_source,omitempty"`
	// RegionHost is a regular expression whose one group is the region that the host of
	// an address names, where prices differ by region; empty where they do not.
	RegionHost string `json:"region_host,omitempty"`
	// DefaultModel is a model of the quick and cheap kind; empty where it
	// depends on what a server has loaded.
	DefaultModel string `json:"default_model,omitempty"`
	// Rank orders the catalogue, and with it the shipped default models: the first entry,
	// by rank from 1 upwards, that is switched on and has a DefaultModel gives the default.
	// No two entries have the same one. Entries that may be switched on by variables meant
	// for other programs, and then Local ones, come after those that need a key.
	Rank int    `json:"rank"`
	Docs string `json:"docs"` // the vendor's page about its API
}

// Catalogue is the well-known providers, ordered by Rank.
type Catalogue []Entry

// LoadCatalogue reads the embedded catalogue. Each call gives a new copy.
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
		return e, errors.New("something stands behind its object")
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

// Find is the entry of that name, or nil.
func (c Catalogue) Find(name string) *Entry {
	i := slices.IndexFunc(c, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &c[i]
}

// Options are what New needs for the provider, all but its keys, and but its
// base URL where that has placeholders.
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
		Quirks:       e.Quirks,
		Also:         also(e.Also, dialects),
		Ask:          dialects.Inquiry(e.Ask),
		Counter:      dialects.Counter(e.Counter),
		PriceSource:  e.PriceSource,
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

// Found is what the environment says about a provider.
type Found struct {
	// On is whether the environment switches the provider on: by a key or
	// another variable of the entry, or by the address of a Local one.
	On bool
	// Ambient is whether it is switched on only by what may have been set for
	// other programs.
	Ambient bool
	APIKeys []llm.Secret // none or one
	// BaseURL is the entry's own where the environment names no other; empty
	// where Missing is not.
	BaseURL string
	// Moved is whether the environment names another address than the vendor's.
	Moved bool
	// Missing are the variables without which nobody knows the base URL.
	Missing []string
}

// Into puts what was found into the options of the provider.
func (f *Found) Into(o *Options) {
	if f.Moved {
		o.Move(f.BaseURL)
	}
	o.APIKeys, o.BaseURL = f.APIKeys, cmp.Or(f.BaseURL, o.BaseURL)
}

// Move puts the provider at another address than the vendor's. Whoever is there may speak less, and charge for counts,
// but for a server of one's own, which has no address of its vendor's.
func (o *Options) Move(address string) {
	o.BaseURL, o.Also = address, nil
	if !o.AllowPrivate {
		o.Counter = nil
	}
}

// FromEnv looks for the provider in the environment. Getenv is os.Getenv.
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

// withPath is an address with the path that it may leave out.
func (e *Entry) withPath(address string) string {
	bare := strings.TrimRight(address, "/")
	if e.BaseURLPath == "" || strings.HasSuffix(bare, e.BaseURLPath) {
		return address
	}
	return bare + e.BaseURLPath
}

// anySet reports whether one of the variables says yes.
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

// completeURL fills in what an address such as "gpu-box", "0.0.0.0:11434" or
// "https://gpu-box" leaves out. The address at which a server listens on every
// interface is, from here, the loopback one.
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
		return host // New says what is wrong with it
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

package provider

import (
	"fmt"
	"slices"
	"strings"
)

// Placeholder says what stands for a {name} in the base URL of an Entry.
type Placeholder struct {
	// Env are the environment variables that hold it; the first that is set
	// counts.
	Env []string `json:"env"`
	// Default is what stands there where none is set; empty where one must be.
	Default string `json:"default,omitempty"`
	// Forms are what is written for a value, "{}" being the value: by the
	// value, or by "*" for any other. Without them it is written as it is.
	Forms map[string]string `json:"forms,omitempty"`
	// Example is a value such as people give.
	Example string `json:"example"`
}

// fill writes the base URL with the values of the environment. Missing are the
// variables that must be set for it, one for each placeholder.
func (e *Entry) fill(getenv func(string) string) (base string, missing []string) {
	var out strings.Builder
	rest := e.BaseURL
	for {
		before, after, found := strings.Cut(rest, "{")
		out.WriteString(before)
		if !found {
			break
		}
		var name string
		name, rest, _ = strings.Cut(after, "}")
		p := e.Placeholders[name]
		value := p.value(getenv)
		if value == "" && !slices.Contains(missing, p.Env[0]) {
			missing = append(missing, p.Env[0])
		}
		// People copy an address with all that stands in it.
		literal, _, _ := strings.Cut(rest, "{")
		out.WriteString(p.form(strings.TrimSuffix(value, strings.TrimRight(literal, "/"))))
	}
	if missing != nil {
		return "", missing
	}
	return out.String(), nil
}

// value is what the environment says, without a slash at its end.
func (p *Placeholder) value(getenv func(string) string) string {
	for _, name := range p.Env {
		if v := strings.TrimRight(strings.TrimSpace(getenv(name)), "/"); v != "" {
			return v
		}
	}
	return p.Default
}

func (p *Placeholder) form(value string) string {
	form, ok := p.Forms[value]
	if !ok {
		form, ok = p.Forms["*"]
	}
	if !ok {
		return value
	}
	return strings.ReplaceAll(form, "{}", value)
}

// checkPlaceholders holds that the base URL can be filled in.
func (e *Entry) checkPlaceholders() error {
	examples := map[string]string{}
	for name, p := range e.Placeholders {
		if len(p.Env) == 0 || p.Example == "" {
			return fmt.Errorf("placeholders.%s: env and example are required", name)
		}
		if !strings.Contains(e.BaseURL, "{"+name+"}") {
			return fmt.Errorf("placeholders.%s: base_url has none of it", name)
		}
		examples[p.Env[0]] = p.Example
	}
	for _, part := range strings.Split(e.BaseURL, "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		if _, ok := e.Placeholders[name]; !ok {
			return fmt.Errorf("base_url: placeholders does not say what {%s} is", name)
		}
	}
	base, missing := e.fill(func(name string) string { return examples[name] })
	if missing != nil {
		return fmt.Errorf("base_url: nothing for %s", missing)
	}
	if err := checkBaseURL(base, e.Local); err != nil {
		return fmt.Errorf("base_url: %w", err)
	}
	return nil
}

package provider

import (
	"fmt"
	"slices"
	"strings"
)

// Placeholder describes a {name} in the base URL of an Entry.
type Placeholder struct {
	// Env names the environment variables that may hold the value; the first one that is set counts.
	Env []string `json:"env"`
	// Default is the value if no variable is set; empty if one must be set.
	Default string `json:"default,omitempty"`
	// Forms maps a value, or "*" for all others, to the text that is written, in which "{}" is replaced by the value.
	// Without a form the value is written unchanged.
	Forms map[string]string `json:"forms,omitempty"`
	// Example is an example of a value.
	Example string `json:"example"`
}

// fill returns the base URL with the values from the environment. Missing names the variables that must be set, one for
// each placeholder.
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
		// People may copy the value together with the text that follows it in the URL.
		literal, _, _ := strings.Cut(rest, "{")
		out.WriteString(p.form(strings.TrimSuffix(value, strings.TrimRight(literal, "/"))))
	}
	if missing != nil {
		return "", missing
	}
	return out.String(), nil
}

// value returns the value from the environment, without a slash at its end.
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

// checkPlaceholders checks that the base URL can be completed.
func (e *Entry) checkPlaceholders() error {
	examples := map[string]string{}
	for name, p := range e.Placeholders {
		if len(p.Env) == 0 || p.Example == "" {
			return fmt.Errorf("placeholders.%s: env and example are required", name)
		}
		if !strings.Contains(e.BaseURL, "{"+name+"}") {
			return fmt.Errorf("placeholders.%s: base_url does not contain it", name)
		}
		examples[p.Env[0]] = p.Example
	}
	for _, part := range strings.Split(e.BaseURL, "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		if _, ok := e.Placeholders[name]; !ok {
			return fmt.Errorf("base_url: {%s} is missing in placeholders", name)
		}
	}
	base, missing := e.fill(func(name string) string { return examples[name] })
	if missing != nil {
		return fmt.Errorf("base_url: no value for %s", missing)
	}
	if err := checkBaseURL(base, e.Local); err != nil {
		return fmt.Errorf("base_url: %w", err)
	}
	return nil
}

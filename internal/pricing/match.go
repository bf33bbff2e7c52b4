package pricing

import (
	"regexp"
	"strings"
	"sync"
	"time"
)

// rule says which model names belong to a model. One field is set; texts are
// lower case, as are the names that are held against them.
type rule struct {
	Equals     string   `json:"equals"`
	StartsWith string   `json:"starts_with"`
	EndsWith   string   `json:"ends_with"`
	Contains   string   `json:"contains"`
	Regex      *pattern `json:"regex"`
	Or         []rule   `json:"or"`
	And        []rule   `json:"and"`
	Not        *rule    `json:"not"`
}

func (r *rule) matches(name string) bool {
	switch {
	case r.Equals != "":
		return name == r.Equals
	case r.StartsWith != "":
		return strings.HasPrefix(name, r.StartsWith)
	case r.EndsWith != "":
		return strings.HasSuffix(name, r.EndsWith)
	case r.Contains != "":
		return strings.Contains(name, r.Contains)
	case r.Regex != nil:
		return r.Regex.matches(name)
	case r.Not != nil:
		return !r.Not.matches(name)
	case r.And != nil:
		return r.all(name)
	}
	return r.any(name)
}

func (r *rule) any(name string) bool {
	for i := range r.Or {
		if r.Or[i].matches(name) {
			return true
		}
	}
	return false
}

func (r *rule) all(name string) bool {
	for i := range r.And {
		if !r.And[i].matches(name) {
			return false
		}
	}
	return true
}

// names gives the names that the rule lists outright, and whether it has
// nothing but them.
func (r *rule) names() (list []string, only bool) {
	if r.Equals != "" {
		return []string{r.Equals}, true
	}
	only = r.Or != nil
	for i := range r.Or {
		if r.Or[i].Equals == "" {
			only = false
			continue
		}
		list = append(list, r.Or[i].Equals)
	}
	return list, only
}

// pattern is a regular expression that is compiled when it is first asked:
// most are never.
type pattern struct {
	source string
	once   sync.Once
	re     *regexp.Regexp // nil when the source does not compile: matches nothing
}

// UnmarshalText keeps the source of the expression.
func (p *pattern) UnmarshalText(b []byte) error {
	p.source = string(b)
	return nil
}

func (p *pattern) matches(name string) bool {
	p.once.Do(func() { p.re, _ = regexp.Compile(p.source) })
	return p.re != nil && p.re.MatchString(name)
}

// dashDates writes each valid date after a dash with dashes of its own:
// "claude-x-20250805" becomes "claude-x-2025-08-05". Vendors use both forms,
// the data often has one.
func dashDates(name string) string {
	const form = "20060102"
	var b strings.Builder
	done := 0
	for i := 0; i+1+len(form) <= len(name); i++ {
		end := i + 1 + len(form)
		if name[i] != '-' || name[i+1:i+3] != "20" || end < len(name) && name[end] != '-' && name[end] != ':' {
			continue
		}
		d, err := time.Parse(form, name[i+1:end])
		if err != nil {
			continue
		}
		b.WriteString(name[done : i+1])
		b.WriteString(d.Format(time.DateOnly))
		done = end
		i = end - 1
	}
	if done == 0 {
		return name
	}
	return b.String() + name[done:]
}

package pricing

import (
	"regexp"
	"strings"
	"sync"
	"time"
)

// rule decides which names refer to a model. Exactly one field is set. Texts are in lower case, like the names that
// they are compared with.
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

// names returns the names that the rule lists literally, and whether it contains nothing else.
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

// pattern is a regular expression that is compiled on first use, because most are never used.
type pattern struct {
	source string
	once   sync.Once
	re     *regexp.Regexp // nil if the source does not compile: matches nothing
}

// UnmarshalText stores the source of the expression.
func (p *pattern) UnmarshalText(b []byte) error {
	p.source = string(b)
	return nil
}

func (p *pattern) matches(name string) bool {
	p.once.Do(func() { p.re, _ = regexp.Compile(p.source) })
	return p.re != nil && p.re.MatchString(name)
}

// datings returns the name and, if it has undashed dates, the name with dashed dates.
func datings(name string) []string {
	if dashed := dashDates(name); dashed != name {
		return []string{name, dashed}
	}
	return []string{name}
}

// dashDates adds dashes to each valid date after a dash: "claude-x-20250805" becomes "claude-x-2025-08-05". Vendors use
// both forms, and the data often has only one.
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

// isDate reports whether a text is YYYY-MM-DD.
func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// spellings returns the names under which the data may list a model's folded name: unchanged; without the path before
// it or the variant after it; without Bedrock's region prefix; without its date or version.
func spellings(name string) []string {
	names := []string{name}
	add := func(shorten func(string) string) {
		for _, n := range names {
			if s := shorten(n); s != n && s != "" {
				names = append(names, s)
			}
		}
	}
	add(withoutVariant)
	add(withoutPath)
	add(withoutRegion)
	add(withoutDate)
	return names
}

// sameVariants are OpenRouter's variants with the price of the model:
// https://openrouter.ai/docs/features/provider-routing. The searches of ":online" are counted separately.
var sameVariants = []string{":nitro", ":floor", ":exacto", ":online"}

// samePrice returns the name of the model with the same price as the folded name, without such a variant.
func samePrice(name string) string {
	for _, v := range sameVariants {
		if base, ok := strings.CutSuffix(name, v); ok {
			return base
		}
	}
	return name
}

// fineTuned is the prefix of names of fine-tuned models: "ft:<model>:<organization>:…"
// (https://platform.openai.com/docs/guides/supervised-fine-tuning).
const fineTuned = "ft:"

// plainName returns a folded name without the vendor's own region, date and version.
func plainName(name string) string {
	if base, ok := strings.CutPrefix(name, fineTuned); ok {
		base, _, _ = strings.Cut(base, ":")
		return fineTuned + plainName(base)
	}
	name = withoutRegion(name)
	name = strings.TrimSuffix(strings.TrimRight(name, "-"), "-latest")
	if maker, _, dotted := strings.Cut(name, "."); dotted && strings.Trim(maker, "abcdefghijklmnopqrstuvwxyz") == "" {
		name = withoutBedrockVersion(name)
	}
	for {
		shorter := withoutNumbers(withoutDate(name))
		if shorter == name {
			return name
		}
		name = shorter
	}
}

// withoutBedrockVersion removes "-v1:0", "-v1" or ":0" from the end of a Bedrock model name
// (https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html).
func withoutBedrockVersion(name string) string {
	if i := strings.LastIndex(name, "-v"); i > 0 && strings.Trim(name[i+2:], "0123456789:") == "" {
		return name[:i]
	}
	if base := strings.TrimRight(name, "0123456789"); strings.HasSuffix(base, ":") {
		return strings.TrimSuffix(base, ":")
	}
	return name
}

// bedrockVersion returns the version in a Bedrock model name: "2" for "amazon.titan-embed-text-v2:0", which is another
// model than version 1; empty for a name without a version.
func bedrockVersion(name string) string {
	i := strings.LastIndex(name, "-v")
	if i < 0 || strings.Trim(name[i+2:], "0123456789:") != "" {
		return ""
	}
	version, _, _ := strings.Cut(name[i+2:], ":")
	return version
}

// withoutNumbers removes a short date or a version number from the end of a name: "-0613", "-001", "-2503", "-04-17",
// "-2025-08".
func withoutNumbers(name string) string {
	base := strings.TrimRight(name, "0123456789")
	digits := len(name) - len(base)
	inner := strings.TrimRight(strings.TrimSuffix(base, "-"), "0123456789")
	between := len(base) - 1 - len(inner)
	switch {
	case digits == 2 && (between == 2 || between == 4) && strings.HasSuffix(base, "-") && strings.HasSuffix(inner, "-"):
		return strings.TrimSuffix(inner, "-")
	case (digits == 3 || digits == 4) && strings.HasSuffix(base, "-"):
		return strings.TrimSuffix(base, "-")
	}
	return name
}

// withoutVariant removes ":free" from "meta/llama:free".
func withoutVariant(name string) string {
	if i := strings.LastIndexByte(name, ':'); i > 0 {
		return name[:i]
	}
	return name
}

// withoutPath removes "publishers/google/models/" from a name.
func withoutPath(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// withoutRegion removes "us." from "us.anthropic.claude-…".
func withoutRegion(name string) string {
	region, rest, ok := strings.Cut(name, ".")
	switch region {
	case "us", "us-gov", "eu", "apac", "au", "jp", "ca", "sa", "me", "in", "global", "regional":
		if ok {
			return rest
		}
	}
	return name
}

// withoutDate removes "-20251001", "-2025-10-01", "@20251001" or "@default" from the end of a name, and "-v1:0" after a
// date.
func withoutDate(name string) string {
	if base, _, ok := strings.Cut(name, "@"); ok {
		return base
	}
	if i := strings.LastIndex(name, "-v"); i > 0 && strings.Trim(name[i+2:], "0123456789:") == "" {
		if base := withoutDate(name[:i]); base != name[:i] {
			return base
		}
	}
	dashed := dashDates(name)
	if i := len(dashed) - len("-2006-01-02"); i > 0 && dashed[i] == '-' && isDate(dashed[i+1:]) {
		return dashed[:i]
	}
	return name
}

package redaction

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// gitleaks holds the rules of gitleaks as JSON: each rule's id, regular expression, least entropy, group of the secret
// and keywords, one of which a text must contain. gitleaks.LICENSE is their licence.
//
//go:embed gitleaks.json
var gitleaks []byte

// rule finds one kind of secret.
type rule struct {
	ID       string   `json:"id"`
	Regex    string   `json:"regex"`
	Entropy  float64  `json:"entropy"`  // least entropy of a secret, in bits a character
	Group    int      `json:"group"`    // of the secret in the match; 0 for the first one that is not empty
	Keywords []string `json:"keywords"` // in lower case

	expression *regexp.Regexp // nil until it is needed
	reach      reach
	done       int // the current text is searched up to here, in bytes
}

// reach says how far from a keyword a rule's match can be. The rest of a text is not searched.
type reach int

const (
	inWord   reach = iota // within the text without spaces around the keyword
	assigned              // an assignment follows the keyword: token = "…"
	near                  // within mostNear bytes of the keyword
	anywhere
)

// assignment is the part of gitleaks' regular expressions that matches between a name and its value.
const assignment = `(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)`

// distant lists the rules of gitleaks whose match can be far from the keyword.
func distant() []string {
	return []string{
		"airtable-personnal-access-token", "curl-auth-header", "curl-auth-user", "facebook-access-token",
		"freemius-secret-key", "nuget-config-password", "sourcegraph-access-token",
	}
}

// kubernetes is the rule for manifests of Kubernetes' secrets.
const kubernetes = "kubernetes-secret-yaml"

// ownRules returns the rules that gitleaks lacks. A key whose end is missing is redacted to the end of the text.
func ownRules() []rule {
	return []rule{
		{ID: "weir-api-key", Regex: `\bwk_[0-9A-Za-z]{40,}`, Keywords: []string{"wk_"}},
		{ID: "webhook-secret", Regex: `\bwhsec_[0-9A-Za-z+/=_-]{16,}`, Keywords: []string{"whsec_"}},
		{ID: "api-key", Regex: `\bsk-[0-9A-Za-z_-]{20,}`, Keywords: []string{"sk-"}},
		{ID: "api-key", Regex: `\bgsk_[0-9A-Za-z]{32,}`, Keywords: []string{"gsk_"}},
		{ID: "api-key", Regex: `\bxai-[0-9A-Za-z]{32,}`, Keywords: []string{"xai-"}},
		{
			ID: "private-key", Keywords: []string{"-----begin"}, reach: anywhere,
			Regex: `(?i)-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY[\s\S]*?` +
				`(?:-----END[ A-Z0-9_-]{0,100}KEY(?: BLOCK)?-----|$)`,
		},
		{
			ID: "bearer-token", Keywords: []string{"bearer"}, reach: anywhere,
			Regex: `(?i)\bbearer\s+([0-9A-Za-z._~+/=-]{16,})`,
		},
		{
			// gitleaks' rule of this name finds only the first value, and takes 20 µs a byte.
			ID: kubernetes, reach: near,
			Keywords: []string{"kind: secret", `kind: "secret`, "kind: 'secret", "kind:secret"},
			Regex:    `(?i)\s[\w.-]+:(?:[ \t]*(?:\||>[-+]?)\s+)?[ \t]*["']?([a-z0-9+/]{10,}={0,3})["']?`,
		},
		{ID: "url-password", Regex: `://[^\s/:@]{0,256}:([^\s/@]{1,256})@`, Keywords: []string{"://"}},
	}
}

func readRules() (rules []rule, err error) {
	if err := json.Unmarshal(gitleaks, &rules); err != nil {
		return nil, fmt.Errorf("redaction: read the rules: %w", err)
	}
	rules = slices.DeleteFunc(rules, func(r rule) bool { return r.ID == kubernetes })
	far := distant()
	for i := range rules {
		switch r := &rules[i]; {
		case slices.Contains(far, r.ID):
			r.reach = anywhere
		case strings.Contains(r.Regex, assignment):
			r.reach = assigned
		}
	}
	return append(rules, ownRules()...), nil
}

// appendTo appends the places of a rule's secrets near a keyword of n bytes. It subtracts the bytes that it searches
// from left, and searches nothing that is more.
func (r *rule) appendTo(found []span, s string, at, n int, left *int) []span {
	if at < r.done || *left < 0 {
		return found
	}
	from, to, done := r.window(s, at, n)
	if done == 0 {
		return found
	}
	if *left -= to - from; *left < 0 {
		return found
	}
	if r.done = done; r.expression == nil {
		r.expression = regexp.MustCompile(r.Regex)
	}
	for _, match := range r.expression.FindAllStringSubmatchIndex(s[from:to], -1) {
		start, end := r.secret(match)
		if start, end = start+from, end+from; end > start && entropy(s[start:end]) >= r.Entropy {
			found = append(found, span{start, end, r.ID})
		}
	}
	return found
}

const (
	// around is how many bytes beside a word a rule may look at, such as a quote.
	around = 2
	// mostNear, mostBefore and mostBetween bound the texts around a keyword, before it and between it and its value, in
	// bytes.
	mostNear    = 1 << 10
	mostBefore  = 64
	mostBetween = 32
	// leastSecret is the length of the shortest assigned secret, in bytes.
	leastSecret = 6
)

// window returns the part of a text that may match, around a keyword of n bytes, and where the search for the next
// keyword goes on. All are 0 if no part can match.
func (r *rule) window(s string, at, n int) (from, to, done int) {
	switch r.reach {
	case anywhere:
		return 0, len(s), len(s)
	case near:
		to = min(len(s), at+mostNear)
		return max(0, at-mostNear), to, min(to, at+mostNear/2)
	case assigned:
		value := valueAfter(s, at+n)
		if value == 0 {
			return 0, 0, 0
		}
		if done = wordEnd(s, value); done-value < leastSecret {
			return 0, 0, 0
		}
		return max(0, at-mostBefore), min(len(s), done+around), done
	}
	for from = at; from > 0 && !isSpace(s[from-1]); from-- {
		if from == r.done {
			break
		}
	}
	done = wordEnd(s, at)
	return max(0, from-around), min(len(s), done+around), done
}

// valueAfter returns the start of the value that is assigned to a name that ends there; 0 for none.
func valueAfter(s string, at int) int {
	for i := at; i < min(len(s), at+mostBetween); i++ {
		if strings.IndexByte("=>:|?,", s[i]) < 0 {
			if !isWord(s[i]) && !isSpace(s[i]) && strings.IndexByte(`.-'"`, s[i]) < 0 {
				return 0
			}
			continue
		}
		for i < len(s) && strings.IndexByte("=>:|?,", s[i]) >= 0 {
			i++
		}
		for i < len(s) && (isSpace(s[i]) || strings.IndexByte("`'\"=", s[i]) >= 0) {
			i++
		}
		return i
	}
	return 0
}

// wordEnd returns the end of a text without spaces.
func wordEnd(s string, at int) int {
	for at < len(s) && !isSpace(s[at]) {
		at++
	}
	return at
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func isWord(c byte) bool { return isDigit(c) || c == '_' || 'a' <= lower(c) && lower(c) <= 'z' }

// secret returns the place of the secret in a match.
func (r *rule) secret(at []int) (from, to int) {
	if r.Group > 0 {
		return at[2*r.Group], at[2*r.Group+1]
	}
	for g := 2; g < len(at); g += 2 {
		if at[g+1] > at[g] {
			return at[g], at[g+1]
		}
	}
	return at[0], at[1]
}

// entropy returns Shannon's entropy of a text, in bits a byte.
func entropy(s string) (bits float64) {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// keywords finds the keywords of all rules in one pass over a text.
type keywords struct {
	groups [1 << 16]uint16 // by the first two bytes; 0 for none
	words  [][]keyword     // by group
}

// keyword is a keyword with the rules that need it.
type keyword struct {
	text  string
	rules []int
}

func newKeywords(rules []rule) *keywords {
	k := &keywords{words: make([][]keyword, 1)}
	for i := range rules {
		for _, text := range rules[i].Keywords {
			k.add(text, i)
		}
	}
	return k
}

func (k *keywords) add(text string, rule int) {
	at := uint16(text[0])<<8 | uint16(text[1])
	if k.groups[at] == 0 {
		k.groups[at] = uint16(len(k.words))
		k.words = append(k.words, nil)
	}
	group := &k.words[k.groups[at]]
	i := slices.IndexFunc(*group, func(w keyword) bool { return w.text == text })
	if i < 0 {
		i = len(*group)
		*group = append(*group, keyword{text: text})
	}
	(*group)[i].rules = append((*group)[i].rules, rule)
}

// each calls found for each keyword in a text, once for each of its rules: with the place and length of the keyword.
func (k *keywords) each(s string, found func(rule, at, n int)) {
	for i := 0; i+1 < len(s); i++ {
		group := k.groups[uint16(lower(s[i]))<<8|uint16(lower(s[i+1]))]
		for j := range k.words[group] {
			w := &k.words[group][j]
			if !hasPrefix(s[i:], w.text) {
				continue
			}
			for _, r := range w.rules {
				found(r, i, len(w.text))
			}
		}
	}
}

// hasPrefix reports whether s begins with a prefix in lower case, in any case.
func hasPrefix(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if lower(s[i]) != prefix[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
